"""`Dataset`: every format beside its own reader, samples, batches, and torch's DataLoader."""

import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from format_files import write_all_formats
from learning_samples import random_records
from numpy.typing import NDArray
from torch.utils.data import DataLoader

import fukayomi.learning
import fukayomi.nn
from fukayomi import _native
from fukayomi.data.formats.averages import read_averages
from fukayomi.data.formats.format import DataFileError, map_rows
from fukayomi.data.formats.hcpe import HCPE, read_hcpe, without_flags
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV, psv_to_hcpe
from fukayomi.data.formats.table import as_rows
from fukayomi.learning import Batch, Dataset, Sample, evaluate
from fukayomi.listener import Listener
from fukayomi.nn import NetworkConfig, PolicyValueNetwork
from fukayomi.shogi import BLACK, Move

ROWS = (DataFormat.HCPE, DataFormat.HCPE2, DataFormat.PSV)
FORMATS = (*ROWS, DataFormat.HCPE3, DataFormat.AVERAGES)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[DataFormat, Path]:
    return write_all_formats(tmp_path_factory.mktemp("formats"))


def rows_of(path: Path, kind: DataFormat) -> NDArray[np.void]:
    """What the format's own reader finds, as plain hcpe."""
    return psv_to_hcpe(map_rows(path, PSV)) if kind is DataFormat.PSV else without_flags(read_hcpe(path))


def chance(eval_cp: float) -> float:
    return 1 / (1 + np.exp(-eval_cp / _native.EVAL_SCALE))


def assert_same(found: Batch, expected: Batch) -> None:
    for name, array in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), array, err_msg=name)


@pytest.mark.parametrize("kind", ROWS)
def test_rows_are_those_of_the_reader(files: dict[DataFormat, Path], kind: DataFormat) -> None:
    rows = rows_of(files[kind], kind)
    data = Dataset(files[kind])
    assert len(data) == len(rows)
    for index, row in enumerate(rows[:60]):
        sample = data[index]
        black = sample.position.turn == BLACK
        won = {0: 0.5, 1: float(black), 2: float(not black)}[int(row["gameResult"])]
        assert _native.encode_hcp(sample.position) == row["hcp"].tobytes()
        assert sample.move == Move.from_raw(int(row["bestMove16"]))
        assert (sample.eval_cp, sample.result) == (int(row["eval"]), won)
        assert sample.value == pytest.approx(chance(sample.eval_cp), abs=1e-6)
        assert sample.policy == {sample.move: 1.0}


def test_games_are_those_of_the_reader(files: dict[DataFormat, Path]) -> None:
    data = Dataset(files[DataFormat.HCPE3])
    (games,) = read_hcpe3(files[DataFormat.HCPE3])
    rows = as_rows(games).records
    assert 0 < len(data) <= len(rows)
    known = Counter((row["hcp"].tobytes(), int(row["eval"])) for row in rows)
    for index in range(0, len(data), 7):
        sample = data[index]
        assert known[_native.encode_hcp(sample.position), sample.eval_cp] > 0
        assert set(sample.policy) <= set(sample.position.legal_moves)
        assert sum(sample.policy.values()) == pytest.approx(1)
        assert sample.value == pytest.approx(chance(sample.eval_cp), abs=1e-6)


def test_averages_are_those_of_the_reader(files: dict[DataFormat, Path]) -> None:
    averages = read_averages(files[DataFormat.AVERAGES])
    data = Dataset(files[DataFormat.AVERAGES], temperature=0.5)
    assert len(data) == len(averages)
    values, evals, results = averages.values(), averages.evals(), averages.results()
    for index in range(0, len(data), 7):
        sample = data[index]
        one = averages.take(np.array([index]))
        shares = dict(zip(one.moves["move"].tolist(), one.shares(0.5).tolist(), strict=True))
        assert _native.encode_hcp(sample.position) == one.positions["hcp"][0].tobytes()
        assert sample.eval_cp == evals[index]
        assert (sample.value, sample.result) == pytest.approx((values[index], results[index]), abs=1e-6)
        assert {move.raw: weight for move, weight in sample.policy.items()} == pytest.approx(
            {move: share for move, share in shares.items() if share}, abs=1e-6
        )
        assert sample.policy[sample.move] == max(sample.policy.values())


