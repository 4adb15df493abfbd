"""The gate: a new network plays the one that generates games, until a sequential test decides."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fukayomi.arena.results.game import Game
from fukayomi.arena.statistics.sprt import SprtDecision
from fukayomi.loop.journal import Gated, Trained
from fukayomi.loop.matches.play import Contest, Contestant
from fukayomi.loop.run import Run
from fukayomi.loop.settings import GateSettings
from fukayomi.shogi.record import Result

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
