"""Records from elsewhere, and what other libraries read in them."""

import itertools
import tarfile
from collections.abc import Iterator
from pathlib import Path

import cshogi
import numpy as np
import pytest
from cshogi import CSA

from fukayomi.data.convert.positions import positions_of
from fukayomi.data.records.reading import Dropped
from fukayomi.shogi.formats import read_records, scan_records, write_kif
from fukayomi.shogi.record import Record, RecordError, Result, Termination

CSHOGI_RESULTS = {0: Result.DRAW, 1: Result.BLACK_WIN, 2: Result.WHITE_WIN}


def engine_games(shared_data: Path, step: int, most: int | None = None) -> Iterator[tuple[str, bytes]]:
    """Every step-th of the first games in each archive of the collection between engines."""
    for archive in sorted((shared_data / "games-engine").glob("*.tar.xz")):
        with tarfile.open(archive) as games:
            for member in itertools.islice(games, 0, most, step):
                content = games.extractfile(member)
                assert content is not None
                yield member.name, content.read()


def compare_with_cshogi(name: str, data: bytes) -> None:
    (record,) = read_records(data, name=name)
    parsed = CSA.Parser.parse_str(data.decode())
    other = parsed[0] if isinstance(parsed, list) else parsed
    assert record.usi_moves() == [cshogi.move_to_usi(move) for move in other.moves]
    assert [record.black_name, record.white_name] == other.names
    assert [record.black_rating, record.white_rating] == pytest.approx(other.ratings)
    assert record.initial_sfen == other.sfen
    assert record.result == CSHOGI_RESULTS[other.win]
    assert [played.time_ms for played in record.moves] == [1000 * seconds for seconds in other.times]
    scores = [score if comment.strip() else None for score, comment in zip(other.scores, other.comments, strict=True)]
    assert [played.score_cp for played in record.moves] == scores
    compare_positions_with_cshogi(record, other.moves, scores)


def compare_positions_with_cshogi(record: Record, moves: list[int], scores: list[int | None]) -> None:
    board = cshogi.Board(record.initial_sfen)
    expected = np.zeros(len(moves), cshogi.HuffmanCodedPosAndEval)
    for row, move, score in zip(expected, moves, scores, strict=True):
        board.to_hcp(row["hcp"])
        if score is not None:
            row["eval"] = max(-32767, min(32767, score if board.turn == cshogi.BLACK else -score))
        row["bestMove16"] = cshogi.move16(move)
        row["gameResult"] = record.result
        board.push(move)
    found = positions_of(record)
    assert not isinstance(found, Dropped)
    scored = np.array([score is not None for score in scores])
    assert found.records.tobytes() == expected[scored].tobytes()


def test_engine_games_as_cshogi_reads_them(shared_data: Path) -> None:
    count = 0
    for name, data in engine_games(shared_data, step=10, most=500):
        compare_with_cshogi(name, data)
        count += 1
    assert count > 200


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_all_engine_games_as_cshogi_reads_them(shared_data: Path) -> None:
    count = 0
    for name, data in engine_games(shared_data, step=1):
        compare_with_cshogi(name, data)
        count += 1
    assert count == 20_550


def test_tournament_games(shared_data: Path) -> None:
    records = [
        next(read_records(path, name=path.name)) for path in sorted((shared_data / "games-wcsc28").glob("*.csa"))
    ]
    assert len(records) == 124
    endings = [record.termination for record in records]
    assert endings.count(Termination.RESIGN) == 107
    assert endings.count(Termination.ILLEGAL_MOVE) == 6
    assert endings.count(Termination.TIME_UP) == 6
    assert endings.count(Termination.REPETITION) == 3
    assert endings.count(Termination.DECLARATION) == 1
    assert endings.count(Termination.INTERRUPTED) == 1
    for record in records:
        text = (shared_data / "games-wcsc28" / record.name).read_text(encoding="utf-8-sig")  # cshogi stops at the mark
        parser = CSA.Parser.parse_str(text)[0]
        assert record.usi_moves() == [cshogi.move_to_usi(move) for move in parser.moves]
        assert record.black_name
        assert record.white_name
        assert any(played.time_ms for played in record.moves)


def test_every_record_of_the_collection_is_read_or_refused_by_name(shared_data: Path) -> None:
    refused = set()
    read = 0
    for path in sorted((shared_data / "records").rglob("*")):
        if path.is_file() and path.suffix in (".csa", ".kif", ".kifu", ".ki2", ".ki2u", ".jkf", ".sfen"):
            for found in scan_records(path):
                if isinstance(found, RecordError):
                    assert found.name == str(path)
                    refused.add(path.name)
                else:
                    read += 1
    # A board with two pawns of White on a file
    assert refused == {"9fu.csa", "9fu_komabetsu.csa", "9fu.ki2", "9fu.kif"}
    assert read >= 90


def test_conversions_of_shogihome_have_the_moves_of_their_inputs(shared_data: Path) -> None:
    folder = shared_data / "records" / "shogihome" / "conversion"
    inputs = {path.stem: path for path in (folder / "input").glob("*.*")}
    outputs = sorted((folder / "output").rglob("*-utf8*.*")) + sorted((folder / "output").rglob("*-sjis.*"))
    compared = 0
    for path in outputs:
        if path.parent.name in ("sub01", "sub0101", "sub02") or path.stem not in inputs:
            continue
        (converted,) = read_records(path)
        (original,) = read_records(inputs[path.stem])
        assert converted.usi_moves() == original.usi_moves(), path
        assert converted.result == original.result, path
        compared += 1
    assert compared >= 20


@pytest.mark.parametrize("stem", ["csa-sjis", "kif-sjis", "kifu-utf8", "ki2-sjis"])
def test_our_kif_of_their_records_has_the_same_moves(shared_data: Path, stem: str) -> None:
    (path,) = (shared_data / "records" / "shogihome" / "conversion" / "input").glob(f"{stem}.*")
    (record,) = read_records(path)
    (again,) = read_records(write_kif(record).encode())
    assert again.usi_moves() == record.usi_moves()


def test_shared_goldens_of_the_same_game_agree(shared_data: Path) -> None:
    """The same game in two formats, written by others, is the same game."""
    folder = shared_data / "records" / "json-kifu-format" / "files"
    for one, two in (
        ("jkf/ryuou201409020101.jkf", "kif/ryuou201409020101.kif"),
        ("csa/8mai.csa", "kif/8mai.kif"),
        ("csa/8mai.csa", "ki2/8mai.ki2"),
        ("csa/8mai.csa", "csa/8mai_hirate.csa"),
        ("csa/chudan.csa", "kif/chudan.kif"),
    ):
        (a,) = read_records(folder / one)
        (b,) = read_records(folder / two)
        assert (a.initial_sfen, a.usi_moves(), a.result) == (b.initial_sfen, b.usi_moves(), b.result), (one, two)


def test_opening_lines(shared_data: Path) -> None:
    records = list(read_records(shared_data / "openings" / "taya36_2020-11-06.sfen"))
    assert len(records) == 1957
    assert {len(record) for record in records} == {36}
