"""Training from hcpe3: the weights are those of hcpe where both say the same; soft policies; damage is known first."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from learning_samples import Interrupter, random_records, tensors

from fukayomi import _native
from fukayomi._native import EVAL_SCALE
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.data.formats.table import Rows, as_games, as_rows
from fukayomi.learning import Batch, Dataset, TrainingSettings, evaluate, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.data.batch import training_batches
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.loss import LossWeights, compute_losses
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.shogi import Position

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


def one_candidate_games(count: int, seed: int) -> Games:
    """Random games whose moves are their own only candidates; none repeats a position."""
    rng = random.Random(seed)
    return join_games([random_game(rng, most_candidates=1) for _ in range(count)])


def random_game(rng: random.Random, most_candidates: int) -> Game:
    position = Position()
    start = _native.encode_hcp(position)
    hcps, moves, counts, candidates = [], [], [0], []
    while len(moves) < 25:
        legal = position.legal_moves
        move = rng.choice(legal)
        position.push(move)
        if position.occurrences() > 1:
            position.pop()
            continue
        position.pop()
        hcps.append(_native.encode_hcp(position))
        others = rng.sample([other for other in legal if other != move], rng.randrange(most_candidates))
        candidates += [move.raw, *(other.raw for other in others)]
        counts.append(len(candidates))
        moves.append(move.raw)
        position.push(move)
    visits = [rng.randrange(1, 1000) for _ in candidates]
    return Game(
        start, rng.choice([0, 1, 2]), 0, np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32),
        np.array(moves, np.uint16), np.array([rng.randrange(-2000, 2001) for _ in moves], np.int16),
        np.array(counts, np.uint64), np.array(candidates, np.uint16), np.array(visits, np.uint16),
    )  # fmt: skip


def write(path: Path, games: Games) -> Path:
    with DataWriter(path) as writer:
        writer.append(games)
    return path


@pytest.fixture(scope="module")
def soft_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 300 positions with up to six candidates."""
    rng = random.Random(2)
    games = join_games([random_game(rng, most_candidates=6) for _ in range(12)])
    return write(tmp_path_factory.mktemp("data") / "soft.hcpe3", games)


def weights_after(out: Path, files: list[Path], interrupt: bool = False) -> bytes:
    """The weights after nine steps; with an interruption after the fourth."""
    settings = TrainingSettings(steps=9, batch=32, warmup=2, amp="off")
    if interrupt:
        data = Dataset(*files)
        result = train(TINY, data, out, test=data, settings=settings, eval_interval=4, listener=Interrupter())
        assert result.step == 4
    result = train(TINY, Dataset(*files), out, settings=settings, resume=interrupt)
    model = load_checkpoint(result.checkpoint).model
    return b"".join(tensor.numpy().tobytes() for tensor in model.values())


def test_hcpe3_and_hcpe_of_the_same_games_give_the_same_weights(tmp_path: Path) -> None:
    games = one_candidate_games(8, seed=1)
    rows = as_rows(games).records
    rows.tofile(tmp_path / "a.hcpe")
    write(tmp_path / "a.hcpe3", games)
    assert len(Dataset(tmp_path / "a.hcpe3")) == len(rows)
    from_rows = weights_after(tmp_path / "rows", [tmp_path / "a.hcpe"])
    assert weights_after(tmp_path / "games", [tmp_path / "a.hcpe3"]) == from_rows


def assert_same(found: Batch, expected: Batch) -> None:
    for name, array in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), array, err_msg=name)


def test_soft_batches_can_start_at_any_step(soft_file: Path) -> None:
    files = Dataset(soft_file)
    per_epoch = len(files) // 40
    steps = 2 * per_epoch + 1
    whole = list(training_batches(files, 40, seed=3, start=0, stop=steps))
    assert not any(batch.is_one_hot for batch in whole)
    again = Dataset(soft_file)
    for start in (1, per_epoch, steps - 1):
        late = list(training_batches(again, 40, seed=3, start=start, stop=steps))
        for found, expected in zip(late, whole[start:], strict=True):
            assert_same(found, expected)


def test_a_resumed_run_on_both_formats_ends_with_its_own_weights(tmp_path: Path, soft_file: Path) -> None:
    rows = tmp_path / "rows.hcpe"
    random_records(90, seed=4).tofile(rows)
    whole = weights_after(tmp_path / "whole", [soft_file, rows])
    assert weights_after(tmp_path / "parts", [rows, soft_file], interrupt=True) == whole


