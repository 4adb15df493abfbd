"""Settings of a run from TOML, presets and flags, and the configuration that a run saves."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from command_app import app
from hypothesis import given
from hypothesis import strategies as st
from network_samples import HEADS
from typer.testing import CliRunner

from fukayomi.learning import Dataset, TrainingError, TrainingSettings, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.training.configuration import (
    RunConfiguration,
    RunSettings,
    TargetSettings,
    split_weight,
)
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, save_parameters
from fukayomi.settings import build, read

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def fukayomi(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@given(
    steps=st.none() | st.integers(1, 10**6),
    lr=st.floats(1e-6, 1.0),
    critic=st.booleans(),
    scale=st.just("fit") | st.floats(1, 2000),
    threads=st.none() | st.integers(1, 64),
    heads=st.lists(st.sampled_from(HEADS), unique=True).map(tuple),
    names=st.lists(st.text(st.characters(exclude_characters="\0*/.", codec="utf-8"), min_size=1), min_size=1),
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    steps: Any,
    lr: float,
    critic: bool,
    scale: Any,
    threads: Any,
    heads: Any,
    names: Any,
):
    files = tuple(f"/{name}" for name in names)
    configuration = RunConfiguration(
        train=files, test=files[:1], network=TINY.changed(heads=heads),
        training=TrainingSettings(steps=steps, lr=lr, critic=critic),
        targets=TargetSettings(temperature=0.5, eval_scale=scale),
        run=RunSettings(initial="/teacher.onnx", threads=threads),
    )  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "config.toml"
    path.write_bytes(configuration.text().encode())
    assert build(RunConfiguration, read(RunConfiguration, path)) == configuration


def test_flags_win_over_the_file_and_the_file_over_its_preset(tmp_path: Path):
    text = '[training]\npreset = "dlshogi-large"\nlr = 0.02\nbatch = 2048\n[network]\nblocks = 3\n'
    path = write(tmp_path / "run.toml", 'train = ["a.hcpe*2", "/b.avg"]\ntest = "t.hcpe"\n' + text)
    found = build(RunConfiguration, read(RunConfiguration, path), {"training": {"batch": 512}})
    assert found.train == (f"{tmp_path}/a.hcpe*2", "/b.avg")
    assert found.test == (f"{tmp_path}/t.hcpe",)
    assert (found.training.batch, found.training.lr, found.training.epochs) == (512, 0.02, 12.0)
    assert (found.training.schedule, found.training.amp, found.training.ema_interval) == ("halving", "bf16", 250)
    assert (found.network.blocks, found.network.channels) == (3, NetworkConfig().channels)
    by_steps = build(RunConfiguration, read(RunConfiguration, path), {"train": ["c"], "training": {"steps": 7}})
    assert (by_steps.train, by_steps.training.steps, by_steps.training.epochs) == (("c",), 7, None)
    preset = build(RunConfiguration, read(RunConfiguration, path), {"training": {"preset": "dlshogi"}})
    assert (preset.training.batch, preset.training.schedule) == (1024, "constant")


def test_a_preset_may_say_something_of_the_targets(tmp_path: Path):
    preset = {"train": ["a"], "training": {"preset": "reanalyze"}, "targets": {"layer": "new"}}
    found = build(RunConfiguration, preset)
    assert (found.training.epochs, found.training.value_weight, found.training.val_lambda) == (2.0, 0.25, 0.333)
    assert (found.targets.n_step, found.targets.layer) == (5, "new")
    path = write(tmp_path / "run.toml", found.text())
    assert build(RunConfiguration, read(RunConfiguration, path)).targets == found.targets
    assert build(RunConfiguration, preset, {"targets": {"n_step": 3}}).targets.n_step == 3
    assert build(RunConfiguration, {"train": ["a"], "targets": {"n_step": 3}}, preset).targets.n_step == 5
    assert build(RunConfiguration, {"train": ["a"], "training": {"preset": "dlshogi"}}).targets.n_step == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no training files are given"),
        ('train = "a"\nnetworks = 1', "networks: unknown setting; did you mean network"),
        ('train = "a"\n[training]\nlearning_rate = 1', "training.learning_rate: unknown setting; there are steps, "),
        ('train = "a"\n[training]\nbatch = "many"', "training.batch: Input should be a valid integer"),
        (
            'train = "a"\n[training]\noptimizer = "adam"',
            "training.optimizer: Input should be 'sgd', 'adamw' or 'muon'",
        ),
        ('train = "a"\n[training]\nsteps = 1\nepochs = 2.0', "give steps or epochs, not both"),
        ('train = "a"\n[training]\npolicy_weight = 0\nvalue_weight = 0', "there is nothing to learn"),
        ('train = "a"\n[training]\npreset = "best"', "'best' is not one of dlshogi, dlshogi-large, reanalyze"),
        ('train = "a"\n[training]\npreset = ["dlshogi"]', r"preset: \['dlshogi'\] is not one of dlshogi, "),
        ('train = "a"\n[network]\nname = 5', "network.name: 5 is not a name, such as"),
        ('train = "a"\n[network]\npreset = "dlshogi"', "network: preset: unknown setting; there are blocks"),
        ('train = "a"\n[run]\nname = "x"', "run.name: unknown setting"),
        (
            'train = "a"\n[training]\nseed = 18446744073709551616',
            "training.seed: Input should be less than or equal to 9223372036854775807",
        ),
        ('train = "a"\n[targets]\neval_scale = "steep"', "'steep' is neither a number of centipawns nor 'fit'"),
        ('train = "a"\n[network]\nblocks = 0', r"network\.blocks: Input should be greater than or equal to 1"),
        ('train = "a"\nrun = 3', r"run is a table: \[run\]"),
        ("train = [1]", "train.0: Input should be a valid string"),
        ("train = ", "run.toml: Invalid value"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(text: str, message: str, tmp_path: Path):
    with pytest.raises(TrainingError, match=message):
        build(RunConfiguration, read(RunConfiguration, write(tmp_path / "run.toml", text)))


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(TrainingError, match=r"cannot read the settings in .*none\.toml: No such file"):
        read(RunConfiguration, tmp_path / "none.toml")


def test_weights_are_split_from_names(tmp_path: Path):
    assert split_weight("a.hcpe*0.25") == (Path("a.hcpe"), 0.25)
    assert split_weight("a*b.hcpe*3") == (Path("a*b.hcpe"), 3.0)
    starred = tmp_path / "games*2"
    starred.touch()
    assert split_weight(str(starred)) == (starred, 1.0)
    for text in ("a.hcpe*", "a.hcpe*0", "a.hcpe*-1", "a.hcpe*inf", "a.hcpe*1e308", "a*b.hcpe"):
        with pytest.raises(TrainingError, match="is not a weight from 1e-06 to 1,000,000"):
            split_weight(text)


def test_a_saved_configuration_repeats_the_run(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(epochs=1.0, batch=16, lr=0.01, amp="auto", ema_interval=2)
    data = Dataset(train_file, test_file, train_file, weights=[1.0, 0.5, 0.123456789], temperature=0.7)
    first = train(TINY, data, tmp_path / "first", test=Dataset(test_file), settings=settings, eval_interval=4)
    saved = tmp_path / "first" / "config.toml"
    document = tomllib.loads(saved.read_text())
    assert document["train"] == [str(train_file), f"{test_file}*0.5", f"{train_file}*0.123456789"]
    assert document["training"]["steps"] == (96 + 25 + 12) // 16
    assert document["training"]["amp"] in ("bf16", "off")
    assert document["run"]["eval_interval"] == 4
    repeated = fukayomi("train", "--config", saved, "--out", tmp_path / "second", "--json")
    assert repeated.exit_code == 0, repeated.output
    expected, found = (load_checkpoint(tmp_path / name / "checkpoint.pt") for name in ("first", "second"))
    assert found.settings == expected.settings
    assert all((tensor == found.averaged[name]).all() for name, tensor in expected.averaged.items())
    assert first.metrics is not None
    assert json.loads(repeated.stdout)["metrics"] == first.metrics.as_dict()


def test_a_name_that_no_configuration_can_hold_is_refused(tmp_path: Path, train_file: Path):
    odd = tmp_path / "\udcff.hcpe"
    odd.write_bytes(train_file.read_bytes())
    with pytest.raises(TrainingError, match=r"hcpe: the name is not UTF-8, and config\.toml cannot hold it: rename"):
        train(TINY, Dataset(train_file, odd), tmp_path / "run", settings=TrainingSettings(steps=1, batch=16))


def test_a_resumed_command_needs_nothing_but_the_folder(tmp_path: Path, train_file: Path):
    options = ["--blocks", 1, "--channels", 8, "--value-hidden", 8, "--activation", "relu", "--optimizer", "adamw"]
    out = tmp_path / "run"
    first = fukayomi("train", f"{train_file}*1.5", "--out", out, *options, "--batch", 16, "--steps", 3, "--critic")
    assert first.exit_code == 0, first.output
    resumed = fukayomi("train", "--out", out, "--resume", "--steps", 5, "--json")
    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)["step"] == 5
    checkpoint = load_checkpoint(out / "checkpoint.pt")
    assert (checkpoint.settings["critic"], checkpoint.settings["positions"]) == (True, 144)
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert [line["train"]["step"] for line in lines] == [3, 5]
    nothing = fukayomi("train", "--out", tmp_path / "other")
    assert nothing.exit_code == 1
    assert "no training files are given" in nothing.stderr


def test_a_file_that_names_an_initial_network_alone_has_its_shape(tmp_path: Path, train_file: Path):
    save_parameters(PolicyValueNetwork(TINY), tmp_path / "first.safetensors")
    text = 'train = "TRAIN"\n[run]\ninitial = "first.safetensors"\n[training]\nsteps = 1\nbatch = 16\n'
    alone = write(tmp_path / "run.toml", text.replace("TRAIN", str(train_file)))
    found = fukayomi("train", "--config", alone, "--out", tmp_path / "run")
    assert found.exit_code == 0, found.output
    assert load_checkpoint(tmp_path / "run" / "checkpoint.pt").network == TINY
    larger = write(tmp_path / "larger.toml", alone.read_text() + '[network]\nname = "resnet1x16_fcl8"\n')
    assert fukayomi("train", "--config", larger, "--out", tmp_path / "grown").exit_code == 0
    assert load_checkpoint(tmp_path / "grown" / "checkpoint.pt").network == TINY.changed(channels=16)


def test_what_cannot_be_resumed_is_named(tmp_path: Path, train_file: Path):
    refused = fukayomi("train", "--out", tmp_path / "none", "--resume")
    assert refused.exit_code == 1
    assert "no such file: there is no run to resume in" in refused.stderr
    assert not (tmp_path / "none").exists()
    train(TINY, Dataset(train_file), tmp_path / "run", settings=TrainingSettings(steps=1, batch=16))
    (tmp_path / "run" / "checkpoint.pt").rename(tmp_path / "run" / "checkpoint-before.pt")
    lost = fukayomi("train", "--out", tmp_path / "run", "--resume", "--steps", 2)
    assert lost.exit_code == 1
    assert "to go on from the checkpoint before it, call checkpoint-before.pt so" in lost.stderr
