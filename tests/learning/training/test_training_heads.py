"""Training with further heads: they learn, they resume, and they leave no trace in exported files."""

from pathlib import Path
from typing import Any

import pytest
import torch
from command_app import app
from learning_samples import Interrupter
from network_samples import HEADS
from typer.testing import CliRunner
from verb_runs import make_games

from fukayomi.learning import Dataset, TrainingError, TrainingListener, TrainingSettings, evaluate, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.listeners import TrainingStep
from fukayomi.learning.models import export_network, load_network
from fukayomi.nn import NetworkConfig

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


class Trace(TrainingListener):
    """Keeps what is reported of each step."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def step(self, step: TrainingStep) -> None:
        self.steps.append(dict(step.as_dict()))


def test_heads_learn_a_batch_by_heart(tmp_path: Path):
    (tmp_path / "games.hcpe3").write_bytes(make_games(12, seed=5, most_moves=16).write())
    data, trace = Dataset(tmp_path / "games.hcpe3"), Trace()
    keys = [f"{name.replace('-', '_')}_loss" for name in HEADS]
    settings = TrainingSettings(
        steps=30, batch=len(data), optimizer="adamw", lr=0.01, schedule="constant", warmup=5, amp="off", max_rise=0,
        soft_policy_weight=1, short_term_value_weight=1, wdl_weight=1, plies_left_weight=1, reply_weight=1,
    )  # fmt: skip
    config = NetworkConfig(blocks=1, channels=16, value_hidden=32, heads=HEADS)
    result = train(
        config, data, tmp_path / "run", test=data, settings=settings, device="cpu", threads=1, listener=trace
    )
    assert load_checkpoint(result.checkpoint).network.heads == HEADS
    assert result.metrics is not None
    assert list(result.metrics.heads) == keys
    again = evaluate(result.checkpoint, data, batch=20).heads
    first, last = trace.steps[0], trace.steps[-1]
    for name, key in zip(HEADS, keys, strict=True):
        assert result.metrics.as_dict()[key] == pytest.approx(again[key])
        assert result.history.rows()[-1][key] < first[key]
        assert last[key] < (0.9 if name == "short-term-value" else 0.7) * first[key]
    assert [loss for loss in first if loss.endswith("_loss")] == [
        "total_loss", "policy_loss", "result_loss", "search_value_loss", *keys,
    ]  # fmt: skip


def test_a_head_of_no_weight_changes_nothing_else(tmp_path: Path, games_file: Path):
    settings = TrainingSettings(steps=5, batch=32, amp="off", seed=2, reply_weight=0.0)
    models = [
        load_checkpoint(
            train(config, Dataset(games_file), tmp_path / name, settings=settings, device="cpu").checkpoint
        ).model
        for name, config in (("plain", TINY), ("reply", TINY.changed(heads=("reply",))))
    ]
    assert all(torch.equal(tensor, models[1][key]) for key, tensor in models[0].items())


def test_a_resumed_run_has_the_weights_of_an_uninterrupted_one(tmp_path: Path, games_file: Path, train_file: Path):
    config = TINY.changed(heads=HEADS)
    settings = TrainingSettings(steps=9, batch=32, warmup=2, ema_interval=2, amp="off")
    data, test = Dataset(games_file, train_file), Dataset(train_file)
    whole = train(config, data, tmp_path / "whole", test=test, settings=settings)
    train(config, data, tmp_path / "parts", test=test, settings=settings, eval_interval=4, listener=Interrupter())
    parts = train(config, data, tmp_path / "parts", test=test, settings=settings, resume=True)
    expected, found = load_checkpoint(whole.checkpoint), load_checkpoint(parts.checkpoint)
    assert sum(key.startswith("heads.") for key in expected.averaged) == 10
    for mine, other in ((expected.model, found.model), (expected.averaged, found.averaged)):
        assert all(torch.equal(tensor, other[key]) for key, tensor in mine.items())
    assert parts.metrics == whole.metrics == evaluate(parts.checkpoint, test)
    assert parts.metrics is not None
    assert list(parts.metrics.heads) == ["wdl_loss"], "of which rows have the target"
    agreement = export_network(load_network(parts.checkpoint), tmp_path / "network.onnx")
    assert agreement is not None
    assert agreement.top1 == 1.0


def test_rows_alone_cannot_teach_what_follows(tmp_path: Path, train_file: Path):
    with pytest.raises(TrainingError, match="the head reply needs the moves that follow"):
        train(TINY.changed(heads=("wdl", "reply")), Dataset(train_file), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_trains_heads_and_saves_them_in_its_settings(tmp_path: Path, games_file: Path):
    words = ["train", str(games_file), "--out", str(tmp_path / "run"), "--network", "resnet1x8_fcl8"]
    more = ["--heads", "soft-policy, plies-left", "--plies-left-weight", "0.3", "--batch", "16", "--threads", "1"]
    first = CliRunner().invoke(app, [*words, *more, "--steps", "2"])
    assert first.exit_code == 0, first.output
    text = (tmp_path / "run" / "config.toml").read_text()
    assert "plies_left_weight = 0.3" in text
    resumed = CliRunner().invoke(app, ["train", "--out", str(tmp_path / "run"), "--resume", "--steps", "3"])
    assert resumed.exit_code == 0, resumed.output
    checkpoint = load_checkpoint(tmp_path / "run" / "checkpoint.pt")
    assert (checkpoint.step, checkpoint.network.heads) == (3, ("soft-policy", "plies-left"))
    assert '"soft_policy_loss"' in (tmp_path / "run" / "log.jsonl").read_text()
    unknown = CliRunner().invoke(app, [*words, "--heads", "ownership"])
    assert unknown.exit_code == 2
    assert "--heads: Input should be 'soft-policy', " in unknown.stderr
