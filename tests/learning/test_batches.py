"""Batches: order, resumption, unpacking, and errors that name the place."""

from pathlib import Path

import numpy as np
import pytest
import torch
from learning_samples import RECORD, random_records

from fukayomi import _native
from fukayomi.learning.batches import (
    decode_batch,
    epoch_order,
    evaluation_batches,
    training_batches,
)
from fukayomi.learning.positions import PositionFiles, TrainingDataError
from fukayomi.shogi import BLACK, Move


def test_features_are_those_of_the_native_core(train_file: Path):
    files = PositionFiles([train_file])
    batch = decode_batch(files, np.arange(40))
    features1, features2 = batch.features()
    expected1 = np.empty((40, 62, 9, 9), np.float32)
    expected2 = np.empty((40, 57, 9, 9), np.float32)
    _native.unpack_planes(batch.planes1.numpy(), batch.planes2.numpy(), expected1, expected2)
    np.testing.assert_array_equal(features1.numpy(), expected1)
    np.testing.assert_array_equal(features2.numpy(), expected2)


def test_targets_are_seen_from_the_side_to_move(train_file: Path):
    records = np.fromfile(train_file, RECORD)
    batch = decode_batch(PositionFiles([train_file]), np.arange(len(records)))
    for row, record in enumerate(records):
        position = _native.position_from_hcp(record["hcp"].tobytes())
        won = {0: 0.5, 1: 1.0, 2: 0.0}[int(record["result"])]
        assert batch.results[row] == (won if position.turn == BLACK else 1 - won)
        assert batch.labels[row] == _native.policy_label(position.turn, Move.from_raw(int(record["move"])))
        value = 1 / (1 + np.exp(-float(record["eval"]) / 756.0864962951762))
        assert batch.values[row].item() == pytest.approx(value, abs=1e-6)


def test_files_are_read_as_one(tmp_path: Path):
    records = random_records(10, seed=5)
    records[:3].tofile(tmp_path / "a.hcpe")
    records[3:].tofile(tmp_path / "b.hcpe")
    files = PositionFiles([tmp_path / "a.hcpe", tmp_path / "b.hcpe"])
    assert len(files) == 10
    indices = np.array([9, 2, 3, 0, 7])
    records.tofile(tmp_path / "all.hcpe")
    expected = decode_batch(PositionFiles([tmp_path / "all.hcpe"]), indices)
    batch = decode_batch(files, indices)
    assert torch.equal(batch.planes1, expected.planes1)
    assert torch.equal(batch.labels, expected.labels)
    assert torch.equal(batch.values, expected.values)


def test_an_epoch_visits_every_record_once_in_an_order_of_its_own():
    first, second = epoch_order(100, seed=7, epoch=0), epoch_order(100, seed=7, epoch=1)
    assert sorted(first) == sorted(second) == list(range(100))
    assert (first != second).any()
    assert (first == epoch_order(100, seed=7, epoch=0)).all()
    assert (first != epoch_order(100, seed=8, epoch=0)).any()


def test_batches_can_start_at_any_step(train_file: Path):
    files = PositionFiles([train_file])
    whole = list(
        training_batches(files, 40, seed=3, start_step=0, steps=7)
    )  # two batches an epoch, 16 records left out
    late = list(training_batches(files, 40, seed=3, start_step=4, steps=7))
    assert len(whole) == 7
    assert len(late) == 3
    for expected, batch in zip(whole[4:], late, strict=True):
        assert torch.equal(expected.planes1, batch.planes1)
        assert torch.equal(expected.labels, batch.labels)
    assert len({batch.planes1.numpy().tobytes() for batch in whole}) == 7


def test_evaluation_visits_everything_in_order(test_file: Path):
    files = PositionFiles([test_file])
    batches = list(evaluation_batches(files, 20))
    assert [len(batch) for batch in batches] == [20, 20, 10]
    whole = decode_batch(files, np.arange(50))
    assert torch.equal(torch.cat([batch.planes1 for batch in batches]), whole.planes1)
    sample = list(evaluation_batches(files, 20, sample=5))
    assert torch.equal(sample[0].planes1, whole.planes1[[0, 12, 24, 37, 49]])


def test_a_broken_record_is_named(broken_file: Path):
    files = PositionFiles([broken_file])
    with pytest.raises(TrainingDataError, match=r"broken\.hcpe, record 6 \(byte 228\): "):
        list(evaluation_batches(files, 5))


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "the file is empty"),
        (100, "100 bytes are no whole number of hcpe records of 38 bytes; 24 bytes are left over"),
    ],
)
def test_a_file_of_the_wrong_size_is_refused(tmp_path: Path, size: int, message: str):
    path = tmp_path / "odd.hcpe"
    path.write_bytes(bytes(size))
    with pytest.raises(TrainingDataError, match=message):
        PositionFiles([path])


def test_missing_and_too_small_files_are_refused(tmp_path: Path, train_file: Path):
    with pytest.raises(TrainingDataError, match="no such file"):
        PositionFiles([tmp_path / "none.hcpe"])
    with pytest.raises(TrainingDataError, match="96 positions are fewer than one batch of 97"):
        list(training_batches(PositionFiles([train_file]), 97, seed=0, start_step=0, steps=1))


def test_abandoned_batches_end_their_thread(train_file: Path):
    batches = training_batches(PositionFiles([train_file]), 10, seed=0, start_step=0, steps=1_000_000)
    assert len(next(batches)) == 10
    batches.close()  # type: ignore[attr-defined]  # joins the thread
