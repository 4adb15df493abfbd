"""The socket of a page: what it asks of the live analysis, and what it is told.

    > {"type": "analyse", "id": 7, "sfen": "...", "moves": ["7g7f"], "multipv": 5, "limit": {"nodes": 100000}}
    > {"type": "stop", "id": 7}
    < {"type": "report", "id": 7, "nodes": ..., "lines": [{"move": "2g2f", "win_rate": ..., "pv": [...], ...}]}
    < {"type": "end", "id": 7, "reason": "limit", "text": ""}

Each id ends exactly once: by its limit, because it was stopped, because another page has taken the engine, or because
of an error. The page drops all reports but those of its newest id.
"""

from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError
from pydantic_core import from_json
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket

from fukayomi.errors import InvalidValueError
from fukayomi.settings.problems import first_problem
from fukayomi.shogi import START_SFEN, ShogiError
from fukayomi.web.answers import Question
from fukayomi.web.hub import Outbox
from fukayomi.web.positions import Sfen, UsiMoves
from fukayomi.web.search.live import Query
from fukayomi.web.state import State

MOST_LINES = 20
MOST_NODES = 1_000_000_000
MOST_TIME_MS = 24 * 3600 * 1000

Number = Annotated[int, Field(ge=0, le=(1 << 53) - 1)]


class Limit(Question):
    """Limits that end a search; it may have both."""

    nodes: Annotated[int, Field(ge=1, le=MOST_NODES)] | None = None
    time_ms: Annotated[int, Field(ge=1, le=MOST_TIME_MS)] | None = None


class Analyse(Question):
    """Search a position, until the limit or without end."""

    id: Number
    sfen: Sfen = START_SFEN
    moves: UsiMoves = ()
    multipv: Annotated[int, Field(ge=1, le=MOST_LINES)] = 10
    limit: Limit | None = None

    def query(self) -> Query:
        """Query of the search."""
        limit = self.limit or Limit()
        return Query(self.sfen, self.moves, self.multipv, limit.nodes, limit.time_ms)


class Stop(Question):
    """End a search."""

    id: Number
    type: Literal["stop"]


def routes(state: State) -> list[BaseRoute]:
    """Routes of this module."""

    async def serve(socket: WebSocket) -> None:
        await state.hub.serve(socket, lambda outbox, text: receive(state, outbox, text), state.live.stop, state.message)

    return [WebSocketRoute("/ws", serve)]


def receive(state: State, outbox: Outbox, text: str) -> None:
    """Take a message of a page; one that is damaged gets an answer of type error, or ends its id with an error."""
    number: int | None = None
    try:
        message: Any = from_json(text)
        if not isinstance(message, dict):
            raise InvalidValueError("a message is a JSON object")
        given = cast("dict[str, Any]", message).get("id")
        number = given if isinstance(given, int) and 0 <= given < 1 << 53 else None
        match cast("dict[str, Any]", message).get("type"):
            case "analyse":
                question = Analyse.model_validate(message)
                query = question.query()
                query.position()
                state.live.analyse(outbox, question.id, query)
            case "stop":
                state.live.stop(outbox, Stop.model_validate(message).id)
            case _:
                raise InvalidValueError("the type of a message is analyse or stop")
    except (ShogiError, ValueError) as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else str(error)
        if number is None:
            outbox.send({"type": "error", "text": problem})
        else:
            outbox.send({"type": "end", "id": number, "reason": "error", "text": problem})
