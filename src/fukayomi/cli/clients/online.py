"""What the commands of games outside have in common: the engine, the log of the protocols, Ctrl-C in steps."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi.cli.common.errors import exit_stopped
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.game.usi_player import UsiPlayer
    from fukayomi.clients.listener import Score

Json = Annotated[bool, typer.Option("--json", help="Print a JSON object a line for each event.")]


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


def engine_maker(options: EngineOptions, name: str, log: Callable[[str], None] | None) -> "Callable[[], UsiPlayer]":
    """A function that makes a player of the engine.

    Args:
        options: The engine.
        name: Its name in messages.
        log: Hears of the protocol.
    """
    from fukayomi.arena.game.rules import split_command
    from fukayomi.cli.arena.match_options import split_option
    from fukayomi.clients.engine import usi_player

    own = dict(split_option("--option", text, "=", "KEY=VALUE") for text in options.option or [])
    command = split_command(options.engine, Path.cwd())
    return lambda: usi_player(
        name,
        command,
        own,
        directory=options.engine_dir,
        undeclared_options=options.undeclared_options,
        log=prefixed(log, "usi"),
    )


def score_text(score: "Score") -> str:
    """The results in one line."""
    counts = f"{score.wins} won, {score.losses} lost, {score.draws} drawn, {score.unfinished} broken off"
    return f"{counted(score.games, 'game')}: {counts}"


def end_after(presses: int) -> None:
    """The exit code of a program that Ctrl-C has ended: a failure if it was pressed more than once."""
    if presses > 1:
        exit_stopped(None)


def run_steps(
    main: Callable[[], Awaitable[object]], steps: tuple[Callable[[], None], ...], said: tuple[str, ...]
) -> int:
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
def protocol_log(path: Path | None) -> Generator[Callable[[str], None] | None]:
    """A function that adds a line with its time to a file; None without a file.

    The log ends where it cannot be written, as on a full disk; the game goes on.
    """
    if path is None:
        yield None
        return
    lock, is_full = threading.Lock(), False
    with path.open("ab", buffering=0) as file:

        def write(line: str) -> None:
            nonlocal is_full
            text = f"{time.strftime('%Y-%m-%d %H:%M:%S')}.{time.time_ns() // 1_000_000 % 1000:03} {line}\n"
            with lock, contextlib.suppress(ValueError):  # closed: an engine says its last words
                if is_full:
                    return
                try:
                    file.write(text.encode("utf-8", "replace"))
                except OSError as error:
                    is_full = True
                    typer.echo(f"{path}: {error.strerror}; the log ends here", err=True)

        yield write


def prefixed(log: Callable[[str], None] | None, word: str) -> Callable[[str], None] | None:
    return None if log is None else lambda line: log(f"{word} {line}")
