"""Rows of psv without a move: their values are learned from, and the policy is left out of the loss."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from command_runs import run, run_json

from fukayomi.data import write_data
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.psv import psv_record
from fukayomi.learning import Dataset, TrainingSettings, evaluate, evaluate_networks, train
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.listeners import JsonLinesListener
from fukayomi.learning.loss import LossWeights, compute_losses
from fukayomi.learning.metrics import MEASURES
from fukayomi.nn import NetworkConfig, PolicyValueNetwork
from fukayomi.shogi import Position

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)
CPU = torch.device("cpu")


def write_pool(path: Path, *moves: str | None) -> Dataset:
    rows = [psv_record(Position().sfen(), move, 60, 1, 1) for move in moves]
    write_data(path, rows)
    return Dataset(path)


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return write_pool(tmp_path / "pool.psv", "7g7f", None, "2g2f", None)


def test_a_sample_without_a_move(data: Dataset) -> None:
    assert (len(data), data[0].move, data[1].move, data[1].policy) == (4, data[0].move, None, {})
    assert (data[1].value, data[1].result, data[1].eval_cp) == (data[0].value, 1.0, 60)
    batch = data.arrays([0, 1, 2, 3])
    assert (batch.is_one_hot, batch.policy().sum(axis=1).tolist()) == (False, [1, 0, 1, 0])
    assert data.arrays([0, 2]).is_one_hot
    assert data.torch()[1]["policy"].sum() == 0


def test_the_policy_is_left_out_of_the_loss_and_the_value_is_not(data: Dataset) -> None:
    policy, value = torch.randn(4, 2187, requires_grad=True), torch.zeros(4, 1, requires_grad=True)
    batch = TensorBatch.of(data.arrays([0, 1, 2, 3]), CPU)
    losses = compute_losses(policy, value, batch.targets, LossWeights(entropy=0.1))
    losses.total.backward()
    assert policy.grad is not None
    assert value.grad is not None
    assert policy.grad.abs().sum(dim=1).bool().tolist() == [True, False, True, False]
    assert (value.grad != 0).all()
    known = compute_losses(policy[::2], value[::2], TensorBatch.of(data.arrays([0, 2]), CPU).targets)
    assert losses.policy.item() == pytest.approx(known.policy.item() / 2, rel=1e-5)
    assert losses.result.item() == pytest.approx(known.result.item(), rel=1e-5)


def test_a_single_policy_entry_may_not_pass_for_one_hot(tmp_path: Path, data: Dataset) -> None:
    only = write_pool(tmp_path / "values.psv", None, None)
    batch = TensorBatch.of(only.arrays([0, 1]), CPU)
    losses = compute_losses(torch.zeros(2, 2187), torch.zeros(2, 1), batch.targets)
    assert (losses.policy.item(), losses.result.item() > 0) == (0, True)
    assert len(data.arrays([1]).places) == 0


def test_training_and_evaluation_take_them(tmp_path: Path, data: Dataset) -> None:
    settings = TrainingSettings(steps=4, batch=4, warmup=0, amp="off", lr=0.1)
    result = train(TINY, data, tmp_path / "run", test=data, settings=settings, device="cpu")
    assert result.finished
    network = PolicyValueNetwork(TINY)
    both, known = evaluate(network, data), evaluate(network, write_pool(tmp_path / "known.psv", "7g7f", "2g2f"))
    assert both.policy_loss == pytest.approx(known.policy_loss, rel=1e-5)
    assert both.result_loss == pytest.approx(known.result_loss, rel=1e-5)
    assert both.total_loss == pytest.approx(known.total_loss - known.policy_loss / 2, rel=1e-5)
    table = evaluate_networks({"net": network}, {"test": data})
    assert table.results[0].measures["policy_loss"].value == pytest.approx(both.policy_loss, rel=1e-5)
    values = evaluate(network, write_pool(tmp_path / "values.psv", None, None))
    assert np.isnan([values.policy_loss, values.policy_accuracy]).all()
    assert (values.result_loss > 0, values.total_loss > 0, values.is_finite) == (True, True, True)


def test_there_are_no_figures_of_the_policy_without_moves(tmp_path: Path) -> None:
    data = write_pool(tmp_path / "values.psv", *[None] * 8)
    settings = TrainingSettings(steps=2, batch=4, warmup=0, amp="off", lr=0.1)
    run_folder = tmp_path / "run"
    trained = train(TINY, data, run_folder, test=data, settings=settings, device="cpu", listener=JsonLinesListener())
    log = [json.loads(line) for line in (run_folder / "log.jsonl").read_text().splitlines()]
    (test,) = [line["test"] for line in log if "test" in line]
    assert (test["policy_loss"], test["policy_accuracy"], test["result_loss"] > 0) == (None, None, True)
    networks = {"a": PolicyValueNetwork(TINY), "b": PolicyValueNetwork(TINY)}
    table = evaluate_networks(networks, {"test": data}, resamples=20)
    for row in table.rows():
        assert {row[f"policy_{name}{end}"] for name in ("loss", "accuracy") for end in ("", "_low", "_high")} == {None}
        assert row["result_loss_low"] is not None
    printed = run("eval-model", trained.checkpoint, tmp_path / "values.psv", "--resamples", 20)[1]
    (row,) = (line for line in printed.splitlines() if line.startswith("checkpoint"))
    assert len(re.findall(r"[0-9]\.[0-9]{4}", row)) == len(MEASURES) - 2
    assert run_json("eval-model", trained.checkpoint, tmp_path / "values.psv")["results"][0]["policy_loss"] is None


def test_hcpe_may_not_lack_a_move(tmp_path: Path) -> None:
    write_data(tmp_path / "a.hcpe", psv_record(Position().sfen(), "7g7f", 60, 1, 1).repeat(3))
    bad = np.fromfile(tmp_path / "a.hcpe", np.uint8).reshape(3, 38)
    bad[1, 34:36] = 0
    (tmp_path / "a.hcpe").write_bytes(bad.tobytes())
    with pytest.raises(DataFileError, match=r"a\.hcpe, record 1 \(byte 38\): invalid move 0"):
        Dataset(tmp_path / "a.hcpe").arrays([0, 1, 2])
