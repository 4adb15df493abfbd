"""``fukayomi web``: the page in the browser."""

import os
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import exit_at_sigterm
from fukayomi.cli.common.options import Model, given_options, options_of
from fukayomi.cli.common.text import json_text
from fukayomi.web.settings import WebSettings


@options_of(WebSettings, "host", "port", allowed_hosts="--allow-host", panel="Server")
class ServerOptions:
    """Options for the address of the page and the access to it."""

    no_token: Annotated[bool, typer.Option("--no-token")] = False
    """Let every user of this computer open the page, without a token."""
    no_browser: Annotated[bool, typer.Option("--no-browser")] = False
    """Print the address, and open no browser."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the address and the port as a JSON object."""


@options_of(WebSettings, memory_mb="--memory", panel="Engine")
class EngineOptions:
    """Options for the engine that searches for the page, and for the book beside it."""

    book: Annotated[Path | None, typer.Option(metavar="BOOK", show_default=False)] = None
    """Opening book (定跡) to show beside the engine's lines; moves are added to a .db or .bin, new ones too."""
    model: Model = None
    option: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", show_default=False)] = None
    """USI option of the engine, see docs/usi-options.md. Repeatable."""
    evaluator: Annotated[str, typer.Option(hidden=True)] = ""
    """Search without a network, for tests: hash or uniform."""


def web(
    server: ServerOptions,
    engine: EngineOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Records, archives, analyses; folders of records, of training runs, of matches.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Play, analyse and follow runs on a page in the browser.

    Prints the address of the page, which holds a token, and opens a browser. The page is for this computer alone; the
    network loads behind it. Ctrl-C or SIGTERM ends it.

    \b
    fukayomi web
    fukayomi web game.kif
    fukayomi web runs/ matches/ --port 8000 --no-browser

    It needs the extra web: pip install "fukayomi\\[web]"
    """
    exit_at_sigterm()
    from fukayomi.web.server import WebServer

    given = given_options(server, "no_token", "no_browser", "as_json")
    given |= given_options(engine, "option", "evaluator") | ({"token": None} if server.no_token else {})
    evaluator = f"<{engine.evaluator}>" if engine.evaluator else ""
    started = WebServer(WebSettings(files=tuple(files or ()), options=_options(engine), evaluator=evaluator, **given))
    if server.as_json:
        typer.echo(json_text({"address": started.address, "port": started.port}))
    else:
        typer.echo(started.address)
    if not server.no_browser:
        _open_browser(started.address)
    try:
        started.run()
    except KeyboardInterrupt:  # how it is meant to end
        typer.echo("Stopped.", err=True)


def _options(engine: EngineOptions) -> tuple[tuple[str, str], ...]:
    """The USI options that were given.

    Fails if one of them, or the network, cannot be used: the page would show it later than the terminal.
    """
    if engine.model is not None:
        from fukayomi.engine.network import find_network

        find_network(str(engine.model))
    if not engine.option:
        return ()
    from fukayomi.cli.arena.match_options import split_option
    from fukayomi.engine.settings import usi_options

    pairs = tuple(split_option("--option", text, "=", "KEY=VALUE") for text in engine.option)
    options = usi_options()
    for name, value in pairs:
        options.set(name, value)
    return pairs


def _open_browser(address: str) -> None:
    """Open a browser with a window, if there is one. It asks for the page as soon as this process serves it."""
    import webbrowser

    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return
    in_terminal = type(found) is webbrowser.GenericBrowser  # w3m and the like would take this terminal
    if not in_terminal or "BROWSER" in os.environ:
        found.open(address)
