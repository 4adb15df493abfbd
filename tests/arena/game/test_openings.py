"""Files of openings, and their order."""

from itertools import islice
from pathlib import Path

import pytest

from fukayomi.arena.game.openings import Opening, OpeningError, arrange, read_openings
from fukayomi.arena.game.rules import OpeningOrder
from fukayomi.shogi import START_SFEN

SFEN = "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3"


def write(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "openings.sfen"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("line", "sfen", "moves"),
    [
        ("startpos", START_SFEN, []),
        ("startpos moves 7g7f 3c3d", START_SFEN, ["7g7f", "3c3d"]),
        ("position startpos moves 7g7f", START_SFEN, ["7g7f"]),
        (f"sfen {SFEN}", SFEN, []),
        (f"sfen {SFEN} moves 8h2b+ 3a2b", SFEN, ["8h2b+", "3a2b"]),
        (f"position sfen {SFEN} moves 8h2b+", SFEN, ["8h2b+"]),
        (SFEN, SFEN, []),
        (f"{SFEN} moves 8h2b+", SFEN, ["8h2b+"]),
        (SFEN.removesuffix(" 3"), SFEN.removesuffix("3") + "1", []),
        ("7g7f 3c3d", START_SFEN, ["7g7f", "3c3d"]),
        ("moves 7g7f 3c3d", START_SFEN, ["7g7f", "3c3d"]),
        ("  7g7f   3c3d  # the bishops' diagonals open", START_SFEN, ["7g7f", "3c3d"]),
    ],
)
def test_reads_every_spelling(tmp_path: Path, line: str, sfen: str, moves: list[str]) -> None:
    (opening,) = read_openings(write(tmp_path, line.encode()))
    assert (opening.initial_sfen, [move.usi() for move in opening.moves]) == (sfen, moves)


def test_comments_empty_lines_line_ends_and_a_byte_order_mark_do_not_count(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeff# balanced 互角\r\n\r\n7g7f\r\n// old\r\n2g2f 8c8d\r\n".encode())
    openings = read_openings(path, plies=1)
    assert [(o.number, o.name, [move.usi() for move in o.moves]) for o in openings] == [
        (0, "openings.sfen:3", ["7g7f"]),
        (1, "openings.sfen:5", ["2g2f"]),
    ]
    (opening,) = read_openings(write(tmp_path, "\ufeffstartpos moves 7g7f".encode()), plies=0)
    assert opening.moves == ()


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"7g7f\n7g7f 7g7f\n", "line 2", "illegal move '7g7f'"),
        (b"startpos moves 7g7f resign", "line 1", "resign"),
        (b"7g7f\n\nsfen 9/9 b - 1\n", "line 3", "9/9"),
        (b"hello", "line 1", "hello"),
        (b"position", "line 1", "position"),
        (b"7g7f\n\xff\xfe\n", "line 2", "not UTF-8"),
        (b"# nothing\n\n", "openings.sfen", "no opening"),
    ],
    ids=["illegal", "end", "board", "word", "bare", "encoding", "empty"],
)
def test_names_file_and_line(tmp_path: Path, content: bytes, place: str, reason: str) -> None:
    with pytest.raises(OpeningError) as caught:
        read_openings(write(tmp_path, content))
    assert "openings.sfen" in str(caught.value)
    assert place in str(caught.value)
    assert reason in str(caught.value)


def test_sequential_order_begins_again() -> None:
    openings = [Opening(number) for number in range(3)]
    taken = list(islice(arrange(openings, OpeningOrder.SEQUENTIAL), 7))
    assert [(o.number, o.round) for o in taken] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2)]


def test_random_order_has_each_once_a_round_and_depends_on_the_seed() -> None:
    openings = [Opening(number) for number in range(20)]

    def rounds(seed: int) -> list[list[int]]:
        taken = [o.number for o in islice(arrange(openings, OpeningOrder.RANDOM, seed), 60)]
        return [taken[:20], taken[20:40], taken[40:]]

    assert all(sorted(one) == list(range(20)) for one in rounds(1))
    assert rounds(1) == rounds(1)
    assert len({tuple(one) for seed in (1, 2) for one in rounds(seed)}) == 6


def test_random_order_never_changes() -> None:
    taken = islice(arrange([Opening(number) for number in range(8)], OpeningOrder.RANDOM, 7), 10)
    assert [o.number for o in taken] == [0, 6, 5, 7, 2, 4, 3, 1, 7, 0]


def test_real_openings(shared_data: Path) -> None:
    openings = read_openings(shared_data / "openings" / "taya36_2020-11-06.sfen", plies=24)
    assert len(openings) > 1900
    assert {len(opening.moves) for opening in openings} == {24}
