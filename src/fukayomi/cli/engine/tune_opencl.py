"""``fukayomi tune-opencl``: the fastest parameters of OpenCL's kernels on a device."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import USAGE, fail
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.text import json_text, printable

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice
    from fukayomi.engine.evaluators.backends.opencl.tuning.run import Tuning

SECONDS = 60.0


@dataclass(frozen=True)
class TuneOptions:
    """The network, the device, the search, the files."""

    network: Annotated[Path | None, typer.Argument(metavar="NETWORK", show_default="<5x64>")] = None
    """Network: a file in .onnx, or an embedded one by its name, as '<5x64>'."""
    device: Annotated[int | None, typer.Option(min=0, metavar="N", show_default="the best")] = None
    """Number of the device, as in the list that is printed first and for DNN_GPU."""
    seconds: Annotated[float, typer.Option(min=1, max=86_400)] = SECONDS
    """Duration, about."""
    full: Annotated[bool, typer.Option("--full")] = False
    """Search larger ranges; give it ten minutes or more."""
    seed: int = 0
    """Random seed of the order in which configurations are tried."""
    output: Annotated[Path | None, typer.Option(metavar="FILE", show_default=False)] = None
    """Also write the parameters as a file of KataGo's format, version 8."""
    tuned: Annotated[Path | None, typer.Option(metavar="FILE", show_default=False)] = None
    """Keep the parameters of such a file instead of measuring."""
    as_json: AsJson = False


def tune_opencl(options: TuneOptions) -> None:
    """Find the fastest parameters of OpenCL's kernels on a device, by measuring.

    \b
    fukayomi tune-opencl
    fukayomi tune-opencl model.onnx --seconds 300 --full
    fukayomi tune-opencl model.onnx --device 1 --output parameters.txt

    Needs the extra opencl and a device with an OpenCL driver. A line is printed for each configuration that is better
    than those before it. The result is kept in the cache folder: from then on DNN_Provider opencl uses it for networks
    of the same shape. Tune again after a new driver. Other work on the device makes the result worse.
    """
    from fukayomi.engine.evaluators.backends.opencl.backend import OpenCl

    if options.output is not None:
        check_target(options.output)
    if problem := OpenCl().problem():
        fail(problem)
    from fukayomi.engine.evaluators.backends.opencl.tuning.parameter_file import write_parameters
    from fukayomi.engine.evaluators.backends.opencl.tuning.printout import TuningPrinter
    from fukayomi.engine.evaluators.backends.opencl.tuning.run import keep_file, tune_network
    from fukayomi.engine.network import find_network

    path, device = find_network(str(options.network or "")), _device(options.device)
    say = _nothing if options.as_json else _print
    for line in _found(device):
        say(line)
    if options.tuned is not None:
        done = keep_file(path, device, options.tuned)
    else:
        done = tune_network(
            path,
            device,
            budget_s=options.seconds,
            is_full=options.full,
            seed=options.seed,
            listener=TuningPrinter(say),
        )
    if options.output is not None:
        write_parameters(done.tuned, options.output)
    if options.as_json:
        typer.echo(json_text(_document(done, options.output)))
        return
    if options.output is not None:
        say(f"Wrote {options.output}")
    say(f"Kept in {done.kept}" if done.kept else "Not kept: the cache folder cannot be written")


def _device(number: int | None) -> "OpenClDevice":
    """The device with a number, or the best one."""
    from fukayomi.engine.evaluators.backends.opencl.devices import ranked

    devices = ranked()
    found = next((device for device in devices if number is None or device.number == number), None)
    if found is None:
        fail(f"there is no OpenCL device {number}: there are {', '.join(map(_numbered, devices))}", USAGE)
    return found


def _numbered(device: "OpenClDevice") -> str:
    return f"{device.number} ({device.name})"


def _found(device: "OpenClDevice") -> Sequence[str]:
    """Lines about all devices, and which is taken."""
    from fukayomi.engine.evaluators.backends.opencl.devices import describe, platforms

    platform = next(each for each in platforms() if each.number == device.platform)
    return [
        *describe(),
        f"Creating context for OpenCL Platform: {platform.name} ({platform.vendor}) ({platform.version})",
        f"Using OpenCL Device {device.number}: {device.name} ({device.vendor}) {device.version} "
        f"(Extensions: {' '.join(device.extensions.split())})",
    ]


def _print(line: str) -> None:
    typer.echo(printable(line))


def _nothing(_: str) -> None:
    """Print nothing."""


def _document(done: "Tuning", output: Path | None) -> dict[str, object]:
    return {
        "device": done.device.name,
        "number": done.device.number,
        "version": done.device.version,
        "network": str(done.network),
        "channels": done.shapes.channels,
        "seconds": round(done.seconds, 1),
        "tuned": asdict(done.tuned),
        "parameters": asdict(done.tuned.parameters()),
        "kept": None if done.kept is None else str(done.kept),
        "output": None if output is None else str(output),
    }
