"""The opening book of the USI engine: moves without a search, their choice, pondering, books that are no good."""

from collections import Counter
from pathlib import Path

import pytest
from engine_talk import Start, never_answers, strings
from patience import PATIENCE_S

from fukayomi import Engine, Move, Position
from fukayomi.book import BookMove, position_key, prune_book, read_book, write_book
from fukayomi.engine.settings import UsiSettings
from fukayomi.usi.client import UsiClient
from fukayomi.usi.text import Go

LONG = Go(btime_ms=0, wtime_ms=0, byoyomi_ms=60_000)
BOOK = f"""#YANEURAOU-DB2016 1.00
sfen {Position().sfen()}
7g7f 3c3d 50 30 12
2g2f none 60 20 6
1g1f none -200 20 1
sfen {Position.from_usi("startpos moves 2g2f").sfen()}
8c8d 2f2e -45 22 3
sfen {Position.from_usi("startpos moves 7g7f 3c3d").sfen()}
2g2f 4c4d 70 25 3
sfen {Position.from_usi("startpos moves 9g9f").sfen()}
9g9f none 1 1 1
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "book.db").write_text(BOOK)
    return tmp_path / "book.db"


def chosen(client: UsiClient, *moves: str, go: Go = LONG) -> str:
    """What the engine answers, as a line, and checks that it did not search."""
    client.position(None, moves)
    answer = client.go(go, PATIENCE_S)
    assert answer.bestmove is not None
    last = answer.infos[-1]
    assert (last.nodes, last.pv[0]) == (0, answer.bestmove.move)
    assert answer.infos[-2].string == "a move of the book"
    return answer.bestmove.text()


def test_a_move_of_the_book_needs_no_search(start: Start, book: Path) -> None:
    client = start(USI_OwnBook="true", Book_File=str(book))
    assert chosen(client) == "bestmove 7g7f ponder 3c3d"
    client.position()
    info = client.go(LONG, PATIENCE_S).best_info
    assert info is not None
    assert info.score is not None
    assert (info.score.cp, info.depth, info.pv) == (50, 30, ("7g7f", "3c3d"))
    assert chosen(client, "7g7f", "3c3d") == "bestmove 2g2f ponder 4c4d"
    client.position(None, ("7g7f", "8c8d"))
    answer = client.go(Go(nodes=20), PATIENCE_S)
    assert answer.best_info is not None
    assert answer.best_info.nodes == 20, "the book does not know the position"


def test_other_engines_names_for_the_options(start: Start, book: Path) -> None:
    client = start(
        OwnBook="true", BookDir=str(book.parent), BookFile=book.name, BookOnTheFly="true", Book_Consider_Draw="true"
    )
    assert chosen(client) == "bestmove 2g2f ponder 8c8d", "the best score, and the answer of the next position"


@pytest.mark.parametrize(("depth", "answer"), [("0", "2g2f ponder 8c8d"), ("1", "7g7f ponder 3c3d")])
def test_the_lines_of_the_book_are_followed_for_draws(start: Start, book: Path, depth: str, answer: str) -> None:
    client = start(USI_OwnBook="true", Book_File=str(book), Book_Consider_Draw="true", Book_Consider_Draw_Depth=depth)
    assert chosen(client) == f"bestmove {answer}"  # 8c8d 45 answers 2g2f 60


@pytest.mark.parametrize(
    ("options", "possible"),
    [
        ({}, "7g7f 2g2f 1g1f"),
        ({"ConsiderBookMoveCount": "false"}, "7g7f 2g2f 1g1f"),
        ({"Min_Book_Score": "-100"}, "7g7f 2g2f"),
        ({"BookEvalDiff": "5"}, "7g7f 2g2f"),  # 45 or more: 7g7f, the most played, has 50
        ({"BookEvalDiff": "0", "Min_Book_Score": "55"}, "2g2f"),
        ({"BookEvalBlackLimit": "55", "BookEvalWhiteLimit": "99999"}, "2g2f"),
        ({"NarrowBook": "true"}, "7g7f 2g2f"),  # 1g1f has less than a tenth of the counts
        ({"NarrowBook": "true", "ConsiderBookMoveCount": "false"}, "7g7f 2g2f"),
    ],
)
def test_moves_at_random_within_the_limits(start: Start, book: Path, options: dict[str, str], possible: str) -> None:
    client = start(USI_OwnBook="true", Book_File=str(book), Best_Book_Move="false", Random_Seed="3", **options)
    moves = Counter(chosen(client).split()[1] for _ in range(60))
    assert set(moves) == set(possible.split())
    if not options:
        assert moves["7g7f"] > moves["2g2f"]


def test_limits_that_leave_no_move(start: Start, book: Path) -> None:
    for name, value in (
        ("BookMoves", "0"),
        ("BookDepthLimit", "31"),
        ("BookIgnoreRate", "100"),
        ("USI_OwnBook", "false"),
    ):
        client = start(**{"USI_OwnBook": "true", "Book_File": str(book), name: value})
        client.position()
        answer = client.go(Go(nodes=20), PATIENCE_S)
        assert answer.best_info is not None
        assert answer.best_info.nodes == 20


def test_the_colours_exchanged(start: Start, book: Path) -> None:
    client = start(USI_OwnBook="true", Book_File=str(book))
    sfen = Position().sfen().replace(" b ", " w ")
    client.position(sfen)
    answer = client.go(LONG, PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.text() == "bestmove 3c3d ponder 7g7f"


def test_the_book_is_changed_at_isready(start: Start, book: Path, tmp_path: Path) -> None:
    (tmp_path / "other.db").write_text(BOOK.replace("7g7f 3c3d 50", "6g6f 3c3d 50"))
    client = start(USI_OwnBook="true", Book_File=str(book))
    client.set_option("Book_File", str(tmp_path / "other.db"))
    assert chosen(client) == "bestmove 7g7f ponder 3c3d"
    client.wait_ready()
    assert chosen(client) == "bestmove 6g6f ponder 3c3d"
    client.set_option("USI_OwnBook", "false")
    assert chosen(client) == "bestmove 6g6f ponder 3c3d"
    client.wait_ready()
    client.position()
    info = client.go(Go(nodes=20), PATIENCE_S).best_info
    assert info is not None
    assert info.nodes == 20


def test_a_book_that_is_replaced_is_read_at_the_next_game(start: Start, book: Path) -> None:
    client = start(USI_OwnBook="true", Book_File=str(book))
    new = read_book(book)
    key = position_key(Position())
    new[key] = [BookMove(Move.from_usi("5g5f"))]
    write_book(new, book)
    assert chosen(client) == "bestmove 7g7f ponder 3c3d", "the game goes on with the old book"
    client.new_game()
    assert chosen(client) == "bestmove 5g5f"
    book.write_text("cut")
    client.new_game()
    (said,) = strings(client)
    assert said.startswith(f"info string no book: {book} (3 bytes)")
    client.position()
    assert client.go(Go(nodes=20), PATIENCE_S).bestmove is not None
    book.write_text(BOOK)
    client.wait_ready()
    assert chosen(client) == "bestmove 7g7f ponder 3c3d"


def test_a_book_that_cannot_be_used_is_named_and_does_no_harm(start: Start, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no book at all, whatever its name")
    for file, reason in (
        ("text.db", "is neither a book of YaneuraOu"),
        ("none.db", "cannot read"),
        ("a\x00b", "cannot read"),
    ):
        client = start(USI_OwnBook="true", BookDir=str(tmp_path), Book_File="no_book")
        client.set_option("Book_File", file)
        (said,) = strings(client)
        assert said.startswith("info string no book: ")
        assert reason in said
        client.position()
        assert client.go(Go(nodes=20), PATIENCE_S).bestmove is not None


def test_moves_that_are_not_legal_are_named_and_a_search_follows(start: Start, book: Path) -> None:
    client = start(USI_OwnBook="true", Book_File=str(book))
    client.position(None, ("9g9f",))
    answer = client.go(Go(nodes=20), PATIENCE_S)
    said = [info.string for info in answer.infos if info.string]
    assert len(said) == 1
    assert said[0].startswith("book: ")
    assert said[0].endswith(": 9g9f")
    assert answer.best_info is not None
    assert answer.best_info.nodes == 20


def test_an_analysis_and_searchmoves_do_without_the_book(start: Start, book: Path) -> None:
    client = start(USI_OwnBook="true", Book_File=str(book))
    client.position()
    answer = client.go(Go(nodes=20, searchmoves=("9g9f",)), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "9g9f"
    client.start_go(Go(infinite=True))
    never_answers(client, 0.2)
    client.stop()
    info = client.wait_answer(PATIENCE_S).best_info
    assert info is not None
    assert info.nodes


def test_ponderhit_asks_the_book(start: Start, book: Path) -> None:
    client = start(USI_OwnBook="true", USI_Ponder="true", Book_File=str(book))
    client.position(None, ("7g7f", "3c3d"))
    client.start_go(Go(ponder=True, byoyomi_ms=60_000))
    never_answers(client, 0.2)
    client.ponderhit()
    answer = client.wait_answer(PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.text() == "bestmove 2g2f ponder 4c4d"


def test_stochastic_ponder_goes_on_after_a_move_of_the_book(start: Start, book: Path) -> None:
    client = start(USI_OwnBook="true", USI_Ponder="true", Stochastic_Ponder="true", Book_File=str(book))
    assert chosen(client) == "bestmove 7g7f"
    never_answers(client, 0.2)  # it searches in silence
    assert chosen(client, "7g7f", "3c3d") == "bestmove 2g2f"
    client.position(None, ("7g7f", "3c3d", "2g2f", "8c8d"))
    assert client.go(Go(nodes=50), PATIENCE_S).bestmove is not None


def test_the_engine_in_this_process_plays_from_the_book_too(book: Path) -> None:
    with Engine("<hash>", settings=UsiSettings(hash_mb=16, own_book=True, book_file=str(book))) as engine:
        answer = engine.choose(Position(), LONG)
        assert answer.bestmove is not None
        assert answer.bestmove.text() == "bestmove 7g7f ponder 3c3d"
        write_book(prune_book(read_book(book), least_score_cp=51), book)
        engine.new_game()
        answer = engine.choose(Position(), LONG)
        assert answer.bestmove is not None
        assert answer.bestmove.move == "2g2f"
        book.write_text("cut")
        with pytest.raises(ValueError, match="no book"):
            engine.new_game()
        assert answer.best_info is not None
        assert answer.best_info.nodes == 0
    with pytest.raises(ValueError, match="no book: cannot read"):
        Engine("<hash>", settings=UsiSettings(hash_mb=16, own_book=True, book_file="no such book"))
