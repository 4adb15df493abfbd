"""Matches between the networks of a run, and with anchors: for the gate, and for strength over time.

The games depend on the settings and the networks alone. The gate lets a new network play the one that generates games,
until a sequential test decides. Strength over time comes from matches of the networks that were kept, as ratings from
all games of a run.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from fukayomi.arena.game.openings import read_openings
from fukayomi.arena.game.rules import OpeningOrder, Tournament, split_command
from fukayomi.arena.match.match import run_match
from fukayomi.arena.match.settings import build_settings, check_programs
from fukayomi.arena.match.state import MatchResult
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.arena.ratings.options import ELO_SCALE
from fukayomi.arena.ratings.rating import Ratings
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import DATABASE
from fukayomi.arena.results.player_ratings import rate
from fukayomi.arena.statistics.sprt import SprtDecision
from fukayomi.engine.engine import Engine
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.network_file import precision_for
from fukayomi.engine.network import Network, same_everywhere
from fukayomi.engine.settings import UsiSettings
from fukayomi.listener import SILENT, Listener
from fukayomi.loop.journal import Gated, Journal, KeptNetwork, Measured, Trained, network_name
from fukayomi.loop.run import Run, RunFolder, check_device, check_network, check_program, naming
from fukayomi.loop.settings import (
    BATCH_DEPENDENT_DEVICES,
    REPRODUCIBLE_DEVICES,
    GateSettings,
    LoopError,
    PlaySettings,
    StrengthSettings,
    check_family,
)
from fukayomi.selfplay.matches import play_networks
from fukayomi.selfplay.pool_threads import games_at_once
from fukayomi.selfplay.settings import MOST_PLIES
from fukayomi.shogi.record import Result

BATCH = 8
"""Positions per batch on a CPU."""
MEMORY_MB = 64
"""Memory of a tree, MiB."""
MOST_AT_ONCE = 16
"""Cores that play at once, at most: each has networks of its own."""
GAMES_A_CORE = 2 * BATCH
"""Games at once in a pool: half of them wait for the other network."""


@dataclass(frozen=True)
class Contestant:
    """A network or a USI engine that plays."""

    name: str
    network: Path | str | None = None
    """A network's file, or an embedded one by its name."""
    precision: str | None = None
    """Precision of a residual network; None: fp32 on a CPU, elsewhere what is fastest."""
    command: str | None = None
    """A USI engine, as a command line."""
    options: dict[str, str] = field(default_factory=dict[str, str])
    """Its USI options."""
    nodes: int | None = None
    """Nodes per move; None: those of the match."""

    @classmethod
    def of(cls, run: Run, network: KeptNetwork, device: str) -> Self:
        """A network of a run, in the run's precision.

        Raises:
            LoopError: Its file is missing, or another one.
        """
        return cls(network.name, run.folder.verified(network), run.settings.generator.precision_on(device))


def check_match(run: Run, table: str) -> None:
    """See that this machine can play the matches of a table, and that there are enough openings.

    Args:
        run: The run; once a step of it is done its settings stay, and too few openings are a note.
        table: gate or strength.

    Raises:
        LoopError: It cannot, or there are too few.
    """
    if (play := run.settings.matches.get(table)) is None:
        return
    with naming(f"{table}, openings"):
        openings = read_openings(play.openings_file)
    most = 2 * len({(opening.initial_sfen, opening.moves) for opening in openings})
    if play.games > most and play.between_networks:
        problem = (
            f"{table}, games: {play.games} games need {play.games // 2} different openings, and there are {most // 2}; "
            "networks play without chance, so later games would repeat earlier ones and count as new"
        )
        if not run.folder.has_begun:
            raise LoopError(f"{problem}. Set games to {most} at most, or name a file with more in {table}, openings")
        run.listener.note(f"{problem}; the settings of a run that has begun stay")
    check_device(run.settings.network, table, play.device)


