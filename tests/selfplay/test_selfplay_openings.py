"""Where games begin."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fukayomi._native import decode_hcpe3, encode_hcp
from fukayomi.arena.game.openings import OpeningError
from fukayomi.book import BookReader
from fukayomi.engine import Network
from fukayomi.loop.ingest import validate_chunk
from fukayomi.selfplay import Openings, OpeningSet, SelfplaySettings, find_chunks, generate, read_chunk
from fukayomi.selfplay.openings import BookOpenings, keep_book_apart
from fukayomi.shogi import Move, Position, Repetition

LINES = ["startpos moves 7g7f", "startpos moves 2g2f", "sfen 4k4/9/9/9/9/9/9/5R3/4K4 b - 1"]
MATED = "sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"


def text_file(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def hcp_file(path: Path, lines: list[str]) -> str:
    path.write_bytes(b"".join(encode_hcp(Position.from_usi(line)) for line in lines))
    return str(path)


def test_without_a_set_games_begin_at_the_start_position() -> None:
    assert Openings().draw(1, 2).usi() == "startpos"


def test_a_draw_depends_on_seed_and_number_and_is_even(tmp_path: Path) -> None:
    openings = Openings.read([text_file(tmp_path / "lines.sfen", LINES)])
    drawn = [openings.draw(5, number).usi() for number in range(600)]
    assert drawn == [openings.draw(5, number).usi() for number in range(600)]
    counts = Counter(drawn)
    assert len(counts) == 3
    assert min(counts.values()) > 150
    assert drawn != [openings.draw(6, number).usi() for number in range(600)]


def test_lines_keep_their_moves_and_hcp_has_none(tmp_path: Path) -> None:
    lines = Openings.read([text_file(tmp_path / "lines", LINES[:1])])
    packed = Openings.read([hcp_file(tmp_path / "lines.hcp", LINES[:1])])
    assert [move.usi() for move in lines.draw(0, 0).moves] == ["7g7f"]
    assert packed.draw(0, 0).moves == []
    assert encode_hcp(packed.draw(0, 0)) == encode_hcp(lines.draw(0, 0))


def test_a_position_does_not_change_when_a_game_is_played(tmp_path: Path) -> None:
    openings = Openings.read([text_file(tmp_path / "lines", LINES[:1])])
    openings.draw(0, 0).push_usi("3c3d")
    assert openings.draw(0, 0).usi() == LINES[0]


def test_weights_count_for_each_position(tmp_path: Path) -> None:
    one, two = text_file(tmp_path / "one", LINES[:1]), hcp_file(tmp_path / "two.hcp", LINES[1:])
    openings = Openings.read([f"{one}*6", two])
    drawn = Counter(openings.draw(1, number).sfen() for number in range(800))
    assert 540 < drawn[Position.from_usi(LINES[0]).sfen()] < 660  # 6 of 8


def test_a_set_for_measuring_is_kept_apart(tmp_path: Path) -> None:
    openings = Openings.read([hcp_file(tmp_path / "train.hcp", LINES)])
    openings.keep_apart([OpeningSet.read(Path(text_file(tmp_path / "apart", ["startpos moves 1g1f"])))])
    with pytest.raises(OpeningError, match=r"train\.hcp shares 1 position with .*measure"):
        openings.keep_apart([OpeningSet.read(Path(text_file(tmp_path / "measure", [LINES[1]])))])


def test_damaged_positions_are_found_when_they_are_read(tmp_path: Path) -> None:
    bad = Path(hcp_file(tmp_path / "bad.hcp", LINES))
    bad.write_bytes(bad.read_bytes()[:32] + b"\xff" * 64)
    with pytest.raises(
        OpeningError, match=r"bad\.hcp, position 2: .*; 2 positions of 3 are damaged: make the file again"
    ):
        OpeningSet.read(bad)


def test_positions_without_a_legal_move_are_found_when_they_are_read(tmp_path: Path) -> None:
    lines = [LINES[0]] * 70_000 + [MATED]
    with pytest.raises(OpeningError, match=r"mates\.hcp, position 70001: .*; 1 position of 70,001 have none"):
        OpeningSet.read(Path(hcp_file(tmp_path / "mates.hcp", lines)))
    with pytest.raises(OpeningError, match=r"mates\.sfen:2: a position without legal moves"):
        OpeningSet.read(Path(text_file(tmp_path / "mates.sfen", [LINES[0], MATED])))


def test_a_line_that_leaves_no_move_is_found_before_the_run_begins(tmp_path: Path) -> None:
    openings = Openings.read([text_file(tmp_path / "lines", [LINES[0], "startpos moves 7g7f 3c3d"])])
    with pytest.raises(ValueError, match="an opening of 2 moves leaves none for the game: max_move is 2"):
        generate(SelfplaySettings(max_move=2), "<hash>", tmp_path / "games", games=1, openings=openings)
    with pytest.raises(ValueError, match="book_plies is 24; it must be below max_move, which is 24"):
        generate(SelfplaySettings(max_move=24), "<hash>", tmp_path / "games", games=1, book=tmp_path / "book.db")
    assert not (tmp_path / "games").exists()


def test_without_openings_the_start_position_is_kept_apart(tmp_path: Path) -> None:
    Openings().keep_apart([OpeningSet.read(Path(text_file(tmp_path / "apart", LINES)))])
    with pytest.raises(OpeningError, match=r"the start position, where games begin, shares 1 position with .*measure"):
        Openings().keep_apart([OpeningSet.read(Path(text_file(tmp_path / "measure", ["startpos"])))])


def test_files_that_hold_no_openings_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.hcp"
    for data in (b"", b"x" * 33):
        bad.write_bytes(data)
        with pytest.raises(OpeningError, match="32 bytes"):
            Openings.read([str(bad)])
    hcp_file(bad, LINES)
    for weight in ("x", "0", "1e308", "inf"):
        with pytest.raises(OpeningError, match=r"the weight after '\*' must be a number from 1e-06 to 1,000,000"):
            Openings.read([f"{bad}*{weight}"])


BOOK = """#YANEURAOU-DB2016 1.00
sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1
7g7f 3c3d 50 30 12
1g1f 8c8d 60 30 8
sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2
3c3d 2g2f 0 30 5
"""


def test_a_book_is_followed_by_the_policy(tmp_path: Path) -> None:
    (tmp_path / "book.db").write_text(BOOK, encoding="utf-8")
    with BookReader.open(tmp_path / "book.db") as book, Network("<5x64>") as network:
        openings = BookOpenings(book, network, 8)
        drawn = Counter(tuple(move.usi() for move in openings.draw(1, number).moves) for number in range(60))
        policy = network.evaluate(Position()).policies[0]
        assert set(drawn) == {("7g7f", "3c3d"), ("1g1f",)}
        first, other = (policy[_move(usi)] for usi in ("7g7f", "1g1f"))
        assert drawn["7g7f", "3c3d"] / 60 == pytest.approx(first / (first + other), abs=0.2)
        assert openings.draw(1, 3).usi() == openings.draw(1, 3).usi()
        assert BookOpenings(book, network, 1).draw(1, 0).ply <= 2


@pytest.mark.parametrize(
    ("line", "plies", "is_shared"),
    [
        ("startpos moves 7g7f 3c3d", 8, True),  # the book ends there
        ("startpos moves 7g7f", 8, False),  # on the way
        ("startpos moves 7g7f", 1, True),
        ("startpos moves 1g1f", 8, True),
        ("startpos moves 2g2f", 8, False),
        ("startpos", 8, False),
    ],
)
def test_a_book_that_leads_to_a_set_for_measuring_is_refused(
    tmp_path: Path, line: str, plies: int, is_shared: bool
) -> None:
    (tmp_path / "book.db").write_text(BOOK, encoding="utf-8")
    apart = [OpeningSet.read(Path(text_file(tmp_path / "measure", [line])))]
    with BookReader.open(tmp_path / "book.db") as book:
        if is_shared:
            with pytest.raises(OpeningError, match=r"book\.db shares 1 position with .*measure"):
                keep_book_apart(book, plies, apart)
        else:
            keep_book_apart(book, plies, apart)


CYCLE = ["2h3h", "8b7b", "3h2h", "7b8b"]


def book_of(path: Path, *lines: Sequence[str]) -> Path:
    """A book with the positions of some lines from the start position."""
    moves: dict[str, list[str]] = {}
    for line in lines:
        position = Position()
        for usi in line:
            moves.setdefault(" ".join(position.sfen().split()[:3]), []).append(usi)
            position.push_usi(usi)
    entries = [f"sfen {sfen} 1\n" + "".join(f"{usi} none 0 1 1\n" for usi in sorted(set(found)))
               for sfen, found in sorted(moves.items())]  # fmt: skip
    path.write_text("#YANEURAOU-DB2016 1.00\n" + "".join(entries), encoding="utf-8")
    return path


@pytest.mark.parametrize("plies", [4, 5, 24])
def test_a_book_that_goes_in_a_circle_gives_games_all_the_same(tmp_path: Path, plies: int) -> None:
    settings = SelfplaySettings(playouts=2, max_move=40, out_max_move=True)
    book = book_of(tmp_path / "circle.db", CYCLE)
    result = generate(settings, "<hash>", tmp_path / "games", games=4, book=book, book_plies=plies)
    assert result.progress.positions > 0
    for chunk in find_chunks(tmp_path / "games"):
        assert validate_chunk(chunk).info.games == 4


def random_game_to_mate() -> list[str]:
    """The moves of a game without a repetition."""
    for seed in range(100):
        chooser, position = random.Random(seed), Position()
        while position.ply < 300 and not position.is_mated():
            position.push(chooser.choice(position.legal_moves))
            if position.first_recurrence() is not Repetition.NONE:
                break
        if position.is_mated():
            return [move.usi() for move in position.moves]
    raise AssertionError("no random game ends in mate")


def test_moves_of_a_book_that_mate_are_left_out(tmp_path: Path) -> None:
    line = random_game_to_mate()
    settings = SelfplaySettings(playouts=2, max_move=400, out_max_move=True)
    book = book_of(tmp_path / "mate.db", line)
    generate(settings, "<hash>", tmp_path / "games", games=2, book=book, book_plies=350)
    (chunk,) = find_chunks(tmp_path / "games")
    games = decode_hcpe3(np.frombuffer(read_chunk(chunk).data, np.uint8), True)
    opening = [_move(usi).raw for usi in line[:-1]]
    for begin in games.plies[:-1].tolist():
        assert games.moves[begin : begin + len(opening)].tolist() == opening
    mated = [OpeningSet.read(Path(text_file(tmp_path / "apart", [f"startpos moves {' '.join(line[:-1])}"])))]
    with BookReader.open(book) as opened, pytest.raises(OpeningError, match=r"mate\.db shares 1 position"):
        keep_book_apart(opened, 350, mated)  # openings end there


def test_games_begin_with_moves_of_a_book(tmp_path: Path) -> None:
    (tmp_path / "book.db").write_text(BOOK, encoding="utf-8")
    settings = SelfplaySettings(playouts=2, max_move=12, out_max_move=True)
    generate(settings, "<hash>", tmp_path / "games", games=4, book=tmp_path / "book.db", book_plies=8)
    (chunk,) = find_chunks(tmp_path / "games")
    games = decode_hcpe3(np.frombuffer(read_chunk(chunk).data, np.uint8), True)
    firsts = {int(games.moves[begin]) for begin in games.plies[:-1]}
    assert firsts <= {_move("7g7f").raw, _move("1g1f").raw}
    with pytest.raises(ValueError, match="exclude"):
        generate(settings, "<hash>", tmp_path / "games", games=4, book=tmp_path / "book.db", openings=Openings())


def _move(usi: str) -> Move:
    return Move.from_usi(usi)


def test_an_opening_with_a_repetition_begins_without_its_past(tmp_path: Path) -> None:
    """Games with it were refused: a repetition ends a game, and this one goes on."""
    file = tmp_path / "openings.sfen"
    file.write_text("startpos moves 2h3h 8b7b 3h2h 7b8b 2g2f\nstartpos moves 2g2f 8c8d\n")

    repeated, other = (OpeningSet.read(file).position(number) for number in range(2))

    assert repeated.sfen() == Position.from_usi("startpos moves 2h3h 8b7b 3h2h 7b8b 2g2f").sfen()
    assert repeated.moves == []
    assert len(other.moves) == 2
