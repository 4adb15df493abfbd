"""Means of networks: torch's own arithmetic, equal parents, any order, BatchNorm of the mean, and what is refused."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import sparse_files
import torch
from command_runs import run, run_json
from safetensors.torch import load_file
from torch import Tensor, nn

from fukayomi.errors import InvalidValueError
from fukayomi.learning import (
    Dataset,
    ModelFileError,
    TrainingSettings,
    average_networks,
    evaluate,
    export_network,
    load_model,
    load_network,
    train,
)
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, load_parameters, save_parameters
from fukayomi.nn.parameters import AnyNetwork
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.nn.sparse_config import SparseConfig

SHAPES: dict[str, NetworkConfig | SparseConfig] = {
    "residual": NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8),
    "wide": NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8, pre_activation=True),
    "transformer": NetworkConfig(
        blocks=3, channels=16, value_hidden=8, transformer_blocks=1, head_width=8, large_kernel_interval=2,
        stem="branches", squeeze=4, heads=("soft-policy", "wdl"),
    ),
    "sparse": SparseConfig(policy=64, value=64, shared=32, hidden=8),
}  # fmt: skip
TINY = SHAPES["residual"]
OTHER = NetworkConfig(blocks=1, channels=16, activation="relu", value_hidden=8)


def make_network(shape: str | NetworkConfig | SparseConfig, seed: int) -> AnyNetwork:
    """A network with random parameters, the statistics of BatchNorm too."""
    torch.manual_seed(seed)
    config = SHAPES[shape] if isinstance(shape, str) else shape
    network = SparseNetwork(config) if isinstance(config, SparseConfig) else PolicyValueNetwork(config)
    with torch.no_grad():
        for tensor in network.state_dict().values():
            if tensor.is_floating_point():
                tensor.add_(torch.randn(tensor.shape).abs() * 0.1)
    return network.eval()


def write(path: Path, shape: str | NetworkConfig | SparseConfig, seed: int) -> Path:
    save_parameters(make_network(shape, seed), path)
    return path


def parameters_of(path: Path) -> dict[str, Tensor]:
    """What a .safetensors file has, without BatchNorm's statistics."""
    return {name: tensor for name, tensor in load_file(path).items() if not name.endswith(STATISTICS)}


STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def bits(tensor: Tensor) -> bytes:
    return tensor.contiguous().numpy().tobytes()


def data_for(shape: str, file: Path) -> Path | None:
    return None if shape == "sparse" else file


@pytest.mark.parametrize(
    ("shape", "weights"),
    [*((shape, (0.3, 0.7)) for shape in SHAPES), ("residual", None), ("residual", (3, 1, 2))],
)
def test_the_mean_is_that_of_torch(
    shape: str, weights: tuple[float, ...] | None, train_file: Path, tmp_path: Path
) -> None:
    count = len(weights or (1, 1))
    files = [write(tmp_path / f"{seed}.safetensors", shape, seed) for seed in range(count)]
    out = tmp_path / "mean.safetensors"
    found = average_networks(files, out, weights=weights, data=data_for(shape, train_file))
    given = weights or (1, 1)
    assert found.weights == pytest.approx([weight / sum(given) for weight in given])
    parents, mean = [load_file(file) for file in files], load_file(out)
    assert mean.keys() == parents[0].keys()
    for name in parameters_of(out):
        terms = [parent[name].double() * weight for parent, weight in zip(parents, given, strict=True)]
        torch.testing.assert_close(mean[name].double(), sum(terms) / sum(given), rtol=1e-7, atol=1e-12)
    assert load_parameters(out).config == load_parameters(files[0]).config


@pytest.mark.parametrize("shape", list(SHAPES))
def test_the_mean_of_a_network_with_itself_has_its_very_parameters(
    shape: str, train_file: Path, tmp_path: Path
) -> None:
    parent = write(tmp_path / "parent.safetensors", shape, 1)
    for weights in ((0.3, 0.7), (0.1, 0.7, 12.0)):
        files = [parent] * len(weights)
        average_networks(files, tmp_path / "mean.safetensors", weights=weights, data=data_for(shape, train_file))
        mean = parameters_of(tmp_path / "mean.safetensors")
        assert {name: bits(tensor) for name, tensor in parameters_of(parent).items()} == {
            name: bits(tensor) for name, tensor in mean.items()
        }


