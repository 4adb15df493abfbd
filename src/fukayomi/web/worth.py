"""Worth of each piece, for the page: values, combinations, and the tinted boards as SVG."""

from typing import Annotated, Any

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.worth.picture import worth_svg
from fukayomi.engine.worth.worth import MOST_TOGETHER, View, WorthComparison, piece_worth
from fukayomi.shogi import START_SFEN, Position, ShogiError
from fukayomi.web.answers import LARGEST_QUESTION, Question, Refused, json_answer, read_json
from fukayomi.web.state import State

LONGEST_GAME = 10_000
"""Plies of a game."""


class Place(Question):
    """A position, which may lack kings, and the moves that led to it."""

    sfen: Annotated[str, Field(max_length=200)] = START_SFEN
    moves: Annotated[tuple[Annotated[str, Field(max_length=8)], ...], Field(max_length=LONGEST_GAME)] = ()

    def position(self) -> Position:
        """The position with its past.

        Raises:
            Refused: It is none, or a move is not legal.
        """
        try:
            position = Position.from_sfen(self.sfen, allow_missing_king=True)
            for usi in self.moves:
                position.push_usi(usi)
        except ShogiError as error:
            raise Refused(400, str(error)) from error
        return position


class WorthQuestion(Place):
    """Question about the worth of pieces."""

    together: Annotated[tuple[Annotated[str, Field(max_length=2)], ...], Field(max_length=MOST_TOGETHER)] = ()
    view: View = "worth"
    flip: bool = False
    beside: Place | None = None
    """Another position, which stands first."""


def routes(state: State) -> list[BaseRoute]:
    """Routes of this module."""

    async def worth(request: Request) -> Response:
        question = await read_json(request, WorthQuestion)
        return json_answer(await run_in_threadpool(answer, question))

    def answer(question: WorthQuestion) -> dict[str, Any]:
        try:
            network = state.network.wait()
            worths = [piece_worth(question.position(), network, together=question.together)]
            if question.beside is not None:
                worths.insert(0, piece_worth(question.beside.position(), network))
        except EvaluatorError as error:
            raise Refused(503, str(error)) from error
        except ValueError as error:
            raise Refused(400, str(error)) from error
        return {
            "positions": [each.to_dict() for each in worths],
            "differences": [dict(row) for row in WorthComparison(*worths).rows()] if len(worths) == 2 else [],
            "svg": worth_svg(worths, question.view, flip=question.flip),
        }

    return [Route("/api/worth", worth, methods=["POST"], max_body_size=LARGEST_QUESTION)]
