"""``fukayomi csa play`` and ``fukayomi csa serve``: games on CSA servers, and a server."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import Rules
from fukayomi.cli.clients.online import (
    EngineOptions,
    Json,
    end_after,
    engine_maker,
    prefixed,
    protocol_log,
    run_steps,
    score_text,
)
from fukayomi.cli.clients.online_lines import listener_of
from fukayomi.cli.common.errors import USAGE, fail
from fukayomi.cli.common.options import given_options, options_of
from fukayomi.clients.csa.settings import PlaySettings, ServeSettings
from fukayomi.tabular import counted

PASSWORD = "FUKAYOMI_CSA_PASSWORD"
"""Environment variable of the password."""
Host = Annotated[str, typer.Argument(metavar="HOST", help="Name or address of the server.")]


@options_of(PlaySettings, "name", "game", "port", "games", "out", "avoid", panel="Games")
class GameOptions:
    """Options for the server and the games."""

    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=f"the environment variable {PASSWORD}")
    ] = None
    """File whose first line is the password."""


@options_of(
    PlaySettings, "ponder", "comments", "reconnects", margin_ms="--margin", keep_alive_s="--keep-alive", panel="Play",
)  # fmt: skip
class PlayOptions:
    """Options for the play."""

    log: Annotated[Path | None, typer.Option(metavar="FILE", show_default="none")] = None
    """Log of what is exchanged with the server and the engine, without the password; it is appended to the file."""


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
    from fukayomi.clients.csa.client import CsaClient
    from fukayomi.clients.secrets import read_secret

    if games.name is None:
        fail("--name is missing: give for example --name myengine", USAGE)
    listener = listener_of(as_json=as_json)
    settings = PlaySettings(host=host, **given_options(games, "password_file"), **given_options(options, "log"))
    secret = read_secret(games.password_file, PASSWORD, "the password", "--password-file", listener)
    with protocol_log(options.log) as log:
        player = engine_maker(engine, settings.name, log)()
        client = CsaClient(settings, secret, player, listener=listener, log=prefixed(log, "csa"))
        steps = (client.finish, client.resign)
        said = ("leaving as soon as no game is played; Ctrl-C again resigns", "resigning")
        try:
            presses = run_steps(client.run, steps, said)
        except PlayerFailedError as error:
            fail(str(error))
    listener.note(score_text(client.score))
    end_after(presses)


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

    listener = listener_of(as_json=as_json)
    given: dict[str, Any] = {
        **given_options(options),
        **given_options(limits),
        "rules": Rules(**given_options(rules)),
    }
    settings = ServeSettings(**given)
    server = CsaServer(settings, listener)

    async def run() -> None:
        async with server:
            listener.listening(settings.host, server.port)
            await server.run()

    steps = (server.finish, server.interrupt)
    presses = run_steps(run, steps, ("ending after the games in play; Ctrl-C again breaks them off", "breaking off"))
    listener.note(counted(server.played, "game"))
    end_after(presses)
