"""The loop: generator -> store -> ingest -> reanalysis -> learner -> gate -> generator, one step after another."""

import time
from collections.abc import Generator as Yields
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fukayomi.interruption import Stopped, Terminations
from fukayomi.listener import Listener, fan_out, of_kind
from fukayomi.loop.fleet.store import check_fleet
from fukayomi.loop.generation import (
    Generator,
    accepted_games,
    accepted_results,
    check_generation,
    local_generator,
    play_generation,
)
from fukayomi.loop.ingest import Manifest, ingest
from fukayomi.loop.journal import Entry, Ingested, Started, Step, Trained
from fukayomi.loop.listener import SILENT, LogWriter, LoopListener
from fukayomi.loop.matches import check_match, check_strength, measure, test_candidate
from fukayomi.loop.reanalysis import reanalyze_window
from fukayomi.loop.run import Run, RunFolder
from fukayomi.loop.settings import LoopError, LoopSettings, suffix_of
from fukayomi.tabular import counted


@dataclass(frozen=True)
class LoopResult:
    """Progress of a run."""

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
        """True if all generations are complete."""
        return self.generations >= self.of


def learn(
    settings: LoopSettings | None,
    out: Path | str,
    *,
    generate: Generator | None = None,
    listener: Listener = SILENT,
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
        listener: Follows the run; a `LoopListener` hears of the steps too.

    Raises:
        LoopError: The settings are not those of the run, a file that they name or one of the run is missing or damaged,
            or training diverged.
        LockedError: Another process works on this run.
        ClusterError: The Ray cluster of the fleet cannot be reached, or its workers fail again and again.
        ValueError, OSError: A network, an engine or a file cannot be used.
    """
    follower = of_kind(listener, LoopListener)
    run = Run(RunFolder(out).saved_settings() if settings is None else settings, out, follower)
    check_run(run)
    if generate is None and run.settings.fleet is not None:
        check_fleet(run.settings.fleet)
    with run.folder.lock():
        run.begin()
        _check_manifest(run)
        with nullcontext(generate) if generate else _open_generator(run) as opened:
            stopped_by = _take_steps(run, opened, follower)
    folder, journal, networks = run.folder, run.journal, run.journal.networks
    best = folder.networks / networks[-1].file if networks else folder.network(0, suffix_of(run.settings.network))
    trained = sum(entry.network is not None for entry in journal.all(Trained))
    return LoopResult(folder.path, journal.generations, run.settings.generations, best, trained, stopped_by)


def check_run(run: Run) -> None:
    """Look at everything that the settings of a run name, before a step needs it.

    Raises:
        LoopError: A file, a program or a device is missing, or something else; the message names the setting.
    """
    from fukayomi.loop.learner import check_learner  # needs torch

    check_generation(run)
    check_match(run, "gate")
    check_strength(run)
    check_learner(run)


def _check_manifest(run: Run) -> None:
    """Refuse a manifest that lacks chunks: the next ingest would reject games of earlier networks.

    Raises:
        LoopError: It does.
    """
    ingested, manifest = run.journal.last(Ingested), Manifest(run.folder.path)
    if ingested is not None and len(manifest.accepted) < ingested.chunks:
        raise LoopError(
            f"{manifest.path}: it has {counted(len(manifest.accepted), 'chunk')} of the {ingested.chunks} that were "
            "accepted; put the file back"
        )


@contextmanager
def _open_generator(run: Run) -> Yields[Generator]:
    """Generator that the settings name: the pool of this process, or a fleet."""
    if run.settings.fleet is None:
        yield partial(local_generator, run.settings.generator)
        return
    from fukayomi.loop.fleet.ray_fleet import RayFleet  # needs ray

    with RayFleet(run) as fleet:
        yield fleet.generate


def _take_steps(run: Run, generate: Generator, listener: LoopListener) -> int | None:
    """Take all steps that are left, or those until Ctrl-C or another signal, whose number it returns."""
    run.listener = both = fan_out(LogWriter(run.folder.path), listener)
    terminations = Terminations()
    try:
        with terminations:
            while run.journal.generations < run.settings.generations:
                generation, step = run.journal.next_step
                both.step_started(generation, step)
                began = time.monotonic()
                entry = _take(step, run, generate)
                run.journal.record(entry)
                both.step_ended(entry, time.monotonic() - began)
        return None
    except Stopped as stopped:
        return stopped.signal
    except KeyboardInterrupt:
        return terminations.signal
    finally:
        both.ended()


def _take(step: Step, run: Run, generate: Generator) -> Entry:
    """Take a step: a function of the settings, the journal, and the files that the journal names."""
    from fukayomi.loop.learner import create_network, roll_back, train_generation  # needs torch

    match step:
        case "start":
            return Started(network=create_network(run))
        case "selfplay":
            return play_generation(run, generate)
        case "ingest":
            return _ingest(run)
        case "reanalysis":
            return reanalyze_window(run, Manifest(run.folder.path).chunks())
        case "train":
            return train_generation(run, Manifest(run.folder.path).chunks())
        case "gate":
            entry = test_candidate(run)
            if entry.rolled_back:
                roll_back(run.folder, run.journal.networks[-1])
            return entry
        case "strength":
            return measure(run)


def _ingest(run: Run) -> Ingested:
    generation, _ = run.journal.next_step
    result = ingest(run.folder.path, listener=run.listener)
    manifest = Manifest(run.folder.path)
    chunks = manifest.chunks()
    return Ingested(
        generation=generation,
        chunks=len(chunks),
        positions=sum(chunk.positions for chunk in chunks),
        quarantined=len(manifest.quarantined),
        played=accepted_games(run.journal, chunks),
        opponents=accepted_results(run, chunks),
        flags=tuple(str(flag) for flag in result.tripwires.flags),
    )
