"""Looks at the engines of a match before its first game: do they take their options, and know the rules?"""

import threading
from collections.abc import Container

from fukayomi.arena.game.choices import Declaration
from fukayomi.arena.game.game_terms import GameTerms
from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import ConfigurationError
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.usi.options import OptionError


def check_engines(
    settings: MatchSettings, stop: threading.Event | None = None, players: Container[str] = ()
) -> tuple[str, ...]:
    """Start each USI engine once, without a network, and end it again.

    An engine that does not start is left to its first game, which it loses.

    Args:
        settings: The match.
        stop: Ends the wait for an engine when set.
        players: Names of the engines that play in this process.

    Returns:
        What the match depends on and an engine is not told, as ``NAME: text``.

    Raises:
        ConfigurationError: An engine does not declare an option that it is given, or a value of it.
        EngineInterruptedError: `stop` was set.
    """
    terms = GameTerms.of(settings.rules, ponder=settings.ponder)
    warnings: list[str] = []
    for engine in settings.engines:
        if not engine.command or engine.name in players:
            warnings += _of_own_player(engine.name, terms)
            continue
        with UsiPlayer(engine, settings.clock) as player:
            try:
                warnings += player.check_options(settings.rules, terms, stop)
            except OptionError as error:
                raise ConfigurationError(str(error)) from error
            except PlayerFailedError:
                continue
    return tuple(warnings)


def _of_own_player(name: str, terms: GameTerms) -> list[str]:
    """Terms that a player in this process is not told; only those that somebody chose."""
    found: list[str] = []
    if terms.declaration is not Declaration.POINTS_27:
        rule = f"the rule for declarations is {terms.declaration}"
        found.append(f"{name}: a player in this process is not told that {rule}")
    if terms.ponder:
        found.append(f"{name}: a player in this process does not ponder")
    return found
