"""Matches for scripts and notebooks."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fukayomi.arena.game.openings import Opening, read_opening
from fukayomi.arena.game.player import MovePlayer
from fukayomi.arena.game.rules import OpeningOrder, Rules, Tournament, split_command
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.match.match import StartWorkers, run_match
from fukayomi.arena.match.settings import build_settings, check_programs
from fukayomi.arena.match.state import MatchResult
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.arena.statistics.sprt import SprtSettings
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Position
from fukayomi.usi.engine import UsiEngine

Contestant = str | Sequence[str] | UsiEngine | MovePlayer
"""A USI engine (its command as text or words, or a `UsiEngine`), or a player in this process."""
Clock = str | TimeControl


def play_match(
    engines: Mapping[str, Contestant],
    *,
    games: int,
    clock: Clock | Mapping[str, Clock],
    openings: str | Path | Sequence[str | Position] | None = None,
    folder: str | Path | None = None,
    sprt: SprtSettings | Mapping[str, Any] | None = None,
    concurrency: int = 1,
    seed: int | None = None,
    tournament: Tournament | str = Tournament.ROUND_ROBIN,
    rules: Rules | Mapping[str, Any] | None = None,
    ponder: bool = False,
    undeclared_options: bool = False,
    restart: bool = False,
    log: bool = False,
    event: str = "",
    listener: Listener = SILENT,
    start_workers: StartWorkers | None = None,
) -> MatchResult:
    """Play a match between engines.

    Each opening is played twice by each pair of engines, with colours swapped. Every game is stored when it ends: call
    the function again with the same folder to resume a match, or with more games to extend it. Ctrl-C ends it in an
    orderly way.

        >>> import random
        >>> from fukayomi.arena import MovePlayer, play_match
        >>> class RandomPlayer(MovePlayer):
        ...     def choose(self, position, go):
        ...         return random.choice(position.legal_moves)
        >>> result = play_match(
        ...     {"one": RandomPlayer(), "two": RandomPlayer()}, games=4, clock="nodes=1", rules={"max_plies": 20}
        ... )
        >>> [row["games"] for row in result.rows()]
        [4, 4]
        >>> len(result.games[0].moves) <= 20
        True

    Args:
        engines: Name and engine: a USI engine's command, as text (``"fukayomi-usi"``) or as a list of words; a
            `UsiEngine`, whose command, options and directory are used in new processes; or a player in this process,
            such as `fukayomi.Engine` or any `MovePlayer`, which plays one game at a time.
        games: Games in total.
        clock: ``"byoyomi=1s"``, ``"main=5m,increment=5s"``, ``"movetime=100ms"``, ``"nodes=1000"``, ...; or a clock
            for each name.
        openings: A file of openings; or a sequence of positions or USI lines (``"startpos moves 7g7f 3c3d"``).
            None: the start position.
        folder: Folder of the match, created if necessary. None: a temporary one, deleted together with the result.
        sprt: Stop when this test of two engines decides: ``{"elo0": 0, "elo1": 5}``.
        concurrency: Games at once; only 1 with players in this process.
        seed: Shuffle the openings with this seed; None: use them in order.
        tournament: ``"round-robin"``; ``"gauntlet"``: the first engine meets all others; ``"pairs"``: the first meets
            the second, the third the fourth, and so on.
        rules: When a game ends, such as ``{"max_plies": 256, "resign": {"score_cp": 2000}}``. USI engines are told of
            the limit and of the rule for declarations, if they have options for them.
        ponder: USI engines think in the opponent's time.
        undeclared_options: Send options and values all the same that an engine does not declare.
        restart: Restart an engine that died or hung; otherwise its remaining games are left out.
        log: Keep all USI lines in ``folder/logs``.
        event: Name of the event, for the records.
        listener: Follows the match; a `MatchListener` hears of every game.
        start_workers: Creates what plays the games, if those in this process do not choose their moves one by one (see
            `fukayomi.selfplay.play_networks`).

    Returns:
        Standings as a table, all games and records.

    Raises:
        ValueError: The settings are invalid, or do not fit the folder; or an engine does not declare an option that it
            is given, or a value of it.
        OSError: A file cannot be read or written, or another process plays this match.
    """
    clocks = clock if isinstance(clock, Mapping) else dict.fromkeys(engines, clock)
    if missing := [name for name in engines if name not in clocks]:
        raise InvalidValueError(f"no clock for {', '.join(missing)}")
    own = {name: engine for name, engine in engines.items() if not isinstance(engine, str | UsiEngine | Sequence)}
    is_file = isinstance(openings, str | os.PathLike)
    settings = build_settings(
        {
            "engine": [_settings_of(name, engine, clocks[name]) for name, engine in engines.items()],
            "games": games,
            "clock": next(iter(clocks.values()), ""),
            "openings": Path(openings).absolute() if is_file else None,
            "opening_order": OpeningOrder.SEQUENTIAL if seed is None else OpeningOrder.RANDOM,
            "seed": seed or 0,
            "tournament": tournament,
            "rules": rules or Rules(),
            "ponder": ponder,
            "undeclared_options": undeclared_options,
            "sprt": sprt,
            "concurrency": concurrency,
            "restart": restart,
            "log": log,
            "event": event,
        }
    )
    check_programs(settings, own)
    run = partial(
        run_match,
        settings,
        openings=None if openings is None or is_file else _openings(openings),
        listener=listener,
        start_workers=start_workers or partial(LocalWorkers, players=own),
    )
    if folder is not None:
        return run(Path(folder))
    temporary = tempfile.mkdtemp(prefix="fukayomi-match-")
    try:
        result = run(Path(temporary))
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    weakref.finalize(result, shutil.rmtree, temporary, ignore_errors=True)
    return result


def _settings_of(name: str, engine: Contestant, clock: Clock) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "clock": clock}
    if isinstance(engine, str):
        return found | {"command": split_command(engine, Path.cwd())}
    if isinstance(engine, UsiEngine):
        given = {"command": engine.command, "directory": engine.directory, "options": engine.options}
        return found | given | ({"undeclared_options": True} if engine.undeclared_options else {})
    if isinstance(engine, Sequence):
        return found | {"command": list(engine)}
    if not callable(getattr(engine, "choose", None)):
        kind = type(engine).__name__
        raise InvalidValueError(
            f"{name} must be a command, a UsiEngine or a player with a method choose(), not a {kind}; "
            "fukayomi.Engine(network) is such a player"
        )
    return found | {"identity": engine.identity}


def _openings(openings: Sequence[str | Position]) -> list[Opening]:
    """The openings of a sequence, in order."""
    if not openings:
        raise InvalidValueError("openings is empty; use None for the start position")
    positions = [read_opening(each) if isinstance(each, str) else each for each in openings]
    return [Opening.from_position(position, number) for number, position in enumerate(positions)]
