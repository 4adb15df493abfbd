"""Training from hcpe3: the weights are those of hcpe where both say the same; soft policies; damage is known first."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from learning_samples import InterruptingConsole, random_records
from rich.console import Console

from fukayomi import _native
from fukayomi.data.convert.streams import Rows, as_games, as_rows
from fukayomi.data.formats.evalfix import EVAL_SCALE
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.hcpe3 import Game, Games, Hcpe3Writer, join_games
from fukayomi.learning.batches import Batch, decode_batch, evaluation_batches, training_batches
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.evaluation import evaluate_network
from fukayomi.learning.loss import compute_losses
from fukayomi.learning.positions import PositionFiles, TargetSettings, TrainingDataError
from fukayomi.learning.training import TrainingRun, TrainingSettings, train
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.shogi import Position

CPU = torch.device("cpu")
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
    with Hcpe3Writer(path) as writer:
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
    positions = PositionFiles(files)
    settings = TrainingSettings(9, batch=32, warmup=2)
    if interrupt:
        run = TrainingRun(positions, positions, out, CPU, eval_interval=4)
        assert train(TINY, settings, run, False, InterruptingConsole()).step == 4
    run = TrainingRun(PositionFiles(files), None, out, CPU)
    model = load_checkpoint(train(TINY, settings, run, interrupt, Console(quiet=True)).checkpoint).model
    return b"".join(tensor.numpy().tobytes() for tensor in model.values())


def test_hcpe3_and_hcpe_of_the_same_games_give_the_same_weights(tmp_path: Path) -> None:
    games = one_candidate_games(8, seed=1)
    rows = as_rows(games).records
    rows.tofile(tmp_path / "a.hcpe")
    write(tmp_path / "a.hcpe3", games)
    assert len(PositionFiles([tmp_path / "a.hcpe3"])) == len(rows)
    from_rows = weights_after(tmp_path / "rows", [tmp_path / "a.hcpe"])
    assert weights_after(tmp_path / "games", [tmp_path / "a.hcpe3"]) == from_rows


def assert_same(found: Batch, expected: Batch) -> None:
    assert torch.equal(found.planes1, expected.planes1)
    assert torch.equal(found.planes2, expected.planes2)
    assert torch.equal(found.labels, expected.labels)
    assert torch.equal(found.values, expected.values)
    assert torch.equal(found.results, expected.results)
    assert (found.soft is None) == (expected.soft is None)
    if found.soft is not None and expected.soft is not None:
        assert torch.equal(found.soft.places, expected.soft.places)
        assert torch.equal(found.soft.weights, expected.soft.weights)


def test_soft_batches_can_start_at_any_step(soft_file: Path) -> None:
    files = PositionFiles([soft_file])
    per_epoch = len(files) // 40
    steps = 2 * per_epoch + 1
    whole = list(training_batches(files, 40, seed=3, start_step=0, steps=steps))
    assert all(batch.soft is not None for batch in whole)
    again = PositionFiles([soft_file])
    for start in (1, per_epoch, steps - 1):
        late = list(training_batches(again, 40, seed=3, start_step=start, steps=steps))
        for found, expected in zip(late, whole[start:], strict=True):
            assert_same(found, expected)


def test_a_resumed_run_on_both_formats_ends_with_its_own_weights(tmp_path: Path, soft_file: Path) -> None:
    rows = tmp_path / "rows.hcpe"
    random_records(90, seed=4).tofile(rows)
    whole = weights_after(tmp_path / "whole", [soft_file, rows])
    assert weights_after(tmp_path / "parts", [rows, soft_file], interrupt=True) == whole


def test_both_formats_in_one_batch(tmp_path: Path, soft_file: Path) -> None:
    random_records(50, seed=6).tofile(tmp_path / "rows.hcpe")
    rows, games = PositionFiles([tmp_path / "rows.hcpe"]), PositionFiles([soft_file])
    both = PositionFiles([soft_file, tmp_path / "rows.hcpe"])
    assert len(both) == len(rows) + len(games)
    batch = decode_batch(both, np.array([60, 3, 55, 7]))  # hcpe first, in a batch too
    first, second = decode_batch(rows, np.array([3, 7])), decode_batch(games, np.array([10, 5]))
    assert batch.soft is not None
    assert second.soft is not None
    assert torch.equal(batch.planes1, torch.cat([first.planes1, second.planes1]))
    assert torch.equal(batch.labels, torch.cat([first.labels, second.labels]))
    assert batch.soft.places.tolist()[:2] == [int(first.labels[0]), 2187 + int(first.labels[1])]
    assert batch.soft.weights.tolist()[:2] == [1, 1]
    assert torch.equal(batch.soft.places[2:], second.soft.places + 2 * 2187)
    assert sum(len(part) for part in evaluation_batches(both, 64)) == len(both)


def dense(batch: Batch) -> torch.Tensor:
    assert batch.soft is not None
    target = torch.zeros(len(batch) * 2187)
    target[batch.soft.places.long()] = batch.soft.weights
    return target.view(-1, 2187)


def test_the_soft_loss_is_that_of_dense_targets(soft_file: Path) -> None:
    batch = decode_batch(PositionFiles([soft_file]), np.arange(64))
    policy = torch.randn(64, 2187, requires_grad=True)
    losses = compute_losses(policy, torch.zeros(64, 1), batch.labels, batch.results, batch.values, 0.3, batch.soft)
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
    files = PositionFiles([soft_file])
    greedy = decode_batch(files, np.arange(50), TargetSettings(temperature=0))
    proportional = decode_batch(files, np.arange(50))
    assert greedy.soft is None
    assert torch.equal(greedy.labels, proportional.labels)
    assert torch.equal(dense(proportional).argmax(dim=1), greedy.labels)
    flat = decode_batch(files, np.arange(50), TargetSettings(temperature=1e9))
    assert (dense(flat).amax(dim=1) <= dense(proportional).amax(dim=1) + 1e-6).all()


def test_evaluation_knows_soft_targets(soft_file: Path) -> None:
    torch.manual_seed(0)
    network = PolicyValueNetwork(TINY)
    files = PositionFiles([soft_file])
    soft = evaluate_network(network, files, CPU, 0.3, batch_size=100)
    greedy = evaluate_network(network, files, CPU, 0.3, batch_size=100, targets=TargetSettings(temperature=0))
    assert soft.policy_accuracy == greedy.policy_accuracy
    assert soft.policy_loss != greedy.policy_loss
    assert soft.positions == len(files)


def test_scales_of_evaluations(tmp_path: Path, soft_file: Path) -> None:
    random_records(50, seed=6).tofile(tmp_path / "rows.hcpe")
    files = PositionFiles([tmp_path / "rows.hcpe", soft_file])
    indices = np.arange(len(files))
    usual, steep = decode_batch(files, indices), decode_batch(files, indices, TargetSettings(eval_scale=EVAL_SCALE / 2))
    logit = torch.logit(usual.values.double())
    assert torch.allclose(torch.logit(steep.values.double()), 2 * logit, atol=1e-3)
    with pytest.raises(TrainingDataError, match="scale must be positive"):
        TargetSettings(eval_scale=0.0)
    with pytest.raises(TrainingDataError, match="temperature must be 0 or more"):
        TargetSettings(temperature=float("nan"))


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
    games = PositionFiles([tmp_path / "a.hcpe"])
    fitted = decode_batch(games, np.arange(200, 300), TargetSettings(eval_scale=None))
    slope = torch.logit(fitted.values.double()) / torch.from_numpy(rows["eval"][200:300].astype(float))
    assert 1 / slope[rows["eval"][200:300] != 0].mean().item() == pytest.approx(300, rel=0.04)
    write(tmp_path / "a.hcpe3", as_games(Rows(rows, np.zeros(len(rows), np.uint16))))
    same = decode_batch(PositionFiles([tmp_path / "a.hcpe3"]), np.arange(200, 300), TargetSettings(eval_scale=None))
    assert torch.equal(same.values, fitted.values)


def test_damaged_files_are_named_before_training_starts(tmp_path: Path, soft_file: Path) -> None:
    data = soft_file.read_bytes()
    path = tmp_path / "cut.hcpe3"
    path.write_bytes(data[:-3])
    with pytest.raises(TrainingDataError, match=r"cut\.hcpe3, game 11, move 24 \(offset \d+\): the data end"):
        PositionFiles([path])
    empty = tmp_path / "idle.hcpe3"
    game = one_candidate_games(1, seed=3)[0]
    none = np.zeros(len(game) + 1, np.uint64)
    idle = Game(game.start, 0, 0, game.hcps, game.moves, game.evals, none, game.moves[:0], game.moves[:0])
    write(empty, join_games([idle]))
    with pytest.raises(TrainingDataError, match=r"idle\.hcpe3: no move has candidates"):
        PositionFiles([empty])
    (tmp_path / "some.bin").write_bytes(b"neither this nor that")
    with pytest.raises(TrainingDataError, match=r"some\.bin: neither positions or games"):
        PositionFiles([tmp_path / "some.bin"])
    game.hcps.tofile(tmp_path / "positions.hcp")
    with pytest.raises(TrainingDataError, match=r"positions alone \(hcp\), and this takes hcpe, hcpe2, hcpe3 and avg"):
        PositionFiles([tmp_path / "positions.hcp"])
