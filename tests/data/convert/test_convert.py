"""Games to positions: the bytes that cshogi writes, the filters, the hold-out, and what is said about the rest."""

import zipfile
from pathlib import Path

import cshogi
import numpy as np
import pytest
from cshogi import CSA
from places import RECORDS
from verb_runs import make_games

from fukayomi.data.conditions import Filters
from fukayomi.data.convert.blocks import game_hashes
from fukayomi.data.convert.convert import convert_data
from fukayomi.data.convert.positions import (
    HoldOut,
    NoPositionsError,
    Summary,
    convert_records,
    measure_overlap,
    positions_of,
)
from fukayomi.data.convert.reading import read_data
from fukayomi.data.formats.format import position_keys
from fukayomi.data.formats.games import record_from_game
from fukayomi.data.formats.hcpe import HCPE, read_hcpe
from fukayomi.data.records.reading import Drop, Dropped
from fukayomi.data.verbs import split
from fukayomi.listener import Listener
from fukayomi.shogi.formats import read_records, write_csa, write_kif
from fukayomi.shogi.record import Record, Result

SAMPLES = sorted((RECORDS).glob("*.csa"))
HEAD = "V2.2\nN+a\nN-b\nPI\n+\n'black_rate:a:3000\n'white_rate:b:2000.5\n"
GAME = HEAD + "+7776FU\n'** 10\n-3334FU\n'** 20\n+2726FU\n'** -40000\n-8384FU\n+2625FU\n'** 30000\n%TORYO\n"


def game(text: str = GAME) -> Record:
    (record,) = read_records(text.encode(), name="game.csa")
    return record


def positions(text: str = GAME, filters: Filters | None = None) -> np.ndarray:
    found = positions_of(game(text), filters or Filters())
    assert not isinstance(found, Dropped)
    return found.records


def write(path: Path, text: str = GAME) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


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
    found = positions_of(record)
    assert not isinstance(found, Dropped)
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
    found = positions_of(game(), filters)
    assert (found.reason if isinstance(found, Dropped) else len(found)) == outcome


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
    found = positions_of(game(text))
    assert isinstance(found, Dropped)
    assert found.reason is reason


def test_draws_may_be_left_out() -> None:
    text = GAME.replace("%TORYO", "%SENNICHITE")
    assert positions(text)["gameResult"].tolist() == [0] * 4
    found = positions_of(game(text), Filters(draws=False))
    assert isinstance(found, Dropped)
    assert found.reason is Drop.DRAW


def test_players_without_a_rating_do_not_pass() -> None:
    text = GAME.replace("'white_rate:b:2000.5\n", "")
    found = positions_of(game(text), Filters(min_rating=1))
    assert isinstance(found, Dropped)
    assert found.reason is Drop.RATING
    assert len(positions(text)) == 4


def test_what_cannot_be_used_is_named_and_the_rest_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out.hcpe"
    with zipfile.ZipFile(tmp_path / "broken.zip", "w") as archive:
        archive.writestr("a.csa", GAME)
    data = bytearray((tmp_path / "broken.zip").read_bytes())
    data[data.index(b"+7776FU")] ^= 1
    (tmp_path / "broken.zip").write_bytes(data)
    sources = [
        write(tmp_path / "good.csa"),
        write(tmp_path / "illegal.csa", GAME.replace("-3334FU", "-3335FU")),
        write(tmp_path / "damaged.csa", GAME[:60] + "???" + GAME[60:]),
        write(tmp_path / "README", "read me"),
        tmp_path / "broken.zip",
        write(tmp_path / "three.csa", f"{GAME}/\n{GAME}/\n+7776FU\n+7776FU\n"),
    ]
    heard: list[tuple[str, int, int | None]] = []

    class Hears(Listener):
        def progress(self, stage: str, done: int, total: int | None) -> None:
            heard.append((stage, done, total))

    summary = convert_records(sources, out, listener=Hears())
    size = sum(path.stat().st_size for path in sources)
    assert {stage for stage, _, _ in heard} == {"converting"}
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    assert heard[-1][2] == size
    assert [(problem.name.removeprefix(f"{tmp_path}/"), problem.reason) for problem in summary.problems] == [
        ("illegal.csa", Drop.ILLEGAL_MOVE),
        ("damaged.csa", Drop.DAMAGED),
        ("README", Drop.NO_RECORD),
        ("broken.zip/a.csa", Drop.UNREADABLE),
        ("three.csa#3", Drop.DAMAGED),
    ]
    assert all(problem.name in problem.message for problem in summary.problems)
    assert summary.training.games == 2  # one of the three is a copy of the good one
    assert summary.training.positions == len(read_hcpe(out)) == 8
    assert summary.training.results == {Result.BLACK_WIN: 8}
    assert summary.unscored == 2
    assert summary.games_read == 5
    assert (read_hcpe(out) == np.concatenate([positions()] * 2)).all()


