"""Training of sparse networks: what they read of batches, whole runs beside plain torch, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from learning_samples import Interrupter
from network_samples import shaken_sparse

from fukayomi._native import NO_POLICY_LABEL, encode_hcp, policy_label, sparse_batch, sparse_planes_batch
from fukayomi.data import write_data
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.formats.psv import psv_record
from fukayomi.engine.choice import load
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.learning import (
    CheckpointError,
    Dataset,
    DeviceError,
    JsonLinesListener,
    TrainingError,
    TrainingResult,
    TrainingSettings,
    evaluate,
    evaluate_networks,
    export_network,
    load_network,
    train,
)
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.loss import Losses, LossWeights, TeacherTargets, compute_losses
from fukayomi.learning.models import ModelFileError, residual
from fukayomi.learning.settings import PRESETS
from fukayomi.learning.training.configuration import RunConfiguration
from fukayomi.learning.training.preparation import Teacher
from fukayomi.nn import ExportError, NetworkConfig, NetworkConfigError, PolicyValueNetwork, load_parameters
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.nn.sparse_config import SparseConfig, config_from_dict, config_from_name
from fukayomi.settings import build, read
from fukayomi.shogi import Position

TINY = SparseConfig(policy=64, value=64, shared=32, hidden=8)
SETTINGS = TrainingSettings(
    steps=8, batch=20, optimizer="adamw", lr=0.002, warmup=2, weight_decay=0.0, seed=4, amp="off"
)
CPU = torch.device("cpu")


def run(out: Path, files: tuple[Path, Path], settings: TrainingSettings = SETTINGS, **options: Any) -> TrainingResult:
    return train(TINY, Dataset(files[0]), out, test=Dataset(files[1]), settings=settings, threads=1, **options)


def test_planes_are_read_as_the_positions_are(games_file: Path) -> None:
    data = Dataset(games_file)
    samples = [data[index] for index in range(len(data))]
    batch = data.arrays(range(len(data)))
    rows, row_offsets, labels, groups, move_offsets, shares, places, played = sparse_planes_batch(
        batch.planes1, batch.planes2, batch.labels, batch.places, batch.weights, 2
    )
    alone = sparse_planes_batch(
        batch.planes1, batch.planes2, batch.labels, batch.places, batch.weights, 1, has_moves=False
    )
    np.testing.assert_array_equal(alone[0], rows)
    np.testing.assert_array_equal(alone[1], row_offsets)
    np.testing.assert_array_equal(alone[4], np.zeros(len(data) + 1))
    assert not any(len(alone[n]) for n in (2, 3, 5, 6, 7))
    hcps = np.array([np.frombuffer(encode_hcp(sample.position), np.uint8) for sample in samples])
    counts = np.cumsum([0, *(len(sample.policy) for sample in samples)])
    moves = np.array([move.raw for sample in samples for move in sample.policy], np.uint16)
    visits = np.array([round(share * 60_000) for sample in samples for share in sample.policy.values()], np.uint16)
    expected = sparse_batch(hcps, counts, moves, visits, 1)
    np.testing.assert_array_equal(row_offsets, expected[1])
    np.testing.assert_array_equal(move_offsets, expected[4])
    for n, sample in enumerate(samples):
        of_rows, of_moves = slice(*row_offsets[n : n + 2]), slice(*move_offsets[n : n + 2])
        np.testing.assert_array_equal(np.sort(rows[of_rows]), np.sort(expected[0][of_rows]))
        found = sorted(zip(labels[of_moves], map(tuple, groups[of_moves]), shares[of_moves].round(3), strict=True))
        wanted = zip(
            expected[2][of_moves], map(tuple, expected[3][of_moves]), expected[5][of_moves].round(3), strict=True
        )
        for ours, theirs in zip(found, sorted(wanted), strict=True):
            assert ours[:2] == theirs[:2]
            assert ours[2] == pytest.approx(theirs[2], abs=2e-3)
        legal = {policy_label(sample.position.turn, move) for move in sample.position.legal_moves}
        assert {place - n * 2187 for place in places[of_moves].tolist()} <= legal
        best = max(sample.policy, key=lambda move: sample.policy[move])
        label = places[played[n]] - n * 2187
        assert sample.policy[best] == pytest.approx(max(sample.policy.values()))
        assert label in (batch.labels[n], batch.labels[n] + 810)


def test_planes_that_are_no_position_are_refused(games_file: Path) -> None:
    batch = Dataset(games_file).arrays([0])
    full = np.full_like(batch.planes1, 255)
    for has_moves in (True, False):
        with pytest.raises(ValueError, match="share a square"):
            sparse_planes_batch(full, batch.planes2, batch.labels, batch.places, batch.weights, 1, has_moves)
    with pytest.raises(ValueError, match="label is beyond"):
        sparse_planes_batch(batch.planes1, batch.planes2, batch.labels + 3000, batch.places, batch.weights, 1)
    with pytest.raises(ValueError, match="ascend"):
        sparse_planes_batch(
            batch.planes1, batch.planes2, batch.labels, np.array([9000, 1], np.int32), np.ones(2, np.float32), 1
        )


def plain_losses(network: SparseNetwork, batch: TensorBatch, weights: LossWeights, teacher: TeacherTargets) -> Losses:
    """`compute_losses` position by position."""
    policy, value = batch.outputs_of(network)
    targets = batch.targets
    lists = targets.moves
    assert lists is not None
    each, entropies, of_teacher = [], [], []
    for n in range(len(batch)):
        moves = slice(int(lists.offsets[n]), int(lists.offsets[n + 1]))
        log_p = torch.log_softmax(policy[moves], dim=0)
        each.append(-(lists.weights[moves] * log_p).sum())
        entropies.append(-(log_p.exp() * log_p).sum())
        theirs = teacher.policy[n][lists.places[moves] - n * 2187]
        of_teacher.append(-(theirs / theirs.sum() * log_p).sum())
    result = F.binary_cross_entropy_with_logits(value[:, 0], targets.results)
    search = F.binary_cross_entropy_with_logits(value[:, 0], targets.values)
    mean = torch.stack(each).mean()
    total = mean + weights.value * torch.lerp(result, search, weights.val_lambda)
    taught = torch.stack(of_teacher).mean()
    taught = taught + weights.value * F.binary_cross_entropy_with_logits(value[:, 0], teacher.values)
    total = torch.lerp(total, taught, teacher.weight) - weights.entropy * torch.stack(entropies).mean()
    return Losses(total, mean, result, search, taught)


def test_a_step_is_that_of_plain_torch(games_file: Path) -> None:
    network = shaken_sparse(TINY)
    batch = TensorBatch.of(Dataset(games_file).arrays(range(40)), CPU, network)
    weights = LossWeights(val_lambda=0.4, value=0.7, entropy=0.05)
    teacher = TeacherTargets(torch.softmax(torch.randn(40, 2187), dim=1), torch.rand(40), 0.3)
    gradients, losses = [], []
    for compute in (
        lambda: compute_losses(*batch.outputs_of(network), batch.targets, weights, teacher),
        lambda: plain_losses(network, batch, weights, teacher),
    ):
        network.zero_grad()
        found = compute()
        found.total.backward()
        losses.append({name: loss.item() for name, loss in found.by_name().items()})
        gradients.append({name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None})
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert gradients[0].keys() == dict(network.named_parameters()).keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-3, atol=1e-6, msg=name)


def test_positions_without_a_move_count_for_the_value_alone(train_file: Path) -> None:
    network, arrays = shaken_sparse(TINY), Dataset(train_file).arrays(range(10))
    arrays.labels[:] = 0xFFFF
    empty = type(arrays)(**vars(arrays) | {"places": arrays.places[:0], "weights": arrays.weights[:0]})
    batch = TensorBatch.of(empty, CPU, network)
    losses = compute_losses(*batch.outputs_of(network), batch.targets)
    losses.total.backward()
    assert losses.policy is not None
    assert losses.policy.item() == 0
    assert network.label_table.grad is not None
    assert not network.label_table.grad.any()
    assert network.value_layer1.weight.grad is not None
    assert network.value_layer1.weight.grad.any()


def test_the_value_alone_learns_as_it_does_beside_the_policy(tmp_path: Path, train_file: Path, test_file: Path) -> None:
    first = shaken_sparse(TINY)
    free = SETTINGS.changed(clip=1e9, entropy=0.1)  # the norm of the gradient is that of both heads
    learned: list[dict[str, torch.Tensor]] = []
    for name, weight in (("both", 1), ("value", 0)):
        result = run(tmp_path / name, (train_file, test_file), free.changed(policy_weight=weight), initial=first)
        assert result.metrics is not None
        assert result.metrics.policy_loss > 0
        assert all(("policy_loss" in row) == bool(weight) for row in result.losses.rows())
        learned.append(load_network(result.checkpoint).state_dict())
    both, value = learned
    for name, before in first.state_dict().items():
        of_value = name.startswith("value_")
        assert torch.equal(value[name], both[name] if of_value else before), name
        assert not torch.equal(both[name], before), name


def test_all_formats_are_trained_on_by_weight(tmp_path: Path, train_file: Path, games_file: Path) -> None:
    run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(games_file,), out=tmp_path / "averages.avg"))
    rows = [psv_record(Position().sfen(), move, 60, 1, 1) for move in ("7g7f", None, "2g2f", None)]
    write_data(tmp_path / "pool.psv", rows)
    files = (train_file, tmp_path / "pool.psv", games_file, tmp_path / "averages.avg")
    data = Dataset(*files, weights=[2, 3, 0.5, 1])
    batch = TensorBatch.of(data.arrays(range(len(data))), CPU, shaken_sparse(TINY))
    lists = batch.targets.moves
    assert lists is not None
    sums = lists.sums(lists.weights)
    has_move = batch.targets.labels != NO_POLICY_LABEL
    assert int((~has_move).sum()) == 2
    torch.testing.assert_close(sums, has_move.float())
    assert bool(((lists.played >= 0) == has_move).all())
    result = train(TINY, data, tmp_path / "run", test=data, settings=SETTINGS, threads=2)
    assert result.finished
    assert result.metrics is not None
    assert result.metrics.is_finite


def test_it_learns_and_its_files_are_read_again(tmp_path: Path, games_file: Path) -> None:
    before = evaluate(SparseNetwork(TINY), Dataset(games_file))
    settings = TrainingSettings(steps=80, batch=40, optimizer="adamw", lr=0.001, warmup=5, seed=1)
    result = run(tmp_path / "run", (games_file, games_file), settings, listener=JsonLinesListener())
    assert result.metrics is not None
    assert result.metrics.total_loss < before.total_loss - 0.3
    assert result.metrics.policy_accuracy > before.policy_accuracy + 0.05
    loaded = load_network(result.checkpoint)
    assert isinstance(loaded, SparseNetwork)
    assert loaded.config == TINY
    again = evaluate(result.checkpoint, Dataset(games_file))
    assert again.as_dict() == pytest.approx(result.metrics.as_dict())
    table = evaluate_networks(
        {"sparse": result.checkpoint, "tower": PolicyValueNetwork(NetworkConfig(blocks=1, channels=8))},
        {"": Dataset(games_file)},
    )
    assert table.rows()[0]["policy_loss"] == pytest.approx(again.policy_loss)
    export_network(loaded, tmp_path / "network.safetensors")
    kept = load_parameters(tmp_path / "network.safetensors")
    assert all(torch.equal(kept.state_dict()[name], value) for name, value in loaded.state_dict().items())


@pytest.mark.parametrize("ema_interval", [0, 2])
def test_resumed_weights_are_those_of_an_uninterrupted_run(
    tmp_path: Path, train_file: Path, test_file: Path, ema_interval: int
) -> None:
    files = (train_file, test_file)
    settings = SETTINGS.changed(ema_interval=ema_interval)
    whole = run(tmp_path / "whole", files, settings)
    interrupted = run(tmp_path / "parts", files, settings, listener=Interrupter(), eval_interval=5)
    assert (interrupted.step, interrupted.finished) == (5, False)
    resumed = run(tmp_path / "parts", files, settings, resume=True)
    assert resumed.finished
    expected = load_network(whole.checkpoint).state_dict()
    for name, value in load_network(resumed.checkpoint).state_dict().items():
        assert torch.equal(value, expected[name]), name


def test_the_configuration_names_the_family_and_has_its_defaults(
    tmp_path: Path, train_file: Path, test_file: Path
) -> None:
    flags = {"train": [str(train_file)], "network": {"name": "sparse-64x128"}, "training": {"batch": 20, "steps": 2}}
    configuration = build(RunConfiguration, {"network": {"blocks": 3}}, flags)
    assert configuration.network == SparseConfig(policy=64, value=128, shared=32)
    assert configuration.training.optimizer == PRESETS["sparse"]["optimizer"]
    assert configuration.training.batch == 20
    result = train(
        configuration.network, configuration.open(configuration.train), tmp_path, settings=configuration.training
    )
    again = build(RunConfiguration, read(RunConfiguration, tmp_path / "config.toml"))
    assert again.network == configuration.network
    assert again.training.lr == configuration.training.lr
    assert result.finished
    back = build(RunConfiguration, read(RunConfiguration, tmp_path / "config.toml"), {"network": {"name": "resnet1x8"}})
    assert back.network == NetworkConfig.from_name("resnet1x8")
    for family in ("other", ["sparse"]):
        with pytest.raises(TrainingError, match="family"):
            build(RunConfiguration, flags | {"network": {"family": family}})
    with pytest.raises(TrainingError, match="network: blocks: unknown setting; there are policy, value, shared"):
        build(RunConfiguration, flags | {"network": {"name": "sparse-64x64", "blocks": 3}})


def test_settings_of_a_residual_network_say_nothing_of_a_sparse_one(train_file: Path) -> None:
    files = {"train": [str(train_file)]}
    given = {"optimizer": "sgd", "lr": 0.1, "steps": 3}
    for below in ({"network": {"blocks": 2}, "training": given}, {"network": {"name": "resnet1x8"}}):
        found = build(RunConfiguration, files | below, {"network": {"name": "sparse-64x64"}}).training
        assert (found.optimizer, found.lr) == (PRESETS["sparse"]["optimizer"], PRESETS["sparse"]["lr"])
        assert found.steps == below.get("training", {}).get("steps")


@pytest.mark.parametrize("name", ["sparse-", "sparse-100x64", "sparse-64", "sparse-64x8192", "sparse-64x64_swish"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(NetworkConfigError, match=r"sparse-384x384|multiple of 64|equal to 1024"):
        config_from_name(name)


def test_configurations_of_files_are_checked() -> None:
    assert config_from_dict(TINY.as_dict()) == TINY
    for wrong in ({"family": "sparse"}, TINY.as_dict() | {"more": 1}, TINY.as_dict() | {"shared": 64}, {"family": "x"}):
        with pytest.raises(NetworkConfigError):
            config_from_dict(wrong)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"amp": "bf16"}, "float32"), ({"compile": True}, "compile"), ({"optimizer": "muon"}, "adamw")],
)
def test_settings_that_do_not_fit_are_refused(
    tmp_path: Path, train_file: Path, test_file: Path, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TrainingError, match=reason):
        run(tmp_path, (train_file, test_file), SETTINGS.changed(**changes))


def test_networks_and_files_that_do_not_fit_are_refused(tmp_path: Path, train_file: Path, test_file: Path) -> None:
    files = (train_file, test_file)
    with pytest.raises(TrainingError, match="of its own shape"):
        run(tmp_path / "a", files, initial=SparseNetwork(SparseConfig(policy=128, value=64, shared=32, hidden=8)))
    with pytest.raises(TrainingError, match="only residual ones grow"):
        train(
            NetworkConfig(blocks=1, channels=8),
            Dataset(train_file),
            tmp_path / "b",
            settings=SETTINGS,
            initial=SparseNetwork(TINY),
        )
    with pytest.raises(ExportError, match="rows and moves"):
        export_network(SparseNetwork(TINY), tmp_path / "network.onnx")
    with pytest.raises(ExportError, match="float16"):
        export_network(SparseNetwork(TINY), tmp_path / "network.safetensors", half=True)
    export_network(SparseNetwork(TINY), tmp_path / "network.safetensors")
    with pytest.raises(EvaluatorError, match="not by torch"):
        load(NetworkFile(tmp_path / "network.safetensors"), Plan("torch", "fp32", threads=1, slots=1, batch_size=1))
    with pytest.raises(ModelFileError, match="a sparse network cannot dance"):
        residual(SparseNetwork(TINY), "file", "dance")


def test_it_is_evaluated_on_the_cpu(games_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.learning.evaluation.choose_device", lambda _: torch.device("meta"))
    with pytest.raises(DeviceError, match="computed on the CPU, not on meta: use cpu or auto"):
        evaluate(SparseNetwork(TINY), Dataset(games_file), device="cuda")


def test_a_residual_network_teaches_a_sparse_one(tmp_path: Path, train_file: Path, test_file: Path) -> None:
    first = shaken_sparse(TINY)
    result = run(
        tmp_path,
        (train_file, test_file),
        initial=first,
        teacher=PolicyValueNetwork(NetworkConfig(blocks=1, channels=8)),
    )
    assert result.finished
    learned = load_network(result.checkpoint).state_dict()["policy_accumulators.squares"]
    assert not torch.equal(learned, first.policy_accumulators.squares)


@pytest.mark.parametrize("is_sparse", [True, False])
def test_the_targets_of_a_sparse_teacher_are_its_policy_over_the_moves(train_file: Path, *, is_sparse: bool) -> None:
    data, teacher = Dataset(train_file), shaken_sparse(TINY)
    arrays = data.arrays(range(12))
    batch = TensorBatch.of(
        arrays, CPU, SparseNetwork(TINY) if is_sparse else PolicyValueNetwork(NetworkConfig(blocks=1, channels=8))
    )
    targets = Teacher(teacher, CPU, weight=0.5, temperature=2.0)(batch)
    assert (tuple(targets.policy.shape), tuple(targets.values.shape)) == ((12, 2187), (12,))
    for row in range(12):
        position = data[row].position
        alone = TensorBatch.of(data.arrays([row]), CPU, teacher)
        with torch.no_grad():
            logits, value = alone.outputs_of(teacher)
        labels = [position.policy_label(move) for move in position.useful_moves]
        expected = torch.zeros(2187)
        assert alone.targets.moves is not None
        expected[alone.targets.moves.places] = torch.softmax(logits / 2.0, dim=0)
        assert set(torch.nonzero(expected).flatten().tolist()) == set(labels)
        torch.testing.assert_close(targets.policy[row], expected, rtol=1e-5, atol=1e-7)
        torch.testing.assert_close(targets.values[row], torch.sigmoid(value[0, 0]))


@pytest.fixture(scope="module")
def teacher_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sparse network, rounded for few positions."""
    path = tmp_path_factory.mktemp("teacher") / "teacher.sparse"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fukayomi.learning.models.ROUNDING_POSITIONS", 8)
        export_network(shaken_sparse(TINY), path)
    return path


@pytest.mark.parametrize(("config", "lr"), [(TINY, 0.003), (NetworkConfig(blocks=1, channels=8), 0.02)])
def test_a_sparse_network_teaches_both_families(
    tmp_path: Path, train_file: Path, teacher_file: Path, config: SparseConfig | NetworkConfig, lr: float
) -> None:
    settings = SETTINGS.changed(steps=40, lr=lr, teacher_weight=1.0)
    listener, data, out = JsonLinesListener(1), Dataset(train_file), tmp_path / "run"
    train(config, data, out, settings=settings, teacher=teacher_file, listener=listener, device="cpu")
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]
    losses = [line["train"]["teacher_loss"] for line in lines if "train" in line]
    assert losses[-1] < losses[0] - 0.05
    longer = settings.changed(steps=41)
    with pytest.raises(CheckpointError, match="the run has a teacher"):
        train(config, data, out, settings=longer, resume=True, device="cpu")
    again = train(config, data, out, settings=longer, teacher=teacher_file, resume=True, device="cpu")
    assert again.finished
