"""A learning run as the steps know it: settings, folder, journal, and who follows it."""

from functools import cached_property
from pathlib import Path
from typing import Any

from fukayomi._native import cpu_instructions
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.engine.evaluators.backends.network_file import int8_path
from fukayomi.engine.network import find_network
from fukayomi.files.atomic import replace_file
from fukayomi.listener import Listener
from fukayomi.loop.folder import LOCK_NAME, SETTINGS_NAME, RunFolder
from fukayomi.loop.ingest.manifest import Manifest
from fukayomi.loop.inputs import naming
from fukayomi.loop.journal import Journal
from fukayomi.loop.listener import SILENT
from fukayomi.loop.settings import DEVICES_OF, FleetSettings, LoopError, LoopSettings, Precision
from fukayomi.selfplay.openings import Openings, OpeningSet
from fukayomi.settings import differences

FREE_SETTINGS = frozenset(
    {
        "generations", "generator.device", "generator.devices", "generator.parallel", "learner.device", "gate.device",
        "strength.device",
        *(f"fleet.{name}" for name in FleetSettings.model_fields),
    }
)  # fmt: skip
"""Settings that may change while a run goes on."""


class Run:
    """A learning run: each of its steps is a function of its settings, its journal and the files in its folder.

    Args:
        settings: The settings; those of a folder with a run are compared in `begin`.
        folder: Its folder.
        listener: Follows it.
    """

    def __init__(self, settings: LoopSettings, folder: Path | str, listener: Listener = SILENT) -> None:
        self.settings = settings
        self.folder = RunFolder(folder)
        self.listener = listener

    @cached_property
    def journal(self) -> Journal:
        """The steps that are done.

        Raises:
            LoopError: The journal is damaged.
        """
        return Journal(self.folder.path, reanalyzes=self.settings.reanalysis is not None)

    @cached_property
    def openings(self) -> Openings | None:
        """Openings of the games of a run; None: they begin at the start position.

        Raises:
            LoopError: A file holds no positions or cannot be read, or shares some with those of the gate or of the
                measurements.
        """
        files, matches = self.settings.openings.files, self.settings.matches.values()
        if not files:
            return None
        with naming("openings, files"):
            openings = Openings.read(files)
            openings.keep_apart([OpeningSet.read(path) for path in {each.openings_file: None for each in matches}])
        return openings

    def begin(self) -> None:
        """Save the settings of a new run, or compare them with those of the run that goes on.

        They can change until the first step is done.

        Raises:
            LoopError: The folder has something else in it, or a run with other settings, or one whose journal is lost,
                or one with more generations; or the device of a new run has no int8.
        """
        folder = self.folder
        if folder.settings_file.is_file() and folder.has_begun:
            self._go_on(folder.saved_settings())
        else:
            if folder.settings_file.is_file():
                self._refuse_games()
            elif any(path.name != LOCK_NAME and path.name[0] != "." for path in folder.path.iterdir()):
                raise LoopError(f"{folder.path} is not empty, and there is no {SETTINGS_NAME}: choose another folder")
            self._set("generator", precision=_best_precision(self.settings))
        if self.settings.learner.threads is None:
            import torch

            self._set("learner", threads=torch.get_num_threads())
        replace_file(folder.settings_file, self.settings.text().encode())

    def _go_on(self, saved: LoopSettings) -> None:
        """Take what was chosen when the run began, and compare the rest."""
        if self.settings.learner.threads is None:
            self._set("learner", threads=saved.learner.threads)
        if self.settings.generator.precision is None:
            self._set("generator", precision=saved.generator.precision)
        changes = differences(saved.plain(), self.settings.plain())
        if changed := [each for each in changes if each[0] not in FREE_SETTINGS]:
            name, before, now = changed[0]
            raise LoopError(
                f"{name} is {before!r} in {self.folder.settings_file}, and {now!r} now; give the settings of the run, "
                "or none, or choose another folder"
            )
        generations = self.settings.generations
        if generations < saved.generations and generations < (complete := self.journal.generations):
            raise LoopError(
                f"generations is {generations}, but {complete} are complete in {self.folder.path}: give {complete} or "
                "more, or none to go on as before"
            )

    def _refuse_games(self) -> None:
        """Refuse a run with games and without a journal, which would begin again among its own files."""
        games = self.folder.games
        if Manifest(self.folder.path).networks or (games.is_dir() and any(games.iterdir())):
            raise LoopError(
                f"{self.folder.journal_file}: missing or empty, but the run has games; put the file back, or choose "
                "another folder"
            )

    def _set(self, table: str, **values: Any) -> None:
        changed = getattr(self.settings, table).model_copy(update=values)
        self.settings = self.settings.model_copy(update={table: changed})


def _best_precision(settings: LoopSettings) -> Precision:
    """Precision of the networks of a new run.

    Raises:
        LoopError: The device cannot do what the settings say.
    """
    machine = settings.generator
    can = DEVICES_OF.get(machine.precision or "fp32")
    if can is not None and machine.device not in can:
        raise LoopError(
            f"generator, precision: {machine.precision} needs the device {' or '.join(can)}, not {machine.device}"
        )
    if machine.precision is not None:
        return machine.precision
    if machine.device == "native":  # workers of a fleet may have other CPUs
        return "int16" if settings.fleet is None and cpu_instructions("int16") else "fp32"
    opponents = settings.league.networks if settings.league else ()
    can_all = all(int8_path(find_network(str(opponent.file))).is_file() for opponent in opponents)
    return "int8" if machine.device == "cpu" and "VNNI" in cpu_features() and can_all else "fp32"
