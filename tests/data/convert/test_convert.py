"""Games to positions: the bytes that cshogi writes, the filters, the hold-out, and what is said about the rest."""

import zlib
from pathlib import Path

import cshogi
import numpy as np
import pytest
from cshogi import CSA
from places import RECORDS

from fukayomi.data.convert.positions import (
    Drop,
    Filters,
    HoldOut,
    NoPositionsError,
    Summary,
    convert_game,
    convert_games,
)
from fukayomi.data.formats.hcpe import HCPE, read_hcpe
from fukayomi.data.formats.overlap import measure_overlap, position_keys
from fukayomi.data.records.sources import Source
from fukayomi.shogi.formats import read_records
from fukayomi.shogi.record import Record, Result

SAMPLES = sorted((RECORDS).glob("*.csa"))
HEAD = "V2.2\nN+a\nN-b\nPI\n+\n'black_rate:a:3000\n'white_rate:b:2000.5\n"
GAME = HEAD + "+7776FU\n'** 10\n-3334FU\n'** 20\n+2726FU\n'** -40000\n-8384FU\n+2625FU\n'** 30000\n%TORYO\n"


def game(text: str = GAME) -> Record:
    (record,) = read_records(text.encode(), name="game.csa")
    return record


def positions(text: str = GAME, filters: Filters | None = None) -> np.ndarray:
    found = convert_game(game(text), filters or Filters())
    assert not isinstance(found, Drop)
    return found.records


def source(text: str, name: str = "game.csa") -> Source:
    return Source(name, text.encode())


def by_cshogi(text: str) -> bytes:
    """The same positions, found and written by cshogi alone."""
    parser = CSA.Parser.parse_str(text)
    parser = parser[0] if isinstance(parser, list) else parser
    board = cshogi.Board(parser.sfen)
    records = np.zeros(len(parser.moves), cshogi.HuffmanCodedPosAndEval)
    count = 0
    for move, score, comment in zip(parser.moves, parser.scores, parser.comments, strict=True):
        if comment.strip():  # without one, cshogi says 0
            board.to_hcp(records[count]["hcp"])
            records[count]["eval"] = score if board.turn == cshogi.BLACK else -score
            records[count]["bestMove16"] = cshogi.move16(move)
            records[count]["gameResult"] = parser.win
            count += 1
        board.push(move)
    return records[:count].tobytes()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_bytes_are_those_of_cshogi(path: Path) -> None:
    (record,) = read_records(path)
    found = convert_game(record, Filters())
    assert not isinstance(found, Drop)
    assert found.records.tobytes() == by_cshogi(path.read_text())


def test_evaluations_are_those_of_the_side_to_move_and_cut_to_16_bits() -> None:
    records = positions()
    assert records["eval"].tolist() == [10, -20, -32767, 30000]
    assert records["bestMove16"].tolist() == [played.move.raw for played in game().moves if played.score_cp is not None]
    assert set(records["gameResult"].tolist()) == {Result.BLACK_WIN}
    assert set(records["dummy"].tolist()) == {0}


def test_a_handicap_game_has_white_to_move_first() -> None:
    records = positions("PI82HI22KA\n-\n-5142OU\n'** 10\n+7776FU\n'** 20\n%TORYO\n")
    assert records["eval"].tolist() == [-10, 20]


@pytest.mark.parametrize(
    ("filters", "outcome"),
    [
        (Filters(min_rating=2000.5), 4),
        (Filters(min_rating=2000.6), Drop.RATING),
        (Filters(min_plies=5), 4),
        (Filters(min_plies=6), Drop.PLIES),
        (Filters(max_eval=40000), 4),
        (Filters(max_eval=39999), 2),
        (Filters(max_eval=20), 2),
        (Filters(max_eval=19), 1),
        (Filters(max_eval=9), Drop.FILTERED),
        (Filters(mates=False), 2),
        (Filters(draws=False), 4),
    ],
)
def test_filters(filters: Filters, outcome: int | Drop) -> None:
    found = convert_game(game(), filters)
    assert (found if isinstance(found, Drop) else len(found.records)) == outcome


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GAME.replace("%TORYO", "%CHUDAN"), Drop.ENDING),
        (GAME.replace("%TORYO", "%TIME_UP"), Drop.ENDING),
        (GAME.replace("%TORYO", "%ILLEGAL_MOVE"), Drop.ENDING),
        (GAME.replace("%TORYO\n", ""), Drop.ENDING),
        (HEAD + "+7776FU\n%TORYO\n", Drop.NO_SCORES),
        ("P-51OU\nP+53FU00KI\nP-00AL\n+\n+0052KI\n'** 30000\n%TSUMI\n", Drop.NO_HCP),
    ],
)
def test_games_that_give_nothing(text: str, reason: Drop) -> None:
    assert convert_game(game(text), Filters()) == reason


