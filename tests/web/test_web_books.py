"""The book of the page, asked as programs ask: its moves, moves added and taken back, a file that is replaced."""

from pathlib import Path

import pytest
from web_client import ask

from fukayomi.book import BookError, read_book
from fukayomi.shogi import START_SFEN
from fukayomi.web import WebServer, WebSettings

KEY = START_SFEN.rsplit(" ", 1)[0]
WHITE_KEY = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w -"
TEXT = f"""#YANEURAOU-DB2016 1.00
sfen {WHITE_KEY} 2
3c3d 2g2f -40 20 9
8c8d none none none 2
sfen {KEY} 1
7g7f 3c3d 50 30 12
2g2f none 60 20 8
"""


def start(path: Path) -> WebServer:
    return WebServer(WebSettings(evaluator="<hash>", port=0, book=path))


def test_moves_with_names_and_scores_from_blacks_side(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(TEXT)
    with start(path) as server:
        assert ask(server, "GET", "/api/state").json["book"] == "book.db"
        first, second = ask(server, "POST", "/api/book", {}).json["moves"]
        assert first == {
            "usi": "7g7f", "japanese": "☗７六歩", "english": "P-7f", "cp": 50, "depth": 30, "count": 12,
            "reply": "3c3d", "reply_japanese": "☖３四歩", "reply_english": "P-3d",
        }  # fmt: skip
        assert (second["usi"], second["reply"], second["reply_japanese"]) == ("2g2f", None, None)
        moves = ask(server, "POST", "/api/book", {"moves": ["7g7f"]}).json["moves"]
        assert [(move["usi"], move["cp"], move["depth"]) for move in moves] == [("3c3d", 40, 20), ("8c8d", None, None)]
        assert ask(server, "POST", "/api/book", {"moves": ["9g9f"]}).json == {"moves": [], "problem": None}
        path.with_name("other.db").write_text(TEXT.replace("12\n", "13\n"))
        path.with_name("other.db").replace(path)
        assert ask(server, "POST", "/api/book", {}).json["moves"][0]["count"] == 13


def test_moves_are_added_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    with start(path) as server:
        assert ask(server, "POST", "/api/book", {}).json == {"moves": [], "problem": None}
        added = ask(server, "POST", "/api/book/add", {"moves": ["7g7f"], "usi": "3c3d"}).json
        assert (added["count"], added["is_new"]) == (1, True)
        more = ask(server, "POST", "/api/book/add", {"moves": ["7g7f"], "usi": "3c3d"}).json
        assert (more["count"], more["is_new"]) == (2, False)
        assert [move.count for move in read_book(path)[WHITE_KEY]] == [2]
        assert ask(server, "POST", "/api/book", {"moves": ["7g7f"]}).json["moves"][0]["count"] == 2
        assert ask(server, "POST", "/api/book/take-back", {"number": more["number"]}).json == {}
        refused = ask(server, "POST", "/api/book/take-back", {"number": more["number"]})
        assert (refused.status, refused.error) == (
            409, "book.db: the move cannot be taken back: the book was changed since",
        )  # fmt: skip
        assert ask(server, "POST", "/api/book/add", {"usi": "7g7e"}).status == 409
        assert ask(server, "POST", "/api/book/add", {"usi": "hello"}).status == 400
        assert ask(server, "POST", "/api/book/add", {}).status == 400
        path.write_text(TEXT.replace("8c8d", "zzzz"))
        refused = ask(server, "POST", "/api/book/add", {"usi": "7g7f"})
        assert (refused.status, "nothing was changed" in refused.error) == (409, True)
        assert str(tmp_path) not in refused.error
        path.write_bytes(b"no book")
        problem = ask(server, "POST", "/api/book", {}).json["problem"]
        assert problem.startswith("book.db (7 bytes) is neither")


def test_without_a_book_there_is_none(server: WebServer) -> None:
    assert ask(server, "GET", "/api/state").json["book"] is None
    assert ask(server, "POST", "/api/book", {}).status in (404, 405)


def test_what_is_no_book_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_bytes(b"no book")
    with pytest.raises(BookError, match="is neither a book of"):
        start(tmp_path / "no.db")
    with pytest.raises(BookError, match="is named"):
        start(tmp_path / "new.txt")
    with pytest.raises(FileNotFoundError):
        start(tmp_path / "missing" / "new.db")
