"""The answer to `go`: a declaration, a move of the book, the best move or a random good one, a resignation."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi._native import MAX_MOVES, SearchLine
from fukayomi.book import BookError, BookMove, BookReader
from fukayomi.engine.control import Clock, Limits, budget
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import BLACK, DeclarationRule, Move, Position
from fukayomi.usi.text import RESIGN, WIN, BestMove, Go, Info, UsiScore, shorten

if TYPE_CHECKING:
    from fukayomi.engine.search import SearchResult


LEAST_TEMPERATURE = 0.1


@dataclass(frozen=True, slots=True)
class RandomRule:
    """Rule for the choice among the moves of a search."""

    temperature: float
    """A move is chosen with a probability proportional to visits^(1/temperature)."""
    cutoff: float
    """Only moves whose win rate is lower than the best one's by at most this much are chosen."""
    probability: float = 1.0
    """Probability that a move is chosen at random at all."""
    value_limit: float = 1.0
    """From this win rate on the best move is played."""


def random_rule(settings: UsiSettings, ply: int) -> RandomRule | None:
    """The rule for a move; None if the best one is to be played.

    Up to Random_Ply moves are always chosen at random; temperature and cutoff fall by their drops with each move of
    the same side. After that, up to Random2_Ply, they are chosen at random with Random2_Probability.

    Args:
        settings: The options.
        ply: Number of the move, from 1.
    """
    if ply <= settings.random_ply:
        step = (ply - 1) // 2
        temperature = settings.random_temperature - settings.random_temperature_drop * step
        cutoff = settings.random_cutoff - settings.random_cutoff_drop * step
        return RandomRule(max(LEAST_TEMPERATURE, temperature / 1000), max(0, cutoff) / 1000)
    if ply <= settings.random2_ply:
        return RandomRule(
            max(LEAST_TEMPERATURE, settings.random2_temperature / 1000),
            settings.random2_cutoff / 1000,
            settings.random2_probability / 1000,
            settings.random2_value_limit / 1000,
        )
    return None


class RandomMoves:
    """Chooses moves at random. Random_Seed begins a sequence of choices that goes on through all games.

    The moves are among the good ones, as dlshogi's options Random_* and Random2_* say, so that games differ.
    """

    def __init__(self) -> None:
        self._seed = 0
        self._random = random.Random()

    def choose(self, result: "SearchResult", position: Position, settings: UsiSettings) -> "SearchResult":
        """The result with the chosen line in the first place, if the rule for this move does not choose the best one.

        A mate that is found is played, and a move that is mated is not.
        """
        rule = random_rule(settings, position.ply)
        if rule is None or not result.lines or result.lines[0].mate is not None:
            return result
        source = self.source(settings.random_seed)
        if result.lines[0].winrate >= rule.value_limit or source.random() >= rule.probability:
            return result
        chosen = _draw(result.lines, rule, source)
        lines = (chosen, *(line for line in result.lines if line is not chosen))
        ponder = chosen.pv[1] if len(chosen.pv) > 1 else None
        return replace(result, best=chosen.move, ponder=ponder, progress=replace(result.progress, lines=lines))

    def source(self, seed: int) -> random.Random:
        """The source of random numbers. With the seed 0 each process has another one."""
        if seed != self._seed:
            self._seed = seed
            self._random = random.Random(seed or None)
        return self._random


def _draw(lines: Sequence[SearchLine], rule: RandomRule, source: random.Random) -> SearchLine:
    best = lines[0]
    least = best.winrate - rule.cutoff
    good = [line for line in lines if line.visits > 0 and line.mate is None and line.winrate >= least]
    if not good:
        return best
    most = max(line.visits for line in good)
    weights = [(line.visits / most) ** (1 / rule.temperature) for line in good]
    return source.choices(good, weights)[0]


NO_BOOK = ("", "no_book")
"""Values of Book_File that name none; "no_book" is YaneuraOu's."""


@dataclass(frozen=True, slots=True)
class Found:
    """Result of looking up a position in the book."""

    move: BookMove | None = None
    """The move to play, with an answer to expect if the book has one."""
    problems: tuple[str, ...] = ()
    """Problems of the book there."""


