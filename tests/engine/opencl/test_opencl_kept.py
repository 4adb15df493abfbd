"""Results of the tuner that are kept, and the command that makes them."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import command_runs
import pytest
from toy_network import write_network

pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install 'pyopencl[pocl]'")

from fukayomi.engine import EvaluatorError, Network
from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice
from fukayomi.engine.evaluators.backends.opencl.parameters import Registers, Tiled
from fukayomi.engine.evaluators.backends.opencl.tuning import kept, run
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import GEMM, Limits
from fukayomi.engine.evaluators.backends.opencl.tuning.kept import recall, remember
from fukayomi.engine.evaluators.backends.opencl.tuning.parameter_file import read_parameters, write_parameters
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shape, Shapes
from fukayomi.engine.evaluators.backends.opencl.tuning.tuned import Tuned

SHAPES = Shapes(((Shape(1, 8, 27), 2), (Shape(3, 8, 8), 4)))
TUNED = Tuned(
    x_gemm=Tiled(MWG=64),
    x_gemm16=Tiled(**GEMM.reference),
    registers=Registers(4, 9),
    lanes=16,
    tiles=9,
    fp16_storage=True,
)
command = partial(command_runs.invoke, "tune-opencl")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "fukayomi" / "opencl"


def test_what_is_remembered_is_recalled_for_the_same_shapes_alone(opencl_device: OpenClDevice) -> None:
    assert recall(opencl_device, SHAPES) is None
    path = remember(opencl_device, SHAPES, TUNED)
    assert path is not None
    assert path.is_file()
    assert recall(opencl_device, SHAPES) == TUNED
    assert recall(opencl_device, Shapes(((Shape(3, 8, 8), 5),))) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:50],
        lambda text: "\0" * 40,
        lambda text: "[" * 30_000,
        lambda text: text + " " * 70_000,
        lambda text: text.replace('"MWG": 64', '"MWG": 63'),
        lambda text: text.replace('"MWG": 64', '"MWG": "64"'),
        lambda text: text.replace('"lanes": 16', '"lanes": 3'),
        lambda text: text.replace('"rows": 4', '"rows": -4'),
        lambda text: text.replace('"fp16_storage": true', '"fp16_storage": 1'),
        lambda text: text.replace('"driver": "', '"driver": "other '),
        lambda text: text.replace('"tuner": 1', '"tuner": 0'),
    ],
)
def test_damaged_and_foreign_files_count_as_none_and_are_made_again(opencl_device: OpenClDevice, damage) -> None:
    path = remember(opencl_device, SHAPES, TUNED)
    assert path is not None
    before = path.read_text()
    path.write_text(damage(before))
    assert path.read_text() != before
    assert recall(opencl_device, SHAPES) is None
    remember(opencl_device, SHAPES, TUNED)
    assert recall(opencl_device, SHAPES) == TUNED


def test_where_nothing_can_be_written_nothing_is_kept(opencl_device: OpenClDevice, cache: Path) -> None:
    cache.parent.write_bytes(b"")  # a file where a folder should be
    assert remember(opencl_device, SHAPES, TUNED) is None
    with kept.alone():
        assert recall(opencl_device, SHAPES) is None


def test_after_a_tuning_precision_and_batch_size_are_measured_again(
    opencl_device: OpenClDevice, tmp_path: Path, cache: Path
) -> None:
    network = write_network(tmp_path / "toy.onnx")
    choices = cache.parent / "choices"
    for tuned in (None, TUNED, replace(TUNED, lanes=4)):
        if tuned is not None:
            remember(opencl_device, SHAPES, tuned)
        before = set(choices.glob("*.json"))
        for _ in range(2):  # the second remembers
            Network(network, device="opencl").close()
            assert len(set(choices.glob("*.json")) - before) == 1


def test_two_do_not_tune_at_once(cache: Path) -> None:
    with kept.alone(), pytest.raises(EvaluatorError, match="another process is tuning OpenCL"), kept.alone():
        pass
    assert cache.is_dir()


def test_the_command_keeps_and_writes_what_is_found(
    opencl_device: OpenClDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "tune", lambda device, shapes, **_: TUNED)
    path = tmp_path / "parameters.txt"
    printed = command("--output", path).stdout
    assert f"Found OpenCL Device {opencl_device.number}: {opencl_device}" in printed
    assert f"Using OpenCL Device {opencl_device.number}: {opencl_device.name}" in printed
    assert f"Wrote {path}" in printed
    assert read_parameters(path).x_gemm.MWG == 64
    document = json.loads(command("--json", "--device", opencl_device.number).stdout)
    assert document["channels"] == 64  # the embedded network
    assert document["tuned"]["registers"] == {"rows": 4, "columns": 9}
    assert document["parameters"]["storage16"] is True
    assert Path(document["kept"]).is_file()


def test_the_command_keeps_the_parameters_of_a_file(
    opencl_device: OpenClDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "parameters.txt"
    write_parameters(Tuned(x_gemm=Tiled(MWG=64), fp16_storage=True), path)
    document = json.loads(command("--tuned", path, "--json").stdout)
    assert document["parameters"]["convolutions"]["MWG"] == 64
    assert Path(document["kept"]).is_file()
    monkeypatch.setattr(kept, "limits_of", lambda _: Limits(group=32))
    ended = command("--tuned", path)
    assert ended.exit_code == 1
    assert f"{path}: work-groups or tiles are too large for {opencl_device.name}" in ended.stderr


def test_nothing_is_left_after_ctrl_c(
    opencl_device: OpenClDevice, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "tune", interrupted)
    path = tmp_path / "parameters.txt"
    ended = command("--output", path)
    assert ended.exit_code == 130
    assert ended.stderr.endswith("interrupted\n")
    assert not path.exists()
    assert [each.name for each in cache.iterdir()] == ["lock"]


def test_mistakes_are_named(opencl_device: OpenClDevice, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no network")
    for arguments, code, text in (
        (("--device", 99), 2, "there is no OpenCL device 99: there are "),
        (("--output", tmp_path / "no" / "file.txt"), 2, "its folder is missing"),
        ((broken,), 1, str(broken)),
        (("<sparse>",), 1, "OpenCL"),
    ):
        ended = command(*arguments)
        assert ended.exit_code == code
        assert text in ended.stderr
