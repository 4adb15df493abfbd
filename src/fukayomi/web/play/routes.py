"""Games against the engine: begin, move, take back, hint, resign, declare; the measured strength."""

import secrets
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.web.answers import LARGEST_QUESTION, Question, Refused, json_answer, read_json
from fukayomi.web.play.game import Phase, PlayGame
from fukayomi.web.play.question import PlayError, PlayQuestion
from fukayomi.web.play.strength import MEASURED
from fukayomi.web.records import record_tree
from fukayomi.web.state import State

MOST_GAMES = 8
"""Games that are kept; those that are over or abandoned make room."""
ABANDONED_S = 3600
"""A game without a clock counts as abandoned when the reader has not moved for so long."""

T = TypeVar("T")


class MoveQuestion(Question):
    """A move of the reader."""

    usi: Annotated[str, Field(max_length=8)]
    ply: Annotated[int, Field(ge=0)]
    """Number of moves before it."""


class Games:
    """The games of all pages, by their ids.

    Args:
        state: The network that plays, and the pages that are told.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._games: dict[str, PlayGame] = {}
        self._lock = threading.Lock()

    def begin(self, question: PlayQuestion) -> dict[str, Any]:
        """Begin a game, as soon as the network is loaded; returns its state.

        Raises:
            Refused: There are too many games, the network cannot be loaded, or the position is none.
        """
        game_id = secrets.token_urlsafe(9)
        try:
            network = self._state.network.wait()
            with self._lock:
                self._make_room()
                told = partial(self._tell, game_id)
                game = PlayGame(question, network, self._state.network.usi, told, self._state.live.game_first)
                self._games[game_id] = game
        except PlayError as error:
            raise Refused(400, str(error)) from error
        except EvaluatorError as error:
            raise Refused(503, str(error)) from error
        return self.state(game_id)

    def state(self, game_id: str) -> dict[str, Any]:
        """The state of a game; see `PlayGame.state`.

        Raises:
            Refused: There is no such game.
        """
        return {"type": "play", "id": game_id, **self.game(game_id).state()}

    def game(self, game_id: str) -> PlayGame:
        """A game by its id.

        Raises:
            Refused: There is none.
        """
        game = self._games.get(game_id)
        if game is None:
            raise Refused(404, "this game is not on the server any more")
        return game

    def end(self, game_id: str) -> None:
        """Forget a game."""
        game = self.game(game_id)
        with self._lock:
            self._games.pop(game_id, None)
        game.close()

    def close(self) -> None:
        """End all games."""
        for game_id in tuple(self._games):
            self.end(game_id)

    def _make_room(self) -> None:
        if len(self._games) < MOST_GAMES:
            return
        over = next(
            (key for key, game in self._games.items() if game.phase is Phase.OVER or game.idle_s > ABANDONED_S), None
        )
        if over is None:
            raise Refused(429, f"there are {MOST_GAMES} games; end one of them")
        self._games.pop(over).close()

    def _tell(self, game_id: str) -> None:
        game = self._games.get(game_id)
        if game is not None:
            self._state.hub.send_all({"type": "play", "id": game_id, **game.state()}, ("play", game_id))


def routes(state: State) -> list[BaseRoute]:
    """Routes of this module."""
    games = Games(state)
    state.add_closer(games.close)
    answers = _Handlers(games)
    at = "/api/play/{id}"
    return [
        _post("/api/play", answers.begin),
        Route("/api/strength", answers.strength),
        Route(at, answers.state),
        Route(at, answers.end, methods=["DELETE"]),
        Route(f"{at}/record", answers.record),
        _post(f"{at}/move", answers.move),
        _post(f"{at}/take-back", answers.take_back),
        _post(f"{at}/resign", answers.resign),
        _post(f"{at}/declare", answers.declare),
        _post(f"{at}/hint", answers.hint),
    ]


def _post(path: str, answer: Callable[[Request], Awaitable[Response]]) -> Route:
    return Route(path, answer, methods=["POST"], max_body_size=LARGEST_QUESTION)


class _Handlers:
    def __init__(self, games: Games) -> None:
        self._games = games

    async def begin(self, request: Request) -> Response:
        question = await read_json(request, PlayQuestion)
        return json_answer(await run_in_threadpool(self._games.begin, question))

    async def state(self, request: Request) -> Response:
        return json_answer(self._games.state(request.path_params["id"]))

    async def end(self, request: Request) -> Response:
        await run_in_threadpool(self._games.end, request.path_params["id"])
        return json_answer({})

    async def record(self, request: Request) -> Response:
        return json_answer(record_tree(self._games.game(request.path_params["id"]).record()))

    async def move(self, request: Request) -> Response:
        question = await read_json(request, MoveQuestion)
        return await self._act(request, lambda game: game.move(question.usi, question.ply))

    async def take_back(self, request: Request) -> Response:
        return await self._act(request, PlayGame.take_back)

    async def resign(self, request: Request) -> Response:
        return await self._act(request, PlayGame.resign)

    async def declare(self, request: Request) -> Response:
        return await self._act(request, PlayGame.declare)

    async def hint(self, request: Request) -> Response:
        return json_answer(await self._do(request, PlayGame.hint))

    async def strength(self, _: Request) -> Response:
        return json_answer({"measured": [measured.to_dict() for measured in MEASURED]})

    async def _act(self, request: Request, do: Callable[[PlayGame], None]) -> Response:
        """Do something with a game, and answer with its state."""
        await self._do(request, do)
        return json_answer(self._games.state(request.path_params["id"]))

    async def _do(self, request: Request, do: Callable[[PlayGame], T]) -> T:
        game = self._games.game(request.path_params["id"])
        try:
            return await run_in_threadpool(do, game)
        except PlayError as error:
            raise Refused(409, str(error)) from error
        except EvaluatorError as error:
            raise Refused(503, str(error)) from error
