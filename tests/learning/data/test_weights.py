"""Files with weights: how often an epoch visits each position."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_samples import random_records

from fukayomi.learning import Dataset
from fukayomi.learning.data.batch import Part, epoch_order, training_batches

counts = st.integers(1, 60)


@given(
    sizes=st.lists(st.tuples(counts, st.floats(0.05, 4.0)), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
    epoch=st.integers(0, 20),
)
def test_an_epoch_visits_each_position_as_often_as_its_weight_says(
    sizes: list[tuple[int, float]], seed: int, epoch: int
):
    starts = np.cumsum([0, *(count for count, _ in sizes)]).tolist()
    parts = [Part(start, count, weight) for start, (count, weight) in zip(starts, sizes, strict=False)]
    visits = Counter(epoch_order(parts, seed, epoch).tolist())
    for part in parts:
        found = [visits.pop(number, 0) for number in range(part.start, part.start + part.count)]
        assert sum(found) == round(part.count * part.weight)
        assert max(found) - min(found) <= 1
    assert not visits


@given(count=counts, share=st.integers(2, 5), seed=st.integers(0, 1000))
def test_epochs_take_a_part_of_a_file_in_turn(count: int, share: int, seed: int):
    part = Part(7, count * share, 1 / share)
    seen = [number for epoch in range(share) for number in epoch_order([part], seed, epoch).tolist()]
    assert sorted(seen) == list(range(7, 7 + count * share))


def test_weights_belong_to_their_files_in_any_order(tmp_path: Path):
    random_records(20, seed=1).tofile(tmp_path / "a.hcpe")
    random_records(30, seed=2).tofile(tmp_path / "b.hcpe")
    data = Dataset(tmp_path / "b.hcpe", tmp_path / "a.hcpe", weights=[2.0, 0.5])
    assert (len(data), data.epoch_size) == (50, 70)
    visits = Counter(data.epoch_order(0, 3).tolist())
    assert all(visits[number] == 2 for number in range(30)), "b.hcpe comes first"
    assert sum(visits[number] for number in range(30, 50)) == 10
    again = pickle.loads(pickle.dumps(data))
    assert (again.weights, again.epoch_size) == (data.weights, 70)
    assert sum(map(len, data.batches(16))) == 70
    assert sum(map(len, data.batches(16, shuffle=False))) == 50
    batches = list(training_batches(data, 35, seed=0, start=0, stop=4))
    assert [len(batch) for batch in batches] == [35] * 4


@pytest.mark.parametrize("weight", [1e9, 1e308])
def test_a_weight_that_fills_the_memory_is_refused(weight: float, train_file: Path, games_file: Path):
    with pytest.raises(ValueError, match=r"train\.hcpe\*1e\+.*: an epoch would visit .* at most 268,435,456"):
        Dataset(games_file, train_file, weights=[2.0, weight])
    assert Dataset(train_file, weights=[1e6]).epoch_size == 96_000_000


def test_processes_have_the_rows_of_one_batch(train_file: Path):
    data = Dataset(train_file)
    whole = next(training_batches(data, 24, seed=5, start=0, stop=1))
    parts = [
        next(training_batches(data, 24, seed=5, start=0, stop=1, rows=slice(first, first + 8))) for first in (0, 8, 16)
    ]
    assert np.array_equal(np.concatenate([part.planes1 for part in parts]), whole.planes1)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -2.0], [1.0, float("inf")], [1.0, float("nan")]])
def test_each_file_needs_a_positive_weight(weights: list[float], train_file: Path, test_file: Path):
    with pytest.raises(ValueError, match="each of the 2 files needs a positive weight"):
        Dataset(train_file, test_file, weights=weights)
