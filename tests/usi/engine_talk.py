"""Positions and questions that the tests of the USI engine share."""

from collections.abc import Callable

import pytest

from fukayomi.shogi import Position
from fukayomi.usi.client import EngineLine, EngineTimeoutError, UsiClient

Start = Callable[..., UsiClient]
"""The fixture `start` of conftest.py."""
Command = tuple[str, ...]

MATE_IN_ONE = "7k1/9/7P1/9/9/9/9/9/K8 b G 1"  # G*2b
MATED = "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2"
DECLARED = "+P+P+P+P+P+P+P+P+P/K+R+B6/9/9/9/9/9/9/8k b RB 1"  # 29 points
ONE_MOVE = "k8/9/9/9/9/9/9/r8/K8 b - 1"


def moves_of(sfen: str | None = None) -> set[str]:
    return {move.usi() for move in (Position.from_sfen(sfen) if sfen else Position()).legal_moves}


def next_line(client: UsiClient, timeout_s: float, awaited: str = "a line") -> EngineLine:
    """The next line of the engine."""
    return client.read_until(lambda _: True, timeout_s, awaited)[0]


def strings(client: UsiClient) -> list[str]:
    """The info strings up to the next readyok."""
    return [line for line in client.wait_ready() if line.startswith("info string")]


def never_answers(client: UsiClient, seconds: float) -> None:
    """Check that no bestmove comes within this time."""
    with pytest.raises(EngineTimeoutError):
        client.read_until(lambda line: line.startswith("bestmove"), seconds)
