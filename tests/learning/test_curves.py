"""Curves of runs: what was written last counts; pictures have what runs have; other programs' files are read."""

import html
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from command_app import app
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.tensorboard import SummaryWriter
from typer.testing import CliRunner

from fukayomi.learning import (
    CurveError,
    Dataset,
    JsonLinesListener,
    Metrics,
    TensorBoardListener,
    TrainingListener,
    TrainingSettings,
    runs,
    train,
)
from fukayomi.learning.curves import pictures
from fukayomi.learning.curves.readers import SECONDS, Curve, CurveLog
from fukayomi.learning.listeners import RunStart
from fukayomi.nn import NetworkConfig


def metrics(loss: float) -> Metrics:
    return Metrics(100, loss, 0.6, 0.5, loss + 0.6, 0.3, 0.6, 2.0)


def write_lines(folder: Path, *, steps: int = 20, loss: float = 5.0) -> Path:
    folder.mkdir(parents=True)
    lines: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        lines.append({"train": {"step": step, "policy_loss": loss / step, "total_loss": None, "learning_rate": 0.1}})
        if step % 5 == 0:
            lines.append({"test": {"step": step, "positions": 9, "policy_loss": loss / step, "policy_accuracy": 0.3}})
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("listener", [TensorBoardListener(), JsonLinesListener()])
def test_what_training_leaves_is_drawn(
    listener: TrainingListener, train_file: Path, test_file: Path, tmp_path: Path
) -> None:
    settings = TrainingSettings(steps=4, batch=16, amp="off")
    data, test = Dataset(train_file), Dataset(test_file)
    result = train(
        NetworkConfig(blocks=1, channels=8, value_hidden=8), data, tmp_path / "run", test=test, settings=settings,
        threads=1, eval_interval=2, listener=listener,
    )  # fmt: skip
    found = runs(tmp_path / "run")
    rows = {(row["kind"], row["step"]): row for row in found.rows()}
    for row in result.history.rows():
        for name in ("policy_loss", "result_loss", "search_value_loss", "policy_accuracy", "policy_entropy"):
            assert rows["test", row["step"]][name] == pytest.approx(row[name])
    (last,) = result.losses.rows()
    assert rows["train", 4]["total_loss"] == pytest.approx(last["total_loss"])
    assert rows["train", 4]["policy_accuracy"] is None
    axes = [axes for axes in found.plot(language="en").axes if axes.get_title(loc="left")]
    assert [each.get_title(loc="left") for each in axes] == [
        "policy loss", "value loss (result)", "value loss (search value)", "sum of the losses", "policy accuracy",
        "value accuracy", "policy entropy", "learning rate",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [TensorBoardListener, JsonLinesListener])
def test_of_a_run_that_crashed_and_was_resumed_the_later_points_count(
    kind: type[TrainingListener], tmp_path: Path
) -> None:
    for first, steps, loss in ((0, 1340, 2.0), (1000, 1200, 1.0)):
        listener = kind()
        listener.started(RunStart(first, 2000, 8, tmp_path))
        for step in range(first + 100, steps + 1, 100):
            listener.evaluated(step, metrics(loss + step / 1e4))
        listener.ended()
    (found,) = runs(tmp_path).runs
    curve = found.curves["test", "policy_loss"]
    assert curve.steps.tolist() == list(range(100, 1201, 100))
    assert np.floor(curve.values).tolist() == [2] * 10 + [1] * 2


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(-9, 9)), max_size=40))
def test_points_ascend_and_the_last_of_a_step_wins(points: list[tuple[int, float]]) -> None:
    log = CurveLog()
    for step, value in points:
        log.add("test", "policy_loss", step, value)
    curve = log.curves().get(("test", "policy_loss"), Curve(()))
    assert (np.diff(curve.steps) > 0).all()
    later = dict(points)
    assert all(later[step] == value for step, value in curve.points().items())
    if points:
        assert curve.steps[-1] == points[-1][0]


@given(st.lists(st.floats(0, 10), min_size=1, max_size=60), st.floats(0, 100))
def test_smoothing_stays_between_the_extremes_and_thinning_keeps_them(values: list[float], width: float) -> None:
    curve = Curve(enumerate(values))
    smoothed = curve.smoothed(width).values
    assert smoothed.min() >= min(values) - 1e-9
    assert smoothed.max() <= max(values) + 1e-9
    thin = curve.thinned(4)
    assert len(thin) <= 10
    assert (thin.values.min(), thin.values.max()) == (min(values), max(values))
    assert (thin.steps[0], thin.steps[-1]) == (0, len(values) - 1)


def test_smoothing_weighs_by_steps_and_skips_what_is_not_finite() -> None:
    smoothed = Curve([(0, 4.0), (10, math.nan), (20, 1.0)]).smoothed(10).values
    weight = math.exp(-2)
    assert smoothed[0] == 4
    assert math.isnan(smoothed[1])
    assert smoothed[2] == pytest.approx((4 * weight + 1) / (weight + 1))


@pytest.mark.parametrize("step", ["1e400", "1" + 30 * "0", "1" + 400 * "0", "NaN", '"x"', 10_000 * "["])
def test_a_step_that_is_no_number_of_a_run_is_named(step: str, tmp_path: Path) -> None:
    log = write_lines(tmp_path / "run") / "log.jsonl"
    log.write_text('{"train": {"step": %s, "policy_loss": 1}}\n' % step + log.read_text())  # noqa: UP031
    with pytest.raises(CurveError, match=r"log\.jsonl, line 1: .* is not a line of a run"):
        runs(log)


