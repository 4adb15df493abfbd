"""Averages that are damaged: refused with the name of the file before anything is written, whatever reads them."""

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_runs import run
from test_dedup_games import random_game, write_games

from fukayomi.data.dedup import average
from fukayomi.data.formats.averages import (
    MOVE,
    POSITION,
    AveragesError,
    Weighing,
    check_averages,
    header_bytes,
    read_averages,
)

Damage = Callable[[np.ndarray, np.ndarray], None]


@pytest.fixture(scope="module")
def averages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 300 positions; some have several moves."""
    folder = tmp_path_factory.mktemp("averages")
    rng = np.random.default_rng(7)
    average(write_games(folder / "games.hcpe3", [random_game(rng, 12) for _ in range(60)]), folder / "in.avg")
    return folder / "in.avg"


def write_damaged(path: Path, source: Path, damage: Damage, *, right_checksum: bool) -> Path:
    """Write the averages of `source` with some fields changed."""
    found = read_averages(source)
    positions, moves = np.array(found.positions), np.array(found.moves)
    crc32 = zlib.crc32(positions.tobytes() + moves.tobytes())
    damage(positions, moves)
    body = positions.tobytes() + moves.tobytes()
    crc32 = zlib.crc32(body) if right_checksum else crc32
    path.write_bytes(header_bytes(len(positions), len(moves), crc32) + body)
    return path


def assert_all_refuse(path: Path, reason: str) -> None:
    """`check` and the verbs name the file and the reason, and nothing else is left."""
    for command in (("check",), ("average", "-o", "out.avg"), ("uniq", "--mode", "shares", "-o", "out.avg")):
        options = [path.with_name(option) if option == "out.avg" else option for option in command[1:]]
        code, printed, said = run("data", command[0], path, *options)
        assert code == 1, command
        text = "".join((printed + said).split())
        assert path.name in text, command
        assert reason.replace(" ", "") in text, (command, printed + said)
        assert [each.name for each in path.parent.iterdir()] == [path.name], command


def flip_two_bits(positions: np.ndarray, _: np.ndarray) -> None:
    positions["hcp"][3, 5] ^= 0b11


def zero(positions: np.ndarray, _: np.ndarray) -> None:
    positions["hcp"][3] = 0


@pytest.mark.parametrize("damage", [flip_two_bits, zero], ids=["two-bits", "zero"])
def test_a_changed_position_is_noticed(tmp_path: Path, averages: Path, damage: Damage) -> None:
    path = write_damaged(tmp_path / "in.avg", averages, damage, right_checksum=False)
    assert_all_refuse(path, "is damaged: its checksum is")


def set_to(field: str, value: int, array: int = 0) -> Damage:
    def damage(*arrays: np.ndarray) -> None:
        arrays[array][field][3] = value

    return damage


def swap(positions: np.ndarray, _: np.ndarray) -> None:
    positions["hcp"][[0, 1]] = positions["hcp"][[1, 0]]


def never_seen(positions: np.ndarray, _: np.ndarray) -> None:
    for field in ("draws", "black_wins", "white_wins"):
        positions[field][3] = 0


def move_twice(positions: np.ndarray, moves: np.ndarray) -> None:
    first = positions["first_move"][positions["moves"] > 1][0]
    moves["move"][first] = moves["move"][first + 1]


LINKS = "no moves, too many, or those of another one"
SUMS = {
    "moves-0": (set_to("moves", 0), LINKS),
    "moves-many": (set_to("moves", 2**32 - 1), LINKS),
    "first-move-0": (set_to("first_move", 0), LINKS),
    "first-move-beyond": (set_to("first_move", 1 << 40), LINKS),
    "first-move-negative": (set_to("first_move", 2**64 - 1), LINKS),
    "value": (set_to("value", 1 << 63), "the sum of its values"),
    "draws": (set_to("draws", 2**32 - 5), "its moves were not played as often as it was seen"),
    "never-seen": (never_seen, "never seen"),
    "order": (swap, "not sorted behind the position before it"),
    "move-0": (set_to("move", 0, 1), "its moves are impossible"),
    "move-beyond": (set_to("move", 65_535, 1), "its moves are impossible"),
    "move-twice": (move_twice, "its moves are impossible or not sorted"),
    "played": (set_to("played", 2**32 - 1, 1), "its moves were not played as often"),
    "visits": (set_to("visits", 2**64 - 1, 1), "the visits of its moves"),
}


@pytest.mark.parametrize(("damage", "reason"), SUMS.values(), ids=SUMS)
def test_fields_that_cannot_be_are_named_though_the_checksum_is_right(
    tmp_path: Path, averages: Path, damage: Damage, reason: str
) -> None:
    assert_all_refuse(write_damaged(tmp_path / "in.avg", averages, damage, right_checksum=True), reason)


def test_what_is_written_passes_the_check(tmp_path: Path, averages: Path) -> None:
    for weighing in Weighing:
        out = tmp_path / f"{weighing}.avg"
        average([averages.with_name("games.hcpe3")], out, weighing=weighing)
        check_averages(out)
        assert run("data", "check", out)[0] == 0


def test_sums_that_outgrow_their_fields_are_refused(tmp_path: Path) -> None:
    positions, moves = np.zeros(1, POSITION), np.zeros(1, MOVE)
    positions["draws"], positions["moves"], moves["move"], moves["played"] = 2**32 - 1, 1, 1, 2**32 - 1
    body = positions.tobytes() + moves.tobytes()
    files = [tmp_path / "a.avg", tmp_path / "b.avg"]
    for path in files:
        path.write_bytes(header_bytes(1, 1, zlib.crc32(body)) + body)
        check_averages(path)
    with pytest.raises(AveragesError, match=r"a\.avg.*cannot be averaged together.*more often than 32 bits can count"):
        average(files, tmp_path / "out.avg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.avg", "b.avg"]
