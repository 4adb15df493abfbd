"""The output's bytes depend on what was read, and on nothing else."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from dedup_rows import random_records, run
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.data.dedup.inputs import InputError
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode

UNORDERED = [mode for mode in Mode if mode is not Mode.FIRST_MOVE]


@given(
    mode=st.sampled_from(UNORDERED),
    count=st.integers(0, 300),
    seed=st.integers(0, 2**32 - 1),
    keys=st.integers(1, 60),
    hash_bits=st.sampled_from([64, 3, 0]),
    buckets=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    data=st.data(),
)
@settings(max_examples=20)
def test_neither_order_nor_splitting_nor_buckets_matter(mode, count, seed, keys, hash_bits, buckets, data) -> None:
    records = random_records(count, seed, keys)
    shuffled = np.random.default_rng(seed).permutation(records)
    cuts = sorted(data.draw(st.lists(st.integers(0, count), max_size=3)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = {"hash_bits": hash_bits}
        whole = run(folder, mode, records, bucket_bits=buckets[0], **options)
        parts = run(folder, mode, *np.split(shuffled, cuts), bucket_bits=buckets[1], **options)
    assert parts == whole


@given(
    count=st.integers(0, 300),
    seed=st.integers(0, 2**32 - 1),
    cut=st.floats(0, 1),
    hash_bits=st.sampled_from([64, 3, 0]),
    bucket_bits=st.integers(0, 4),
)
@settings(max_examples=15)
def test_averages_of_averages_are_those_of_all(count, seed, cut, hash_bits, bucket_bits) -> None:
    records = random_records(count, seed)
    at = int(cut * count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = {"hash_bits": hash_bits, "bucket_bits": bucket_bits}
        whole = run(folder, Mode.SHARES, records, **options)
        halves = [records[:at], records[at:]]
        files = []
        for number, half in enumerate(halves):
            files.append(folder / f"half{number}.avg")
            files[-1].write_bytes(run(folder, Mode.SHARES, half, **options))
        assert run(folder, Mode.SHARES, *files, **options) == whole
        assert run(folder, Mode.SHARES, halves[1], files[0], **options) == whole
        assert run(folder, Mode.SHARES, records[:0], files[1], files[0], **options) == whole


@pytest.mark.parametrize("mode", [Mode.FIRST_MOVE, Mode.ALL_FIELDS], ids=str)
def test_once_more_changes_nothing(tmp_path: Path, mode: Mode) -> None:
    once = run(tmp_path, mode, random_records(2000, 1))
    again = tmp_path / "again.hcpe"
    again.write_bytes(once)
    assert run(tmp_path, mode, again) == once


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_pieces_of_a_bucket_add_up(tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    records = random_records(3000, 2)
    whole = run(tmp_path, mode, records, bucket_bits=1)
    monkeypatch.setattr("fukayomi.data.dedup.run._PIECE", 100 * 38)
    monkeypatch.setattr("fukayomi.data.dedup.inputs.ROWS_AT_ONCE", 70)
    assert run(tmp_path, mode, records, bucket_bits=1) == whole


def test_averages_make_nothing_but_averages(tmp_path: Path) -> None:
    run(tmp_path, Mode.SHARES, random_records(10, 3))
    with pytest.raises(InputError, match=r"averaged positions \(avg\), and this takes hcpe;.*convert makes hcpe"):
        run_dedup(DedupSettings(mode=Mode.MEAN, inputs=(tmp_path / "out.avg",), out=tmp_path / "out.hcpe"))
