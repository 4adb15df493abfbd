"""Statistics against counts made another way, and files as text."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from command_app import app
from typer.testing import CliRunner
from verb_runs import make_games, make_inputs

from fukayomi.data.formats.evaluations import EvalTally, calibrate, win_probabilities
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcp import hcps_from_sfens
from fukayomi.data.formats.hcpe import HCPE, read_hcpe
from fukayomi.data.formats.hcpe3 import join_games, read_hcpe3
from fukayomi.data.formats.table import as_rows
from fukayomi.data.printing import describe
from fukayomi.data.stats import measure
from fukayomi.data.stats.statistics import UniqueCounter
from fukayomi.shogi import Position
from fukayomi.shogi.formats import write_csa
from fukayomi.shogi.record import Record, Result


def test_games_are_counted(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "hcpe3")
    games = join_games([game for path in inputs for batch in read_hcpe3(path) for game in batch])
    rows = as_rows(games)
    found = measure(inputs)
    assert (found.games, found.moves, found.positions) == (len(games), len(games.moves), len(rows.records))
    names = {0: "draw", 1: "black", 2: "white"}
    assert found.game_results == Counter(names[int(result)] for result in games.results & 3)
    assert found.results == Counter(names[int(result)] for result in rows.records["gameResult"] & 3)
    assert found.lengths == Counter(len(game) // 10 * 10 for game in games)
    assert found.plies == Counter((rows.plies.astype(int) // 10 * 10).tolist())
    assert found.unique == len({hcp.tobytes() for hcp in rows.records["hcp"]}) < len(rows.records)


def test_rows_and_records_of_the_same_games_agree(tmp_path: Path) -> None:
    found = {}
    for suffix in ("hcpe3", "hcpe", "psv", "csa"):
        found[suffix] = measure(make_inputs(tmp_path, suffix)).as_json()
    for suffix in ("hcpe", "psv"):
        for key in ("positions", "results", "evaluations", "scale", "unique_positions", "mates"):
            assert found[suffix][key] == found["hcpe3"][key], (suffix, key)
    assert found["psv"]["plies"] == found["hcpe3"]["plies"]
    assert found["csa"]["game_lengths"] == found["hcpe3"]["game_lengths"]
    assert found["csa"]["game_results"] == found["hcpe3"]["game_results"]


def test_ratings_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "in.csa"
    ratings = [(3010.0, 3099.0), (2950.0, None)]
    path.write_text("/\n".join(write_csa(Record(black_rating=b, white_rating=w, result=Result.DRAW))
                               for b, w in ratings))  # fmt: skip
    found = measure(path)
    assert found.ratings == {3000: 2, 2900: 1}
    assert found.games_without_positions == 2


@pytest.mark.parametrize("hash_bits", [64, 8, 2])
def test_different_positions_are_counted_exactly(tmp_path: Path, hash_bits: int) -> None:
    rng = np.random.default_rng(3)
    positions = rng.integers(0, 256, (3000, 32), np.uint8)[rng.integers(0, 2000, 20_000)]
    expected = len({position.tobytes() for position in positions})
    for memory in (1 << 20, 40_000):  # in memory, and in files
        with UniqueCounter(memory, tmp_path, hash_bits) as unique:
            for part in np.split(positions, 40):
                unique.add(part)
            assert unique.count() == expected
    assert list(tmp_path.iterdir()) == []


def test_draws_alone_have_no_scale() -> None:
    rows = np.zeros(3, HCPE)
    rows["hcp"] = hcps_from_sfens([Position().sfen()])
    rows["eval"] = [-300, 20, 500]
    tally = EvalTally()
    tally.add(rows)
    assert tally.fit() is None
    rows["gameResult"] = [2, 1, 1]
    tally.add(rows)
    assert tally.fit() is not None


def test_calibration_finds_the_scale_that_made_the_results() -> None:
    rng = np.random.default_rng(4)
    rows = np.zeros(200_000, HCPE)
    rows["hcp"] = hcps_from_sfens([Position().sfen()])
    rows["eval"] = rng.normal(0, 600, len(rows)).round()
    rows["gameResult"] = np.where(rng.random(len(rows)) < win_probabilities(rows["eval"].astype(float), 400), 1, 2)
    tally = EvalTally()
    tally.add(rows)
    table = calibrate(tally)
    assert table.counts.sum() == len(rows)
    assert tally.fit() == pytest.approx(400, rel=0.02)
    assert table.error(400) < 0.01 < table.error(756) < 0.15
    middle = table.centers.tolist().index(0)
    assert table.win_rates[middle] == pytest.approx(0.5, abs=0.02)
    assert table.counts[middle] == ((rows["eval"] >= -50) & (rows["eval"] < 50)).sum()


def test_tables_and_pictures(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "hcpe3")
    pictures = tmp_path / "pictures"
    found = CliRunner().invoke(app, ["data", "stats", *map(str, inputs), "--pictures", str(pictures)])
    assert found.exit_code == 0, found.output
    assert "different positions" in found.stdout
    names = {"results", "lengths", "plies", "evaluations", "calibration"}
    assert {path.stem for path in pictures.iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures.iterdir())
    found = CliRunner().invoke(app, ["data", "stats", str(inputs[0]), "--json", "--no-unique"])
    assert json.loads(found.stdout)["unique_positions"] is None
    bare = tmp_path / "in.hcp"
    bare.write_bytes(join_games([make_games(3, 1)[0]]).starts.tobytes() * 3)
    found = CliRunner().invoke(app, ["data", "stats", str(bare), "--from", "hcp", "--json"])
    assert json.loads(found.stdout)["unique_share"] == pytest.approx(1 / 3, abs=1e-6)


def test_files_are_printed(tmp_path: Path) -> None:
    games, rows, psv, records = (make_inputs(tmp_path, suffix)[0] for suffix in ("hcpe3", "hcpe", "psv", "csa"))
    row, other = next(describe(rows, 5, 6)), next(describe(psv, 5, 6))
    assert row["index"] == other["index"] == 5
    for key in ("move", "eval", "result"):
        assert row[key] == other[key]
    assert row["sfen"].split()[:3] == other["sfen"].split()[:3]
    Position.from_sfen(row["sfen"]).push_usi(row["move"])
    assert row["eval"] == read_hcpe(rows)[5]["eval"]
    game = next(item for item in describe(games, 0, 60) if len(item["moves"]) > 3)
    record = next(item for item in describe(records, game["index"], game["index"] + 1))
    assert [move["move"] for move in record["moves"]] == [move["move"] for move in game["moves"]]
    assert all(mine["eval"] is None or mine["eval"] == move["eval"]
               for mine, move in zip(record["moves"], game["moves"], strict=True))  # fmt: skip
    assert len(list(describe(games, 50, 1000))) == 10


def test_print_writes_text_or_json_lines(tmp_path: Path) -> None:
    path = make_inputs(tmp_path, "hcpe3")[0]
    found = CliRunner().invoke(app, ["data", "print", str(path), "--start", "2", "--end", "4", "--json"])
    assert [json.loads(line)["index"] for line in found.stdout.splitlines()] == [2, 3]
    found = CliRunner().invoke(app, ["data", "print", str(path)])
    assert found.stdout.startswith("0  sfen ")
    rows = make_inputs(tmp_path, "hcpe")[0]
    found = CliRunner().invoke(app, ["data", "print", str(rows)])
    assert len(found.stdout.splitlines()) == 10


def test_a_position_that_cannot_be_is_named(tmp_path: Path) -> None:
    path = make_inputs(tmp_path, "hcpe")[0]
    records = np.array(read_hcpe(path))
    records["hcp"][7] = 255
    path.write_bytes(records.tobytes())
    with pytest.raises(DataFileError, match=r"in0.hcpe, record 7 \(offset 266\)"):
        list(describe(path, 0, 10))


def test_files_of_other_data_in_a_folder_are_passed_over_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.csa").write_text("V2.2\nPI\n+\n+7776FU\n'** 10\n-3334FU\n%TORYO\n")
    starts = tmp_path / "starts.sfen"
    starts.write_text(f"sfen {Position().sfen()}\n" * 2)
    found = measure(tmp_path)
    assert (found.games, found.files, found.skipped.count) == (1, 1, 1)
    assert found.skipped.messages[0].startswith(f"{starts} holds positions as SFEN lines")
    with pytest.raises(DataFileError, match=r"a\.csa is records, .*starts\.sfen is sfen"):
        measure([tmp_path / "a.csa", starts])
