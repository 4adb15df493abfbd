"""Part of the games that the learner sees: a window that grows by a power law, and a budget of samples.

The window is KataGo's (D. Wu, "Accelerating Self-Play Learning in Go", arXiv:1902.10565, appendix C): of N positions
in all it has the newest ``start * (1 + growth * ((N / start)^exponent - 1) / exponent)``, and all of them up to
`start`. So the first games, of weak networks, are forgotten soon, and later ones live longer and longer.

The budget caps how often a position is trained on: each position pays for `samples_per_position` samples once, in the
first generation that learns from its chunk. So one that is excluded does not pay, until it is admitted; one that has
paid does not pay again when it is admitted again.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from fukayomi.settings import Settings


class WindowSettings(Settings):
    """Window of positions that the learner draws from."""

    start: Annotated[int, Field(ge=1)] = 250_000
    """Positions up to which the window has all there are."""
    growth: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Growth of the window with each position from there on."""
    exponent: Annotated[float, Field(gt=0, le=1)] = 0.75
    """Exponent that slows this growth down; 1: not at all."""


def window_positions(total: int, window: WindowSettings) -> int:
    """Size of the window when there are `total` positions.

    >>> [window_positions(total, WindowSettings()) for total in (1000, 250_000, 1_000_000, 100_000_000)]
    [1000, 250000, 493790, 12042362]
    """
    if total <= window.start:
        return total
    grown = window.start * (1 + window.growth * ((total / window.start) ** window.exponent - 1) / window.exponent)
    return min(total, int(grown))


def newest(sizes: Sequence[int], positions: int) -> int:
    """Index of the first of the newest chunks that have at least so many positions together.

    >>> newest([100, 100, 100, 100], 150)
    2

    Args:
        sizes: Positions of each chunk, from old to new.
        positions: Positions wanted; if all chunks have fewer, the first one is meant.
    """
    index = len(sizes)
    while index > 0 and positions > 0:
        index -= 1
        positions -= sizes[index]
    return index


def first_in_window(sizes: Sequence[int], window: WindowSettings) -> int:
    """Index of the first chunk of the window.

    Args:
        sizes: Positions of each chunk there is, from old to new.
        window: The window.
    """
    return newest(sizes, window_positions(sum(sizes), window))


class Purchase(NamedTuple):
    """Steps that a budget of samples buys, and the rest."""

    steps: int
    """Optimiser steps."""
    rest: float
    """Samples left over for the next generation; fewer than a batch, unless training has not begun."""


def buy_steps(budget: float, batch: int, *, total: int, least: int, most: int | None = None) -> Purchase:
    """The steps that a budget pays for.

    >>> buy_steps(1000.0, 256, total=5000, least=0)
    Purchase(steps=3, rest=232.0)
    >>> buy_steps(1000.0, 256, total=5000, least=0, most=2)
    Purchase(steps=2, rest=0.0)

    Args:
        budget: Samples.
        batch: Samples of a step.
        total: Positions there are.
        least: Positions there must be before training begins.
        most: Steps of a generation, at most: what is left of a larger budget is dropped. None: no limit.
    """
    if total < max(least, batch):
        return Purchase(0, budget)
    steps = int(budget // batch)
    if most is not None and steps > most:
        return Purchase(most, 0.0)
    return Purchase(steps, budget - steps * batch)