def test_nothing_is_written_where_nothing_passes(tmp_path: Path) -> None:
    with pytest.raises(NoPositionsError, match="no position is left") as error:
        convert_records(write(tmp_path / "a.csa"), tmp_path / "out.hcpe", filters=Filters(min_plies=100))
    assert isinstance(error.value.summary, Summary)
    assert error.value.summary.dropped == {Drop.PLIES: 1}
    assert [file.name for file in tmp_path.iterdir()] == ["a.csa"]


def test_a_game_is_held_out_by_its_moves_whatever_its_file_and_format(tmp_path: Path) -> None:
    folders = {suffix: tmp_path / suffix for suffix in ("csa", "kif")}
    for suffix, folder in folders.items():
        folder.mkdir()
        for number, played in enumerate(make_games(200, 3)):
            record = record_from_game(played)
            text = write_csa(record) if suffix == "csa" else write_kif(record)
            (folder / f"{suffix} {number}.{suffix}").write_text(text, encoding="utf-8")
    convert_data(folders["csa"], tmp_path / "all.hcpe3")
    convert_data(folders["csa"], tmp_path / "all.csa")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in sorted(folders["csa"].iterdir(), reverse=True):
            archive.write(path, path.name)
    test = tmp_path / "test.hcpe"
    summary = convert_records(folders["csa"], tmp_path / "train.hcpe", hold_out=HoldOut(5, test))
    assert 20 < summary.held_out.games < 60
    assert summary.training.games > 100
    assert summary.overlap is not None
    assert summary.overlap.positions == 0  # no game reaches ply 30
    held_out = positions_in(test)
    for name in ("all.csa", "all.zip"):
        convert_records(tmp_path / name, tmp_path / "a.hcpe", hold_out=HoldOut(5, tmp_path / "b.hcpe"))
        assert positions_in(tmp_path / "b.hcpe") == held_out, name
    chosen: dict[str, set[bytes]] = {}
    for source in (tmp_path / "all.hcpe3", folders["csa"], folders["kif"], tmp_path / "all.zip"):
        outs = [tmp_path / f"{name}.{'hcpe3' if source.suffix == '.hcpe3' else 'csa'}" for name in "cd"]
        split(source, outs, every=5)
        contents = [{key for part in read_data(out) for key in game_hashes(part)} for out in outs]  # type: ignore[arg-type]
        assert not contents[0] & contents[1]
        chosen[source.name] = contents[1]
    assert chosen["all.hcpe3"] == chosen["csa"] == chosen["kif"] == chosen["all.zip"]
    assert len(chosen["csa"]) >= summary.held_out.games


def positions_in(path: Path) -> list[bytes]:
    return sorted(row.tobytes() for row in read_hcpe(path))


def test_overlap_counts_late_positions_that_training_has() -> None:
    (record,) = read_records(SAMPLES[0])
    found = positions_of(record)
    assert not isinstance(found, Dropped)
    plies = found.plies - np.uint16(1)
    late = plies >= 30
    half = found.records[plies < 100]
    overlap = measure_overlap(half, found.records, plies, 30)
    assert overlap.positions == late.sum()
    shared = {record["hcp"].tobytes() for record in half}
    assert overlap.shared == sum(record["hcp"].tobytes() in shared for record in found.records[late])
    assert 0 < overlap.share < 1
    assert measure_overlap(np.zeros(0, HCPE), found.records, plies, 30).shared == 0


def test_position_keys_differ_by_every_bit() -> None:
    hcps = np.zeros((257, 32), np.uint8)
    for bit in range(256):
        hcps[bit + 1, bit // 8] = 1 << bit % 8
    assert len(np.unique(position_keys(hcps))) == 257
