"""The guard of the loss: it stops a run that diverges, and good weights stay."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.learning import Dataset, DivergenceError, TrainingSettings, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.training.run_folder import LossGuard
from fukayomi.learning.training.trainer import Trainer
from fukayomi.nn import NetworkConfig

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)
UPDATE = Trainer.update


def follow(guard: LossGuard, losses: list[float], after: int = 0) -> None:
    for step, loss in enumerate(losses, after + 1):
        guard.watch(step, torch.tensor(loss))
    guard.settle()


@given(st.lists(st.floats(-0.4, 0.4), min_size=20, max_size=200), st.floats(0, 0.02))
def test_a_noisy_loss_that_falls_is_no_divergence(noise: list[float], fall: float):
    follow(LossGuard(max_rise=1.0), [8.0 - fall * step + each for step, each in enumerate(noise)])


def test_a_rise_is_found_within_a_few_steps_and_the_calm_ends_before_it():
    guard = LossGuard(max_rise=2.0)
    follow(guard, [3.0] * 100)
    with pytest.raises(DivergenceError, match=r"the loss rose from 3\.000 to \d\.\d+ .* by step 1\d\d") as found:
        follow(guard, [8.0] * 20, after=100)
    assert 100 <= found.value.calm <= 101
    assert int(str(found.value).split()[-1]) < 110


def test_what_is_not_finite_is_found_whatever_the_rise():
    for number in (float("nan"), float("inf"), float("-inf")):
        with pytest.raises(DivergenceError, match=f"the loss of step 2 is {number}"):
            follow(LossGuard(max_rise=0.0), [1.0, number])
    follow(LossGuard(max_rise=0.0), [1.0] * 20 + [1e30])


def test_weights_saved_in_a_rise_give_way_to_those_before_it(
    tmp_path: Path, train_file: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = TrainingSettings(steps=60, batch=16, lr=1e-3, warmup=0, amp="off")
    update = Trainer.update

    def bad_update(self: Trainer, batch: TensorBatch, step: int) -> object:
        found = update(self, batch, step)
        if step == 39:
            self.network.policy.bias.detach().add_(30 * torch.randn(2187))
        return found

    monkeypatch.setattr(Trainer, "update", bad_update)
    with pytest.raises(DivergenceError, match=r"the loss rose from .* the last good weights, of step 20, are in"):
        train(
            TINY, Dataset(train_file), tmp_path / "run", settings=settings, device="cpu", checkpoint_interval=20,
            threads=1,
        )  # fmt: skip
    checkpoint = load_checkpoint(tmp_path / "run" / "checkpoint.pt")
    assert checkpoint.step == 20, "not those of step 40, which were saved as well"
    monkeypatch.undo()
    resumed = train(TINY, Dataset(train_file), tmp_path / "run", settings=settings, device="cpu", resume=True)
    assert resumed.finished


def explode(self: Trainer, batch: TensorBatch, step: int) -> object:
    """Training's own update, and weights that give a large loss after it."""
    found = UPDATE(self, batch, step)
    self.network.policy.bias.detach().add_(30 * torch.randn(2187))
    return found


def test_a_run_that_explodes_as_it_is_resumed_keeps_the_weights_of_before(
    tmp_path: Path, train_file: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = TrainingSettings(steps=30, batch=16, lr=1e-3, warmup=0, amp="off")
    train(TINY, Dataset(train_file), tmp_path / "run", settings=settings, device="cpu", threads=1)
    good = load_checkpoint(tmp_path / "run" / "checkpoint.pt")
    assert good.guard["count"] == 30
    longer = settings.changed(steps=60)
    monkeypatch.setattr(Trainer, "update", explode)
    with pytest.raises(DivergenceError, match=r"the loss rose from [78]\..* the last good weights, of step 30, are in"):
        train(
            TINY, Dataset(train_file), tmp_path / "run", settings=longer, device="cpu", checkpoint_interval=1,
            threads=1, resume=True,
        )  # fmt: skip
    kept = load_checkpoint(tmp_path / "run" / "checkpoint.pt")
    assert all((tensor == kept.model[name]).all() for name, tensor in good.model.items())


def test_another_loss_is_not_compared_with_the_one_before(tmp_path: Path, train_file: Path):
    settings = TrainingSettings(steps=30, batch=16, lr=1e-3, warmup=0, amp="off", entropy=1.0)
    data = Dataset(train_file)
    train(TINY, data, tmp_path / "run", settings=settings, device="cpu", threads=1)
    plain = settings.changed(steps=60, entropy=0.0)  # its loss is larger by the entropy, some seven nats
    assert train(TINY, data, tmp_path / "run", settings=plain, device="cpu", threads=1, resume=True).finished