def any_numbers(random: np.random.Generator, shape: torch.Size) -> Tensor:
    """Finite float32 of every size and sign, zeros and subnormal ones too."""
    found = random.integers(0, 1 << 32, shape, np.uint32).view(np.float32)
    found[~np.isfinite(found)] = -0.0
    return torch.from_numpy(found)


def test_neither_the_order_nor_equal_parents_change_a_bit(tmp_path: Path) -> None:
    count = 3  # of two numbers the order is no matter
    random = np.random.default_rng(count)
    networks = [make_network("sparse", 0) for _ in range(count)]
    for network in networks:
        tensors = network.state_dict()
        others = tensors["value_accumulators.others"]
        others.copy_(any_numbers(random, others.shape))
        tensors["group_table"].copy_(networks[0].state_dict()["group_table"])
    weights = random.uniform(1e-3, 1e3, count).tolist()
    average_networks(networks, tmp_path / "a.safetensors", weights=weights)
    order = random.permutation(count).tolist()
    while order == sorted(order):
        order = random.permutation(count).tolist()
    average_networks([networks[n] for n in order], tmp_path / "b.safetensors", weights=[weights[n] for n in order])
    mean, other = (load_file(tmp_path / name) for name in ("a.safetensors", "b.safetensors"))
    assert bits(mean["value_accumulators.others"]) == bits(other["value_accumulators.others"])
    assert bits(mean["group_table"]) == bits(networks[0].state_dict()["group_table"])
    average_networks([networks[0]] * count, tmp_path / "same.safetensors", weights=weights)
    same = load_file(tmp_path / "same.safetensors")
    assert bits(same["value_accumulators.others"]) == bits(networks[0].state_dict()["value_accumulators.others"])


