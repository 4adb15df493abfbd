"""Batches: order, resumption, unpacking, and errors that name the place."""

from pathlib import Path

import numpy as np
import pytest
import torch
from learning_samples import RECORD, random_records, tensors

from fukayomi import _native
from fukayomi.data.formats.format import DataFileError
from fukayomi.learning import Dataset, TrainingError
from fukayomi.learning.data.batch import Part, epoch_order, training_batches
from fukayomi.shogi import BLACK, Move


def test_features_are_those_of_the_native_core(train_file: Path):
    files = Dataset(train_file)
    batch = tensors(files, np.arange(40))
    features1, features2 = batch.features()
    expected1 = np.empty((40, 62, 9, 9), np.float32)
    expected2 = np.empty((40, 57, 9, 9), np.float32)
    _native.unpack_planes(batch.planes1.numpy(), batch.planes2.numpy(), expected1, expected2)
    np.testing.assert_array_equal(features1.numpy(), expected1)
    np.testing.assert_array_equal(features2.numpy(), expected2)


def test_targets_are_seen_from_the_side_to_move(train_file: Path):
    records = np.fromfile(train_file, RECORD)
    batch = tensors(Dataset(train_file), np.arange(len(records)))
    for row, record in enumerate(records):
        position = _native.position_from_hcp(record["hcp"].tobytes())
        won = {0: 0.5, 1: 1.0, 2: 0.0}[int(record["result"])]
        assert batch.targets.results[row] == (won if position.turn == BLACK else 1 - won)
        assert batch.targets.labels[row] == _native.policy_label(position.turn, Move.from_raw(int(record["move"])))
        value = 1 / (1 + np.exp(-float(record["eval"]) / 756.0864962951762))
        assert batch.targets.values[row].item() == pytest.approx(value, abs=1e-6)


def test_files_are_read_as_one(tmp_path: Path):
    records = random_records(10, seed=5)
    records[:3].tofile(tmp_path / "a.hcpe")
    records[3:].tofile(tmp_path / "b.hcpe")
    files = Dataset(tmp_path / "a.hcpe", tmp_path / "b.hcpe")
    assert len(files) == 10
    indices = np.array([9, 2, 3, 0, 7])
    records.tofile(tmp_path / "all.hcpe")
    expected = tensors(Dataset(tmp_path / "all.hcpe"), indices)
    batch = tensors(files, indices)
    assert torch.equal(batch.planes1, expected.planes1)
    assert torch.equal(batch.targets.labels, expected.targets.labels)
    assert torch.equal(batch.targets.values, expected.targets.values)


def test_an_epoch_visits_every_record_once_in_an_order_of_its_own():
    first, second = epoch_order([Part(0, 100)], seed=7, epoch=0), epoch_order([Part(0, 100)], seed=7, epoch=1)
    assert sorted(first) == sorted(second) == list(range(100))
    assert (first != second).any()
    assert (first == epoch_order([Part(0, 100)], seed=7, epoch=0)).all()
    assert (first != epoch_order([Part(0, 100)], seed=8, epoch=0)).any()


def test_batches_can_start_at_any_step(train_file: Path):
    files = Dataset(train_file)
    whole = list(training_batches(files, 40, seed=3, start=0, stop=7))  # two per epoch, 16 records left out
    late = list(training_batches(files, 40, seed=3, start=4, stop=7))
    assert len(whole) == 7
    assert len(late) == 3
    for expected, batch in zip(whole[4:], late, strict=True):
        assert (expected.planes1 == batch.planes1).all()
        assert (expected.labels == batch.labels).all()
    assert len({batch.planes1.tobytes() for batch in whole}) == 7


def test_batches_without_shuffling_visit_everything_in_order(test_file: Path):
    files = Dataset(test_file)
    batches = list(files.batches(20, shuffle=False))
    assert [len(batch) for batch in batches] == [20, 20, 10]
    whole = files.arrays(range(50))
    assert (np.concatenate([batch.planes1 for batch in batches]) == whole.planes1).all()


def test_a_broken_record_is_named(broken_file: Path):
    files = Dataset(broken_file)
    with pytest.raises(DataFileError, match=r"broken\.hcpe, record 6 \(byte 228\): "):
        list(files.batches(5))


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "the file is empty"),
        (100, "24 bytes left over"),
    ],
)
def test_a_file_of_the_wrong_size_is_refused(tmp_path: Path, size: int, message: str):
    path = tmp_path / "odd.hcpe"
    path.write_bytes(bytes(size))
    with pytest.raises(DataFileError, match=message):
        Dataset(path)


def test_missing_and_too_small_files_are_refused(tmp_path: Path, train_file: Path):
    with pytest.raises(DataFileError, match="no such file"):
        Dataset(tmp_path / "none.hcpe")
    with pytest.raises(TrainingError, match="96 positions, fewer than one batch of 97"):
        list(training_batches(Dataset(train_file), 97, seed=0, start=0, stop=1))


def test_abandoned_batches_end_their_thread(train_file: Path):
    batches = training_batches(Dataset(train_file), 10, seed=0, start=0, stop=1_000_000)
    assert len(next(batches)) == 10
    batches.close()  # joins the thread
