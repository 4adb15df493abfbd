"""The loop: generator -> store -> ingest -> reanalysis -> learner -> gate -> generator, one step after another."""

import time
from collections.abc import Callable
from collections.abc import Generator as Yields
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from fukayomi.interruption import Stopped, Terminations
from fukayomi.loop.families import suffix_of
from fukayomi.loop.folder import RunFolder
from fukayomi.loop.generation import (
    Generator,
    accepted_games,
    accepted_results,
    chunk_name,
    league_settings,
    local_generator,
    play_generation,
    recorded_settings,
)
from fukayomi.loop.ingest import Manifest, ingest
from fukayomi.loop.inputs import check_inputs, read_openings, require_cluster
from fukayomi.loop.journal import Entry, Ingested, Journal, Started, Step, Trained
from fukayomi.loop.listener import SILENT, LogWriter, LoopListener, LoopListeners
from fukayomi.loop.matches.gate import test_candidate
from fukayomi.loop.matches.strength import measure
from fukayomi.loop.reanalysis import reanalyze_window
from fukayomi.loop.settings import LoopError, LoopSettings
from fukayomi.selfplay.openings import Openings
from fukayomi.tabular import counted


@dataclass(frozen=True)
class LoopResult:
    """How far a run is."""

    folder: Path
    """Folder of the run."""
    generations: int
    """Generations that are complete."""
    of: int
    """Generations of the whole run."""
    network: Path
    """The network that generates games, the best one so far."""
    trained: int
    """Networks that were trained."""
    stopped_by: int | None = None
    """Number of the signal that stopped it; None: none, or Ctrl-C."""

    @property
    def finished(self) -> bool:
        """Whether all generations are complete."""
        return self.generations >= self.of


def learn(
    settings: LoopSettings | None,
    out: Path | str,
    *,
    generate: Generator | None = None,
    listener: LoopListener = SILENT,
) -> LoopResult:
    """Make a network stronger by games against itself, or go on with a run.

    A run can be killed at any moment; the same call goes on. With one generator on a CPU it ends with the same bytes as
    if it had not been killed: games, networks, journal. Ctrl-C ends the run in an orderly way.

        from fukayomi.loop import build_settings, learn
        learn(build_settings({"preset": "tiny"}), "run")

    Args:
        settings: The run; None: the settings in its folder. Number of generations and devices may change.
        out: Folder of the run.
        generate: What generates the games; by default the pool of this process, or the fleet of the settings.
        listener: Follows the run.

    Raises:
        LoopError: The settings are not those of the run, a file that they name or one of the run is missing or damaged,
            or training diverged.
        LockedError: Another process works on this run.
        ClusterError: The Ray cluster of the fleet cannot be reached, or its workers fail again and again.
        ValueError, OSError: A network, an engine or a file cannot be used.
    """
    folder = RunFolder(out)
    if settings is None:
        settings = folder.saved_settings()
    openings = read_openings(settings)
    check_inputs(settings, has_begun=folder.has_begun, listener=listener)
    if generate is None:
        require_cluster(settings)
    with folder.lock():
        settings = folder.begin(settings)
        journal = Journal(folder.path, reanalyzes=settings.reanalysis is not None)
        _check_manifest(folder, journal)
        with nullcontext(generate) if generate else _open_generator(settings, folder) as opened:
            stopped_by = _take_steps(settings, folder, journal, opened, openings, listener)
    networks = journal.networks
    best = folder.networks / networks[-1].file if networks else folder.network(0, suffix_of(settings.network))
    trained = sum(entry.network is not None for entry in journal.all(Trained))
    return LoopResult(folder.path, journal.generations, settings.generations, best, trained, stopped_by)


def _check_manifest(folder: RunFolder, journal: Journal) -> None:
    """Refuse a manifest that lacks chunks: the next ingest would reject games of earlier networks.

    Raises:
        LoopError: It does.
    """
    ingested, manifest = journal.last(Ingested), Manifest(folder.path)
    if ingested is not None and len(manifest.accepted) < ingested.chunks:
        raise LoopError(
            f"{manifest.path}: it has {counted(len(manifest.accepted), 'chunk')} of the {ingested.chunks} that were "
            "accepted; put the file back"
        )


