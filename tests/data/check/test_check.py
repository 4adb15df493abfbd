"""What a check finds, and the good part that it writes."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from game_samples import random_game, random_games

from fukayomi import _native
from fukayomi.data.check import Level, Report, check_data
from fukayomi.data.convert.convert import convert_data
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.games import game_from_record
from fukayomi.data.formats.hcpe import ResultFlag
from fukayomi.data.formats.hcpe3 import Game, join_games, read_hcpe3
from fukayomi.data.formats.kinds import DataFormat, Target
from fukayomi.shogi import Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination


def game_of(usi: str, result: int, flags: int = 0, sfen: str = "") -> Game:
    """A game of these moves, each its own only candidate."""
    position = Position.from_sfen(sfen) if sfen else Position()
    record = Record(initial_sfen=position.sfen(), result=Result(result), termination=Termination.RESIGN)
    for move in usi.split():
        record.moves.append(RecordedMove(position.push_usi(move), score_cp=0))
    game = game_from_record(record)
    assert isinstance(game, Game)
    return replace(game, result_byte=result | flags)


def check_games(tmp_path: Path, *games: Game) -> Report:
    with DataWriter(tmp_path / "a.hcpe3") as writer:
        writer.append(join_games(games))
    return check_data([tmp_path / "a.hcpe3"], source=DataFormat.HCPE3)


def reasons(report: Report, level: Level) -> list[tuple[int, int | None, str]]:
    return [(found.index, found.ply, found.reason) for found in report.findings if found.level is level]


REPEATED = "2h3h 8b7b 3h2h 7b8b " * 3
MATE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
DECLARED = "1K7/PPPPPPPPP/1R1B5/9/9/9/9/9/4k4 w RB2G 1"


def test_good_games_have_no_findings(tmp_path: Path) -> None:
    report = check_games(
        tmp_path,
        game_of("7g7f 3c3d", 1),
        game_of(REPEATED, 0, ResultFlag.REPETITION),
        game_of("G*5b", 1, sfen=MATE),
        game_of("5i5h", 1, ResultFlag.DECLARATION, sfen=DECLARED),
    )
    assert report.findings == []
    assert (report.records, report.good, report.moves, report.errors) == (4, 4, 2 + 12 + 1 + 1, 0)


@pytest.mark.parametrize(
    ("game", "ply", "reason"),
    [
        (("G*5b", 0, 0, MATE), None, "the last move mates, but the result is DRAW"),
        (("G*5b", 2, 0, MATE), None, "the last move mates, but the result is WHITE_WIN"),
        ((REPEATED, 1, 0), None, "fourfold repetition makes it DRAW, but the result is BLACK_WIN"),
        ((REPEATED + "7g7f", 1, 0), 12, "four times before this move"),
        (("7g7f 3c3d", 0, 4), None, "flagged as a repetition, but the last position occurs once"),
        (("7g7f 3c3d", 1, 8), None, "lacks the points"),
        (("7g7f 3c3d", 2, 8), None, "the side to move did not win"),
        (("7g7f 3c3d", 2, 16), None, "maximum of plies, but the result is WHITE_WIN"),
    ],
    ids=["mate drawn", "mate lost", "repetition won", "repetition ignored", "no repetition", "no declaration",
         "declared by the other", "maximum won"],
)  # fmt: skip
def test_results_that_the_rules_contradict(tmp_path: Path, game: tuple, ply: int | None, reason: str) -> None:
    report = check_games(tmp_path, game_of("2g2f", 1), game_of(*game))
    ((index, found_ply, text),) = reasons(report, Level.ERROR)
    assert (index, found_ply) == (1, ply)
    assert reason in text
    assert (report.good, report.errors) == (1, 1)


def test_visits_and_candidates(tmp_path: Path) -> None:
    game = game_of("7g7f 3c3d 2g2f", 1)
    raws = game.moves.tolist()
    strange = replace(
        game,
        candidates=np.array([0, 2, 3, 4], np.uint64),
        candidate_moves=np.array([raws[0], raws[0], raws[1], Position().legal_moves[0].raw], np.uint16),
        candidate_visits=np.array([1, 2, 0, 5], np.uint16),
        evals=np.array([0, 0, -32768], np.int16),
        opponent=7,
    )
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    strange.candidate_moves[3] = next(m.raw for m in position.legal_moves if m.raw != raws[2])
    report = check_games(tmp_path, strange, game, game)
    assert reasons(report, Level.ERROR) == [
        (0, 0, "a move is among the candidates more than once"),
        (0, 1, "candidates without a single visit"),
    ]
    assert sorted(reason for _, _, reason in reasons(report, Level.REMARK)) == [
        "a duplicate of an earlier game",
        "evaluation -32768 has no opposite",
        "opponent 7 is not 0, 1 or 2",
        "the move played is not a candidate",
    ]
    assert (report.good, report.duplicates) == (2, 1)


def test_the_good_part_of_damaged_games(tmp_path: Path) -> None:
    games = list(random_games(12, seed=3))
    for index in range(len(games)):  # results that no rule contradicts
        games[index] = replace(games[index], result_byte=1, candidate_visits=games[index].candidate_visits | 1)
    data = bytearray(join_games(games).write())
    sizes = [36 + 6 * len(game) + 4 * len(game.candidate_moves) for game in games]
    data[sizes[0] + 34] = 3  # the result of the second game
    (tmp_path / "a.hcpe3").write_bytes(data[:-1])
    report = check_data([tmp_path / "a.hcpe3"], good=tmp_path / "good.hcpe3")
    assert [(found.index, found.offset) for found in report.findings if found.level is Level.ERROR] == [
        (1, sizes[0]), (11, sum(sizes[:-1])),
    ]  # fmt: skip
    assert (report.records, report.good) == (12, 10)
    assert (tmp_path / "good.hcpe3").read_bytes() == join_games([games[0], *games[2:-1]]).write()


@pytest.mark.parametrize("name", ["hcp", "hcpe", "hcpe2", "psv"])
def test_the_good_part_of_damaged_rows(tmp_path: Path, name: str) -> None:
    with DataWriter(tmp_path / "source.hcpe3") as writer:
        writer.append(random_games(20, seed=5))
    path, good = tmp_path / f"a.{name}", tmp_path / f"good.{name}"
    convert_data([tmp_path / "source.hcpe3"], path, to=Target(name))
    assert check_data([path]).errors == 0
    size = {"hcp": 32, "psv": 40}.get(name, 38)
    data = path.read_bytes()
    rows = [data[at : at + size] for at in range(0, len(data), size)]
    damaged = [*rows]
    damaged[4] = bytes(32) + rows[4][32:]
    (path).write_bytes(b"".join(damaged) + b"x")
    report = check_data([path], good=good)
    assert [(found.index, found.offset) for found in report.findings] == [(4, 4 * size), (len(rows), len(data))]
    assert good.read_bytes() == b"".join(rows[:4] + rows[5:])
    assert report.duplicates == len(rows) - len(set(damaged))


@pytest.mark.parametrize("name", ["hcp", "hcpe", "psv", "hcpe3"])
def test_a_file_cut_at_any_byte(tmp_path: Path, name: str) -> None:
    """What is cut off is an error; the good part is what is whole; reading for a conversion stops with an error."""
    path, good = tmp_path / f"a.{name}", tmp_path / f"good.{name}"
    with DataWriter(tmp_path / "source.hcpe3") as writer:
        writer.append(join_games([game_of("7g7f 3c3d", 1), game_of("2g2f", 2)]))
    convert_data([tmp_path / "source.hcpe3"], path, to=Target(name))
    data = path.read_bytes()
    size = {"hcp": 32, "hcpe": 38, "psv": 40}.get(name)
    ends = [0, 56, 102] if size is None else [size * n for n in range(4)]
    for cut in range(1, len(data)):
        path.write_bytes(data[:cut])
        report = check_data([path], good=good, source=DataFormat(name))
        assert report.errors == (cut not in ends)
        assert good.read_bytes() == data[: max(end for end in ends if end <= cut)]
        if cut not in ends:
            with pytest.raises(DataFileError, match=re.escape(str(path))):
                convert_data([path], tmp_path / "out.sfen", to=Target.SFEN, source=DataFormat(name))
    assert not (tmp_path / "out.sfen").exists()


def test_what_cannot_be_checked_together(tmp_path: Path) -> None:
    with DataWriter(tmp_path / "a.hcpe3") as writer:
        writer.append(random_games(20))
    convert_data([tmp_path / "a.hcpe3"], tmp_path / "a.psv", to=Target.PSV)
    convert_data([tmp_path / "a.hcpe3"], tmp_path / "a.sfen", to=Target.SFEN)
    with pytest.raises(DataFileError, match="hcpe3, psv files cannot be written to one file"):
        check_data([tmp_path / "a.hcpe3", tmp_path / "a.psv"], good=tmp_path / "good")
    with pytest.raises(DataFileError, match="fukayomi data convert makes hcp of them"):
        check_data([tmp_path / "a.sfen"])
    assert check_data([tmp_path / "a.hcpe3", tmp_path / "a.psv"]).files == {
        str(tmp_path / "a.hcpe3"): "hcpe3", str(tmp_path / "a.psv"): "psv",
    }  # fmt: skip


def check_cuts_and_changes(tmp_path: Path, kind: str, count: int, seed: int) -> None:
    """However a file is changed, a check ends with a report whose good part has no error."""
    rng = random.Random(seed)
    source, path, good = (tmp_path / name for name in ("source.hcpe3", f"a.{kind}", f"good.{kind}"))
    with DataWriter(source) as writer:
        writer.append(join_games([random_game(rng, 10) for _ in range(6)]))
    convert_data([source], path, to=Target(kind))
    data = path.read_bytes()
    for _ in range(count):
        changed = bytearray(data[: rng.randrange(1, len(data) + 1)])
        for _ in range(rng.randrange(4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        path.write_bytes(changed)
        report = check_data([path], good=good, source=DataFormat(kind))
        assert report.good <= report.records
        assert check_data([good], source=DataFormat(kind)).errors == 0


@pytest.mark.parametrize("kind", ["hcp", "hcpe", "hcpe2", "psv", "hcpe3"])
def test_changed_files_are_reported(tmp_path: Path, kind: str) -> None:
    check_cuts_and_changes(tmp_path, kind, 60, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["hcp", "hcpe", "hcpe2", "psv", "hcpe3"])
def test_many_changed_files_are_reported(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None]
) -> None:
    check_cuts_and_changes(tmp_path, kind, 10_000, seed=2)
    record_property("inputs", 10_000)


def test_endings_are_judged() -> None:
    games = [*read_back(game_of("7g7f", 1)), *read_back(game_of(REPEATED, 0))]
    columns = join_games(games)
    first, second = _native.judge_endings(columns.starts, columns.plies, columns.moves)
    assert (first.is_mated, first.occurrences, first.black_to_move, first.fourfold_before) == (False, 1, False, -1)
    assert (second.occurrences, second.black_to_move) == (4, True)
    with pytest.raises(ValueError, match="plies must lead"):
        _native.judge_endings(columns.starts, columns.plies[:-1], columns.moves)
    with pytest.raises(ValueError, match="not a move"):
        _native.judge_endings(columns.starts, columns.plies, np.zeros_like(columns.moves))


def read_back(game: Game) -> list[Game]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        with DataWriter(Path(folder) / "a.hcpe3") as writer:
            writer.append(join_games([game]))
        return [game for games in read_hcpe3(Path(folder) / "a.hcpe3") for game in games]