def test_figures_that_are_not_finite_are_left_out_of_pictures(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "run") / "log.jsonl"
    with log.open("a") as lines:
        for step, value in enumerate(("1e400", "-1e400", "NaN", "null", "1e308"), 30):
            lines.write('{"train": {"step": %d, "policy_loss": %s}}\n' % (step, value))  # noqa: UP031
    (found,) = runs(log).runs
    assert np.isnan(found.curves["train", "policy_loss"].values[-5:]).all()
    runs(log).plot(tmp_path / "a.svg", log_x=True)


def test_a_name_that_is_not_utf_8_is_drawn(tmp_path: Path) -> None:
    write_lines(tmp_path / "\udcff")
    found = runs(tmp_path / "\udcff")
    for kind in ("png", "html"):  # in the page it is svg
        found.plot(tmp_path / f"a.{kind}", language="en")
    assert found.runs[0].name == "?"


def test_a_run_that_goes_on_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "run") / "log.jsonl"
    whole = log.read_text()
    log.write_text(whole + '{"train": {"step": 21, "pol')
    (found,) = runs(log).runs
    assert (found.name, found.last_step) == ("run", 20)
    assert found.last_test() == {"policy_loss": 0.25, "policy_accuracy": 0.3}
    assert np.isnan(found.curves["train", "total_loss"].values).all()
    log.write_text('{"train": 3}\n' + whole)
    with pytest.raises(CurveError, match=r"log\.jsonl, line 1: .* is not a line of a run"):
        runs(log)


@pytest.mark.parametrize("new_style", [False, True])
def test_files_of_other_programs_are_read(tmp_path: Path, new_style: bool) -> None:
    writer = SummaryWriter(str(tmp_path))
    tags = {
        "train/loss": ("train", "total_loss"),
        "val/policy_loss": ("test", "policy_loss"),
        "val_value_accuracy": ("test", "value_accuracy"),
        "accuracy1/test": ("test", "policy_accuracy"),
        "lr-SGD": None,
        "lr": ("train", "learning_rate"),
        "epoch": None,
    }
    for number, tag in enumerate(tags):
        writer.add_scalar(tag, number, 7, new_style=new_style)
    writer.add_text("notes", "of a run", 7)
    writer.close()
    (found,) = runs([tmp_path]).runs
    expected = {key: number for number, key in enumerate(tags.values()) if key}
    assert {key: curve.values.tolist() for key, curve in found.curves.items() if key != SECONDS} == {
        key: [number] for key, number in expected.items()
    }
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])  # as while a program writes
    assert runs([file]).runs[0].last_step == 7


def test_pictures_and_a_page_of_several_runs(tmp_path: Path) -> None:
    write_lines(tmp_path / "a" / "実験 <b>")
    write_lines(tmp_path / "b" / "実験 <b>", loss=4.0, steps=15)
    files = [tmp_path / f"curves.{kind}" for kind in ("svg", "png", "html")]
    options = [argument for file in files for argument in ("-o", file)]
    shown = run("plot", tmp_path / "a" / "実験 <b>", f"$other={tmp_path / 'b' / '実験 <b>'}", *options, "--json")
    assert shown.exit_code == 0, shown.output
    first, second = json.loads(shown.stdout)["runs"]
    assert (first["name"], second["name"]) == (str(tmp_path / "a" / "実験 <b>"), "$other")
    assert second["last_test"]["policy_loss"] == pytest.approx(4 / 15)
    svg, png, page = (file.read_bytes() for file in files)
    assert "実験 &lt;b&gt;" in svg.decode()
    assert "policy loss" in svg.decode()
    assert png.startswith(b"\x89PNG")
    assert "<b>" not in page.decode()
    assert page.count(b"data:image/svg+xml") == 2, "light and dark"
    assert b"img-src data:; style-src" in html.unescape(page.decode()).encode()
    assert not re.search(rb'(src|srcset|href)="(?!data:)', page), "no file besides it"
    again = tmp_path / "again.svg"
    run("plot", first["path"], f"$other={second['path']}", "-o", again)
    assert again.read_bytes() == svg
    run("plot", first["path"], f"$other={second['path']}", "-o", again, "--theme", "dark", "--log-x", "--smooth", 3)
    assert b"#1e2228" in again.read_bytes() != svg


def test_a_curve_of_one_point_is_a_point(tmp_path: Path) -> None:
    markers = {
        steps: [
            line.get_marker() for line in runs(write_lines(tmp_path / str(steps), steps=steps)).plot().axes[0].lines
        ]
        for steps in (1, 2)
    }
    assert "." in markers[1]
    assert "." not in markers[2]


def test_japanese_labels_need_a_font_only_in_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "japanese_font", lambda: None)
    folder = write_lines(tmp_path / "run")
    assert run("plot", folder, "-o", tmp_path / "a.svg", "--language", "ja").exit_code == 0
    assert "方策の損失" in (tmp_path / "a.svg").read_text()
    refused = run("plot", folder, "-o", tmp_path / "a.png", "--language", "ja")
    assert refused.exit_code == 1
    assert "need a Japanese font" in refused.stderr
    assert not (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "none: no such file or folder"),
        (["empty"], "empty: there is neither log.jsonl nor a file of TensorBoard"),
        (["new"], "no curves yet"),
        (["noise.bin"], "noise.bin: no"),
        (["run", "-o", "curves.pdf"], "curves.pdf is none of .svg, .png, .html"),
        (["run", "-o", "none/curves.svg"], "cannot be written"),
        (["a=run", "a=run"], "two runs have the same name"),
    ],
)
def test_errors_are_one_clear_message(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "run")
    for name in ("empty", "new"):
        (tmp_path / name).mkdir()
    (tmp_path / "new" / "log.jsonl").touch()
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    result = run("plot", *arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.glob("curves*"))
