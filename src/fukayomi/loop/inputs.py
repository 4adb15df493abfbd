"""The files and programs that the settings of a run name, looked at before the run begins.

A step that needs one of them may come after hours, when the settings can no longer change.
"""

from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from fukayomi.arena.game.openings import read_openings as read_match_openings
from fukayomi.arena.match.configuration import split_command
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.network import STUBS, find_network
from fukayomi.files.inputs import require_file
from fukayomi.learning.data.dataset import kind_of_data
from fukayomi.learning.training.configuration import split_weight
from fukayomi.loop.settings import OPENINGS, LoopError, LoopSettings
from fukayomi.selfplay.openings import OpeningError, Openings, OpeningSet
from fukayomi.usi.process import find_program


def read_openings(settings: LoopSettings) -> Openings | None:
    """Where the games of a run begin; None: at the start position.

    Raises:
        LoopError: A file holds no positions or cannot be read, or shares some with those of the gate or of the
            measurements.
    """
    if not settings.openings.files:
        return None
    apart = [settings.gate.openings or OPENINGS] if settings.gate.mode != "off" else []
    apart += [settings.strength.openings or OPENINGS] if settings.strength.games else []
    try:
        openings = Openings.read(settings.openings.files)
        openings.keep_apart([OpeningSet.read(path) for path in dict.fromkeys(apart)])
    except OpeningError as error:
        raise LoopError(f"openings, files: {error}") from error
    except OSError as error:
        raise LoopError(f"openings, files: cannot read {error.filename}: {error.strerror}") from error
    return openings


def require_cluster(settings: LoopSettings) -> None:
    """Look for what a fleet needs besides the cluster.

    Raises:
        LoopError: It is not installed.
    """
    if settings.fleet is None:
        return
    has_url = "://" in (settings.fleet.store or "")
    for module in ("ray", "fsspec") if has_url else ("ray",):
        if find_spec(module) is None:
            raise LoopError(f"the table [fleet] needs {module}: pip install '.[fleet]' in a checkout of fukayomi")


def check_inputs(settings: LoopSettings) -> None:
    """Look at everything else that the settings name: openings of matches, networks, engines, training data.

    Networks and training data are not read to their end.

    Raises:
        LoopError: A file or a program is missing, or something else; the message names the setting.
    """
    gate = settings.gate if settings.gate.mode != "off" else None
    strength = settings.strength if settings.strength.games else None
    for table, play in (("gate", gate), ("strength", strength)):
        if play is not None and play.openings is not None:
            with _naming(f"{table}, openings"):
                read_match_openings(play.openings)
    for anchor in strength.anchors if strength else ():
        with _naming(f"strength, anchor, {anchor.name}"):
            if anchor.network is not None:
                _look_for_network(anchor.network)
            else:
                _look_for_program(anchor.command or "")
    for network in settings.league.networks if settings.league else ():
        with _naming(f"league, network, {network.name}, file"):
            _look_for_network(str(network.file))
    if settings.league and settings.fleet is None:  # those of a fleet are on other machines
        with _naming("league"):
            settings.league.check_programs()
    for name in ("initial", "teacher"):
        if (file := getattr(settings.learner, name)) is not None:
            with _naming(f"learner, {name}"):
                _look_for_network(str(file))
    for name in ("supervised", "test"):
        for file in getattr(settings.learner, name):
            with _naming(f"learner, {name}"):
                kind_of_data(split_weight(file)[0])


@contextmanager
def _naming(setting: str) -> Generator[None]:
    """Errors that name the setting."""
    try:
        yield
    except OSError as error:
        raise LoopError(f"{setting}: cannot read {error.filename}: {error.strerror}") from error
    except (ValueError, EvaluatorError) as error:
        raise LoopError(f"{setting}: {error}") from error


def _look_for_network(network: str) -> None:
    if network not in STUBS:
        require_file(find_network(network))


def _look_for_program(command: str) -> None:
    words = split_command(command, Path.cwd())
    if not words:
        raise LoopError("the command is empty")
    if find_program(words[0]) is None:
        raise LoopError(f"program {words[0]} not found")