@pytest.mark.parametrize("shape", ["residual", "wide", "transformer"])
def test_batchnorm_has_the_statistics_of_the_mean(shape: str, train_file: Path, tmp_path: Path) -> None:
    networks = [make_network(shape, seed) for seed in (1, 2)]
    found = average_networks(networks, tmp_path / "mean.safetensors", data=Dataset(train_file), device="cpu")
    assert found.estimation_positions == 96
    network = load_parameters(tmp_path / "mean.safetensors")
    norms = {name: module for name, module in network.named_modules() if isinstance(module, nn.BatchNorm2d)}
    seen: dict[nn.Module, Tensor] = {}
    for module in norms.values():
        module.register_forward_pre_hook(lambda module, given: seen.update({module: given[0].detach()}))
        module.train()  # normalises with the batch: later layers do not see the statistics
        module.momentum = 0.0
    batch = Dataset(train_file).arrays(np.arange(96))  # all positions in one batch, in any order
    with torch.no_grad():
        network(*(torch.from_numpy(planes) for planes in batch.features()))
    assert len(norms) >= 4
    saved = load_file(tmp_path / "mean.safetensors")
    for name, module in norms.items():
        channels = seen[module].transpose(0, 1).flatten(1)
        torch.testing.assert_close(saved[f"{name}.running_mean"], channels.mean(1), rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(saved[f"{name}.running_var"], channels.var(1), rtol=1e-3, atol=1e-5)
        assert saved[f"{name}.num_batches_tracked"] == 1
    for network in networks:
        assert not network.training


def test_networks_in_torch_stay_as_they_are(tmp_path: Path, train_file: Path) -> None:
    network = make_network("residual", 1).train()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    average_networks([network, make_network("residual", 2)], tmp_path / "mean.safetensors", data=train_file)
    assert network.training
    assert all(parameter.requires_grad for parameter in network.parameters())
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_checkpoints_of_a_run_and_files_of_other_kinds(train_file: Path, test_file: Path, tmp_path: Path) -> None:
    data, out = Dataset(train_file), tmp_path / "mean.onnx"
    schedule = TrainingSettings(
        steps=4, batch=16, lr=0.1, warmup=0, schedule="constant", amp="off", ema_interval=1, ema_averages=3
    )
    folder = tmp_path / "run"
    train(TINY, data, folder, settings=schedule, device="cpu", threads=1, checkpoint_interval=2)
    first, last = folder / "checkpoint-before.pt", folder / "checkpoint.pt"
    averaged = [load_checkpoint(path).averaged["policy.bias"] for path in (first, last)]
    found = average_networks([first, last], tmp_path / "mean.safetensors", data=data)
    assert torch.equal(load_file(tmp_path / "mean.safetensors")["policy.bias"], (averaged[0] + averaged[1]) / 2)
    assert found.agreement is None
    export_network(load_network(last), tmp_path / "last.safetensors")
    found = average_networks([first, tmp_path / "last.safetensors"], out, data=data)
    assert found.agreement is not None
    onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    one, other = (evaluate(path, Dataset(test_file)).as_dict() for path in (out, tmp_path / "mean.safetensors"))
    assert one == pytest.approx(other, rel=1e-4)
    dropped = TINY.changed(dropout=0.5)  # of training alone
    average_networks([write(tmp_path / "d.safetensors", dropped, 3), last], tmp_path / "d.npz", data=data)


def test_files_of_sparse_networks_have_a_mean_in_floats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.learning.models.ROUNDING_POSITIONS", 8)
    files: list[Path] = []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        files.append(sparse_files.write(folder, sparse_files.SMALL, seed).path)
    average_networks(files, tmp_path / "mean.safetensors")
    tables = [network.table().detach() for network in map(load_network, files) if isinstance(network, SparseNetwork)]
    mean = load_network(tmp_path / "mean.safetensors")
    assert isinstance(mean, SparseNetwork)
    torch.testing.assert_close(mean.table(), (tables[0] + tables[1]) / 2)
    average_networks(files, tmp_path / "mean.sparse")
    assert load_model(tmp_path / "mean.sparse")


def not_finite(path: Path) -> Path:
    from safetensors.torch import save_file

    tensors = load_file(write(path, TINY, 5))
    tensors["policy.bias"][3] = float("nan")
    metadata = {"format": "fukayomi-network-1", "config": json.dumps(TINY.as_dict())}
    save_file(tensors, path, metadata)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, train_file: Path) -> Path:
    """A folder with a network, and what has no mean with it."""
    folder = tmp_path_factory.mktemp("files")
    write(folder / "a.safetensors", TINY, 1)
    write(folder / "wider.safetensors", OTHER, 2)
    write(folder / "activation.safetensors", TINY.changed(activation="silu"), 2)
    write(folder / "sparse.safetensors", "sparse", 2)
    export_network(make_network(TINY, 4), folder / "b.onnx")
    (folder / "broken.pt").write_bytes((folder / "a.safetensors").read_bytes()[:5000])
    (folder / "empty.safetensors").touch()
    (folder / "folder").mkdir()
    (folder / "train.hcpe").write_bytes(train_file.read_bytes())
    not_finite(folder / "nan.safetensors")
    (folder / "out.safetensors").write_bytes(b"as before")
    return folder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wider.safetensors", "wider.safetensors has channels 16, and a.safetensors channels 8: only networks of the"),
        ("activation.safetensors", "has activation silu, and a.safetensors activation relu: only"),
        ("sparse.safetensors", "sparse.safetensors has family sparse, policy 64, value 64, shared 32, hidden 8, and"),
        ("b.onnx", "b.onnx: an ONNX file has its BatchNorm folded into other weights, which have no mean with those"),
        ("embedded", "embedded: an ONNX file has its BatchNorm folded"),
        ("<5x64>", "<5x64>: an ONNX file has its BatchNorm folded"),
        ("<6x6>", "no embedded network <6x6>; there are"),
        ("broken.pt", "broken.pt: not a checkpoint, or damaged"),
        ("empty.safetensors", "empty.safetensors: not a safetensors file, or damaged"),
        ("none.pt", "none.pt: no such file"),
        ("folder", "folder: "),
        ("nan.safetensors", "nan.safetensors: the parameter policy.bias has values that are not finite"),
        ("train.hcpe", "train.hcpe: not a checkpoint, or damaged"),
    ],
)
def test_what_has_no_mean_is_refused_in_one_line(
    name: str, message: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    code, printed, said = run(
        "average-networks", "a.safetensors", name, "-o", "out.safetensors", "--data", "train.hcpe"
    )
    assert (code, printed) == (1, "")
    (line,) = said.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert Path("out.safetensors").read_bytes() == b"as before"
    assert not [path.name for path in Path().iterdir() if ".tmp" in path.name]


def test_arguments_that_make_no_mean_are_refused(train_file: Path, broken_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "mean.safetensors"
    a, b, c = make_network(TINY, 1), make_network(TINY, 2), make_network("sparse", 3)
    with pytest.raises(InvalidValueError, match="a mean is of two networks or more, not of 1"):
        average_networks([a], out, data=train_file)
    with pytest.raises(InvalidValueError, match="there are 3 weights for 2 networks"):
        average_networks([a, b], out, weights=[1, 2, 3], data=train_file)
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidValueError, match="weights must be positive numbers, not 1, "):
            average_networks([a, b], out, weights=[1, weight], data=train_file)
    with pytest.raises(InvalidValueError, match=r"the networks have BatchNorm, whose statistics .* \(--data FILE\)"):
        average_networks([a, b], out)
    with pytest.raises(InvalidValueError, match="networks without BatchNorm have nothing to estimate"):
        average_networks([c, c], out, data=train_file)
    with pytest.raises(ModelFileError, match="network 2 has family sparse"):
        average_networks([a, c], out, data=train_file)
    with pytest.raises(InvalidValueError, match="a Linear is no network of the package"):
        average_networks([a, nn.Linear(3, 3)], out, data=train_file)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValueError, match=r"mean.sparse: the name must end in \.onnx"):
        average_networks([a, b], tmp_path / "mean.sparse", data=train_file)
    with pytest.raises(InvalidValueError, match="record 6"):
        average_networks([a, b], out, data=broken_file)
    assert not list(tmp_path.glob("mean*"))