def test_draws_may_be_left_out() -> None:
    text = GAME.replace("%TORYO", "%SENNICHITE")
    assert positions(text)["gameResult"].tolist() == [0] * 4
    assert convert_game(game(text), Filters(draws=False)) is Drop.DRAW


def test_players_without_a_rating_do_not_pass() -> None:
    text = GAME.replace("'white_rate:b:2000.5\n", "")
    assert convert_game(game(text), Filters(min_rating=1)) is Drop.RATING
    assert len(positions(text)) == 4


def test_what_cannot_be_used_is_named_and_the_rest_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out.hcpe"
    sources = [
        source(GAME, "good.csa"),
        source(GAME.replace("-3334FU", "-3335FU"), "illegal.csa"),
        source(GAME[:60] + "???" + GAME[60:], "damaged.csa"),
        source("read me", "README"),
        Source("broken.zip/a.csa", b"", "cannot be read: wrong checksum"),
        source(f"{GAME}/\n{GAME}/\n+7776FU\n+7776FU\n", "three.csa"),
    ]
    seen: list[int] = []
    summary = convert_games(sources, out, Filters(), report=lambda running: seen.append(running.games_read))
    assert seen == [1, 2, 3, 3, 3, 6]
    assert [(problem.name, problem.reason) for problem in summary.problems] == [
        ("illegal.csa", Drop.ILLEGAL_MOVE),
        ("damaged.csa", Drop.DAMAGED),
        ("README", Drop.NO_RECORD),
        ("broken.zip/a.csa", Drop.UNREADABLE),
        ("three.csa#3", Drop.DAMAGED),
    ]
    assert all(problem.name in problem.message for problem in summary.problems)
    assert summary.training.games == 3
    assert summary.training.positions == len(read_hcpe(out)) == 12
    assert summary.training.results == {Result.BLACK_WIN: 12}
    assert summary.unscored == 3
    assert summary.games_read == 6
    assert (read_hcpe(out) == np.concatenate([positions()] * 3)).all()


def test_nothing_is_written_where_nothing_passes(tmp_path: Path) -> None:
    with pytest.raises(NoPositionsError, match="no position is left") as error:
        convert_games([source(GAME)], tmp_path / "out.hcpe", Filters(min_plies=100))
    assert isinstance(error.value.summary, Summary)
    assert error.value.summary.dropped == {Drop.PLIES: 1}
    assert not list(tmp_path.iterdir())


def test_whole_games_are_held_out_by_their_names(tmp_path: Path) -> None:
    train, test = tmp_path / "train.hcpe", tmp_path / "test.hcpe"
    names = [f"folder/{number}.csa" for number in range(60)]
    hold_out = HoldOut(5, test)
    kept_apart = [name for name in names if zlib.crc32(name.rpartition("/")[2].encode()) % 5 == 0]
    assert 0 < len(kept_apart) < 30
    summary = convert_games([source(GAME, name) for name in names], train, Filters(), hold_out)
    assert summary.held_out.games == len(kept_apart)
    assert summary.training.games == 60 - len(kept_apart)
    assert len(read_hcpe(test)) == 4 * len(kept_apart)
    assert hold_out.takes("elsewhere.zip/" + kept_apart[0])
    assert summary.overlap is not None
    assert (summary.overlap.positions, summary.overlap.shared) == (0, 0)  # no game reaches ply 30


def test_overlap_counts_late_positions_that_training_has() -> None:
    (record,) = read_records(SAMPLES[0])
    found = convert_game(record, Filters())
    assert not isinstance(found, Drop)
    late = found.plies >= 30
    half = found.records[found.plies < 100]
    overlap = measure_overlap(half, found.records, found.plies, 30)
    assert overlap.positions == late.sum()
    shared = {record["hcp"].tobytes() for record in half}
    assert overlap.shared == sum(record["hcp"].tobytes() in shared for record in found.records[late])
    assert 0 < overlap.share < 1
    assert measure_overlap(np.zeros(0, HCPE), found.records, found.plies, 30).shared == 0


def test_position_keys_differ_by_every_bit() -> None:
    hcps = np.zeros((257, 32), np.uint8)
    for bit in range(256):
        hcps[bit + 1, bit // 8] = 1 << bit % 8
    assert len(np.unique(position_keys(hcps))) == 257
