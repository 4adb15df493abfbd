"""Averaging searched games (hcpe3), evaluations on one scale, and temperature at reading."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from dedup_rows import random_records, run, value_of, write

from fukayomi import _native
from fukayomi._native import EVAL_SCALE
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode, Weighing
from fukayomi.data.formats.averages import MOVE, POSITION, Averages, AveragesError, check_averages, read_averages
from fukayomi.data.formats.evaluations import EvalTally, rescale_evals
from fukayomi.data.formats.hcpe3 import Game, join_games
from fukayomi.shogi import Position


def random_game(rng: np.random.Generator, plies: int) -> Game:
    """A game that goes on at random from the start, searched at most of its moves."""
    position = Position()
    hcps, moves, evals, counts, candidate_moves, visits = [], [], [], [0], [], []
    for _ in range(plies):
        legal = sorted(position.legal_moves, key=lambda move: move.raw)[:3]
        played = legal[int(rng.integers(len(legal)))]
        searched = int(rng.integers(0, len(legal) + 1))
        hcps.append(_native.encode_hcp(position))
        moves.append(played.raw & 0x7FFF)
        evals.append(int(rng.integers(-500, 500)))
        candidate_moves += [move.raw & 0x7FFF for move in legal[:searched]]
        visits += rng.integers(1, 900, searched).tolist()
        counts.append(len(visits))
        position.push(played)
    return Game(
        _native.encode_hcp(Position()),
        int(rng.integers(0, 3)) | 4,
        0,
        np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32),
        np.array(moves, np.uint16),
        np.array(evals, np.int16),
        np.array(counts, np.uint64),
        np.array(candidate_moves, np.uint16),
        np.array(visits, np.uint16),
    )


def write_games(path: Path, games: list[Game]) -> Path:
    with DataWriter(path) as writer:
        writer.append(join_games(games))
    return path


def test_searched_positions_are_added_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    games = [random_game(rng, 12) for _ in range(40)]
    files = [write_games(tmp_path / f"{n}.hcpe3", part) for n, part in enumerate((games[:15], games[15:]))]
    run(tmp_path, Mode.SHARES, *files, weighing=Weighing.BY_VISITS)
    check_averages(tmp_path / "out.avg")
    values, played, visits, results = defaultdict(int), defaultdict(Counter), defaultdict(Counter), defaultdict(Counter)
    for game in games:
        for ply in range(len(game)):
            first, last = int(game.candidates[ply]), int(game.candidates[ply + 1])
            if first == last:
                continue
            key = game.hcps[ply].tobytes()
            values[key] += value_of(int(game.evals[ply]))
            results[key][game.result_byte & 3] += 1
            played[key][int(game.moves[ply])] += 1
            for at in range(first, last):
                visits[key][int(game.candidate_moves[at])] += int(game.candidate_visits[at])
    averages = read_averages(tmp_path / "out.avg")
    assert len(averages) == len(values)
    assert averages.counts().max() > 5
    for index, position in enumerate(averages.positions):
        key = position["hcp"].tobytes()
        assert position["value"] == values[key]
        assert [position[name] for name in ("draws", "black_wins", "white_wins")] == [results[key][n] for n in range(3)]
        moves = averages.part(index, index + 1).moves
        assert moves["move"].tolist() == sorted(set(played[key]) | set(visits[key]))
        assert moves["played"].tolist() == [played[key][int(move)] for move in moves["move"]]
        assert moves["visits"].tolist() == [visits[key][int(move)] for move in moves["move"]]


def test_the_order_of_games_does_not_matter(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    games = [random_game(rng, 10) for _ in range(20)]
    records = random_records(50, 3)
    whole = run(tmp_path, Mode.SHARES, write_games(tmp_path / "a.hcpe3", games), records, bucket_bits=2)
    parts = [write_games(tmp_path / "b.hcpe3", games[9::-1]), records, write_games(tmp_path / "c.hcpe3", games[10:])]
    assert run(tmp_path, Mode.SHARES, *parts, bucket_bits=3) == whole


def averages_of(*positions: list[tuple[int, int]]) -> Averages:
    """Positions whose moves have these numbers of plays and visits."""
    table = np.zeros(len(positions), POSITION)
    table["moves"] = [len(moves) for moves in positions]
    table["first_move"] = np.cumsum(table["moves"]) - table["moves"]
    rows = np.zeros(sum(map(len, positions)), MOVE)
    rows["played"], rows["visits"] = np.transpose([pair for moves in positions for pair in moves])
    return Averages(table, rows)


def test_temperature_is_applied_at_reading() -> None:
    averages = averages_of([(1, 100), (0, 300)], [(3, 0), (1, 0)], [(1, 5)], [(0, 7), (1, 7)])
    assert averages.shares().tolist() == [0.25, 0.75, 0.75, 0.25, 1, 0.5, 0.5]
    assert averages.shares(0).tolist() == [0, 1, 1, 0, 1, 1, 0]
    assert averages.shares(0.5).tolist() == pytest.approx([0.1, 0.9, 0.9, 0.1, 1, 0.5, 0.5])
    assert averages.part(1, 3).shares().tolist() == [0.75, 0.25, 1]
    with pytest.raises(ValueError, match="temperature"):
        averages.shares(-1)


@pytest.mark.parametrize("scale", [200.0, 756.0, 1500.0])
def test_the_scale_of_evaluations_is_found(scale: float) -> None:
    rng = np.random.default_rng(4)
    records = random_records(200_000, 4)
    records["eval"] = rng.integers(-3000, 3000, len(records))
    white = (records["hcp"][:, 0] & 1).astype(np.int64)
    won = rng.random(len(records)) < 1 / (1 + np.exp(-records["eval"] / scale))
    records["gameResult"] = np.where(won, 1 + white, 2 - white)
    records["eval"][:10] = 31_000  # mates are left out
    tally = EvalTally()
    tally.add(records[:70_000])
    tally.add(records[70_000:])
    found = tally.fit()
    assert found == pytest.approx(scale, rel=0.03)
    from scipy.optimize import curve_fit

    kept = records["eval"] < 30_000
    results = np.where(records["gameResult"] == 1 + white, 1.0, 0.0)[kept]
    (direct,), _ = curve_fit(lambda x, a: 1 / (1 + np.exp(-x / a)), records["eval"][kept], results, p0=[300])
    assert found == pytest.approx(direct, rel=1e-4)


def test_where_nothing_can_be_fitted_evaluations_stay(tmp_path: Path) -> None:
    records = random_records(100, 5)
    records["eval"] = 0
    path = write(tmp_path / "in.hcpe", records)
    summary = run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(path,), out=tmp_path / "out.avg", evalfix=True))
    assert summary.found["scales"] == [None]


def test_rescaled_evaluations_never_become_mates() -> None:
    evals = np.array([0, 100, -100, 29_999, -29_999, 30_000, -32_768, 31_000], np.int16)
    scaled = rescale_evals(evals, EVAL_SCALE / 2)
    assert scaled.tolist() == [0, 200, -200, 29_999, -29_999, 30_000, -32_768, 31_000]


def test_damaged_averages_are_named(tmp_path: Path) -> None:
    data = run(tmp_path, Mode.SHARES, random_records(100, 6))
    path = tmp_path / "out.avg"
    for cut in (10, 64, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(AveragesError, match=r"out\.avg"):
            read_averages(path)
    damaged = bytearray(data)
    damaged[100] ^= 4
    path.write_bytes(damaged)
    with pytest.raises(AveragesError, match="damaged"):
        check_averages(path)