class Contest:
    """Contestants that are ready to play: the first meets the others.

    Networks alone play many games at once in one pool. With a USI engine, or with nodes of their own, all play one game
    after another on each core. On a CPU each game is a function of the networks, the settings and the seed, whatever
    else the machine does.

    Args:
        contestants: Who plays.
        settings: How they play.

    Raises:
        ValueError: A network cannot be used.
    """

    def __init__(self, contestants: Sequence[Contestant], settings: PlaySettings) -> None:
        self._contestants = contestants
        self._settings = settings
        self._on_cpu = settings.device in REPRODUCIBLE_DEVICES
        self._networks: dict[str, Network] = {}
        self._engines: list[dict[str, Engine]] = []
        is_pool = settings.max_plies <= MOST_PLIES and all(
            each.network is not None and each.nodes in (None, settings.nodes) for each in contestants
        )
        cores = min(MOST_AT_ONCE, usable_cpus())
        with ExitStack() as stack:
            if is_pool:
                self._networks = self._load(stack, devices=cores if self._on_cpu else 1)
                first = next(iter(self._networks.values()))
                self.at_once = cores * GAMES_A_CORE if self._on_cpu else games_at_once(first)
            else:
                shared = None if self._on_cpu else self._load(stack)
                self._engines = [_engines(stack, shared or self._load(stack), bool(shared)) for _ in range(cores)]
                self.at_once = cores
            self._stack = stack.pop_all()

    def play(self, folder: Path, *, games: int, seed: int, listener: Listener) -> MatchResult:
        """Play a match, or go on with it.

        Args:
            folder: Folder of the match.
            games: Games in all.
            seed: Seed for the order of the openings.
            listener: Follows the match.

        Raises:
            LoopError: A contestant failed.
            ValueError: An engine or the openings cannot be used.
            KeyboardInterrupt: The user stopped the match; the games are saved.
        """
        play = self._play_engines if self._engines else self._play_networks
        result = play(folder, games, seed, listener)
        if result.is_interrupted:
            raise KeyboardInterrupt
        if result.state.reasons:
            failure = result.state.reasons[0]
            raise LoopError(f"{folder}: {failure.engine} failed: {failure.detail}")
        return result

    def close(self) -> None:
        """Free the networks."""
        self._stack.close()

    def __enter__(self) -> "Contest":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _play_networks(self, folder: Path, games: int, seed: int, listener: Listener) -> MatchResult:
        settings = self._settings
        return play_networks(
            self._networks,
            games=games,
            playouts=settings.nodes,
            openings=settings.openings_file,
            folder=folder,
            seed=seed,
            tournament=Tournament.GAUNTLET,
            max_plies=settings.max_plies,
            parallel=self.at_once,
            reproducible=settings.device in BATCH_DEPENDENT_DEVICES,
            listener=listener,
        )

    def _play_engines(self, folder: Path, games: int, seed: int, listener: Listener) -> MatchResult:
        settings, players = self._settings, self._engines
        match = build_settings(
            {
                "engine": [_settings(each, players[0], settings) for each in self._contestants],
                "games": games,
                "clock": f"nodes={settings.nodes}",
                "tournament": Tournament.GAUNTLET,
                "openings": settings.openings_file,
                "opening_order": OpeningOrder.RANDOM,
                "seed": seed,
                "rules": {"max_plies": settings.max_plies},
                "concurrency": len(players),
            }
        )
        check_programs(match, players[0])
        return run_match(match, folder, listener=listener, start_workers=partial(LocalWorkers, players=players))

    def _load(self, stack: ExitStack, devices: int = 1) -> dict[str, Network]:
        """The networks, without a cache. On a CPU a device is one thread, with one batch at a time."""
        return {
            each.name: stack.enter_context(
                Network(
                    [same_everywhere(str(each.network))] * devices,
                    device=self._settings.device,
                    precision=precision_for(each.network, each.precision or ("fp32" if self._on_cpu else "auto")),
                    threads=1 if self._on_cpu else 0,
                    batch_size=BATCH if self._on_cpu else 0,
                    cache_mb=0,
                )
            )
            for each in self._contestants
            if each.network is not None
        }


