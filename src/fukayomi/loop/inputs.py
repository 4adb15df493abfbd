"""Looking at the files, programs and devices that the settings of a run name, before the run begins.

A step that needs one of them may come after hours, when the settings can no longer change. Each part of the run checks
its own tables.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fukayomi.arena.game.rules import split_command
from fukayomi.engine.evaluators.backends.backend import BACKENDS, get_backend
from fukayomi.engine.network import STUBS, find_network
from fukayomi.errors import FukayomiError
from fukayomi.files.inputs import require_file
from fukayomi.loop.families import AnyNetwork, check_family
from fukayomi.loop.settings import LoopError
from fukayomi.usi.process import find_program


@contextmanager
def naming(setting: str) -> Generator[None]:
    """Errors that name the setting, as `LoopError`."""
    try:
        yield
    except OSError as error:
        raise LoopError(f"{setting}: cannot read {error.filename}: {error.strerror}") from error
    except FukayomiError as error:
        raise LoopError(f"{setting}: {error}") from error


def check_network(network: Path | str) -> None:
    """See that a network's file is there, without reading it."""
    if str(network) not in STUBS:
        require_file(find_network(str(network)))


def check_device(network: AnyNetwork, table: str, device: str, *, is_here: bool = True) -> None:
    """See that there is a device that runs a network, and that this machine has it.

    Args:
        network: The network.
        table: The table with the device.
        device: Its name.
        is_here: Whether it has to be on this machine.
    """
    with naming(f"{table}, device"):
        check_family(network, table, device)
        if device not in ("auto", *BACKENDS):
            raise LoopError(f"there are auto, {', '.join(BACKENDS)}, not {device}")
        if device != "auto" and is_here and (problem := get_backend(device).problem()) is not None:
            raise LoopError(f"{device}: {problem}")


def check_program(command: str) -> None:
    """See that the program of a command line is there."""
    words = split_command(command, Path.cwd())
    if not words:
        raise LoopError("the command is empty")
    if find_program(words[0]) is None:
        raise LoopError(f"program {words[0]} not found")