class OpeningBook:
    """Keeps the book open that the options name. One thread at a time may use it.

    The book (定跡) is asked before each search.
    """

    def __init__(self) -> None:
        self._path: Path | None = None
        self._book: BookReader | None = None
        self._version: object = None

    def needs_opening(self, settings: UsiSettings) -> bool:
        """True if the options name another book than the one that is open, or its file was replaced."""
        return _path(settings) != self._path or self.is_replaced()

    def is_replaced(self) -> bool:
        """True if the file of the open book was replaced, or came to be; while there is none the old one stays open."""
        return self._path is not None and _version(self._path) not in (None, self._version)

    def open(self, settings: UsiSettings) -> str | None:
        """Open the book that the options name, if any. This may take seconds, if it is large and not sorted.

        Returns:
            Why it cannot be used.
        """
        self.close()
        self._path = _path(settings)
        if self._path is None:
            return None
        self._version = _version(self._path)
        try:
            self._book = BookReader.open(self._path)
        except BookError as error:
            return f"no book: {error}"
        except (OSError, ValueError) as error:  # ValueError: a name with a NUL
            reason = getattr(error, "strerror", None) or error
            return f"no book: cannot read {shorten(str(self._path.absolute()))}: {reason}"
        return None

    def close(self) -> None:
        """Close the book."""
        if self._book is not None:
            self._book.close()
        self._path, self._book, self._version = None, None, None

    def find(self, position: Position, settings: UsiSettings, source: random.Random) -> Found:
        """Choose a move of the book, as the options say.

        Args:
            position: The position with its past.
            settings: The options.
            source: Source of random numbers.
        """
        if self._book is None:
            return Found()
        if settings.book_ignore_rate and source.random() * 100 < settings.book_ignore_rate:
            return Found()
        try:
            problems = self._book.look_up(position, flipped=settings.flipped_book).problems
            move = self._choose(self._book, position, settings, source)
            if move is not None and move.ponder is None:
                after = position.copy()
                after.push(move.move)
                reply = self._choose(self._book, after, settings, source)
                move = move if reply is None else replace(move, ponder=reply.move)
        except OSError as error:
            return Found(problems=(f"cannot read {self._path}: {error.strerror or error}",))
        return Found(move, problems)

    @staticmethod
    def _choose(book: BookReader, position: Position, settings: UsiSettings, source: random.Random) -> BookMove | None:
        return book.choose(
            position,
            settings.book_limits(),
            by=settings.book_choice,
            draw_cp=settings.draw_cp(position.turn) if settings.book_consider_draw else None,
            draw_depth=settings.book_consider_draw_depth,
            source=source,
            flipped=settings.flipped_book,
        )


def _version(path: Path) -> object:
    """What changes when a file is written or replaced; None if there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _path(settings: UsiSettings) -> Path | None:
    """The file that the options name; None if no book is to be used."""
    if not settings.own_book or settings.book_file in NO_BOOK:
        return None
    try:
        return Path(settings.book_dir, settings.book_file).expanduser()
    except RuntimeError:  # no such user
        return Path(settings.book_dir, settings.book_file)


@dataclass(frozen=True, slots=True)
class Known:
    """Results that are known before a search."""

    answer: BestMove | None = None
    """The answer, if no search is needed."""
    infos: tuple[Info, ...] = ()
    """Info lines to report."""


def declared_win(position: Position, rule: DeclarationRule) -> str | None:
    """Answer of the side to move if the rule lets it win at once: ``win``, under the try rule a move; else None."""
    if rule is DeclarationRule.TRY:
        move = position.try_move()
        return None if move is None else move.usi()
    return WIN if position.can_declare_win(rule) else None


class MoveChoice:
    """Chooses the moves of one game after the other. It remembers what the choice depends on beside the search."""

    def __init__(self) -> None:
        self.book = OpeningBook()
        """The opening book."""
        self._resignation = _Resignation()
        self._random = RandomMoves()

    def declaration(self, position: Position, settings: UsiSettings) -> Known:
        """The declaration of a win (入玉宣言), or the king's move that wins by the try rule, if the rules allow it."""
        answer = declared_win(position, settings.declaration_rule())
        return Known() if answer is None else Known(BestMove(answer))

    def known(self, position: Position, settings: UsiSettings) -> Known:
        """The answer to `go` if it needs no search: a declaration, or a move of the book.

        Args:
            position: The position of the game, with both kings.
            settings: The options.
        """
        declaration = self.declaration(position, settings)
        if declaration.answer is not None:
            return declaration
        found = self.book.find(position, settings, self._random.source(settings.random_seed))
        infos = [Info(string=f"book: {problem}") for problem in found.problems]
        move = found.move
        if move is None:
            return Known(None, tuple(infos))
        ponder = None if move.ponder is None else move.ponder.usi()
        answer = BestMove(move.move.usi(), None if settings.ponders_stochastically else ponder)
        infos += [
            Info(string="a move of the book"),
            Info(
                depth=move.depth,
                multipv=1 if settings.multipv > 1 else None,
                score=None if move.score_cp is None else UsiScore(cp=move.score_cp),
                nodes=0,
                time_ms=0,
                pv=(answer.move,) if ponder is None else (answer.move, ponder),
            ),
        ]
        return Known(answer, tuple(infos))

    def lines_needed(self, position: Position, settings: UsiSettings) -> int:
        """Number of lines that a search must return: MultiPV, or all if the move may be chosen at random."""
        return settings.multipv if random_rule(settings, position.ply) is None else MAX_MOVES

    def choose(
        self, position: Position, result: "SearchResult", settings: UsiSettings
    ) -> tuple[BestMove, "SearchResult"]:
        """Answer with a move of the game. Every move is asked about, so that the beginning of the game is known.

        Args:
            position: The position of the game.
            result: What the search found.
            settings: The options.

        Returns:
            The answer, and the result with the line that is played in the first place.
        """
        resigns = self._resignation.is_due(position, result, settings.resign_threshold)
        played = self._random.choose(result, position, settings)
        return best_move(played, settings, resigns=resigns), played


