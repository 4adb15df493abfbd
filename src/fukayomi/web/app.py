"""The application: the table of all routes, behind the guard."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from fukayomi.web import books, files, mates, positions, records, socket, worth
from fukayomi.web.answers import json_answer, on_refused
from fukayomi.web.guard import Guard
from fukayomi.web.play.routes import routes as play_routes
from fukayomi.web.runs.routes import routes as run_routes
from fukayomi.web.search import analyses
from fukayomi.web.settings import WebSettings
from fukayomi.web.state import State
from fukayomi.web.static_files import StaticFiles

STATIC = Path(__file__).parent / "static"
SHARED = Path(__file__).parents[1] / "engine" / "report" / "web" / "shared"
"""Content that pages in one file have, too. It is served as if it were in `STATIC`."""
PIECES = Path(__file__).parents[1] / "shogi" / "pieces.svg"
STYLES = (
    *(
        f"style/{name}.css"
        for name in ("base", "drawing", "card", "board", "analyse", "report", "play", "worth", "layout")
    ),
    "vendor/uplot.css",
    "style/runs.css",
)
"""Parts of ``static/styles.css``; later ones refine earlier ones. Each request costs a browser milliseconds."""

ROUTES: tuple[Callable[[State], list[BaseRoute]], ...] = (
    positions.routes,
    records.routes,
    files.routes,
    analyses.routes,
    run_routes,
    socket.routes,
    play_routes,
    worth.routes,
    mates.routes,
    books.routes,
)
"""Routes of the modules; a module has a function ``routes(state)``."""


def create_app(settings: WebSettings) -> Starlette:
    """Make the application, which any ASGI server can run.

    Args:
        settings: What it shows, what searches, and who may see it.

    Raises:
        FileNotFoundError: One of the files is missing.
        BookError: The book is none.
    """
    state = State(settings)

    async def describe(_: Request) -> Response:
        return json_answer(state.describe())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        state.start()
        try:
            yield
        finally:
            state.close()

    static = StaticFiles((STATIC, SHARED), {"pieces.svg": PIECES}, joined={"styles.css": STYLES})
    served = [route for routes in ROUTES for route in routes(state)]
    app = Starlette(
        routes=[
            Route("/", _index),
            Route("/api/state", describe),
            *served,
            Route("/static/{path:path}", static.answer),
        ],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={HTTPException: on_refused},
        lifespan=lifespan,
    )
    app.state.shared = state
    return app


async def _index(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")