@pytest.mark.parametrize("kind", FORMATS)
def test_arrays_hold_the_samples(files: dict[DataFormat, Path], kind: DataFormat) -> None:
    data = Dataset(files[kind])
    indices = [len(data) - 1, 0, 5, 5, 17]
    batch = data.arrays(indices)
    features1, features2 = batch.features()
    policy = batch.policy()
    assert (features1.shape, features2.shape, policy.shape) == ((5, 62, 9, 9), (5, 57, 9, 9), (5, 2187))
    assert policy.sum(axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    for row, index in enumerate(indices):
        sample = data[index]
        planes1, planes2 = _native.encode_position(sample.position)
        assert (batch.planes1[row] == planes1).all()
        assert (batch.planes2[row] == planes2).all()
        for move, weight in sample.policy.items():
            assert policy[row, _native.policy_label(sample.position.turn, move)] == np.float32(weight)
        assert (batch.results[row], batch.values[row]) == (sample.result, sample.value)
    assert set(np.unique(features1)) <= {0, 1}


def test_all_formats_together(files: dict[DataFormat, Path]) -> None:
    data = Dataset(*(files[kind] for kind in reversed(FORMATS)))
    assert len(data) == sum(len(Dataset(files[kind])) for kind in FORMATS)
    order = np.random.default_rng(1).permutation(len(data))[:300]
    batch = data.arrays(order)
    for row, index in enumerate(order.tolist()):
        one = data.arrays([index])
        np.testing.assert_array_equal(batch.planes1[row], one.planes1[0])
        np.testing.assert_array_equal(batch.policy()[row], one.policy()[0])
        assert (batch.labels[row], batch.results[row], batch.values[row]) == (
            one.labels[0], one.results[0], one.values[0],
        )  # fmt: skip


def test_a_listener_follows_reading_and_evaluation(files: dict[DataFormat, Path]) -> None:
    heard: list[tuple[str, int, int | None]] = []

    class Progress(Listener):
        def progress(self, stage: str, done: int, total: int | None) -> None:
            heard.append((stage, done, total))

    path = files[DataFormat.HCPE3]
    size = path.stat().st_size
    data = Dataset(path, files[DataFormat.HCPE], path, listener=Progress())
    assert heard == [("reading games", size, 2 * size), ("reading games", 2 * size, 2 * size)]
    assert len(data) == 2 * len(Dataset(path)) + len(Dataset(files[DataFormat.HCPE]))
    heard.clear()
    evaluate(PolicyValueNetwork(NetworkConfig(blocks=1, channels=8)), data, sample=50, batch=20, listener=Progress())
    assert heard == [("evaluating", count, 50) for count in (20, 40, 50)]


def test_batches_are_reproducible(files: dict[DataFormat, Path]) -> None:
    data = Dataset(files[DataFormat.HCPE3])
    first, again = list(data.batches(64, seed=3)), list(Dataset(files[DataFormat.HCPE3]).batches(64, seed=3))
    for found, expected in zip(again, first, strict=True):
        assert_same(found, expected)
    assert [len(batch) for batch in first] == [64] * (len(data) // 64) + [len(data) % 64]
    assert len(list(data.batches(64, drop_last=True))) == len(data) // 64
    for other in (data.batches(64, seed=4), data.batches(64, seed=3, epoch=1), data.batches(64, shuffle=False)):
        assert not np.array_equal(next(other).planes1, first[0].planes1)
    everything = data.arrays(range(len(data)))
    assert_same(next(data.batches(len(data), shuffle=False)), everything)
    rows = Counter(row.tobytes() for batch in first for row in batch.planes1)
    assert rows == Counter(row.tobytes() for row in everything.planes1)


def test_indices_are_checked(test_file: Path) -> None:
    data = Dataset(str(test_file))
    assert isinstance(data[-1], Sample)
    assert data[-1].eval_cp == data[49].eval_cp
    assert len(data.arrays([])) == 0
    with pytest.raises(IndexError):
        data[50]
    for wrong in ([50], [-1], [0, 1000]):
        with pytest.raises(IndexError, match="positions are numbered 0 to 49"):
            data.arrays(wrong)
    for wrong in (np.ones(50, bool), np.array([0.5]), np.array([[1, 2]])):
        with pytest.raises(TypeError, match="position numbers are a list of integers, not "):
            data.arrays(wrong)
    with pytest.raises(TypeError, match="slice"):
        data[0:2]  # type: ignore[index]
    with pytest.raises(ValueError, match="at least 1 position"):
        data.batches(0)
    with pytest.raises(ValueError, match="at least one file"):
        Dataset()
    assert "50 positions" in repr(data)


def test_a_move_that_is_not_legal_is_kept(tmp_path: Path) -> None:
    """Some move is wrong in almost any large file; it trains as its label says."""
    records = random_records(20, seed=1).view(HCPE)
    records["bestMove16"][0] = Move.from_usi("2h2b").raw  # through an own pawn
    records.tofile(tmp_path / "a.hcpe")
    sample = Dataset(tmp_path / "a.hcpe")[0]
    assert sample.move == Move.from_usi("2h2b")
    assert sample.policy == {sample.move: 1.0}


def test_a_damaged_psv_record_is_named(files: dict[DataFormat, Path], tmp_path: Path) -> None:
    records = np.array(map_rows(files[DataFormat.PSV], PSV))
    records["game_result"][4] = 2
    records["sfen"][9] = 255
    records.tofile(tmp_path / "bad.psv")
    data = Dataset(tmp_path / "bad.psv")
    with pytest.raises(DataFileError, match=r"bad\.psv, record 4 \(byte 160\): .*result 2"):
        data.arrays(range(20))
    with pytest.raises(DataFileError, match=r"bad\.psv, record 9 \(byte 360\): "):
        data.arrays(range(5, 20))
    assert len(data.arrays([3, 5])) == 2


def test_pickling_opens_the_files_again(files: dict[DataFormat, Path]) -> None:
    data = Dataset(files[DataFormat.HCPE3], files[DataFormat.HCPE], temperature=0.5, eval_scale=None)
    pickled = pickle.dumps(data)
    assert len(pickled) < 1000
    assert_same(pickle.loads(pickled).arrays(range(200)), data.arrays(range(200)))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")  # on a machine with one core
def test_the_dataloader_of_torch(files: dict[DataFormat, Path], workers: int) -> None:
    data = Dataset(files[DataFormat.HCPE3], files[DataFormat.HCPE])
    loader = DataLoader(
        data.torch(),
        batch_size=100,
        shuffle=True,
        num_workers=workers,
        multiprocessing_context="spawn" if workers else None,
        generator=torch.Generator().manual_seed(1),
    )
    batches = list(loader)
    assert {name: part.shape[1:] for name, part in batches[0].items()} == {
        "features1": (62, 9, 9), "features2": (57, 9, 9), "policy": (2187,), "result": (), "value": (),
    }  # fmt: skip
    assert all(part.dtype == torch.float32 for part in batches[0].values())
    expected = data.arrays(range(len(data)))
    values = torch.cat([batch["value"] for batch in batches])
    assert torch.equal(values.sort().values, torch.from_numpy(expected.values).sort().values)
    order = torch.randperm(len(data), generator=loader.generator)
    assert len(order) == len(values)
    total = sum(batch["policy"].sum(dim=0) for batch in batches)
    assert torch.allclose(total, torch.from_numpy(expected.policy().sum(axis=0)), atol=1e-3)


def test_torch_is_loaded_by_torch_alone(test_file: Path) -> None:
    program = (
        "import sys, fukayomi.learning, fukayomi.nn\n"
        f"data = fukayomi.learning.Dataset({str(test_file)!r})\n"
        "assert len(next(data.batches(10)).policy()) == 10 and data[0].move\n"
        "fukayomi.nn.NetworkConfig(), fukayomi.learning.TrainingSettings(), fukayomi.learning.TrainingListener()\n"
        "sys.exit(bool({'torch', 'onnx', 'onnxruntime', 'tensorboard', 'rich', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_public_names_exist() -> None:
    for module in (fukayomi.learning, fukayomi.nn):
        for name in module.__all__:
            assert getattr(module, name).__name__ == name
            assert name in dir(module)
        with pytest.raises(AttributeError, match="nothing"):
            module.nothing  # noqa: B018
