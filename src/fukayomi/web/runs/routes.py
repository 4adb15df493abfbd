"""Answers of the server about runs and matches.

| route | answer |
|---|---|
| `GET /api/runs` | what there is |
| `GET /api/runs/ID?smooth=STEPS&x=log` | a training run, a learning run, a folder of self-play |
| `GET /api/matches/ID` | a match or a league |
| `GET /api/matches/ID/games?before=NUMBER` | its games, the last first; for self-play `/api/runs/ID/games` |
| `GET /api/matches/ID/games/NUMBER` | a game as a record; for self-play `/api/runs/ID/games/NUMBER` |

Documents have a version. Who names it as `known` and has the newest is told `{"version": ..., "same": true}`.
"""

from collections.abc import Callable
from math import isfinite
from threading import Lock
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.web.answers import Refused, json_answer
from fukayomi.web.records import record_tree
from fukayomi.web.runs.keeping import Document
from fukayomi.web.runs.wanted import CurveView, UnknownRunError
from fukayomi.web.state import State

if TYPE_CHECKING:
    from fukayomi.web.runs.reader import RunReader

LARGEST_NUMBER = 1 << 53


def routes(state: State) -> list[BaseRoute]:
    """The routes; what is read lives as long as the server."""
    handlers = _Handlers(state)
    return [
        Route("/api/runs", handlers.runs),
        Route("/api/runs/{id}", handlers.run),
        Route("/api/matches/{id}", handlers.match),
        *(Route(f"/api/{of}/{{id}}/games", handlers.games) for of in ("runs", "matches")),
        *(Route(f"/api/{of}/{{id}}/games/{{number:int}}", handlers.game) for of in ("runs", "matches")),
    ]


class _Handlers:
    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = Lock()
        self._made: RunReader | None = None

    @property
    def _reader(self) -> "RunReader":
        """Made when it is first needed, in the thread that needs it: it imports the statistics."""
        with self._lock:
            if self._made is None:
                from fukayomi.web.runs.reader import RunReader

                self._made = RunReader(
                    tuple(file.path for file in self._state.files if file.kind == "runs" or file.path.is_dir())
                )
            return self._made

    async def runs(self, request: Request) -> Response:
        return await _answer(request, lambda: self._reader.listing())

    async def run(self, request: Request) -> Response:
        view = CurveView(_smooth(request), request.query_params.get("x") == "log")
        return await _answer(request, lambda: self._reader.run(request.path_params["id"], view))

    async def match(self, request: Request) -> Response:
        return await _answer(request, lambda: self._reader.match(request.path_params["id"]))

    async def games(self, request: Request) -> Response:
        text = request.query_params.get("before")
        before = None if text is None else _number(text)
        return await _answer(request, lambda: self._reader.games(request.path_params["id"], before))

    async def game(self, request: Request) -> Response:
        number: int = request.path_params["number"]
        if number > LARGEST_NUMBER:
            raise Refused(404, "there is no such game")
        try:
            record = await run_in_threadpool(lambda: self._reader.game(request.path_params["id"], number))
        except UnknownRunError:
            raise Refused(404, "there is no such game") from None
        except (ValueError, OSError):
            raise Refused(500, "the game cannot be read: its file is damaged, or gone") from None
        return json_answer({"games": [await run_in_threadpool(record_tree, record)]})


async def _answer(request: Request, read: Callable[[], Document]) -> Response:
    """The document, or that the page has it already."""
    try:
        document = await run_in_threadpool(read)
    except UnknownRunError:
        raise Refused(404, "there is no such run or match; it may have been moved") from None
    if request.query_params.get("known") == document.version:
        return json_answer({"version": document.version, "same": True})
    body = b'{"version":"' + document.version.encode() + b'",' + document.text[1:]
    return Response(body, media_type="application/json")


def _smooth(request: Request) -> float | None:
    text = request.query_params.get("smooth")
    if text is None:
        return None
    try:
        width = float(text)
    except ValueError:
        width = -1.0
    if not (isfinite(width) and width >= 0):
        raise Refused(400, "smooth is a number of steps, 0 or more")
    return width


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise Refused(400, "before is the number of a game")
    return int(text)
