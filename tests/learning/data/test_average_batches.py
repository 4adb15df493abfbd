"""Training from avg: the targets are the means of what was averaged, and damage has a name."""

import random
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch
from learning_samples import random_records, tensors
from test_game_batches import dense, random_game, weights_after, write

from fukayomi._native import EVAL_SCALE
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, header_bytes, read_averages
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.hcpe3 import join_games, read_hcpe3
from fukayomi.learning import Dataset


def average(folder: Path, *inputs: Path) -> Path:
    run_dedup(DedupSettings(mode=Mode.SHARES, inputs=inputs, out=folder / "averages.avg"))
    return folder / "averages.avg"


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """About 300 positions with up to six candidates; nearly all different."""
    rng = random.Random(2)
    return write(tmp_path / "games.hcpe3", join_games([random_game(rng, most_candidates=6) for _ in range(12)]))


def keys(path: Path) -> list[bytes]:
    return [position["hcp"].tobytes() for position in read_averages(path).positions]


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 2.0])
def test_positions_seen_once_are_those_of_the_games(tmp_path: Path, games: Path, temperature: float) -> None:
    averaged = average(tmp_path, games)
    source = Dataset(games, temperature=temperature)
    expected = tensors(source, np.arange(len(source)))
    number_of: dict[bytes, list[int]] = defaultdict(list)
    hcps = [hcp.tobytes() for part in read_hcpe3(games) for hcp in part.hcps]
    for number, hcp in enumerate(hcps):
        number_of[hcp].append(number)
    files = Dataset(averaged, temperature=temperature)
    once = [index for index, key in enumerate(keys(averaged)) if len(number_of[key]) == 1]
    assert len(once) > 200
    found = tensors(files, np.array(once))
    rows = torch.tensor([number_of[keys(averaged)[index]][0] for index in once])
    assert torch.equal(found.planes1, expected.planes1[rows])
    assert torch.equal(found.planes2, expected.planes2[rows])
    assert torch.equal(found.targets.results, expected.targets.results[rows])
    assert torch.allclose(found.targets.values, expected.targets.values[rows], atol=1e-7)
    if temperature > 0:
        assert torch.allclose(dense(found), dense(expected)[rows], atol=1e-6)
        best = dense(found).amax(dim=1)
        assert torch.equal(dense(found)[torch.arange(len(once)), found.targets.labels], best)


def test_what_was_seen_often_has_the_means(tmp_path: Path) -> None:
    rows = np.repeat(random_records(1, seed=3).view(HCPE), 4)
    rows["eval"] = [0, 32_000, -300, 400]
    rows["gameResult"] = [0, 1, 1, 2]  # Black moves: 0.5, 1, 1, 0
    rows.tofile(tmp_path / "rows.hcpe")
    batch = tensors(Dataset(average(tmp_path, tmp_path / "rows.hcpe")), np.array([0]))
    assert batch.targets.results.tolist() == [0.625]
    chances = 1 / (1 + np.exp(-rows["eval"].astype(float) / EVAL_SCALE))
    assert batch.targets.values.tolist() == pytest.approx([chances.mean()], abs=1e-7)
    assert batch.targets.soft is None
    assert (
        batch.targets.labels.tolist() == tensors(Dataset(tmp_path / "rows.hcpe"), np.array([0])).targets.labels.tolist()
    )


def test_all_formats_train_together_and_resume(tmp_path: Path, games: Path) -> None:
    random_records(90, seed=4).tofile(tmp_path / "rows.hcpe")
    random_records(60, seed=5).tofile(tmp_path / "more.hcpe")
    files = [average(tmp_path, tmp_path / "more.hcpe", games), games, tmp_path / "rows.hcpe"]
    positions = Dataset(*files)
    assert sum(len(part) for part in positions.batches(64)) == len(positions)
    assert len(positions) == 90 + len(Dataset(games)) + len(read_averages(files[0]))
    whole = weights_after(tmp_path / "whole", files)
    assert weights_after(tmp_path / "parts", files, interrupt=True) == whole


def rewrite(path: Path, positions: np.ndarray, moves: np.ndarray) -> Path:
    body = positions.tobytes() + moves.tobytes()
    path.write_bytes(header_bytes(len(positions), len(moves), zlib.crc32(body)) + body)
    return path


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("moves", 0, r"position 7 .*: no moves"),
        ("moves", 4_000_000_000, r"position 7 .*: no moves, too many"),
        ("first_move", 1 << 63, r"position 7 .*: no moves, too many, or those of another one"),
        ("first_move", 1_000_000, r"position 7 .*: no moves, too many, or those of another one"),
        ("value", 1 << 60, r"position 7 .*: the sum of its values is more than 1"),
        ("draws", 4_000_000_000, r"position 7 .*: its moves were not played as often"),
        ("hcp", 255, r"position 8 .*: it is not sorted"),
    ],
    ids=["no-moves", "many-moves", "first-negative", "first-beyond", "value", "draws", "position"],
)
def test_damage_behind_a_right_checksum_is_named(
    tmp_path: Path, games: Path, field: str, value: int, reason: str
) -> None:
    whole = read_averages(average(tmp_path, games))
    positions, moves = np.array(whole.positions), np.array(whole.moves)
    positions[field][7] = value
    with pytest.raises(DataFileError, match=rf"bad\.avg, {reason}"):
        Dataset(rewrite(tmp_path / "bad.avg", positions, moves))


def test_impossible_positions_and_moves_are_named(tmp_path: Path, games: Path) -> None:
    whole = read_averages(average(tmp_path, games))
    positions, moves = np.array(whole.positions), np.array(whole.moves)
    moves["move"][positions["first_move"][3]] = 81  # from a square to itself
    with pytest.raises(DataFileError, match=r"bad\.avg, position 3: the move 81 is no move"):
        tensors(Dataset(rewrite(tmp_path / "bad.avg", positions, moves)), np.arange(5))
    one = whole.part(7, 8)
    one.positions["hcp"] = 255
    with pytest.raises(DataFileError, match=r"bad\.avg, position 0"):
        tensors(Dataset(rewrite(tmp_path / "bad.avg", one.positions, np.array(one.moves))), np.arange(1))


def test_files_that_are_damaged_or_empty_are_refused(tmp_path: Path, games: Path) -> None:
    path = average(tmp_path, games)
    data = bytearray(path.read_bytes())
    data[HEADER.itemsize + 40] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataFileError, match="its checksum is"):
        Dataset(path)
    with pytest.raises(DataFileError, match="no positions"):
        Dataset(rewrite(path, np.empty(0, POSITION), np.empty(0, MOVE)))