def test_both_formats_in_one_batch(tmp_path: Path, soft_file: Path) -> None:
    random_records(50, seed=6).tofile(tmp_path / "rows.hcpe")
    rows, games = Dataset(tmp_path / "rows.hcpe"), Dataset(soft_file)
    both = Dataset(soft_file, tmp_path / "rows.hcpe")
    assert len(both) == len(rows) + len(games)
    batch = both.arrays([60, 3, 55, 7])  # hcpe is numbered first
    first, second = rows.arrays([3, 7]), games.arrays([10, 5])
    order = [2, 0, 3, 1]  # their rows in the batch
    assert not batch.is_one_hot
    for name in ("planes1", "planes2", "labels", "results", "values"):
        separate = np.concatenate([getattr(first, name), getattr(second, name)])
        np.testing.assert_array_equal(getattr(batch, name), separate[order])
    np.testing.assert_array_equal(batch.policy(), np.concatenate([first.policy(), second.policy()])[order])
    assert (np.diff(batch.places // 2187) >= 0).all()
    assert sum(len(part) for part in both.batches(64)) == len(both)


def dense(batch: TensorBatch) -> torch.Tensor:
    assert batch.targets.soft is not None
    target = torch.zeros(len(batch) * 2187)
    target[batch.targets.soft.places.long()] = batch.targets.soft.weights
    return target.view(-1, 2187)


def test_the_soft_loss_is_that_of_dense_targets(soft_file: Path) -> None:
    batch = tensors(Dataset(soft_file), np.arange(64))
    policy = torch.randn(64, 2187, requires_grad=True)
    losses = compute_losses(policy, torch.zeros(64, 1), batch.targets, LossWeights(0.3))
    losses.policy.backward()
    assert policy.grad is not None
    gradient = policy.grad.clone()
    policy.grad = None
    expected = F.cross_entropy(policy, dense(batch))
    expected.backward()
    assert policy.grad is not None
    assert losses.policy.item() == pytest.approx(expected.item(), rel=1e-6)
    assert torch.allclose(gradient, policy.grad, atol=1e-7)


def test_temperature_zero_learns_labels(soft_file: Path) -> None:
    greedy = tensors(Dataset(soft_file, temperature=0), np.arange(50))
    proportional = tensors(Dataset(soft_file), np.arange(50))
    assert greedy.targets.soft is None
    assert torch.equal(greedy.targets.labels, proportional.targets.labels)
    assert torch.equal(dense(proportional).argmax(dim=1), greedy.targets.labels)
    flat = tensors(Dataset(soft_file, temperature=1e9), np.arange(50))
    assert (dense(flat).amax(dim=1) <= dense(proportional).amax(dim=1) + 1e-6).all()


def test_evaluation_knows_soft_targets(soft_file: Path) -> None:
    torch.manual_seed(0)
    network = PolicyValueNetwork(TINY)
    files = Dataset(soft_file)
    soft = evaluate(network, files, batch=100)
    greedy = evaluate(network, Dataset(soft_file, temperature=0), batch=100)
    assert soft.policy_accuracy == greedy.policy_accuracy
    assert soft.policy_loss != greedy.policy_loss
    assert soft.positions == len(files)


def test_scales_of_evaluations(tmp_path: Path, soft_file: Path) -> None:
    random_records(50, seed=6).tofile(tmp_path / "rows.hcpe")
    files = [tmp_path / "rows.hcpe", soft_file]
    indices = np.arange(len(Dataset(*files)))
    usual, steep = tensors(Dataset(*files), indices), tensors(Dataset(*files, eval_scale=EVAL_SCALE / 2), indices)
    logit = torch.logit(usual.targets.values.double())
    assert torch.allclose(torch.logit(steep.targets.values.double()), 2 * logit, atol=1e-3)
    with pytest.raises(ValueError, match="scale must be positive"):
        Dataset(*files, eval_scale=0.0)
    with pytest.raises(ValueError, match="temperature must be 0 or more"):
        Dataset(*files, temperature=float("nan"))


@pytest.mark.parametrize("n_step", [0, 1, 2, 5, 24, 100])
def test_n_step_values_come_from_later_plies_of_the_same_game(tmp_path: Path, n_step: int) -> None:
    rng = random.Random(n_step)
    games = join_games([random_game(rng, most_candidates=3) for _ in range(9)])
    kept = np.array([rng.random() < 0.7 for _ in games.moves])
    games = games.with_candidates(kept)
    single = join_games([random_game(rng, most_candidates=3)])
    rows = as_games(as_rows(single).records)  # games of one move
    data = Dataset(write(tmp_path / "g.hcpe3", games), write(tmp_path / "s.hcpe3", rows), n_step=n_step)
    expected, results = [], []
    for game, first in zip(games, games.plies.tolist(), strict=False):
        for ply in np.flatnonzero(kept[first : first + len(game)]).tolist():
            sign = 1 if (game.hcps[ply][0] & 1) == 0 else -1
            result = 0.5 + 0.5 * sign * {0: 0, 1: 1, 2: -1}[game.result_byte]
            later = max(at for at in range(ply, min(ply + n_step, len(game) - 1) + 1) if kept[first + at])
            eval_cp = int(game.evals[later]) * (-1) ** (later - ply)
            is_over = n_step > 0 and ply + n_step >= len(game)
            expected.append(result if is_over else 1 / (1 + np.exp(-eval_cp / EVAL_SCALE)))
            results.append(result)
    batch = data.arrays(np.arange(len(data)))
    np.testing.assert_allclose(batch.values[: len(expected)], expected, rtol=1e-5)
    np.testing.assert_allclose(batch.results[: len(expected)], results)
    np.testing.assert_allclose(batch.values[len(expected) :], 1 / (1 + np.exp(-rows.evals / EVAL_SCALE)), rtol=1e-5)
    plain = Dataset(*data.paths).arrays(np.arange(len(data)))
    for name in ("planes1", "planes2", "labels", "places", "weights", "results"):
        assert (getattr(batch, name) == getattr(plain, name)).all()
    assert data[3].value == batch.values[3]
    with pytest.raises(ValueError, match="n_step must be 0 to 100"):
        Dataset(*data.paths, n_step=101)


def test_a_scale_is_found_again(tmp_path: Path) -> None:
    """Results drawn with the scale 300, the same rows as hcpe and as games of one move."""
    rng = np.random.default_rng(1)
    base = random_records(1, seed=1)
    rows = np.repeat(base, 20_000).view(HCPE)
    rows["eval"] = rng.integers(-1500, 1500, len(rows))
    rows["gameResult"] = np.where(rng.random(len(rows)) < 1 / (1 + np.exp(-rows["eval"] / 300)), 1, 2)  # Black moves
    rows["eval"][:100] = 32_000  # mates are not looked at
    rows["gameResult"][:100] = 2
    rows.tofile(tmp_path / "a.hcpe")
    fitted = tensors(Dataset(tmp_path / "a.hcpe", eval_scale=None), np.arange(200, 300))
    slope = torch.logit(fitted.targets.values.double()) / torch.from_numpy(rows["eval"][200:300].astype(float))
    assert 1 / slope[rows["eval"][200:300] != 0].mean().item() == pytest.approx(300, rel=0.04)
    write(tmp_path / "a.hcpe3", as_games(Rows(rows, np.zeros(len(rows), np.uint16))))
    same = tensors(Dataset(tmp_path / "a.hcpe3", eval_scale=None), np.arange(200, 300))
    assert torch.equal(same.targets.values, fitted.targets.values)


def test_damaged_files_are_named_before_training_starts(tmp_path: Path, soft_file: Path) -> None:
    data = soft_file.read_bytes()
    path = tmp_path / "cut.hcpe3"
    path.write_bytes(data[:-3])
    with pytest.raises(DataFileError, match=r"cut\.hcpe3, game 11, move 24 \(offset \d+\): the data end"):
        Dataset(path)
    empty = tmp_path / "idle.hcpe3"
    game = one_candidate_games(1, seed=3)[0]
    none = np.zeros(len(game) + 1, np.uint64)
    idle = Game(game.start, 0, 0, game.hcps, game.moves, game.evals, none, game.moves[:0], game.moves[:0])
    write(empty, join_games([idle]))
    with pytest.raises(DataFileError, match=r"idle\.hcpe3: no move has candidates"):
        Dataset(empty)
    (tmp_path / "some.bin").write_bytes(b"neither this nor that")
    with pytest.raises(DataFileError, match=r"some\.bin: not positions or games"):
        Dataset(tmp_path / "some.bin")
    game.hcps.tofile(tmp_path / "positions.hcp")
    with pytest.raises(DataFileError, match=r"positions alone \(hcp\), and this takes hcpe, hcpe2, hcpe3, psv and avg"):
        Dataset(tmp_path / "positions.hcp")