def _engines(stack: ExitStack, networks: dict[str, Network], shares_batches: bool) -> dict[str, Engine]:
    """Engines for a game. They look for mates in the tree alone, not in threads beside it."""
    options = UsiSettings(hash_mb=MEMORY_MB, mate_root_plies=0, resign_threshold=10)
    return {
        name: stack.enter_context(Engine(network, settings=options, shares_batches=shares_batches))
        for name, network in networks.items()
    }


def _settings(each: Contestant, engines: dict[str, Engine], settings: PlaySettings) -> dict[str, object]:
    values: dict[str, object] = {"name": each.name, "clock": f"nodes={each.nodes or settings.nodes}"}
    if each.command is not None:
        return values | {"command": split_command(each.command, Path.cwd()), "options": each.options}
    return values | {"identity": engines[each.name].identity}


BLOCK = 16
"""Games between two looks at the test, at least; those after the decision do not count."""


class Verdict(NamedTuple):
    """The state of the test."""

    pairs: tuple[int, ...]
    """Pairs of games by the new network's points (0, 1/2, 1, 3/2, 2), up to the decision."""
    llr: float
    """Log-likelihood ratio."""
    decision: SprtDecision
    """H1: the new network is stronger."""

    @property
    def score(self) -> float:
        """Points of the new network per game; 0.5 without games."""
        games = 2 * sum(self.pairs)
        return sum(points * count for points, count in enumerate(self.pairs)) / 2 / games if games else 0.5


def judge(pairs: Iterable[int], gate: GateSettings) -> Verdict:
    """Test pairs of games one after another; the first crossing of a bound decides.

    So the verdict does not depend on how many games are played at once.

    >>> judge([4] * 50, GateSettings()).decision.value, judge([2, 2], GateSettings()).decision.value
    ('H1', 'continue')

    Args:
        pairs: Half points of the new network in each pair, 0 to 4, in the order of the schedule.
        gate: The test.
    """
    counts = [0] * 5
    status = gate.sprt.evaluate(counts)
    for points in pairs:
        counts[points] += 1
        status = gate.sprt.evaluate(counts)
        if status.decision is not SprtDecision.CONTINUE:
            break
    return Verdict(tuple(counts), status.llr, status.decision)


def passes(verdict: Verdict, gate: GateSettings) -> bool:
    """True if a network passes with a verdict after all games.

    >>> passes(Verdict((0, 0, 1, 0, 0), 0.0, SprtDecision.CONTINUE), GateSettings())
    True
    """
    if verdict.decision is not SprtDecision.CONTINUE:
        return verdict.decision is SprtDecision.H1
    return gate.undecided == "accept" or (gate.undecided == "score" and verdict.score >= 0.5)


def pair_points(games: Sequence[Game], player: str) -> list[int]:
    """Half points of a player in each pair of games, in the order of the pairs; 2 for a win."""
    points: dict[int, int] = defaultdict(int)
    complete: dict[int, int] = defaultdict(int)
    for game in games:
        if game.pair is None:
            continue
        won = Result.BLACK_WIN if game.black == player else Result.WHITE_WIN
        points[game.pair] += 2 if game.result == won else 1 if game.result == Result.DRAW else 0
        complete[game.pair] += 1
    return [points[pair] for pair in sorted(points) if complete[pair] == 2]


def test_candidate(run: Run) -> Gated:
    """Test the network that was just trained against the one that generates games.

    Raises:
        LoopError, ValueError: A network cannot play.
        KeyboardInterrupt: The user stopped the match.
    """
    generation, _ = run.journal.next_step
    gate, trained = run.settings.gate, run.journal.last(Trained)
    candidate = trained.network if trained and trained.generation == generation else None
    if gate.mode == "off" or candidate is None:
        return Gated(
            generation=generation, pairs=(), llr=None, decision="none", passed=None, kept=candidate is not None
        )
    contestants = [Contestant.of(run, each, gate.device) for each in (candidate, run.journal.networks[-1])]
    verdict, games = judge([], gate), 0
    match, seed = run.folder.matches / f"gate-{generation:04}", run.settings.seed + generation
    with Contest(contestants, gate) as contest:
        while games < gate.games and verdict.decision is SprtDecision.CONTINUE:
            games = min(gate.games, games + max(BLOCK, contest.at_once))
            result = contest.play(match, games=games, seed=seed, listener=run.listener)
            verdict = judge(pair_points(result.games, candidate.name), gate)
    passed = passes(verdict, gate)
    return Gated(
        generation=generation, pairs=verdict.pairs, llr=round(verdict.llr, 6), decision=str(verdict.decision),
        passed=passed, kept=passed or gate.mode == "advisory", rolled_back=gate.rollback and not passed,
    )  # fmt: skip


