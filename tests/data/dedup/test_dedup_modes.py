"""What is kept of duplicates, against plain ways of saying it: pandas as the seed's article has it, dictionaries."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from dedup_rows import by_key, random_records, run, value_of
from test_dedup_games import random_game

from fukayomi.data.dedup.inputs import InputError
from fukayomi.data.dedup.settings import Mode
from fukayomi.data.formats.averages import MOVE, POSITION, check_averages, read_averages
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe import HCPE, without_flags
from fukayomi.data.formats.hcpe3 import join_games
from fukayomi.data.formats.table import as_rows


def as_records(data: bytes) -> np.ndarray:
    return np.frombuffer(data, HCPE)


def key_of(record: np.void) -> tuple[bytes, int]:
    return record["hcp"].tobytes(), int(record["bestMove16"])


def pandas_mean(hcpes: np.ndarray) -> np.ndarray:
    """The article's program (test data for models), with its names; the columns' order and types too."""
    pd = pytest.importorskip("pandas")
    hcpes = hcpes.copy()
    df = pd.concat(
        [pd.DataFrame(hcpes["hcp"]), pd.DataFrame(hcpes[["eval", "bestMove16", "gameResult", "dummy"]])], axis=1
    )
    df2 = df.groupby([*range(32), "bestMove16"], as_index=False).mean()
    df2.loc[df2["gameResult"] >= 1.5, "gameResult"] = 2
    df2.loc[(df2["gameResult"] > 0) & (df2["gameResult"] < 2), "gameResult"] = 1
    hcpes2 = np.zeros(len(df2), HCPE)
    hcpes2["hcp"] = df2[list(range(32))]
    hcpes2["eval"] = df2["eval"]
    hcpes2["bestMove16"] = df2["bestMove16"]
    hcpes2["gameResult"] = df2["gameResult"]
    return hcpes2


@pytest.mark.parametrize("seed", range(4))
def test_means_are_those_of_the_article(tmp_path: Path, seed: int) -> None:
    records = random_records(3000, seed, keys=(20, 200, 2000, 3)[seed])
    ours = as_records(run(tmp_path, Mode.MEAN, records))
    assert np.array_equal(by_key(ours), by_key(pandas_mean(records)))


@pytest.mark.parametrize("seed", range(3))
def test_the_first_record_of_a_position_and_move_is_kept(tmp_path: Path, seed: int) -> None:
    records = random_records(3000, seed)
    firsts: dict[tuple[bytes, int], np.void] = {}
    for record in records:
        firsts.setdefault(key_of(record), record)
    ours = as_records(run(tmp_path, Mode.FIRST_MOVE, records[:1000], records[1000:]))
    assert np.array_equal(by_key(ours), by_key(np.array(list(firsts.values()))))


def test_records_that_are_the_same_in_all_fields_are_kept_once(tmp_path: Path) -> None:
    records = random_records(4000, 5, keys=10)
    ours = as_records(run(tmp_path, Mode.ALL_FIELDS, records))
    expected = np.unique(records.view("V38"))
    assert len(expected) < len(records)
    assert sorted(record.tobytes() for record in ours) == sorted(record.tobytes() for record in expected)


def test_the_most_frequent_result_counts_and_a_tie_is_a_draw(tmp_path: Path) -> None:
    records = random_records(3000, 6, keys=200)
    results, evals = defaultdict(Counter), defaultdict(list)
    for record in records:
        results[key_of(record)][int(record["gameResult"])] += 1
        evals[key_of(record)].append(int(record["eval"]))
    ours = as_records(run(tmp_path, Mode.MODE, records))
    assert {key_of(record) for record in ours} == set(results)
    assert len(ours) == len(results)
    ties = 0
    for record in ours:
        (best, most), *others = results[key_of(record)].most_common()
        tied = bool(others) and others[0][1] == most
        ties += tied
        assert record["gameResult"] == (0 if tied else best)
        assert record["eval"] == int(sum(evals[key_of(record)]) / len(evals[key_of(record)]))
    assert ties > 10


def test_averages_have_the_sums_of_each_position_and_move(tmp_path: Path) -> None:
    records = random_records(3000, 7)
    run(tmp_path, Mode.SHARES, records)
    check_averages(tmp_path / "out.avg")
    averages = read_averages(tmp_path / "out.avg")
    assert (POSITION.itemsize, MOVE.itemsize) == (64, 16)
    by_position = defaultdict(list)
    for record in records:
        by_position[record["hcp"].tobytes()].append(record)
    assert len(averages) == len(by_position)
    for index, position in enumerate(averages.positions):
        seen = by_position[position["hcp"].tobytes()]
        results = Counter(int(record["gameResult"]) for record in seen)
        assert [position[name] for name in ("draws", "black_wins", "white_wins")] == [results[n] for n in range(3)]
        assert position["value"] == sum(value_of(int(record["eval"])) for record in seen)
        played = sorted(Counter(int(record["bestMove16"]) for record in seen).items())
        moves = averages.part(index, index + 1).moves
        assert [(int(row["move"]), int(row["played"])) for row in moves] == played
        assert np.array_equal(moves["visits"], moves["played"].astype(np.uint64) << np.uint64(32))


def test_results_with_flags_are_averaged_as_plain_ones(tmp_path: Path) -> None:
    rows = as_rows(join_games([random_game(np.random.default_rng(1), 20) for _ in range(40)])).records
    assert (rows["gameResult"] > 3).any()
    plain = run(tmp_path, Mode.SHARES, without_flags(rows), evalfix=True)
    assert run(tmp_path, Mode.SHARES, rows, evalfix=True) == plain
    with pytest.raises(InputError, match=r"\(hcpe2\), and this takes hcpe; .*convert makes hcpe"):
        run(tmp_path, Mode.MEAN, rows)
    rows["gameResult"][7] |= 3
    with pytest.raises(DataFileError, match="record 7"):
        run(tmp_path, Mode.SHARES, rows)


@pytest.mark.parametrize("mode", list(Mode))
def test_all_rows_equal(tmp_path: Path, mode: Mode) -> None:
    records = np.repeat(random_records(1, 8), 5000)
    run(tmp_path, mode, records)
    if not mode.writes_averages:
        assert (tmp_path / "out.hcpe").read_bytes() == records[:1].tobytes()
        return
    averages = read_averages(tmp_path / "out.avg")
    assert averages.counts().tolist() == [5000]
    assert averages.moves["visits"].tolist() == [5000 << 32]
    assert averages.evals().tolist() == [records["eval"][0]]


@pytest.mark.parametrize("mode", list(Mode))
def test_nothing_makes_nothing(tmp_path: Path, mode: Mode) -> None:
    data = run(tmp_path, mode, np.empty(0, HCPE), np.empty(0, HCPE))
    assert len(data) == (64 if mode.writes_averages else 0)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("hash_bits", [0, 2])
def test_equal_hashes_mix_no_positions(tmp_path: Path, mode: Mode, hash_bits: int) -> None:
    records = random_records(2000, 9)
    narrow = run(tmp_path, mode, records, hash_bits=hash_bits, bucket_bits=2)
    wide = run(tmp_path, mode, records, bucket_bits=2)
    if mode.writes_averages:
        assert len(narrow) == len(wide)
        found = [sorted(read_positions(data)) for data in (narrow, wide)]
        assert found[0] == found[1]
    else:
        assert np.array_equal(by_key(as_records(narrow)), by_key(as_records(wide)))


def read_positions(data: bytes) -> list[tuple[bytes, bytes]]:
    """Each position's sums, and its moves."""
    count = int.from_bytes(data[16:24], "little")
    positions = np.frombuffer(data, POSITION, count, 64)
    moves = np.frombuffer(data, MOVE, -1, 64 + count * 64)
    return [
        (position.tobytes()[:56], moves[int(position["first_move"]) :][: int(position["moves"])].tobytes())
        for position in positions
    ]


@pytest.mark.parametrize("mode", list(Mode))
def test_interleaved_positions_of_one_hash(tmp_path: Path, mode: Mode) -> None:
    records = random_records(7, 10)
    a, b = np.arange(32, dtype=np.uint8), np.arange(32, dtype=np.uint8)[::-1]
    records["hcp"], records["bestMove16"] = [a, b, a, b, b, a, a], 1000
    records["eval"], records["gameResult"] = 10, 1
    data = run(tmp_path, mode, records, hash_bits=0)
    if mode.writes_averages:
        assert sorted(read_averages(tmp_path / "out.avg").counts().tolist()) == [3, 4]
    else:
        assert len(data) == 2 * HCPE.itemsize
