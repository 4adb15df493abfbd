"""The files and programs that the settings of a run name, looked at before the run begins.

A step that needs one of them may come after hours, when the settings can no longer change.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from fukayomi.arena.game.openings import read_openings as read_match_openings
from fukayomi.arena.game.rules import split_command
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import BACKENDS, get_backend
from fukayomi.engine.network import STUBS, find_network
from fukayomi.files.inputs import require_file
from fukayomi.learning.data.dataset import kind_of_data
from fukayomi.learning.training.configuration import split_weight
from fukayomi.listener import SILENT, Listener
from fukayomi.loop.families import AnyNetwork, odd_device
from fukayomi.loop.settings import OPENINGS, LoopError, LoopSettings, PlaySettings, StrengthSettings
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


def check_inputs(settings: LoopSettings, *, has_begun: bool = False, listener: Listener = SILENT) -> None:
    """Look at everything else that the settings name: devices, openings of matches, networks, engines, training data.

    Networks and training data are not read to their end.

    Args:
        settings: The run.
        has_begun: Whether a step of it is done: then its settings stay, and too few openings are a note.
        listener: Told of that.

    Raises:
        LoopError: A file, a program or a device is missing, or something else; the message names the setting.
    """
    _check_matches(settings, has_begun, listener)
    _check_devices(settings)
    for anchor in settings.strength.anchors if settings.strength.games else ():
        with _naming(f"strength, anchor, {anchor.name}"):
            if anchor.network is not None:
                _look_for_network(anchor.network)
                _refuse_odd_device(anchor.network, "strength", settings.strength.device)
            else:
                _look_for_program(anchor.command or "")
    for network in settings.league.networks if settings.league else ():
        with _naming(f"league, network, {network.name}, file"):
            _look_for_network(str(network.file))
            _refuse_odd_device(network.file, "generator", settings.generator.device)
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


def _check_matches(settings: LoopSettings, has_begun: bool, listener: Listener) -> None:
    """Read the openings of the matches, and see that there are enough of them."""
    for table, play in _matches(settings):
        with _naming(f"{table}, openings"):
            openings = read_match_openings(play.openings or OPENINGS)
        most = 2 * len({(opening.initial_sfen, opening.moves) for opening in openings})
        if play.games <= most or not _networks_meet(play):
            continue
        problem = (
            f"{table}, games: {play.games} games need {play.games // 2} different openings, and there are {most // 2}; "
            "networks play without chance, so later games would repeat earlier ones and count as new"
        )
        if not has_begun:
            raise LoopError(f"{problem}. Set games to {most} at most, or name a file with more in {table}, openings")
        listener.note(f"{problem}; the settings of a run that has begun stay")


def _matches(settings: LoopSettings) -> Iterator[tuple[str, PlaySettings]]:
    """The matches that will be played, with the name of their table."""
    if settings.gate.mode != "off":
        yield "gate", settings.gate
    if settings.strength.games:
        yield "strength", settings.strength


def _networks_meet(play: PlaySettings) -> bool:
    """Whether games are between two networks; in those with a USI engine chance may play a part."""
    if not isinstance(play, StrengthSettings):
        return True
    return bool(play.earlier or play.first or any(anchor.network is not None for anchor in play.anchors))


def _check_devices(settings: LoopSettings) -> None:
    """See that this machine has the devices of the matches and of the learner; that of games may be another one's."""
    from fukayomi.learning.devices import choose_device  # needs torch

    named = [("generator", settings.generator.device), *((table, play.device) for table, play in _matches(settings))]
    for table, device in (*named, ("learner", settings.learner.device)):
        with _naming(f"{table}, device"):
            _refuse_odd_device(settings.network, table, device)
    for table, device in named:
        if device not in ("auto", *BACKENDS):
            raise LoopError(f"{table}, device: there are auto, {', '.join(BACKENDS)}, not {device}")
        if device != "auto" and table != "generator" and (problem := get_backend(device).problem()) is not None:
            raise LoopError(f"{table}, device: {device}: {problem}")
    with _naming("learner, device"):
        choose_device(settings.learner.device)


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


def _refuse_odd_device(network: AnyNetwork, table: str, device: str) -> None:
    if (reason := odd_device(network, table, device)) is not None:
        raise LoopError(reason)


def _look_for_program(command: str) -> None:
    words = split_command(command, Path.cwd())
    if not words:
        raise LoopError("the command is empty")
    if find_program(words[0]) is None:
        raise LoopError(f"program {words[0]} not found")
