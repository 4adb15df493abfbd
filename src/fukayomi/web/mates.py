"""Mates (詰み), for the page: a solver that needs no network, and no king but the one to be mated."""

import threading
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.shogi import MateSolver, Position
from fukayomi.shogi.formats.notation import english_moves, japanese_moves
from fukayomi.web.answers import LARGEST_QUESTION, Refused, json_answer, read_json
from fukayomi.web.positions import PositionQuestion
from fukayomi.web.state import State

MOST_NODES = 3_000_000
MOST_TIME_MS = 10_000
MEMORY_MB = 256


class Mates:
    """Solves mates for all pages, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._solver = MateSolver(MEMORY_MB)
        self._is_closed = False

    def solve(self, position: Position) -> dict[str, Any]:
        """A mate for the side to move.

        Returns:
            reason (mate, no_mate, or why it is undecided: nodes, time, stopped), nodes, and the line of a mate: moves
            in USI form, japanese, english.

        Raises:
            Refused: There is no king to mate.
        """
        if position.king_square(position.turn.opponent) is None:
            raise Refused(400, "there is no king to mate: the side to move attacks")
        with self._lock:
            if self._is_closed:
                raise Refused(503, "the server ends")
            result = self._solver.solve(position, nodes=MOST_NODES, time_ms=MOST_TIME_MS)
        moves = [move.usi() for move in result.moves]
        sfen = position.sfen()
        return {
            "reason": result.reason.name.lower(),
            "nodes": result.nodes,
            "moves": moves,
            "japanese": japanese_moves(sfen, moves),
            "english": english_moves(sfen, moves),
        }

    def close(self) -> None:
        """End the search."""
        self._is_closed = True
        self._solver.stop()


def routes(state: State) -> list[BaseRoute]:
    """Routes of this module."""
    mates = Mates()
    state.add_closer(mates.close)

    async def mate(request: Request) -> Response:
        question = await read_json(request, PositionQuestion)
        return json_answer(await run_in_threadpool(mates.solve, question.position()))

    return [Route("/api/mate", mate, methods=["POST"], max_body_size=LARGEST_QUESTION)]
