"""Rows of psv without a move, as pools of evaluations have: none is damaged, and what needs a move says so."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_app import app
from typer.testing import CliRunner

from fukayomi.data import check_data, convert_data, load_rows, read_data, write_data
from fukayomi.data.conditions import FilterConditions
from fukayomi.data.convert.convert import NothingConvertedError
from fukayomi.data.formats.format import map_rows
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV, psv_record
from fukayomi.data.formats.table import detect_data
from fukayomi.data.records.reading import Drop
from fukayomi.data.stats.statistics import measure
from fukayomi.data.verbs import filter, shuffle
from fukayomi.shogi import START_SFEN, Position


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """20 positions with evaluations, every second without a move."""
    position, rows = Position(), []
    moves = ["7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e", "6i7h", "4a3b", "3i3h", "7a7b"] * 2
    for ply, move in enumerate(moves[:10], 1):
        rows += [psv_record(position.sfen(), usi, 30 * ply, ply, 1) for usi in (move, None)]
        position.push_usi(move)
    write_data(tmp_path / "pool.psv", np.concatenate(rows))
    return tmp_path / "pool.psv"


def test_nothing_is_damaged(pool: Path, tmp_path: Path) -> None:
    assert detect_data(pool) is DataFormat.PSV
    report = check_data(pool, good=tmp_path / "good.psv")
    assert (report.records, report.good, report.errors, report.remarks) == (20, 20, 0, 0)
    assert (tmp_path / "good.psv").read_bytes() == pool.read_bytes()
    assert (measure(pool).positions, measure(pool).unique) == (20, 10)
    assert load_rows(pool)["bestMove16"].astype(bool).tolist() == [True, False] * 10


def test_a_pool_without_any_move_is_found_by_its_content(pool: Path, tmp_path: Path) -> None:
    rows = np.array(map_rows(pool, PSV))
    rows["move"] = 0
    (tmp_path / "values").write_bytes(rows.tobytes())
    assert detect_data(tmp_path / "values") is DataFormat.PSV
    assert check_data(tmp_path / "values").errors == 0
    with pytest.raises(NothingConvertedError, match="no row has a move; psv, plain, hcp and sfen hold positions"):
        convert_data(tmp_path / "values", tmp_path / "out.hcpe")


@pytest.mark.parametrize("target", ["psv", "plain", "hcp", "sfen"])
def test_formats_with_such_rows_keep_them(pool: Path, tmp_path: Path, target: str) -> None:
    found = convert_data(pool, tmp_path / f"out.{target}")
    assert (found.written, found.dropped[Drop.NO_MOVE]) == (20, 0)
    if target == "plain":
        assert (tmp_path / "out.plain").read_text().count("\nmove none\n") == 10
        convert_data(tmp_path / "out.plain", tmp_path / "out.psv")
    if target in ("psv", "plain"):
        assert (tmp_path / "out.psv").read_bytes() == pool.read_bytes()


@pytest.mark.parametrize("target", ["hcpe", "hcpe2", "hcpe3"])
def test_formats_that_need_a_move_say_what_is_skipped(pool: Path, tmp_path: Path, target: str) -> None:
    out = tmp_path / f"out.{target}"
    found = convert_data(pool, out)
    assert (found.positions, found.written, found.dropped[Drop.NO_MOVE]) == (20, 10, 10)
    assert check_data(out).errors == 0
    ran = CliRunner().invoke(app, ["data", "convert", str(pool), "-o", str(out)])
    assert ran.exit_code == 0
    assert "skipped, no move: 10\n" in ran.stdout
    assert write_data(out, read_data(pool)) == 10


def test_verbs_and_print_take_them(pool: Path, tmp_path: Path) -> None:
    shuffle(pool, tmp_path / "shuffled.psv", seed=1)
    filter(pool, tmp_path / "few.psv", FilterConditions(max_eval=100))
    assert (len(map_rows(tmp_path / "shuffled.psv", PSV)), len(map_rows(tmp_path / "few.psv", PSV))) == (20, 6)
    ran = CliRunner().invoke(app, ["data", "print", str(pool), "--json"])
    first, second = map(json.loads, ran.stdout.splitlines()[:2])
    assert (first["move"], second["move"], second["sfen"]) == ("7g7f", None, START_SFEN)


def test_other_moves_that_are_none_are_still_errors(pool: Path, tmp_path: Path) -> None:
    rows = np.array(map_rows(pool, PSV))
    rows["move"][1] = 0x1234
    (tmp_path / "bad.psv").write_bytes(rows.tobytes())
    report = check_data(tmp_path / "bad.psv")
    assert [finding.index for finding in report.findings] == [1]
