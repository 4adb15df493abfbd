"""The strategies (戦型) of one game or of many."""

from collections.abc import Collection, Iterable, Iterator
from functools import cache

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.game_input import Games, iterate_games
from fukayomi.arena.strategy.counts import StrategyCounts
from fukayomi.arena.strategy.definitions import load_definitions
from fukayomi.arena.strategy.kinds import NAMED_KINDS, SplitBy, StrategyKind
from fukayomi.arena.strategy.matcher import Classification, Matcher
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.record import Record

PROGRESS_EVERY = 64
"""Games between two reports of progress."""


def classify_strategies(
    game: Record | Game | Position | str | Iterable[Move | str], *, matcher: Matcher | None = None
) -> Classification:
    """Find the strategies of one game.

    >>> from fukayomi.arena import classify_strategies
    >>> print(classify_strategies("startpos moves 7g7f 3c3d 6g6f 8c8d 2h6h"))
    strategy      english                      kind     ply
    対抗形        Static against Ranging Rook  style      5
    先手四間飛車  Black Fourth-File Rook       opening    5

    Args:
        game: A record, a position with its moves, a USI position, or moves from the start position.
        matcher: Matcher with other definitions than the package's own.

    Raises:
        ValueError: A text is not a USI position or move.
    """
    matcher = matcher or default_matcher()
    if isinstance(game, str):
        game = Position.from_usi(game)
    if isinstance(game, Position):
        return matcher.classify(game.start_sfen(), game.moves)
    if isinstance(game, Record):
        game = Game.from_record(game)
    if isinstance(game, Game):
        return matcher.classify(game.initial_sfen, game.moves or ())
    return matcher.classify(START_SFEN, [move if isinstance(move, Move) else Move.from_usi(move) for move in game])


def count_strategies(
    games: Games,
    *,
    by: SplitBy | str | None = None,
    kinds: Collection[StrategyKind] = NAMED_KINDS,
    min_rating: float | None = None,
    matcher: Matcher | None = None,
    listener: Listener = SILENT,
) -> StrategyCounts:
    """Count how often each combination of strategies was played, and who won.

    >>> from fukayomi import Record, Result
    >>> from fukayomi.arena import count_strategies
    >>> counts = count_strategies([Record(result=Result.DRAW)])
    >>> print(counts)
    strategy  english  games  share  black_rate  white_rate  draw_rate
    分類なし  none         1      1           0           0          1

    Args:
        games: Games with moves; see `fukayomi.arena.results.game_input.Games`.
        by: Group games by "year", or by "engine" and colour.
        kinds: Kinds of tags that name a row.
        min_rating: Rating that both players need.
        matcher: Matcher with other definitions than the package's own.
        listener: Gets the number of classified games, and a note for each file or game that cannot be used.

    Raises:
        ValueError: No game could be read.
    """
    counts = StrategyCounts(kinds, None if by is None else SplitBy(by), min_rating)
    for game, found in classify_games(games, matcher=matcher, listener=listener):
        counts.add(game, found)
    return counts


def classify_games(
    games: Games, *, matcher: Matcher | None = None, listener: Listener = SILENT
) -> Iterator[tuple[Game, Classification]]:
    """Games with their strategies, one at a time; games without moves are skipped with a note.

    Args:
        games: Games with moves; see `fukayomi.arena.results.game_input.Games`.
        matcher: Matcher with other definitions than the package's own.
        listener: Gets the number of classified games, and a note for each file or game that cannot be used.

    Raises:
        ValueError: No game could be read.
    """
    matcher = matcher or default_matcher()
    for number, game in enumerate(iterate_games(games, listener=listener), 1):
        if number % PROGRESS_EVERY == 0:
            listener.progress("classifying", number, None)
        if game.moves is None:
            listener.note(f"{game.name}: no moves")
            continue
        yield game, matcher.classify(game.initial_sfen, game.moves)


@cache
def default_matcher() -> Matcher:
    """The matcher of the package's own definitions."""
    return Matcher(load_definitions())