@contextmanager
def _open_generator(settings: LoopSettings, folder: RunFolder) -> Yields[Generator]:
    """What the settings say: the pool of this process, or a fleet."""
    if settings.fleet is None:
        yield local_generator(settings.generator)
        return
    from fukayomi.loop.fleet.ray_fleet import RayFleet  # needs ray

    with RayFleet(settings, folder) as fleet:
        yield fleet.generate


def _take_steps(
    settings: LoopSettings,
    folder: RunFolder,
    journal: Journal,
    generate: Generator,
    openings: Openings | None,
    listener: LoopListener,
) -> int | None:
    """Take all steps that are left, or those until Ctrl-C or another signal, whose number it returns."""
    log = LogWriter(folder.path)
    run = _Run(settings, folder, journal, generate, openings, LoopListeners(log, listener))
    terminations = Terminations()
    try:
        with terminations:
            while journal.generations < settings.generations:
                run.take_step()
        return None
    except Stopped as stopped:
        return stopped.signal
    except KeyboardInterrupt:
        return terminations.signal
    finally:
        log.ended()
        listener.ended()


class _Run:
    """The steps of a run, each a function of the settings, the journal, and the files that the journal names."""

    def __init__(
        self,
        settings: LoopSettings,
        folder: RunFolder,
        journal: Journal,
        generate: Generator,
        openings: Openings | None,
        listener: LoopListener,
    ) -> None:
        self._settings, self._folder, self._journal = settings, folder, journal
        self._generate, self._openings, self._listener = generate, openings, listener
        self._steps: dict[Step, Callable[[], Entry]] = {
            "start": self._start,
            "selfplay": self._selfplay,
            "ingest": self._ingest,
            "reanalysis": self._reanalysis,
            "train": self._train,
            "gate": self._gate,
            "strength": self._strength,
        }

    def take_step(self) -> None:
        """Take the next step, and record it."""
        generation, step = self._journal.next_step
        self._listener.step_started(generation, step)
        began = time.monotonic()
        entry = self._steps[step]()
        self._journal.record(entry)
        self._listener.step_ended(entry, time.monotonic() - began)

    def _start(self) -> Entry:
        from fukayomi.loop.learner import create_network

        return Started(network=create_network(self._settings, self._folder, self._listener))

    def _selfplay(self) -> Entry:
        network, manifest = self._journal.networks[-1], Manifest(self._folder.path)
        manifest.add_network(network.sha256, network.generation, network.name)
        league = league_settings(self._settings, self._folder, self._journal)
        manifest.add_settings(recorded_settings(self._settings, league, self._openings))
        return play_generation(
            self._settings, self._folder, self._journal, self._generate, league, self._openings, self._listener
        )

    def _ingest(self) -> Entry:
        generation, _ = self._journal.next_step
        result = ingest(self._folder.path, listener=self._listener)
        manifest = Manifest(self._folder.path)
        chunks = manifest.chunks()
        paths = [self._folder.path / chunk.path for chunk in chunks]
        return Ingested(
            generation=generation,
            chunks=len(chunks),
            positions=sum(chunk.positions for chunk in chunks),
            quarantined=len(manifest.quarantined),
            played=accepted_games(self._journal, chunks),
            opponents=accepted_results(self._settings, self._folder, self._journal, paths),
            flags=tuple(str(flag) for flag in result.tripwires.flags),
        )

    def _reanalysis(self) -> Entry:
        chunks = Manifest(self._folder.path).chunks()
        return reanalyze_window(self._settings, self._folder, self._journal, chunks, self._listener)

    def _train(self) -> Entry:
        from fukayomi.loop.learner import TrainingFile, train_generation

        games, paid = self._folder.games, self._journal.paid
        files = [
            TrainingFile(self._folder.path / each.path, each.positions, each.sha256)
            for each in Manifest(self._folder.path).chunks()
        ]
        new = {name: file for file in files if (name := chunk_name(games, file.path)) not in paid}
        found = train_generation(self._settings, self._folder, self._journal, files, list(new.values()), self._listener)
        return found.model_copy(update={"paid": tuple(new)})

    def _gate(self) -> Entry:
        from fukayomi.loop.learner import roll_back

        entry = test_candidate(self._settings, self._folder, self._journal, self._listener)
        if entry.rolled_back:
            roll_back(self._folder, self._journal.networks[-1])
        return entry

    def _strength(self) -> Entry:
        return measure(self._settings, self._folder, self._journal, self._listener)
