"""``fukayomi web``: the page in the browser."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from fukayomi.cli.common.errors import exit_at_sigterm
from fukayomi.cli.common.options import Model
from fukayomi.cli.common.text import json_text


@dataclass(frozen=True)
class ServerOptions:
    """Where the page is, and who may see it."""

    PANEL: ClassVar = "Server"

    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on. 0.0.0.0 lets other computers in.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")] = 0
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another name by which the page may be opened. Repeatable.", show_default=False
        ),
    ] = None
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every user of this computer open the page, without a token.")
    ] = False
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the address and the port as a JSON object.")] = False


@dataclass(frozen=True)
class EngineOptions:
    """What searches for the page."""

    PANEL: ClassVar = "Engine"

    model: Model = None
    memory_mb: Annotated[
        int | None,
        typer.Option(
            "--memory", metavar="MiB", min=16, max=65_536, help="Memory of the search tree.", show_default="1024"
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="USI option of the engine, see docs/usi-options.md. Repeatable.",
            show_default=False,
        ),
    ] = None
    evaluator: Annotated[
        str, typer.Option(hidden=True, help="Search without a network, for tests: hash or uniform.")
    ] = ""


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

    It needs the extra web: pip install '.\\[web]' in a checkout of fukayomi
    """
    exit_at_sigterm()
    from fukayomi.web.server import WebServer
    from fukayomi.web.settings import WebSettings, new_token

    options = _options(engine)
    started = WebServer(
        WebSettings(
            files=tuple(files or ()),
            model=engine.model,
            options=options,
            memory_mb=engine.memory_mb,
            evaluator=f"<{engine.evaluator}>" if engine.evaluator else "",
            host=server.host,
            port=server.port,
            allowed_hosts=tuple(server.allow_host or ()),
            token=None if server.no_token else new_token(),
        )
    )
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
