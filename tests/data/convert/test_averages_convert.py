"""Averaged positions as rows of hcpe and as dlshogi's cache; what is wrong with them."""

import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_app import app
from game_samples import random_games
from typer.testing import CliRunner

from fukayomi._native import EVAL_SCALE, MATE_CP
from fukayomi.data.check import check_data
from fukayomi.data.convert.convert import convert_data
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.formats.averages import (
    HEADER,
    MOVE,
    POSITION,
    VALUE_ONE,
    Averages,
    AveragesError,
    averages_to_cache,
    averages_to_records,
    header_bytes,
)
from fukayomi.data.formats.cache import read_cache
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe import read_hcpe
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat, Target
from fukayomi.data.formats.table import detect_data


def averaged(folder: Path, games: Games) -> Path:
    with DataWriter(folder / "games.hcpe3") as writer:
        writer.append(games)
    run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(folder / "games.hcpe3",), out=folder / "games.avg"))
    return folder / "games.avg"


def value_of(evaluation: float) -> float:
    return 1 / (1 + math.exp(-evaluation / EVAL_SCALE))


def position(draws: int, black: int, white: int, evaluation: float, *moves: tuple[int, int, int]) -> Averages:
    """One position with moves, each a number, how often it was played, and its visits."""
    positions = np.zeros(1, POSITION)
    positions["draws"], positions["black_wins"], positions["white_wins"] = draws, black, white
    positions["value"] = round(value_of(evaluation) * VALUE_ONE) * (draws + black + white)
    positions["moves"] = len(moves)
    rows = np.zeros(len(moves), MOVE)
    rows["move"], rows["played"], rows["visits"] = np.array(moves).T
    return Averages(positions, rows)


def test_averages_become_rows(tmp_path: Path) -> None:
    games = random_games(40, seed=1)
    out = tmp_path / "out.hcpe"
    path = averaged(tmp_path, games)
    assert detect_data(path) is DataFormat.AVERAGES
    found = convert_data([path], out, to=Target.HCPE)
    evals, results, visits, played = defaultdict(list), defaultdict(list), defaultdict(Counter), defaultdict(Counter)
    for game in games:
        for ply in range(len(game)):
            begin, end = int(game.candidates[ply]), int(game.candidates[ply + 1])
            if begin == end:
                continue
            key = game.hcps[ply].tobytes()
            evals[key].append(int(game.evals[ply]))
            played[key][int(game.moves[ply])] += 1
            results[key].append(int(game.result_byte) & 3)
            total = int(game.candidate_visits[begin:end].sum(dtype=np.int64))
            for at in range(begin, end) if total else ():
                visits[key][int(game.candidate_moves[at])] += Fraction(int(game.candidate_visits[at]), total)
    rows = read_hcpe(out)
    assert found.positions == found.written == len(rows) == len(evals)
    for row in rows:
        key = row["hcp"].tobytes()
        counts = visits[key] if any(visits[key].values()) else played[key]
        most = max(counts.values())
        value = sum(map(value_of, evals[key])) / len(evals[key])
        exact = (
            round(EVAL_SCALE * (math.log(value) - math.log1p(-value))) if 0 < value < 1 else math.inf * (value - 0.5)
        )
        if abs(exact) <= 11_000:
            assert row["eval"] == exact
        else:  # so near to certain that the unit of values shows
            assert 11_000 <= abs(int(row["eval"])) <= MATE_CP
            assert (row["eval"] > 0) == (exact > 0)
        assert row["bestMove16"] == min(move for move, count in counts.items() if count == most)
        (result, times), *others = Counter(results[key]).most_common()
        assert row["gameResult"] == (0 if others and others[0][1] == times else result)


@pytest.mark.parametrize(
    ("averages", "evaluation", "move", "result"),
    [
        (position(1, 0, 1, -3, (7, 1, 5), (9, 1, 5)), -3, 7, 0),
        (position(1, 1, 3, 4000, (7, 2, 0), (9, 3, 0)), 4000, 9, 2),  # no visits: what was played
        (position(1, 2, 0, 30000, (7, 9, 1), (9, 0, 2)), 30000, 9, 1),
        (position(0, 0, 1, -30000, (7, 1, 1)), -30000, 7, 2),
    ],
    ids=["equal visits", "no visits", "visits before plays", "mated"],
)
def test_moves_and_results_of_rows(averages: Averages, evaluation: int, move: int, result: int) -> None:
    row = averages_to_records(averages)[0]
    assert (row["eval"], row["bestMove16"], row["gameResult"]) == (evaluation, move, result)


def test_a_cache_has_the_sums(tmp_path: Path) -> None:
    path, out = averaged(tmp_path, random_games(30, seed=2)), tmp_path / "out.cache"
    found = CliRunner().invoke(app, ["data", "convert", str(path), "-o", str(out), "--json"])
    assert found.exit_code == 0, found.output
    cached = next(iter(read_cache(out)))
    assert json.loads(found.stdout)["written"] == len(cached)
    counts = cached.positions["count"]
    sums = np.add.reduceat(cached.candidates["prob"], cached.starts[:-1])
    assert np.allclose(sums / counts, 1)
    assert detect_data(out) is DataFormat.CACHE
    assert check_data([path, out]).errors == 0


def test_the_numbers_of_a_cache() -> None:
    cached = averages_to_cache(position(1, 2, 0, 756, (7, 1, 30), (9, 2, 10)))
    row = cached.positions[0]
    assert row["count"] == 3
    assert row["value"] == np.float32(3 * value_of(756))
    assert row["result"] == 2.5  # Black moves
    assert cached.candidates["move16"].tolist() == [7, 9]
    assert cached.candidates["prob"].tolist() == [2.25, 0.75]
    assert averages_to_cache(position(1, 0, 0, 0, (7, 1, 3), (9, 2, 1)), 0).candidates["prob"].tolist() == [1, 0]


def test_a_cache_is_made_of_one_file_of_averages(tmp_path: Path) -> None:
    path = averaged(tmp_path, random_games(2, seed=3))
    for inputs in ([path, path], [tmp_path / "games.hcpe3"]):
        with pytest.raises(DataFileError, match="one file of averages"):
            convert_data(inputs, tmp_path / "out.cache", to=Target.CACHE)
    assert not (tmp_path / "out.cache").exists()


def test_damage_is_named(tmp_path: Path) -> None:
    path = averaged(tmp_path, random_games(5, seed=4))
    data = bytearray(path.read_bytes())
    data[HEADER.itemsize + 33] ^= 1
    path.write_bytes(data)
    assert "checksum" in str(check_data([path]).findings[0])
    with pytest.raises(AveragesError, match="checksum"):
        convert_data([path], tmp_path / "out.hcpe", to=Target.HCPE)
    nothing = np.zeros(1, POSITION)
    path.write_bytes(header_bytes(1, 0, 0) + nothing.tobytes())
    assert check_data([path]).errors == 1