SEEDS = 1 << 32
"""Distance of the seeds of measurements from those of the gate: with the same seed the same games would count twice."""


def check_strength(run: Run) -> None:
    """See that this machine can play the measurements, and that the files and programs of the anchors are there.

    Raises:
        LoopError: It cannot; the message names the setting.
    """
    check_match(run, "strength")
    strength = run.settings.strength
    for anchor in strength.anchors if strength.games else ():
        with naming(f"strength, anchor, {anchor.name}"):
            if anchor.network is not None:
                check_network(anchor.network)
                check_family(anchor.network, "strength", strength.device)
            else:
                check_program(anchor.command or "")


def measure(run: Run) -> Measured:
    """Let the network that generates games play anchors and earlier networks, if it is a new one and the time has come.

    Raises:
        LoopError, ValueError: A network or an anchor cannot play.
        KeyboardInterrupt: The user stopped the match.
    """
    generation, _ = run.journal.next_step
    strength, newest = run.settings.strength, run.journal.networks[-1]
    measured = {each.network for each in run.journal.all(Measured) if each.games}
    is_due = generation % strength.every == 0 or generation == run.settings.generations
    earlier = _earlier(run.journal, strength)
    has_opponents = bool(earlier or strength.anchors)
    if not is_due or not strength.games or not has_opponents or newest.name in measured or newest.generation == 0:
        return Measured(generation=generation, network=newest.name, games=0, opponents=())
    opponents = [Contestant.of(run, each, strength.device) for each in earlier]
    opponents += [  # not in the run's precision: ratings of different runs can then be compared
        Contestant(each.name, each.network, None, each.command, each.options, each.nodes) for each in strength.anchors
    ]
    with Contest([Contestant.of(run, newest, strength.device), *opponents], strength) as contest:
        result = contest.play(
            run.folder.matches / f"strength-{generation:04}", games=strength.games * len(opponents),
            seed=run.settings.seed + generation + SEEDS, listener=run.listener,
        )  # fmt: skip
    return Measured(
        generation=generation, network=newest.name, games=result.standings.games,
        opponents=tuple(each.name for each in opponents),
    )  # fmt: skip


def rate_networks(folder: RunFolder, listener: Listener = SILENT) -> Ratings | None:
    """Ratings of the networks and anchors from all matches of a run; None without games.

    The first network has 0; if it has not played, the mean of all players is 0. Points are Elo.

    Args:
        folder: Folder of the run.
        listener: Told, possibly twice, of each match that cannot be read; and if the first network has not played.
    """
    matches = sorted(path.parent for path in folder.matches.glob(f"*/{DATABASE}"))
    if not matches:
        return None
    first = network_name(0)
    try:
        return rate(matches, anchors={first: 0.0}, scale=ELO_SCALE, listener=listener)
    except ValueError:
        try:
            ratings = rate(matches, scale=ELO_SCALE, listener=listener)
        except ValueError:  # no game yet
            return None
    listener.note(f"{first} has played no game that counts: rating 0 is the mean of all players")
    return ratings


def _earlier(journal: Journal, strength: StrengthSettings) -> list[KeptNetwork]:
    """The networks before the newest one that are opponents, the newest first."""
    before = journal.networks[:-1][::-1]
    newest = before[: strength.earlier]
    return [*newest, before[-1]] if strength.first and before and before[-1] not in newest else newest
