"""Moves chosen at random among the good ones, as dlshogi's options Random_* and Random2_* say, so that games differ."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fukayomi._native import SearchLine
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import Position

if TYPE_CHECKING:
    from fukayomi.engine.search import SearchResult

LEAST_TEMPERATURE = 0.1


@dataclass(frozen=True, slots=True)
class RandomRule:
    """Rule for the choice among the moves of a search."""

    temperature: float
    """A move is chosen with a probability proportional to visits^(1/temperature)."""
    cutoff: float
    """Only moves whose win rate is lower than the best one's by at most this much are chosen."""
    probability: float = 1.0
    """Probability that a move is chosen at random at all."""
    value_limit: float = 1.0
    """From this win rate on the best move is played."""


def random_rule(settings: UsiSettings, ply: int) -> RandomRule | None:
    """The rule for a move; None if the best one is to be played.

    Up to Random_Ply moves are always chosen at random; temperature and cutoff fall by their drops with each move of
    the same side. After that, up to Random2_Ply, they are chosen at random with Random2_Probability.

    Args:
        settings: The options.
        ply: Number of the move, from 1.
    """
    if ply <= settings.random_ply:
        step = (ply - 1) // 2
        temperature = settings.random_temperature - settings.random_temperature_drop * step
        cutoff = settings.random_cutoff - settings.random_cutoff_drop * step
        return RandomRule(max(LEAST_TEMPERATURE, temperature / 1000), max(0, cutoff) / 1000)
    if ply <= settings.random2_ply:
        return RandomRule(
            max(LEAST_TEMPERATURE, settings.random2_temperature / 1000),
            settings.random2_cutoff / 1000,
            settings.random2_probability / 1000,
            settings.random2_value_limit / 1000,
        )
    return None


class RandomMoves:
    """Chooses moves at random. Random_Seed begins a sequence of choices that goes on through all games."""

    def __init__(self) -> None:
        self._seed = 0
        self._random = random.Random()

    def choose(self, result: "SearchResult", position: Position, settings: UsiSettings) -> "SearchResult":
        """The result with the chosen line in the first place, if the rule for this move does not choose the best one.

        A mate that is found is played, and a move that is mated is not.
        """
        rule = random_rule(settings, position.ply)
        if rule is None or not result.lines or result.lines[0].mate is not None:
            return result
        source = self.source(settings.random_seed)
        if result.lines[0].winrate >= rule.value_limit or source.random() >= rule.probability:
            return result
        chosen = _draw(result.lines, rule, source)
        lines = (chosen, *(line for line in result.lines if line is not chosen))
        ponder = chosen.pv[1] if len(chosen.pv) > 1 else None
        return replace(result, best=chosen.move, ponder=ponder, progress=replace(result.progress, lines=lines))

    def source(self, seed: int) -> random.Random:
        """The source of random numbers. With the seed 0 each process has another one."""
        if seed != self._seed:
            self._seed = seed
            self._random = random.Random(seed or None)
        return self._random


def _draw(lines: Sequence[SearchLine], rule: RandomRule, source: random.Random) -> SearchLine:
    best = lines[0]
    least = best.winrate - rule.cutoff
    good = [line for line in lines if line.visits > 0 and line.mate is None and line.winrate >= least]
    if not good:
        return best
    most = max(line.visits for line in good)
    weights = [(line.visits / most) ** (1 / rule.temperature) for line in good]
    return source.choices(good, weights)[0]
