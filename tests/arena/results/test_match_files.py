"""CSA, KIF and PGN of a match, read back."""

import re
from pathlib import Path

import pytest
from match_samples import openings_of, play, settings_of

from fukayomi.arena.match.settings import schedule
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_files import MatchFiles, pgn_game
from fukayomi.arena.results.sources import read_games
from fukayomi.shogi.formats import read_records
from fukayomi.shogi.record import Result, Termination


def test_records_read_back(tmp_path: Path) -> None:
    files = MatchFiles(tmp_path)
    for game in schedule(settings_of(), openings_of(2)):
        record = play(game).record
        files.write_record(game.number, record)
        csa, kif = (path.read_text(encoding="utf-8") for path in files.paths(game.number))
        assert re.search(r"^\+\d{4}[A-Z]{2}\nT0\n'\*\* 0 -\d{4}[A-Z]{2}$", csa, re.MULTILINE), "as floodgate writes it"
        assert re.search(r"^\*\*読み筋=△..", kif, re.MULTILINE)
        assert kif.startswith("#KIF version=2.0 encoding=UTF-8\n")
        for path in files.paths(game.number):
            (found,) = read_records(path)
            assert found.usi_moves() == record.usi_moves()
            assert (found.black_name, found.white_name, found.result) == (game.black, game.white, record.result)
            assert found.termination is record.termination
    assert files.missing([1, 2, 3, 4, 5]) == [5]
    files.paths(2)[1].unlink()
    assert files.missing([1, 2, 3, 4]) == [2]
    assert sorted(path.name for path in (tmp_path / "games").iterdir())[:3] == [
        "000001.csa",
        "000001.kif",
        "000002.csa",
    ]


@pytest.mark.parametrize("result", [result for result in Result if result is not Result.UNKNOWN], ids=lambda r: r.name)
@pytest.mark.parametrize("termination", list(Termination), ids=str)
def test_every_end_can_be_written(tmp_path: Path, termination: Termination, result: Result) -> None:
    record = play(next(schedule(settings_of(), openings_of(1)))).record
    record.termination, record.result = termination, result
    files = MatchFiles(tmp_path)
    files.write_record(1, record)
    for path in files.paths(1):
        (found,) = read_records(path)
        assert found.usi_moves() == record.usi_moves()


def test_the_pgn_reads_back_with_the_first_mover_as_white(tmp_path: Path) -> None:
    files = MatchFiles(tmp_path)
    games = [
        Game("a", 'Joe "the rook" \\ 君', Result.BLACK_WIN, Termination.CRASH, "1", date="2026-01-03", pair=1),
        Game('Joe "the rook" \\ 君', "a", Result.DRAW, Termination.MAX_PLIES, "2", pair=1),
        Game("a", "b", Result.WHITE_WIN, Termination.TIME_UP, "3", pair=2),
    ]
    assert files.is_pgn_due()
    files.write_pgn(games, "the cup")
    found = list(read_games([tmp_path / "games.pgn"]))
    assert [(game.black, game.white, game.result) for game in found] == [
        (game.black, game.white, game.result) for game in games
    ]
    text = files.pgn.read_text(encoding="utf-8")
    assert '[White "a"]\n[Black "Joe \\"the rook\\" \\\\ 君"]\n[Result "1-0"]\n[Termination "abandoned"]' in text
    assert "White is who moves first (先手); moves in games/000001.csa" in text
    assert '[Event "the cup"]' in text
    assert '[Date "2026.01.03"]' in text
    assert '[TerminationDetails "crash"]' in pgn_game(games[0])


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = MatchFiles(tmp_path)
    files.write_pgn([Game("a", "b", Result.DRAW, name="1")])
    before = files.pgn.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match=r"the disk is full .*games\.pgn was not changed"):
        files.write_pgn([])
    assert files.pgn.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["games.pgn"]
