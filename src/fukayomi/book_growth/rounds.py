"""What is played in a round: an ordinary match for the book of each side, which depends on the settings alone."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from fukayomi.arena.game.openings import Opening, OpeningError, check_playable
from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import EngineSettings, GameTerms
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.book_growth.settings import GrowSettings, GrowthError, book_path
from fukayomi.shogi import Color, Position
from fukayomi.usi.options import OptionError

BOOK_OPTIONS: Mapping[str, str] = {
    "USI_OwnBook": "true",
    "BookMoves": "256",
    "BookEvalDiff": "0",
    "BookEvalBlackLimit": "-200",
    "BookEvalWhiteLimit": "-200",
    "BookDepthLimit": "0",
    "FlippedBook": "false",
}
"""How engines play from the book, as far as they have such options; options of the settings take precedence. A flipped
book would give the other side moves, too."""


def round_folder(folder: Path, number: int, side: Color) -> Path:
    """Folder of the match for the book of a side in a round, from 1."""
    return folder / "rounds" / f"{number:04}-{side.name.lower()}"


def ask_engines(settings: GrowSettings) -> dict[str, dict[str, str]]:
    """Start each engine once, and see which of the options for books it has.

    Returns:
        For each engine the options of `BOOK_OPTIONS` that it has, and those for the book's file, which they have as
        `{folder}` and `{name}`.

    Raises:
        GrowthError: An engine does not start, does not take its options, or cannot play from a book.
    """
    terms = GameTerms.of(settings.rules, ponder=False)
    found: dict[str, dict[str, str]] = {}
    for engine in settings.engines:
        with UsiPlayer(engine, settings.clock) as player:
            try:
                player.check_options(settings.rules, terms)
            except OptionError as error:
                raise GrowthError(str(error)) from error
            except PlayerFailedError as error:
                raise GrowthError(f"engine {error}") from error
            declared = {name.lower(): name for name in player.declared_options}
        options = {name: text for name, text in BOOK_OPTIONS.items() if name.lower() in declared}
        if "book_file" in declared:
            options[declared["book_file"]] = "{folder}/{name}"
        elif "bookdir" in declared and "bookfile" in declared:
            options |= {declared["bookdir"]: "{folder}", declared["bookfile"]: "{name}"}
        else:
            raise GrowthError(
                f"engine {engine.name} has no option for a book (Book_File, or BookDir and BookFile): it cannot grow "
                "one. Give another engine"
            )
        found[engine.name] = options
    return found


def match_settings(
    settings: GrowSettings,
    folder: Path,
    number: int,
    side: Color,
    concurrency: int,
    options: Mapping[str, Mapping[str, str]],
) -> MatchSettings:
    """The match of a side in a round.

    Args:
        settings: The settings.
        folder: Folder of the growth.
        number: The round, from 1.
        side: The side whose book is played from.
        concurrency: Games at once.
        options: What `ask_engines` found; empty as long as there is no book.
    """
    book = book_path(folder.absolute(), side)
    own = settings.engines
    twins = own if len(own) == 2 else tuple(own[0].changed(name=f"{own[0].name} {each}") for each in (1, 2))
    engines: list[EngineSettings] = []
    for place, engine in enumerate(twins):
        given = {name.lower() for name in engine.options}
        of_book = {
            name: text.format(folder=book.parent, name=book.name)
            for name, text in options.get(own[place % len(own)].name, {}).items()
            if name.lower() not in given
        }
        clock = engine.clock or settings.clock
        engines.append(
            engine.changed(
                options={**of_book, **engine.options}, clock=_spread(clock, settings, f"{number} {side.name} {place}")
            )
        )
    return MatchSettings(
        engines=tuple(engines),
        games=settings.games,
        clock=settings.clock,
        rules=settings.rules,
        concurrency=concurrency,
        restart=settings.restart,
        log=settings.log,
        event=f"round {number}, book of {side.name.title()}",
    )


def openings(settings: GrowSettings, lines: Sequence[Position]) -> list[Opening]:
    """The openings of a round: the start, and every second one a line of the frontier as long as there are some.

    Lines that end a game are left out.
    """
    start = Opening(initial_sfen=settings.start_sfen, name="start")
    playable: list[Opening] = []
    for line in lines:
        opening = Opening.from_position(line)
        try:
            check_playable(opening, settings.rules.max_plies)
        except OpeningError:
            continue
        playable.append(opening)
    found: list[Opening] = []
    for number in range(settings.games // 2):
        other = playable[number // 2] if number % 2 and number // 2 < len(playable) else start
        found.append(Opening(number, other.name, other.initial_sfen, other.moves))
    return found


def _spread(clock: TimeControl, settings: GrowSettings, words: str) -> TimeControl:
    """Limits of nodes for each opening of a round: about those of the clock."""
    if not clock.nodes:
        return clock
    pairs = settings.games // 2
    given = [clock.nodes[pair % len(clock.nodes)] for pair in range(pairs)]
    return TimeControl(
        nodes=tuple(
            max(1, round(nodes * (1 + settings.spread * _even(f"{words} {pair}")))) for pair, nodes in enumerate(given)
        )
    )


def _even(words: str) -> float:
    """A number between -1 and 1, the same for the same words everywhere."""
    digest = hashlib.sha256(words.encode()).digest()
    return int.from_bytes(digest[:6], "big") / (1 << 47) - 1
