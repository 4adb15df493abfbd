"""`fukayomi book search`."""

from pathlib import Path

from command_runs import run, run_json

from fukayomi.book import position_key, read_book
from fukayomi.shogi import Position


def test_a_book_grows_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "book.db"
    options = ("-o", out, "--evaluator", "hash", "--nodes", 30, "--loss", 0.3)
    first = run_json("book", "search", *options, "--positions", 5)
    assert (first["positions"], first["wanted"], first["searched"], first["kept"]) == (5, 5, 5, 0)
    assert first["start_moves"][0]["count"] >= first["start_moves"][1]["count"]
    more = run_json("book", "search", *options, "--positions", 8, "--at-once", 1)
    assert (more["positions"], more["searched"], more["kept"]) == (8, 3, 5)
    code, printed, _ = run("book", "search", *options, "--positions", 8)
    assert code == 0
    assert "8 positions with" in printed
    assert "0 searched now, 8 there before" in printed
    code, printed, _ = run("book", "search", "-o", out, "--evaluator", "uniform", "--nodes", 30, "--positions", 8)
    assert "8 positions by an older network or with fewer nodes: --refresh" in printed


def test_positions_of_lists_and_games(tmp_path: Path) -> None:
    lines, game, out = tmp_path / "lines.sfen", tmp_path / "game.csa", tmp_path / "book.db"
    lines.write_text("startpos moves 7g7f 3c3d\nsfen " + Position("startpos moves 2g2f").sfen() + "\n")
    game.write_text("V2.2\nPI\n+\n+2726FU\n-8384FU\n+2625FU\n%TORYO\n")
    common = ("-o", out, "--evaluator", "hash", "--nodes", 10)
    assert run_json("book", "search", lines, *common)["positions"] == 2
    assert run_json("book", "search", game, "--along", 2, *common)["searched"] == 2  # 2g2f is there
    book = read_book(out)
    assert {position_key(Position(f"startpos {moves}".strip())) for moves in ("", "moves 2g2f 8c8d")} <= set(book)
    assert len(book) == 4


def test_mistakes_are_named(tmp_path: Path) -> None:
    common = ("--evaluator", "hash", "--nodes", 10)
    code, _, error = run("book", "search", "-o", tmp_path / "book.bin", *common)
    assert (code, "is a .db" in error) == (1, True)
    code, _, error = run("book", "search", "4k4/9/9/9/9/9/9/9/9 b P 1", "-o", tmp_path / "book.db", *common)
    assert (code, "king" in error) == (1, True)
    code, _, error = run("book", "search", "-o", tmp_path / "book.db", "--loss", "2", *common)
    assert (code, "--loss" in error) == (2, True)
    assert not list(tmp_path.iterdir())
