"""A real server on a free port, and a real browser that fails a test for anything that goes wrong in it."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from places import ROOT
from playwright.sync_api import Browser, BrowserContext, Page

from fukayomi.web import WebServer, WebSettings

REMEMBER = """
  for (const {origin, localStorage: stored} of %s)
    if (origin === location.origin) for (const {name, value} of stored) localStorage[name] ??= value;
"""
"""Stores what a reader has chosen before, where nothing is stored yet."""
Serve = Callable[..., WebServer]
OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def server() -> Iterator[WebServer]:
    """A server that all tests share: without network and without files."""
    with WebServer(WebSettings(evaluator="<hash>", port=0)) as started:
        yield started


@pytest.fixture(scope="session")
def short_game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 30 moves of the example game."""
    lines = (ROOT / "examples" / "game.csa").read_text(encoding="utf-8").splitlines()
    moves = [index for index, line in enumerate(lines) if re.match("[+-][0-9]{4}", line)]
    path = tmp_path_factory.mktemp("game") / "game.csa"
    path.write_text("\n".join(lines[: moves[30]]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server of one's own: ``serve(files=(path,))``."""
    started: list[WebServer] = []

    def serve(**settings: Any) -> WebServer:
        started.append(WebServer(WebSettings(**({"evaluator": "<hash>", "port": 0} | settings))).__enter__())
        return started[-1]

    yield serve
    for each in started:
        each.__exit__()


@pytest.fixture
def problems() -> Iterator[list[str]]:
    """What went wrong in pages; a test that expects something removes it from the list."""
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture(scope="session")
def modules(browser: Browser) -> Iterator[Page]:
    """A page that shows nothing, in which the modules of a server can be imported."""
    with WebServer(WebSettings(evaluator="<hash>", port=0)) as server:
        context = browser.new_context(extra_http_headers={"Cookie": server.cookie})
        page = context.new_page()
        page.goto(f"{server.origin}/static/lang/reasons.js")
        yield page
        context.close()


@pytest.fixture
def open_page(browser: Browser, server: WebServer, serve: Serve, problems: list[str]) -> Iterator[OpenPage]:
    """Opens the page: ``open_page(server=..., at="#play", locale="ja-JP", ...)``, each in a context of its own.

    What a `storage_state` remembers is stored by the page itself when it opens: the context would open another page.
    Errors of scripts, messages on the console, such as violations of the CSP and answers that are errors, and
    requests to other servers fail the test. Servers of one's own (`serve`) end after the pages, which would ask for
    them.
    """
    contexts: list[BrowserContext] = []

    def open_page(server: WebServer = server, at: str = "", **options: Any) -> Page:
        stored: list[Any] = (options.pop("storage_state", None) or {"origins": []})["origins"]
        context = browser.new_context(**({"locale": "en-US"} | options))
        context.add_init_script(REMEMBER % json.dumps(stored))
        context.set_default_timeout(1000 * PATIENCE_S)
        contexts.append(context)
        page = context.new_page()

        def check_request(url: str) -> None:
            own = (f"{server.origin}/", server.origin.replace("http", "ws", 1) + "/", "data:", "blob:")
            if not url.startswith(own):
                problems.append(f"a request to {url}")

        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: check_request(request.url))
        page.on("websocket", lambda socket: check_request(socket.url))
        page.goto(server.address + at)
        page.locator("html[data-ready]").wait_for(state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The page of the shared server, in English."""
    return open_page()
