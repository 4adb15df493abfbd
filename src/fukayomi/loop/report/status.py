"""The state of a learning run (what runs, how fast, how strong), and figures of its generations for pictures."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from fukayomi.arena.ratings.rating import PlayerRating, Ratings
from fukayomi.arena.statistics.intervals import win_rate
from fukayomi.files.inputs import read_input
from fukayomi.listener import Notes
from fukayomi.loop.ingest.manifest import Manifest
from fukayomi.loop.journal import Gated, Ingested, Journal, Reanalyzed, Trained, network_name
from fukayomi.loop.listener import LIVE_NAME, LOG_NAME
from fukayomi.loop.run import RunFolder
from fukayomi.loop.settings import precision_of
from fukayomi.tabular import Tabular

LARGEST_LOG = 1 << 28
"""Bytes."""
LARGEST_LIVE = 1 << 16
"""Bytes."""


@dataclass(frozen=True)
class Now:
    """Work that is under way."""

    generation: int
    step: str
    """selfplay, ingest, reanalysis, train, gate or strength."""
    seconds: float
    """Time since it began."""
    stage: str | None
    """Stage of the step."""
    done: int | None
    total: int | None


@dataclass(frozen=True)
class GenerationRow:
    """A generation as far as it is known; None where a step is not done."""

    generation: int
    games: int | None
    positions: int | None
    plies_a_game: float | None
    draws: float | None
    """Share of the games."""
    reanalyzed: int | None
    """Positions that were searched again; None in a run without reanalysis."""
    moved: float | None
    """Share of these whose best move is another one than in the game."""
    steps: int | None
    """Optimiser steps so far."""
    policy_loss: float | None
    """On the new games, before training on them."""
    policy_accuracy: float | None
    value_accuracy: float | None
    gate: str | None
    """passed, failed, kept (without a test), or none."""
    gate_score: float | None
    """Points of the new network per game of this test."""
    gate_games: int | None
    """None without a test."""
    gate_llr: float | None
    """Log-likelihood ratio of this test."""
    rating: float | None
    """Of the network that the generation trained, in Elo; 0 is the first network, or, if it has not played, the mean of
    all players."""
    error: float | None
    """Half of its 95 % interval."""
    bound: str
    """``>`` or ``<`` if the network won or lost all its games: the rating is a convention then."""
    seconds: float
    """Time of its steps, as far as the log has it."""


@dataclass(frozen=True)
class LeagueRow:
    """The games of a generation against an opponent of the league."""

    generation: int
    opponent: str
    wins: int
    draws: int
    losses: int
    win_rate: float | None
    """Draws left out; None without a win or a loss."""
    low: float
    """Ends of its 95 % interval (Wilson's)."""
    high: float


@dataclass(frozen=True)
class WorkerFlag:
    """A worker whose games differ from those of the others."""

    generation: int
    text: str
    """The worker, the figure in which it differs, and by how much."""


@dataclass(frozen=True)
class RunStatus(Tabular):
    """The state of a run. As a table it has one row per generation."""

    folder: Path
    is_running: bool
    """True if a process works on it."""
    generation: int
    """Generations that are complete."""
    generations: int
    """Generations of the whole run."""
    now: Now | None
    """Work that is under way, or was when the run was killed."""
    network: str | None
    """The network that generates games."""
    precision: str
    """Precision in which it is computed: fp32, int8, or auto, which is measured where the games are played."""
    games: int
    positions: int
    """Training positions that were accepted."""
    quarantined: int
    """Chunks in quarantine."""
    games_an_hour: float | None
    """Of the last self-play, while it ran: on a fleet, since the games of the generation before were complete. None if
    it was resumed: its time is not known."""
    positions_an_hour: float | None
    samples_a_second: float | None
    """Of the last training, while it ran; None if that was resumed."""
    ratings: tuple[PlayerRating, ...]
    """Networks and anchors from strong to weak."""
    history: tuple[GenerationRow, ...]
    """All generations."""
    league: tuple[LeagueRow, ...]
    """Results against each opponent of the league, by generation."""
    flags: tuple[WorkerFlag, ...]
    """Findings of the tripwires of ingest about workers."""
    excluded: dict[str, str]
    """Workers from whose games nothing is learned, with the reason."""
    excluded_chunks: dict[str, str]
    """Chunks from which nothing is learned, with the reason."""
    notes: tuple[str, ...] = ()
    """Matches that cannot be read, and what rating 0 is if it is not the first network; of `rate_networks` alone."""

    @property
    def anchors(self) -> list[PlayerRating]:
        """The players that are no networks of the run, from strong to weak."""
        networks = {network_name(row.generation) for row in self.history}
        return [player for player in self.ratings if player.name not in networks]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per generation."""
        optional = ("reanalyzed", "moved", "gate_score", "gate_games", "gate_llr")
        unused = {name for name in optional if all(getattr(row, name) is None for row in self.history)}
        return [{name: value for name, value in asdict(row).items() if name not in unused} for row in self.history]

    def as_dict(self) -> dict[str, Any]:
        """The state as plain values, for JSON."""
        return asdict(self) | {"folder": str(self.folder)}


def read_status(path: Path | str, rate: Callable[[RunFolder], Ratings | None] | None = None) -> RunStatus:
    """The state of a run, which may be under way.

    Args:
        path: Folder of the run.
        rate: Rates its networks; None: `rate_networks`, whose notes the state then has. Who reads the state often can
            keep ratings until there are new games.

    Raises:
        LoopError: The folder is not of a learning run, or its journal is damaged.
    """
    from fukayomi.loop.matches import rate_networks

    folder = RunFolder(path)
    settings = folder.saved_settings()
    journal = Journal(folder.path)
    times = _times(folder.path)
    notes = Notes()
    ratings = rate(folder) if rate else rate_networks(folder, notes)
    manifest = Manifest(folder.path)
    players = ratings.players if ratings else ()
    games, trained, ingested = journal.played, journal.last(Trained), journal.last(Ingested)
    played = games[-1] if games else None
    play_s = times.of_games(played.generation, is_fleet=settings.fleet is not None) if played else None
    train_s = times.of(trained.generation, "train") if trained else None
    steps = journal.steps_of(trained.generation) if trained else 0
    return RunStatus(
        folder=folder.path,
        is_running=folder.is_locked,
        generation=journal.generations,
        generations=settings.generations,
        now=_now(folder.path),
        network=journal.networks[-1].name if journal.networks else None,
        precision=precision_of(settings.network, settings.generator.precision_on(settings.generator.device)),
        games=sum(entry.games for entry in games),
        positions=ingested.positions if ingested else 0,
        quarantined=ingested.quarantined if ingested else 0,
        games_an_hour=3600 * played.games / play_s if played and play_s else None,
        positions_an_hour=3600 * played.positions / play_s if played and play_s else None,
        samples_a_second=steps * settings.training.batch / train_s if train_s else None,
        ratings=players,
        history=tuple(_history(journal, {player.name: player for player in players}, times.seconds)),
        league=tuple(_league(journal)),
        flags=tuple(WorkerFlag(entry.generation, flag) for entry in journal.all(Ingested) for flag in entry.flags),
        excluded=manifest.excluded,
        excluded_chunks=manifest.excluded_chunks,
        notes=tuple(dict.fromkeys(notes.texts)),
    )


def _league(journal: Journal) -> Iterator[LeagueRow]:
    for generation, opponents in journal.league.items():
        for name, (wins, draws, losses) in opponents.items():
            won = win_rate(wins, losses=losses, draws=draws)
            yield LeagueRow(generation, name, wins, draws, losses, won.rate, won.low, won.high)


def _history(
    journal: Journal, ratings: Mapping[str, PlayerRating], seconds: Mapping[tuple[int, str], float]
) -> list[GenerationRow]:
    played = {entry.generation: entry for entry in journal.played}
    trained = {entry.generation: entry for entry in journal.all(Trained)}
    gated = {entry.generation: entry for entry in journal.all(Gated)}
    reanalyzed = {entry.generation: entry for entry in journal.all(Reanalyzed)}
    rows: list[GenerationRow] = []
    for generation in sorted({0, *played} if journal.entries else set[int]()):
        games, learnt, again = played.get(generation), trained.get(generation), reanalyzed.get(generation)
        gate = gated.get(generation)
        rating = ratings.get(network_name(generation))
        fresh = (learnt.fresh if learnt else None) or {}
        rows.append(
            GenerationRow(
                generation=generation,
                games=games.games if games else None,
                positions=games.positions if games else None,
                plies_a_game=games.plies / max(1, games.games) if games else None,
                draws=games.results["draws"] / max(1, games.games) if games else None,
                reanalyzed=again.changed if again else None,
                moved=again.moved / again.changed if again and again.changed else None,
                steps=learnt.steps if learnt else None,
                policy_loss=fresh.get("policy_loss"),
                policy_accuracy=fresh.get("policy_accuracy"),
                value_accuracy=fresh.get("value_accuracy"),
                gate=_gate_text(gate),
                gate_score=gate.score if gate else None,
                gate_games=gate.games or None if gate else None,
                gate_llr=gate.llr if gate else None,
                rating=rating.rating if rating else None,
                error=rating.error if rating else None,
                bound=rating.bound if rating else "",
                seconds=sum(time for (its, _), time in seconds.items() if its == generation),
            )
        )
    return rows


def _gate_text(entry: Gated | None) -> str | None:
    if entry is None:
        return None
    if entry.passed is None:
        return "kept" if entry.kept else "none"
    return "passed" if entry.passed else "failed"


@dataclass
class _Times:
    """Durations of the steps of a run, by generation and name."""

    seconds: dict[tuple[int, str], float] = field(default_factory=dict)
    """The time of each step since it was started or resumed."""
    ended: dict[tuple[int, str], float] = field(default_factory=dict)
    """Time of its end (`time.time`)."""
    began: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Number of times it was started or resumed."""

    def of(self, generation: int, step: str) -> float | None:
        """The time of a whole step; None: it lacks what came before it was resumed."""
        return None if self.began[generation, step] > 1 else self.seconds.get((generation, step))

    def of_games(self, generation: int, *, is_fleet: bool) -> float | None:
        """The time in which the games of a generation were played; None: the run was resumed in it.

        A fleet goes on playing while the learner does other things, so there its time begins where the games of the
        generation before were complete.
        """
        waited_s = self.of(generation, "selfplay")
        since = self.ended.get((generation - 1, "selfplay"))
        if not is_fleet or waited_s is None or since is None:
            return waited_s
        was_resumed = any(times > 1 for (its, _), times in self.began.items() if generation - 1 <= its <= generation)
        return None if was_resumed else max(waited_s, self.ended[generation, "selfplay"] - since)


def _times(folder: Path) -> _Times:
    """The times in the log."""
    path = folder / LOG_NAME
    times = _Times()
    for line in read_input(path, LARGEST_LOG).splitlines() if path.is_file() else ():
        try:
            values = cast("dict[str, Any]", json.loads(line))
            step = int(values["generation"]), str(values["step"])
            if values.get("began"):
                times.began[step] += 1
            else:
                seconds, ended = float(values["seconds"]), float(values["time"])
                times.seconds[step], times.ended[step] = seconds, ended
        except (ValueError, KeyError, TypeError):  # a note, or cut off
            continue
    return times


def _now(folder: Path) -> Now | None:
    path = folder / LIVE_NAME
    try:
        values = cast("dict[str, Any]", json.loads(read_input(path, LARGEST_LIVE)))
        return Now(
            int(values["generation"]), str(values["step"]), time.time() - float(values["since"]), values.get("stage"),
            values.get("done"), values.get("total"),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None


ACCURACIES = ("policy_accuracy", "value_accuracy")
ENDINGS = ("mates", "resignations", "repetitions", "declarations", "max_plies")

Line = tuple[tuple[int, float], ...]
"""Values by generation."""


@dataclass(frozen=True)
class GenerationSeries:
    """Lines over the generations; a line without points is left out."""

    fresh: Mapping[str, Line]
    """Accuracies on the new games, before the network was trained on them."""
    test: Mapping[str, Line]
    """Accuracies on the test files."""
    plies: Line
    """Plies a game."""
    endings: Mapping[str, Line]
    """Shares of the games by `ENDINGS`, and of the draws."""
    window: Mapping[str, Line]
    """Positions in all (`all`), and in the window (`window`)."""
    wrong: Line
    """Share of wrong resignations among those that were checked."""


def read_series(journal: Journal) -> GenerationSeries:
    """The series of a run, from its journal."""
    played = [entry for entry in journal.played if entry.games]
    trained = journal.all(Trained)

    def share(name: str) -> Line:
        return tuple((each.generation, each.results.get(name, 0) / each.games) for each in played)

    endings = {name: share(name) for name in ENDINGS if any(each.results.get(name, 0) for each in played)}
    return GenerationSeries(
        fresh=_metrics({each.generation: each.fresh for each in trained if each.fresh}),
        test=_metrics({each.generation: each.test for each in trained if each.test}),
        plies=tuple((each.generation, each.plies / each.games) for each in played),
        endings=endings | ({"draws": share("draws")} if played else {}),
        window={
            "all": tuple((each.generation, float(each.seen_positions)) for each in trained),
            "window": tuple((each.generation, float(each.window)) for each in trained),
        }
        if trained
        else {},
        wrong=tuple(
            (each.generation, each.wrong_resignations[1] / each.wrong_resignations[0])
            for each in played
            if each.wrong_resignations[0]
        ),
    )


def _metrics(by_generation: Mapping[int, Mapping[str, float]]) -> dict[str, Line]:
    lines = {
        name: tuple((generation, values[name]) for generation, values in by_generation.items() if name in values)
        for name in ACCURACIES
    }
    return {name: line for name, line in lines.items() if line}
