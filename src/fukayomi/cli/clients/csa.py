"""``fukayomi csa play`` and ``fukayomi csa serve``: games on CSA servers, and a server."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import Rules
from fukayomi.cli.clients.online_lines import JsonLines, Lines
from fukayomi.cli.common.errors import exit_stopped, fail
from fukayomi.cli.common.options import given_options, options_of
from fukayomi.clients.csa.settings import PlaySettings, ServeSettings

PASSWORD = "FUKAYOMI_CSA_PASSWORD"
"""Environment variable of the password."""
Json = Annotated[bool, typer.Option("--json", help="Print a JSON object a line for each event.")]
Host = Annotated[str, typer.Argument(metavar="HOST", help="Name or address of the server.")]


@options_of(PlaySettings, "name", "game", "port", "games", "out", "avoid", panel="Games")
class GameOptions:
    """Options for the server and the games."""

    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=f"the environment variable {PASSWORD}")
    ] = None
    """File whose first line is the password."""


@dataclass(frozen=True)
class EngineOptions:
    """Options for the engine."""

    PANEL: ClassVar = "Engine"

    engine: Annotated[str, typer.Option(metavar="COMMAND")] = "fukayomi-usi"
    """A USI engine: program and arguments."""
    option: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None
    """A USI option of the engine; repeat for several."""
    undeclared_options: Annotated[bool, typer.Option("--undeclared-options")] = False
    """Send options all the same that the engine does not declare."""
    engine_dir: Annotated[Path | None, typer.Option(metavar="PATH")] = None
    """Working directory of the engine."""


@options_of(
    PlaySettings, "ponder", "comments", "reconnects", margin_ms="--margin", keep_alive_s="--keep-alive", panel="Play",
)  # fmt: skip
class PlayOptions:
    """Options for the play."""

    log: Annotated[Path | None, typer.Option(metavar="FILE", show_default="none")] = None
    """Add all that is said to a file, to the server and to the engine; the password is not in it."""


def play(host: Host, games: GameOptions, engine: EngineOptions, options: PlayOptions, as_json: Json = False) -> None:
    """Play on a CSA server such as floodgate, with any USI engine.

    \b
    fukayomi csa play wdoor.c.u-tokyo.ac.jp --game floodgate-600-10F \\
      --name myengine --password-file ~/.floodgate --out games
    fukayomi csa play 192.168.1.20 --game lan-300-10F --name left \\
      --engine ./YaneuraOu --games 10

    Plays one game after another, and connects again when the connection breaks. Each game is saved as CSA and KIF in
    --out when it ends, ready for fukayomi rate. An engine that fails is started again and goes on in the same game.

    Ctrl-C (or SIGTERM) leaves after the game, a second one resigns and leaves, a third leaves at once. The exit code is
    0 when the --games have been played, or when the first Ctrl-C ended the program. docs/clients.md has more.
    """
    from fukayomi.arena.game.rules import split_command
    from fukayomi.cli.arena.match_options import split_option
    from fukayomi.clients.csa.client import CsaClient
    from fukayomi.clients.engine import usi_player
    from fukayomi.clients.secrets import read_secret

    listener = _listener(as_json=as_json)
    settings = PlaySettings(host=host, **_settings(games, "password_file"), **_settings(options, "log"))
    secret = read_secret(games.password_file, PASSWORD, "the password", "--password-file", listener)
    own = dict(split_option("--option", text, "=", "KEY=VALUE") for text in engine.option or [])
    command = split_command(engine.engine, Path.cwd())
    with _log(options.log) as log:
        player = usi_player(
            settings.name,
            command,
            own,
            directory=engine.engine_dir,
            undeclared_options=engine.undeclared_options,
            log=_prefixed(log, "usi"),
        )
        client = CsaClient(settings, secret, player, listener=listener, log=_prefixed(log, "csa"))
        steps = (client.finish, client.resign)
        said = ("leaving after this game; Ctrl-C again resigns", "resigning")
        try:
            presses = _run(client.run, steps, said)
        except PlayerFailedError as error:
            fail(str(error))
    score = client.score
    counts = f"{score.wins} won, {score.losses} lost, {score.draws} drawn, {score.unfinished} broken off"
    listener.note(f"{score.games} games: {counts}")
    if presses > 1:
        exit_stopped(None)


@options_of(ServeSettings, "host", "port", "clock", "games", "out", panel="Games")
class ServeOptions:
    """Options for the games."""


@options_of(Rules, "max_plies", "declaration", margin_ms="--margin", panel="Rules")
class ServeRules:
    """Options for the rules."""


@options_of(
    ServeSettings, "connections", "connections_per_address", login_s="--login-timeout", agree_s="--agree-timeout",
    idle_s="--idle-timeout", panel="Limits",
)  # fmt: skip
class ServeLimits:
    """Options for what clients may do."""


def serve(options: ServeOptions, rules: ServeRules, limits: ServeLimits, as_json: Json = False) -> None:
    """Run a CSA server, for a match of two computers, for friends, or for tests.

    \b
    fukayomi csa serve --host 0.0.0.0 --out games
    fukayomi csa serve --clock main=300s,byoyomi=10s --games 100

    Two clients that log in with the same game name meet, and again after each game with colours swapped. A game name
    such as lan-300-10F sets the clock: 300 seconds, and 10 more for each move; without the F the 10 seconds are
    byoyomi. The first login of a name sets its password.

    A client that leaves, floods, or breaks the protocol loses its game. Ctrl-C (or SIGTERM) ends after the games in
    play, a second one breaks them off.
    """
    from fukayomi.clients.csa.server import CsaServer

    listener = _listener(as_json=as_json)
    given: dict[str, Any] = {**_settings(options), **_settings(limits), "rules": Rules(**_settings(rules))}
    settings = ServeSettings(**given)
    server = CsaServer(settings, listener)

    async def run() -> None:
        async with server:
            listener.listening(settings.host, server.port)
            await server.run()

    steps = (server.finish, server.interrupt)
    presses = _run(run, steps, ("ending after the games in play; Ctrl-C again breaks them off", "breaking off"))
    listener.note(f"{server.played} games")
    if presses > 1:
        exit_stopped(None)


def _settings(options: object, *without: str) -> dict[str, Any]:
    return given_options(options, *without)


def _listener(*, as_json: bool) -> "Lines | JsonLines":
    return JsonLines() if as_json else Lines()


def _run(main: Callable[[], Awaitable[object]], steps: tuple[Callable[[], None], ...], said: tuple[str, ...]) -> int:
    """Run an event loop in which each Ctrl-C takes the next step; returns how often it was pressed."""
    from fukayomi.interruption import Presses

    pressed = 0

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def press(count: int) -> None:
            nonlocal pressed
            pressed = count
            loop.call_soon_threadsafe(steps[count - 1])
            typer.echo(said[count - 1], err=True)

        with Presses(press, len(steps)):
            await main()

    asyncio.run(run())
    return pressed


@contextmanager
def _log(path: Path | None) -> Generator[Callable[[str], None] | None]:
    """A function that adds a line with its time to a file; None without a file."""
    if path is None:
        yield None
        return
    lock = threading.Lock()
    with path.open("a", encoding="utf-8", errors="replace") as file:

        def write(line: str) -> None:
            text = f"{time.strftime('%Y-%m-%d %H:%M:%S')}.{time.time_ns() // 1_000_000 % 1000:03} {line}\n"
            with lock, contextlib.suppress(ValueError):  # closed: an engine says its last words
                file.write(text)
                file.flush()

        yield write


def _prefixed(log: Callable[[str], None] | None, word: str) -> Callable[[str], None] | None:
    return None if log is None else lambda line: log(f"{word} {line}")