def test_the_command_prints_the_losses_beside_those_of_the_parents(
    train_file: Path, test_file: Path, tmp_path: Path
) -> None:
    a, b = (write(tmp_path / name, TINY, seed) for seed, name in enumerate(("a.safetensors", "b.safetensors")))
    out = tmp_path / "mean.safetensors"
    command = ("average-networks", f"{a}*0.3", f"{b}*0.7", "-o", out, "--data", train_file)
    found = run_json(*command, "--test", test_file)
    assert [(part["network"], part["weight"]) for part in found["networks"]] == [(str(a), 0.3), (str(b), 0.7)]
    assert (found["file"], found["bytes"]) == (str(out), out.stat().st_size)
    assert found["estimation_positions"] == 96
    rows = {row["network"]: row for row in found["evaluation"]["results"]}
    assert list(rows) == ["a.safetensors", "b.safetensors", "mean.safetensors"]
    for path in (a, b, out):
        expected = evaluate(path, Dataset(test_file))
        assert rows[path.name]["policy_loss"] == pytest.approx(expected.policy_loss)
        assert rows[path.name]["result_loss"] == pytest.approx(expected.result_loss)
    judged = run_json("eval-model", a, b, out, "--test", test_file)
    assert found["evaluation"] == judged
    code, printed, _ = run(*command, "--test", test_file)
    assert code == 0
    first, second, *table = printed.splitlines()
    assert first == f"{out}: {out.stat().st_size:,} bytes"
    assert second == "BatchNorm estimated on 96 positions"
    assert any(line.startswith("mean ") for line in table)
    assert sum("− a" in line for line in table) == 2
    again = run_json("average-networks", a, a, "-o", tmp_path / "same.onnx", "--data", train_file, "--test", test_file)
    assert len(again["evaluation"]["results"]) == 2, "the parent is evaluated once"
    assert again["top1"] > 0.9


def test_the_command_refuses_weights_and_outputs_before_it_begins(train_file: Path, tmp_path: Path) -> None:
    a = write(tmp_path / "a.safetensors", TINY, 1)
    data = ("--data", train_file)
    for arguments, message in (
        ((f"{a}*0", a, "-o", tmp_path / "m.npz"), "'0' is not a weight from 1e-06 to 1,000,000; write FILE*3 for"),
        ((f"{a}*x", a, "-o", tmp_path / "m.npz"), "'x' is not a weight"),
        ((a, a, "-o", tmp_path / "m.pt"), "the name must end in .onnx, .safetensors, .npz, .pth or .sparse"),
        ((a, a, "-o", a), "is also an input"),
        ((a, "-o", tmp_path / "m.npz"), "a mean is of two networks or more, not of 1"),
        ((a, a, "-o", tmp_path / "none" / "m.npz"), "cannot be written"),
        ((a, a, "-o", tmp_path / "m.npz", "--test", tmp_path / "none.hcpe"), "none.hcpe: no such file"),
    ):
        code, _, said = run("average-networks", *arguments, *data)
        assert code in (1, 2)
        assert "".join(message.split()) in "".join(said.replace("│", "").split())
        assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]