class _Resignation:
    """Decides whether to give a game up: below Resign_Threshold, unless it was lost when the engine took it over.

    A handicap game, or any start that was given away, is played on until mate is proven.
    """

    def __init__(self) -> None:
        self._game: tuple[str, list[Move]] | None = None
        self._was_lost = False

    def is_due(self, position: Position, result: "SearchResult", threshold: int) -> bool:
        """True if the engine should resign. Every move of a game is asked about, so that its beginning is known.

        Args:
            position: The position of the game; a game begins where it does not continue the last one.
            result: What the search found.
            threshold: Win rate below which a game is lost, per mille.
        """
        if not result.lines:
            return False
        best = result.lines[0]
        is_lost = best.winrate * 1000 < threshold
        game = position.start_sfen(), position.moves
        if self._game is None or game[0] != self._game[0] or game[1][: len(self._game[1])] != self._game[1]:
            self._was_lost = is_lost
        self._game = game
        return is_lost and (not self._was_lost or best.mate is not None)


def best_move(result: "SearchResult", settings: UsiSettings, *, resigns: bool = False) -> BestMove:
    """The answer with the best move; a mated side resigns.

    Args:
        result: What the search found.
        settings: With Stochastic_Ponder no move to ponder is named.
        resigns: Give the game up.
    """
    if result.best is None or resigns:
        return BestMove(RESIGN)
    ponder = None if settings.ponders_stochastically or result.ponder is None else result.ponder.usi()
    return BestMove(result.best.usi(), ponder)


def has_limits(go: Go, settings: UsiSettings) -> bool:
    """True if the search ends by itself: by the command's limits, or by Const_Playout."""
    return not go.infinite and (go.has_limits() or settings.const_playout > 0)


def limits_of(go: Go, position: Position, settings: UsiSettings, late_ms: float = 0.0) -> Limits:
    """The limits of a search that ends by itself: Const_Playout if it is set, otherwise those of the command.

    Args:
        go: The command.
        position: The position to search; its side to move has the clock.
        settings: Const_Playout, and how the clock is used.
        late_ms: How late answers have been (`clock.Lateness`).
    """
    stops_when_clear = settings.early_stop_nodes and settings.multipv == 1
    if settings.const_playout:
        return Limits(nodes=settings.const_playout, stops_when_clear=stops_when_clear)
    time_budget = budget(_clock(go, position), position.ply, settings.margins(late_ms), settings.time_shares)
    if time_budget is None and go.nodes is None and go.depth is None:
        return Limits(nodes=1)  # times without meaning, such as byoyomi 0
    return Limits(
        budget=time_budget,
        nodes=go.nodes,
        depth=go.depth,
        stops_when_clear=stops_when_clear,
        min_kld_gain=settings.kld_min_gain / 1e9,
        instability=settings.time_instability / 100,
    )


def _clock(go: Go, position: Position) -> Clock:
    """The clock of the side to move. If only the other side's clock was given, ours has run out."""
    is_black = position.turn == BLACK
    remaining = go.btime_ms if is_black else go.wtime_ms
    if remaining is None and (go.btime_ms is not None or go.wtime_ms is not None):
        remaining = 0
    return Clock(
        remaining_ms=remaining,
        byoyomi_ms=go.byoyomi_ms or 0,
        increment_ms=(go.binc_ms if is_black else go.winc_ms) or 0,
        movetime_ms=go.movetime_ms,
    )
