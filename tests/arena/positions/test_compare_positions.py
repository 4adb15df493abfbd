"""Comparison of two sets of lines: common lines, common positions, and strategies."""

from pathlib import Path

import cshogi
import pytest

from fukayomi.arena.game.openings import read_openings
from fukayomi.arena.positions.balanced_set import PositionSet, compare_positions
from fukayomi.arena.strategy.matcher import Matcher
from fukayomi.arena.strategy.reading import load_definitions

FIRST = "7g7f 3c3d 2g2f 8c8d"
TRANSPOSED = "2g2f 8c8d 7g7f 3c3d"
OTHER = "7g7f 8c8d 7i6h 3c3d"


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(load_definitions())


def compare(folder: Path, a: list[str], b: list[str], ply: int, matcher: Matcher) -> tuple[PositionSet, PositionSet]:
    for name, moves in (("a", a), ("b", b)):
        (folder / name).write_text("".join(f"startpos moves {line}\n" for line in moves))
    return compare_positions(read_openings(folder / "a"), read_openings(folder / "b"), ply, matcher)


def numbers(found: PositionSet) -> tuple[int, ...]:
    return (
        found.lines, found.short, found.distinct_lines, found.distinct_positions,
        found.lines_in_other, found.lines_with_position_in_other, found.positions_in_other,
    )  # fmt: skip


def test_a_line_is_found_move_by_move_or_by_its_position(tmp_path: Path, matcher: Matcher) -> None:
    a = [f"{FIRST} 6i7h", TRANSPOSED, FIRST, OTHER]
    b = [f"{TRANSPOSED} 6i7h 4a3b"]
    one, two = compare(tmp_path, a, b, 4, matcher)
    assert numbers(one) == (4, 0, 3, 2, 1, 3, 1)
    assert numbers(two) == (1, 0, 1, 1, 1, 1, 1)
    one, two = compare(tmp_path, a, b, 5, matcher)
    assert numbers(one) == (4, 3, 4, 3, 0, 1, 1)
    assert numbers(two) == (1, 0, 1, 1, 0, 1, 1)
    one, two = compare(tmp_path, a, b, 100, matcher)
    assert numbers(one) == (4, 4, 4, 3, 0, 0, 0)
    one, two = compare(tmp_path, a, b, 0, matcher)
    assert numbers(one) == (4, 0, 1, 1, 4, 4, 1)


def test_the_same_squares_with_the_other_side_to_move_are_another_position(tmp_path: Path, matcher: Matcher) -> None:
    one, _ = compare(tmp_path, ["2h3h 8b7b 3h2h 7b8b"], ["2h3h 8b7b 3h4h 7b8b 4h2h"], 10, matcher)
    assert numbers(one) == (1, 1, 1, 1, 0, 0, 0)
    one, _ = compare(tmp_path, ["2h3h 8b7b 3h2h 7b8b"], ["2h3h 8b7b 3h4h 7b8b 4h2h 8b7b 2h3h 7b8b 3h2h"], 9, matcher)
    assert one.positions_in_other == 0


def test_strategies_are_those_of_the_lines_up_to_the_ply(tmp_path: Path, matcher: Matcher) -> None:
    fourth = "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b"
    one, two = compare(tmp_path, [fourth, FIRST], [FIRST], 6, matcher)
    assert [(row.name, row.games, row.share) for row in one.strategies] == [
        ("分類なし", 1, 0.5),
        ("後手四間飛車", 1, 0.5),
    ]
    assert [(row.name, row.games) for row in two.strategies] == [("分類なし", 1)]
    one, _ = compare(tmp_path, [fourth, FIRST], [FIRST], 5, matcher)
    assert [(row.name, row.games) for row in one.strategies] == [("分類なし", 2)]


def test_known_sets_by_cshogi(shared_data: Path, matcher: Matcher) -> None:
    files = [shared_data / "openings" / name for name in ("taya36_2020-11-06.sfen", "records2016_10818.sfen")]
    lines = [[line.split()[2:26] for line in file.read_text().splitlines()[:1000]] for file in files]
    keys = [[key(moves) for moves in one] for one in lines]
    sets = [read_openings(file)[:1000] for file in files]
    for mine, found in enumerate(compare_positions(sets[0], sets[1], 24, matcher)):
        other = 1 - mine
        others, positions = {tuple(moves) for moves in lines[other]}, set(keys[other])
        assert numbers(found) == (
            len(lines[mine]),
            0,
            len({tuple(moves) for moves in lines[mine]}),
            len(set(keys[mine])),
            sum(tuple(moves) in others for moves in lines[mine]),
            sum(position in positions for position in keys[mine]),
            len(set(keys[mine]) & positions),
        )
        assert sum(row.games for row in found.strategies) == len(lines[mine])


def key(moves: list[str]) -> str:
    board = cshogi.Board()
    for usi in moves:
        board.push_usi(usi)
    return board.sfen().rpartition(" ")[0]
