"""Games from files: every container gives the same games, and damage costs one game and not the league."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import RECORDS

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_files import MatchFiles
from fukayomi.arena.results.pgn import scan_pgn
from fukayomi.arena.results.sources import read_games
from fukayomi.data.records.sources import SourceError
from fukayomi.listener import Listener
from fukayomi.shogi.record import RecordError, Result, Termination


def pgn(white: str, black: str, result: str, rest: str = "") -> str:
    return f'[Event "league"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{rest}\n{result}\n\n'


def scan(text: str | bytes) -> list[Game | RecordError]:
    data = text.encode() if isinstance(text, str) else text
    return list(scan_pgn(io.BytesIO(data), "games.pgn"))


def players(found: list[Game | RecordError]) -> list[tuple[str, str, Result]]:
    assert all(isinstance(game, Game) for game in found), found
    return [(game.black, game.white, game.result) for game in found if isinstance(game, Game)]


class Problems(Listener):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def read(*paths: Path) -> tuple[list[Game], list[str]]:
    problems = Problems()
    return list(read_games(paths, listener=problems)), problems.notes


def test_the_white_of_pgn_moves_first() -> None:
    found = scan(
        pgn("深読み", "old", "1-0") + pgn("old", "深読み", "1/2-1/2") + pgn("a", "b", "0-1") + pgn("a", "b", "*")
    )
    assert players(found) == [
        ("深読み", "old", Result.BLACK_WIN),
        ("old", "深読み", Result.DRAW),
        ("a", "b", Result.WHITE_WIN),
        ("a", "b", Result.UNKNOWN),
    ]
    assert [game.name for game in found] == ["games.pgn", "games.pgn#2", "games.pgn#3", "games.pgn#4"]


def test_what_pgn_tells_beside_the_result() -> None:
    tags = '[Date "2026.01.??"]\n[WhiteElo "1500"]\n[BlackElo "-"]\n[Termination "time forfeit"]\n'
    (game,) = scan(pgn("a", "b", "0-1", tags))
    assert isinstance(game, Game)
    assert (game.date, game.year) == ("2026-01", 2026)
    assert (game.black_rating, game.white_rating) == (1500.0, None)
    assert game.termination is Termination.TIME_UP
    assert game.moves is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('[White "a"]\n[Black "b"]\n[Result "1-0"]\n' * 1, id="tags alone"),
        pytest.param('[White "a"] [Black "b"]\n\n1. 7g7f 3c3d 1-0\n', id="result after the moves"),
        pytest.param(
            '\ufeff% escaped\n; remark\n[White "a"]\r\n[Black "b"]\r\n[Result "1-0"]\r\n\r\n1-0\r\n', id="crlf"
        ),
        pytest.param('[White "a"]\n[Black "b"]\n\n1. e4 {a\n[White "x"]\n0-1} e5 ; 0-1\n1-0', id="comments"),
        pytest.param('[White "a"]\n[Black "b"]\n\n' + "1. e4 e5 " * 20_000 + "1-0\n", id="one long line"),
    ],
)
def test_the_shapes_of_pgn(text: str) -> None:
    assert players(scan(text)) == [("a", "b", Result.BLACK_WIN)]


def test_games_of_tags_alone_are_told_apart() -> None:
    one = '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n'
    assert players(scan(one * 3)) == [("a", "b", Result.BLACK_WIN)] * 3


def test_quotes_and_backslashes_in_names() -> None:
    assert players(scan('[White "a \\"b\\""]\n[Black "c\\\\d"]\n\n*\n')) == [('a "b"', "c\\d", Result.UNKNOWN)]


def test_names_in_shift_jis() -> None:
    assert players(scan(pgn("表示", "将棋", "1-0").encode("cp932")))[0][:2] == ("表示", "将棋")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param('[White "a]\n[Black "b"]\n\n1-0\n', 1, "not a tag", id="open quote"),
        pytest.param('[White "a"]\n[White "b"]\n\n1-0\n', 2, "second White", id="two Whites"),
        pytest.param('[White "a"]\n[Black "b"]\n[Result "2-0"]\n\n2-0\n', 1, "'2-0'", id="no result"),
        pytest.param("1. e4 e5 1-0\n", 1, "without tags", id="no tags"),
        pytest.param('[White "' + "a" * 300 + '"]\n[Black "b"]\n\n1-0\n', 1, "300 characters", id="long name"),
        pytest.param('[White "' + "a" * 100_000 + '"]\n[Black "b"]\n\n1-0\n', 1, "not a tag", id="endless name"),
        pytest.param('[White "a"]\n[Black "b"]\n\n1-0 {\n\n', 4, "unclosed comment", id="open comment"),
        pytest.param('[White "a\0\0"]\n[Black "b"]\n\n1-0\n', 1, "zero byte", id="zero byte"),
    ],
)
def test_a_damaged_game_is_named_and_the_next_is_read(text: str, line: int, said: str) -> None:
    error, game = scan(text + "\n" + pgn("c", "d", "1-0"))
    assert isinstance(error, RecordError)
    assert (error.name, error.line) == ("games.pgn", line)
    assert said in str(error)
    assert isinstance(game, Game)
    assert (game.black, game.white) == ("c", "d")


@given(st.binary(max_size=300))
def test_no_bytes_upset_the_reader(data: bytes) -> None:
    for found in scan(b'[White "a"]\n' + data):
        assert isinstance(found, Game | RecordError)


@given(st.lists(st.tuples(st.text("ab表", min_size=1, max_size=3), st.sampled_from(["1-0", "0-1", "1/2-1/2"]))))
def test_as_many_games_come_out_as_were_written(games: list[tuple[str, str]]) -> None:
    found = scan("".join(pgn(name, "x", result) for name, result in games))
    assert [game.black for game in found if isinstance(game, Game)] == [name for name, _ in games]


def test_records_zip_and_folder_hold_the_same_games(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as archive:
        for path in sorted(RECORDS.glob("*.csa")):
            archive.write(path, path.name)
    folder, problems = read(RECORDS)
    assert len(problems) == 1
    assert "README.md" in problems[0]
    zipped, problems = read(tmp_path / "games.zip")
    assert problems == []
    assert [(g.black, g.white, g.result, g.moves, g.date) for g in folder] == [
        (g.black, g.white, g.result, g.moves, g.date) for g in zipped
    ]
    assert all(game.moves and game.year and game.black and game.white for game in folder)


def test_pgn_beside_records_in_folders_and_archives(tmp_path: Path) -> None:
    (tmp_path / "a.pgn").write_text(pgn("a", "b", "1-0"))
    (tmp_path / "b.pgn.gz").write_bytes(gzip.compress(pgn("c", "d", "1-0").encode()))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("in/games.pgn", pgn("e", "f", "1-0") + '[White "]\n')
    (tmp_path / "d.txt").write_text("nothing of ours\n")
    (tmp_path / "e.tar.gz").write_bytes(gzip.compress(b"x" * 257 + b"ustar" + b"x" * 900))
    games, problems = read(tmp_path)
    assert [game.black for game in games] == ["a", "c", "e"]
    assert [problem.partition(":")[0].rpartition("/")[2] for problem in problems] == [
        "games.pgn#2, line 8", "d.txt", "e.tar.gz",
    ]  # fmt: skip


def test_a_file_named_twice_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a.pgn").write_text(pgn("a", "b", "1-0"))
    assert len(read(tmp_path, tmp_path / "a.pgn")[0]) == 1


def test_the_records_and_the_pgn_of_a_match_say_the_same(tmp_path: Path) -> None:
    """Whatever ended its games, and though PGN has few words for it."""
    files = MatchFiles(tmp_path)
    games = [
        Game("a", "b", Result.BLACK_WIN, termination, str(number), pair=number)
        for number, termination in enumerate(Termination, start=1)
    ]
    files.write_pgn(games)
    found, problems = read(tmp_path / "games.pgn")
    assert problems == []
    assert [(game.result, game.termination) for game in found] == [(game.result, game.termination) for game in games]


def test_a_kif_beside_its_csa_is_no_other_game(tmp_path: Path) -> None:
    records = sorted(RECORDS.glob("*.csa"))[:2]
    for path in records:
        (tmp_path / path.name).write_bytes(path.read_bytes())
        (tmp_path / path.name).with_suffix(".kif").write_bytes(path.read_bytes())
    (tmp_path / "alone.kif").write_bytes(records[0].read_bytes())
    games, problems = read(tmp_path)
    assert len(games) == 3  # records in one format in one folder are different games
    assert problems == ["2 records of games given before; each game counts once"]
    assert len(read(tmp_path / records[0].with_suffix(".kif").name)[0]) == 1


def test_a_source_that_is_missing_or_holds_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        read(tmp_path / "missing.pgn")
    (tmp_path / "notes.txt").write_text("nothing of ours\n")
    with pytest.raises(SourceError, match=r"no game can be read: .*notes\.txt"):
        read(tmp_path)
