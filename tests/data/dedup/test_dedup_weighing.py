"""How much each search says about moves: evenly, or by its visits; in whole numbers that add up in any order."""

import tempfile
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_app import app
from dedup_rows import random_records, run, write
from hypothesis import given, settings
from hypothesis import strategies as st
from listeners import Calling
from test_dedup_games import random_game, write_games
from typer.testing import CliRunner

from fukayomi import _native
from fukayomi.data.dedup.inputs import CANDIDATE, SEARCHED
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode, Weighing
from fukayomi.data.formats.averages import (
    MOVE,
    POSITION,
    Averages,
    AveragesError,
    averages_to_cache,
    read_averages,
    read_weighing,
)
from fukayomi.data.formats.hcpe import HCPE, without_flags
from fukayomi.data.formats.hcpe3 import Game, join_games
from fukayomi.data.formats.table import as_rows
from fukayomi.data.jobs.job import JobError

ALL = 1 << 32

Search = list[tuple[int, int]]
"""Candidates: moves and their visits."""


def dealt_out(search: Search) -> Counter[int]:
    """2^32 shared by visits, with largest remainders; of equal ones the lower move's comes first."""
    total = sum(visits for _, visits in search)
    if total == 0:
        return Counter(dict.fromkeys((move for move, _ in search), 0))
    exact = [(Fraction(visits * ALL, total), move) for move, visits in search]
    found: Counter[int] = Counter()
    for share, move in exact:
        found[move] += share.numerator // share.denominator
    left = ALL - found.total()
    for share, move in sorted(exact, key=lambda item: (-(item[0] % 1), item[1]))[:left]:
        assert share % 1
        found[move] += 1
    return found


def averaged(searches: list[Search], *, evenly: bool) -> dict[int, int]:
    """What the core makes of searches of one position: visits by move."""
    searched = np.zeros(len(searches), SEARCHED)
    searched["bestMove16"], searched["candidates"] = 1, [len(search) for search in searches]
    candidates = np.array([pair for search in searches for pair in search], CANDIDATE)
    empty = [np.empty((0, dtype.itemsize), np.uint8) for dtype in (HCPE, POSITION, MOVE)]
    positions, moves = _native.average_rows(
        empty[0], searched.view(np.uint8).reshape(-1, 40), candidates.view(np.uint8).reshape(-1, 4), *empty[1:], evenly
    )
    assert len(positions) == 1
    table = moves.view(MOVE).ravel()
    return {int(row["move"]): int(row["visits"]) for row in table}


def rows_of(games: list[Game]) -> np.ndarray:
    """The searched moves of games as records of hcpe."""
    return without_flags(as_rows(join_games(games)).records)


searches = st.lists(
    st.lists(
        st.tuples(st.integers(2, 30), st.one_of(st.integers(0, 5), st.integers(0, 65_535))),
        min_size=1, max_size=40, unique_by=lambda pair: pair[0],
    ),
    min_size=1, max_size=6,
)  # fmt: skip


