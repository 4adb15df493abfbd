"""``fukayomi lishogi play`` and ``fukayomi lishogi upgrade``: a bot on lishogi."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.arena.game.player import PlayerFailedError
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
from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.options import given_options, options_of
from fukayomi.clients.lishogi.settings import BotSettings

if TYPE_CHECKING:
    from fukayomi.clients.secrets import Secret
    from fukayomi.listener import Listener

TOKEN = "FUKAYOMI_LISHOGI_TOKEN"
"""Environment variable of the token."""
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", show_default=f"the environment variable {TOKEN}", help="File whose first line is the token."
    ),
]


@options_of(BotSettings, "games", "at_once", "out", "url", panel="Games")
class GameOptions:
    """Options for the server and the games."""

    token_file: TokenFile = None
    """File whose first line is the token."""


@options_of(
    BotSettings, "kind", "opponents", "min_rating", "max_rating", "min_main", "max_main", "min_extra", "max_extra",
    "per_day", "avoid", panel="Challenges",
)  # fmt: skip
class ChallengeOptions:
    """Options for the challenges that are accepted."""


@options_of(
    BotSettings, "ponder", "resign_cp", "resign_moves", "draw_cp", "draw_moves", "draw_ply", "offer_draws", "takebacks",
    "reconnects", margin_ms="--margin", panel="Play",
)  # fmt: skip
class PlayOptions:
    """Options for the play."""

    log: Annotated[Path | None, typer.Option(metavar="FILE", show_default="none")] = None
    """Log of what is exchanged with the server and the engine, without the token; it is appended to the file."""


def play(
    games: GameOptions,
    challenges: ChallengeOptions,
    engine: EngineOptions,
    options: PlayOptions,
    as_json: Json = False,
) -> None:
    """Play on lishogi as a bot, with any USI engine.

    \b
    fukayomi lishogi play --token-file ~/.lishogi --games 1 --out lishogi
    fukayomi lishogi play --token-file ~/.lishogi --kind casual \\
      --min-extra 5 --max-main 900 --engine ./YaneuraOu

    Waits for challenges, and accepts those with the rules of shogi that the options allow. The account must be a bot
    account: fukayomi lishogi upgrade makes it one. Each game is saved as CSA and KIF in --out when it ends, ready for
    fukayomi rate. When a stream breaks the bot opens it again and goes on, as it does with the games that it finds when
    it starts. It needs the extra lishogi: pip install "fukayomi\\[lishogi]".

    Ctrl-C (or SIGTERM) leaves after the games in play, a second one resigns and leaves, a third leaves at once. The
    exit code is 0 when the --games have been played, or when the first Ctrl-C ended the program. docs/clients.md has
    more.
    """
    from fukayomi.clients.lishogi.bot import LishogiBot

    listener = listener_of(as_json=as_json)
    given = given_options(games, "token_file") | given_options(challenges) | given_options(options, "log")
    settings = BotSettings(**given)
    token = _token(games.token_file, listener)
    with protocol_log(options.log) as log:
        player = engine_maker(engine, "the engine", log)
        bot = LishogiBot(settings, token, player, listener=listener, log=prefixed(log, "lishogi"))
        steps = (bot.finish, bot.resign)
        said = ("leaving after the games in play; Ctrl-C again resigns", "resigning")
        try:
            presses = run_steps(bot.run, steps, said)
        except PlayerFailedError as error:
            fail(str(error))
    listener.note(score_text(bot.score))
    end_after(presses)


@options_of(BotSettings, "url")
class UpgradeOptions:
    """Options for the account."""

    token_file: TokenFile = None
    """File whose first line is the token."""
    yes: Annotated[bool, typer.Option("--yes")] = False
    """Do not ask."""


def upgrade(options: UpgradeOptions) -> None:
    """Make an account on lishogi a bot account. This cannot be undone.

    \b
    fukayomi lishogi upgrade --token-file ~/.lishogi

    The account must not have played any game, and can afterwards play only through the API. The token needs the
    permission "Play bot moves". Asks for confirmation first. A bot account stays as it is.
    """
    import asyncio

    from fukayomi.clients.lishogi.api import LishogiApi

    settings = BotSettings(**given_options(options, "token_file", "yes"))
    token = _token(options.token_file, listener_of(as_json=False))

    async def run() -> None:
        async with LishogiApi(settings.url, token) as api:
            account = await api.account()
            if account.is_bot:
                typer.echo(f"{account.username} is a bot account")
                return
            if account.games:
                fail(f"{account.username} has played {account.games} games; a bot needs a new account")
            typer.confirm(
                f"Make {account.username} on {settings.url} a bot account? This cannot be undone.", abort=True
            ) if not options.yes else None
            await api.upgrade()
            typer.echo(f"{account.username} is a bot account now")

    asyncio.run(run())


def _token(file: Path | None, listener: "Listener") -> "Secret":
    from fukayomi.clients.secrets import read_secret

    return read_secret(file, TOKEN, "the token", "--token-file", listener)