@given(searches=searches, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_shares_are_those_of_exact_arithmetic(searches: list[Search], seed: int) -> None:
    expected: Counter[int] = Counter({1: 0})  # played, and no candidate
    for search in searches:
        expected.update(dealt_out(search))
    expected.update({move: 0 for search in searches for move, _ in search})
    assert averaged(searches, evenly=True) == dict(expected)
    rng = np.random.default_rng(seed)
    shuffled = [[search[at] for at in rng.permutation(len(search))] for search in searches]
    assert averaged([shuffled[at] for at in rng.permutation(len(shuffled))], evenly=True) == dict(expected)


def test_a_move_that_stands_twice_among_the_candidates_is_one() -> None:
    for search in ([(5, 1), (7, 1), (5, 1)], [(5, 1), (5, 1), (7, 1)]):
        found = averaged([search], evenly=True)
        assert found[5] + found[7] == ALL
        assert found[5] == pytest.approx(ALL * 2 / 3, abs=2)


@given(visits=st.lists(st.integers(1, 65_535), min_size=1, max_size=593), times=st.integers(1, 50))
@settings(max_examples=100)
def test_every_search_weighs_the_same(visits: list[int], times: int) -> None:
    search = [(2 + number, count) for number, count in enumerate(visits)]
    assert sum(averaged([search] * times, evenly=True).values()) == times * ALL
    one = averaged([search, [(1, 1)]], evenly=True)  # beside a record that knows its move only
    assert one[1] == ALL
    assert sum(one.values()) == 2 * ALL
    by_visits = averaged([search, [(1, 1)]], evenly=False)
    assert by_visits[1] == 1
    assert sum(by_visits.values()) == sum(visits) + 1


@given(seed=st.integers(0, 2**32 - 1), weighing=st.sampled_from(Weighing), buckets=st.integers(0, 3))
@settings(max_examples=8, deadline=None)
def test_parts_in_any_order_make_the_same_file(seed: int, weighing: Weighing, buckets: int) -> None:
    rng = np.random.default_rng(seed)
    games = [random_game(rng, 8) for _ in range(12)]
    records = rows_of(games[:8])  # searched and played positions meet
    with tempfile.TemporaryDirectory() as name:
        folder, options = Path(name), {"weighing": weighing}
        whole = run(folder, Mode.SHARES, write_games(folder / "all.hcpe3", games), records, **options)
        parts: list[Path | np.ndarray] = [
            write_games(folder / "a.hcpe3", games[:5]), write_games(folder / "b.hcpe3", games[:4:-1]), records[::-1],
        ]  # fmt: skip
        averages: list[Path] = []
        for number, part in enumerate(parts):
            averages.append(folder / f"{number}.avg")
            averages[-1].write_bytes(run(folder, Mode.SHARES, part, **options))
        order = [averages[at] for at in rng.permutation(3)]
        assert run(folder, Mode.SHARES, *order, bucket_bits=buckets, **options) == whole
        first = folder / "first.avg"
        first.write_bytes(run(folder, Mode.SHARES, order[2], order[0], **options))
        assert run(folder, Mode.SHARES, order[1], first, bucket_bits=buckets, **options) == whole
        assert run(folder, Mode.SHARES, parts[2], first, parts[1], parts[0], **options) != whole  # seen twice


def test_games_are_weighed_as_dlshogi_does(tmp_path: Path) -> None:
    """Its averages add up the shares of each search, and divide by how often a position was seen."""
    rng = np.random.default_rng(5)
    games = [random_game(rng, 10) for _ in range(30)]
    records = rows_of(games[:10])
    shares: dict[bytes, Counter[int]] = defaultdict(Counter)
    seen: Counter[bytes] = Counter()
    for game in games:
        for ply in range(len(game)):
            at = slice(int(game.candidates[ply]), int(game.candidates[ply + 1]))
            moves, visits = game.candidate_moves[at].tolist(), game.candidate_visits[at].tolist()
            seen[game.hcps[ply].tobytes()] += bool(moves)
            shares[game.hcps[ply].tobytes()].update(
                {move: Fraction(count, sum(visits)) for move, count in zip(moves, visits, strict=True)}
            )
    for record in records:
        seen[record["hcp"].tobytes()] += 1
        shares[record["hcp"].tobytes()].update({int(record["bestMove16"]): Fraction(1)})
    run(tmp_path, Mode.SHARES, write_games(tmp_path / "a.hcpe3", games), records)
    averages = read_averages(tmp_path / "out.avg")
    cache = averages_to_cache(Averages(np.array(averages.positions), np.array(averages.moves)))
    for index, position in enumerate(averages.positions):
        key = position["hcp"].tobytes()
        part = averages.part(index, index + 1)
        found = dict(zip(part.moves["move"].tolist(), part.shares().tolist(), strict=True))
        assert found == pytest.approx({move: float(shares[key][move] / seen[key]) for move in found}, abs=1e-9)
        probs = cache.candidates[cache.starts[index] : cache.starts[index + 1]]["prob"]
        assert probs.sum() == pytest.approx(seen[key], rel=1e-6)


def test_what_is_weighed_in_two_ways_does_not_add_up(tmp_path: Path) -> None:
    files: dict[Weighing, Path] = {}
    for weighing in Weighing:
        files[weighing] = tmp_path / f"{weighing}.avg"
        files[weighing].write_bytes(run(tmp_path, Mode.SHARES, random_records(50, 1), weighing=weighing))
        assert read_weighing(files[weighing]) is weighing
    assert files[Weighing.EVENLY].read_bytes() != files[Weighing.BY_VISITS].read_bytes()
    out = tmp_path / "both.avg"
    for weighing in Weighing:
        with pytest.raises(JobError, match=r"was averaged with the weighing .* cannot be added"):
            run_dedup(DedupSettings(mode=Mode.SHARES, inputs=tuple(files.values()), out=out, weighing=weighing))
    command = ["data", "average", str(files[Weighing.BY_VISITS]), "-o", str(out)]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 1
    assert "choose the weighing by-visits" in found.stderr
    assert CliRunner().invoke(app, [*command, "--weigh", "by-visits"]).exit_code == 0
    assert out.read_bytes() == files[Weighing.BY_VISITS].read_bytes()
    unknown = bytearray(out.read_bytes())
    unknown[32] = 7
    out.write_bytes(unknown)
    with pytest.raises(AveragesError, match=r"unknown weighing 7"):
        read_averages(out)


def test_a_job_is_not_finished_with_another_weighing(tmp_path: Path) -> None:
    path, out = write(tmp_path / "in.hcpe", random_records(100, 4)), tmp_path / "out.avg"

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(path,), out=out), listener=Calling(stop))
    with pytest.raises(JobError, match=r"another job \(different: weighing\)"):
        run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(path,), out=out, weighing=Weighing.BY_VISITS))
