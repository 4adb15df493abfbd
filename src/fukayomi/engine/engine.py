"""A search with its tree: the engine for scripts, notebooks and matches in this process."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fukayomi._native import SearchLine, SearchParams
from fukayomi.engine.analysis.analyser import analyse_record
from fukayomi.engine.analysis.game_analysis import GameAnalysis
from fukayomi.engine.answer.move_choice import MoveChoice, has_limits, limits_of
from fukayomi.engine.answer.output import search_infos
from fukayomi.engine.control import Control, Lateness, Limits
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.network import Network
from fukayomi.engine.search import Searcher, SearchResult, rows_of
from fukayomi.engine.settings import ANALYSIS_CANDIDATES, UsiSettings
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Move, Position
from fukayomi.shogi.formats import is_usi_position, read_record
from fukayomi.shogi.record import Record, RecordedMove
from fukayomi.tabular import Tabular, counted
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.engine import check_limits
from fukayomi.usi.options import declared_options, value_of
from fukayomi.usi.text import BestMove, Go, Info

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.protocol import NetworkModel


class Engine:
    """Searches positions and analyses games with a network.

    The search tree is kept from one position to the next: what the search already knows is used again if the game goes
    on. One search runs at a time; several engines may share a `Network`. Close the engine, or use it in a `with`
    statement.

        >>> from fukayomi.engine import Engine
        >>> from fukayomi.shogi import Position
        >>> with Engine() as engine:
        ...     result = engine.search(Position(), nodes=100)
        >>> result.best in Position().legal_moves
        True

    Args:
        network: A `Network`, which stays open when the engine is closed, or the first argument of `Network`: a file, a
            module in torch, or several that search together. By default a network that comes with the package.
        memory_mb: Memory of the tree in MiB, 16 or more.
        settings: Options of the search and of the game; by default those that the network suggests. Those of the
            network itself have no effect.
        params: Parameters of the search in place of those of the settings (`settings.search_params()`), for what is no
            option: Gumbel search, noise, forced playouts.
        shares_batches: Let other engines with the same network have part of each batch, if they share too. Searches
            that run at once are then faster together, but what they find depends on each other.
        evaluations_per_s: Count time in evaluations: so many are a second. Settings of the clock can then be compared
            on a busy machine, and `choose` tells what a move took. None: time is read from the clock.

    Raises:
        EvaluatorError: The network cannot be loaded.
        ValueError: The book that the settings name cannot be used.
    """

    def __init__(
        self,
        network: "Network | NetworkModel | Sequence[NetworkModel] | None" = None,
        *,
        memory_mb: int | None = None,
        settings: UsiSettings | None = None,
        params: SearchParams | None = None,
        shares_batches: bool = False,
        evaluations_per_s: float | None = None,
    ) -> None:
        self._owns_network = not isinstance(network, Network)
        self.network = network if isinstance(network, Network) else Network(network)
        settings = settings or self.network.settings
        self.settings = settings if memory_mb is None else replace(settings, hash_mb=memory_mb)
        self._evaluations_per_s = evaluations_per_s
        self._control: Control | None = None
        self._choice = MoveChoice()
        self._lateness = Lateness()
        problem = self._choice.book.open(self.settings)
        if problem is not None:
            raise InvalidValueError(problem)
        self._searcher = Searcher(
            self.network.pool,
            self.settings.search_params() if params is None else params,
            memory_mb=self.settings.hash_mb,
            node_limit=self.settings.node_limit,
            reuse=self.settings.reuse_subtree,
            batch_visits=self.settings.batch_visits,
            shares_batches=shares_batches,
        )

    def search(
        self,
        position: Position | str,
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        multipv: int = 1,
        moves: Iterable[Move | str] | None = None,
        compare: Iterable[Move | str] = (),
        listener: Listener = SILENT,
    ) -> SearchResult:
        """Search a position.

        Args:
            position: The position with the moves that led to it, which repetition needs; or its text, as `Position`
                takes it: an SFEN, or "startpos moves 7g7f".
            nodes: Maximum number of positions to evaluate.
            time_ms: Maximum search time (ms). One of the two limits is needed.
            multipv: Number of lines to report.
            moves: The only moves to consider, with a new tree, in USI notation or as moves; None: all legal moves.
            compare: Moves that get all visits of this search, each the same number; the rest of the tree is kept. So
                moves can be compared that the search itself would not visit much.
            listener: Told of the nodes evaluated so far, twice a second.

        Returns:
            The best move and its line. If the side to move is mated there are none.

        Raises:
            EvaluatorError: The network failed.
            ValueError: No limit is given, a number is below 1, `moves` is empty, or one of the moves is not legal.
        """
        check_limits(multipv, nodes=nodes, time_ms=time_ms)
        root = as_position(position)
        search_moves = () if moves is None else _moves(moves)
        if moves is not None and not search_moves:
            raise InvalidValueError("moves is empty: there is nothing to search")
        compared = _moves(compare)
        control = self._control = self._new_control(Limits(nodes=nodes, time_ms=time_ms))

        def search(control: Control) -> SearchResult:
            return self._searcher.search(
                root,
                control,
                search_moves=search_moves,
                compare=compared,
                multipv=multipv,
                report=lambda progress: listener.progress("nodes", progress.nodes, nodes),
            )

        result = search(control)
        if result.best is not None and not result.lines and result.error is None:  # no evaluation came in time
            result = search(Control(Limits(nodes=1)))
        taught = self._searcher.teaching()
        total = sum(weight for _, weight in taught)
        return replace(_checked(result), policy={move: weight / total for move, weight in taught})

    def tree(self, position: Position | str) -> "TreeNode":
        """What the tree of the last search knows of a position: the root, or one that it has reached.

            >>> from fukayomi import Engine
            >>> with Engine() as engine:
            ...     result = engine.search("startpos", nodes=200)
            ...     answers = engine.tree(f"startpos moves {result.best.usi()}")
            >>> answers.best == result.lines[0].pv[1]
            True
            >>> sum(line.visits for line in answers.lines) == result.lines[0].visits - 1
            True

        Args:
            position: The position with the moves from the one that was searched, or its text, as in `search`.

        Raises:
            ValueError: The search has not reached the position, or has not gone on from it.
        """
        wanted = as_position(position)
        lines = self._searcher.lines_of(wanted)
        if not lines:
            raise InvalidValueError(
                f"the tree has no moves of {wanted.usi()}: the last search began elsewhere, or did not get so far"
            )
        return TreeNode(wanted, tuple(lines))

    def analyse(
        self,
        game: Record | Position | str | Path,
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        multipv: int = ANALYSIS_CANDIDATES,
        first: int = 1,
        last: int | None = None,
        known: GameAnalysis | None = None,
        listener: Listener = SILENT,
    ) -> GameAnalysis:
        """Analyse a game (棋譜解析): search every position and judge every move.

        Args:
            game: A record, a file with one, or a position with the moves that led to it, also as text ("startpos moves
                7g7f 3c3d").
            nodes: Maximum number of positions to evaluate for each position, on average over a game with moves.
            time_ms: Maximum search time (ms), in the same way. Without any limit: `Network.analysis_nodes` or 350 ms
                per position, whichever comes first.
            multipv: Number of candidates to keep for each position.
            first: First ply to judge, from 1.
            last: Last ply to judge; None: the last of the game.
            known: An analysis of the same game by the same network, to go on with: what it has is kept, and positions
                that were searched with these limits or higher ones are not searched again.
            listener: Told of each position that has been searched.

        Raises:
            EvaluatorError: The network failed.
            ValueError: The file is not a record, the game begins from a position without both kings, or `known` is of
                another game or network.
            OSError: The file cannot be read.
        """
        record, engine = _record(game), str(self.network)
        if known is not None and not (known.engine == engine and known.is_of_game(record)):
            raise InvalidValueError("known is the analysis of another game, or by another network")
        limits = self.network.analysis_limits(nodes, time_ms, multipv)
        return analyse_record(
            record, self.search, first, last, engine=engine, limits=limits, known=known, listener=listener
        )

    # ------------------------------------------------------------------------------------------ playing

    @property
    def identity(self) -> str:
        """The network and the options that differ from their defaults: what plays, in one line."""
        usual = UsiSettings(model=self.settings.model)
        changed = (
            f"{option.name}={value_of(self.settings, place)}"
            for place, option in declared_options(self.settings)
            if value_of(self.settings, place) != value_of(usual, place)
        )
        return " ".join((self.network.identity, *changed))

    def new_game(self) -> None:
        """Forget the tree, and read the book again if its file was replaced.

        Raises:
            ValueError: The new book cannot be used.
        """
        self._searcher.clear()
        if self._choice.book.is_replaced() and (problem := self._choice.book.open(self.settings)) is not None:
            raise InvalidValueError(problem)

    def choose(self, position: Position, go: Go) -> SearchAnswer:
        """Choose a move in a game, as the USI engine answers `go`: it may resign, or declare a win.

        After answers that came late, because other programs or threads use the cores, clocks are used more carefully.

        Args:
            position: The position with the moves that led to it.
            go: Limits or clocks. Without any the search ends only by `stop`.

        Raises:
            EvaluatorError: The network failed.
        """
        settings = self.settings
        known = self._choice.known(position, settings)
        if known.answer is not None:
            return _answer(known.answer, known.infos)
        limits = Limits(until_stopped=True)
        if has_limits(go, settings):
            limits = limits_of(go, position, settings, self._lateness.ms)
        control = self._control = self._new_control(limits)
        multipv = self._choice.lines_needed(position, settings)
        mates = settings.mate_options()
        result = _checked(self._searcher.search(position, control, multipv=multipv, mates=mates))
        answer, result = self._choice.choose(position, result, settings)
        if control.due_s is not None and control.reads_clock:
            self._lateness.note(time.monotonic() - control.due_s)
        seconds = control.now_s(result.progress.evaluations) - control.started_s
        return _answer(answer, search_infos(result.progress, settings), seconds)

    def _new_control(self, limits: Limits) -> Control:
        return Control(limits, evaluations_per_s=self._evaluations_per_s)

    def stop(self) -> None:
        """End the running search now, from another thread; it answers with the best move so far."""
        if self._control is not None:
            self._control.stop()

    def close(self) -> None:
        """Free the tree, and the network if the engine has loaded it itself."""
        self._searcher.close()
        self._choice.book.close()
        if self._owns_network:
            self.network.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Engine with {self.network}>"


def analyse(
    game: Record | Position | str | Path,
    *,
    nodes: int | None = None,
    time_ms: int | None = None,
    multipv: int = ANALYSIS_CANDIDATES,
    first: int = 1,
    last: int | None = None,
    known: GameAnalysis | None = None,
    network: "Network | NetworkModel | None" = None,
    listener: Listener = SILENT,
) -> GameAnalysis:
    """Analyse a game (棋譜解析): search every position and judge every move.

        >>> from fukayomi.engine import analyse
        >>> from fukayomi.shogi import Position
        >>> analysis = analyse(Position.from_usi("startpos moves 7g7f 3c3d 2g2f"), nodes=10)
        >>> [move.japanese for move in analysis.moves]
        ['☗７六歩', '☖３四歩', '☗２六歩']
        >>> analysis.plot().savefig("evaluation.png")  # doctest: +SKIP

    Args:
        game: A record, a file with one, or a position with the moves that led to it, also as text ("startpos moves 7g7f
            3c3d").
        nodes: Maximum number of positions to evaluate for each position, on average over a game with moves.
        time_ms: Maximum search time (ms), in the same way. Without any limit: `Network.analysis_nodes` or 350 ms per
            position, whichever comes first.
        multipv: Number of candidates to keep for each position.
        first: First ply to judge, from 1.
        last: Last ply to judge; None: the last of the game.
        known: An analysis of the same game by the same network, to go on with: what it has is kept, and positions that
            were searched with these limits or higher ones are not searched again.
        network: A `Network`, or the first argument of `Network`, such as a file. By default the network that comes
            with the package.
        listener: Told of each position that has been searched.

    Returns:
        The analysis: print it, plot it, save it, or turn it into a DataFrame.

    Raises:
        EvaluatorError: The network cannot be loaded, or failed.
        ValueError: The file is not a record, the game begins from a position without both kings, or `known` is of
            another game or network.
        OSError: The file cannot be read.
    """
    with Engine(network) as engine:
        return engine.analyse(
            game, nodes=nodes, time_ms=time_ms, multipv=multipv, first=first, last=last, known=known, listener=listener
        )


@dataclass(frozen=True, repr=False)
class TreeNode(Tabular):
    """A position of a search tree; `Engine.tree` returns it. As a table it has one row per move, the best first."""

    position: Position
    """The position with its past."""
    lines: tuple[SearchLine, ...]
    """The moves as in `SearchResult.lines`, seen by the side to move; those without visits last."""

    @property
    def best(self) -> Move:
        """The best move."""
        return self.lines[0].move

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per move, as in `SearchResult.rows`."""
        return rows_of(self.lines)

    def __repr__(self) -> str:
        visited = sum(line.visits > 0 for line in self.lines)
        return f"<TreeNode: {self.best.usi()}, {visited} of {counted(len(self.lines), 'move')} visited>"


def as_position(position: Position | str) -> Position:
    """The position, which may be given as text."""
    return Position(position) if isinstance(position, str) else position


def _moves(moves: Iterable[Move | str]) -> tuple[Move, ...]:
    """Moves that may be given in USI notation."""
    return tuple(Move.from_usi(move) if isinstance(move, str) else move for move in moves)


def _checked(result: SearchResult) -> SearchResult:
    """The result, unless the network failed.

    Raises:
        EvaluatorError: It did.
    """
    if result.error is not None:
        raise EvaluatorError(f"the network failed: {result.error}") from result.error
    return result


def _answer(bestmove: BestMove, infos: Sequence[Info] = (), seconds: float = 0.0) -> SearchAnswer:
    return SearchAnswer(bestmove, None, tuple(infos), seconds)


def _record(game: Record | Position | str | Path) -> Record:
    if isinstance(game, Record):
        return game
    if isinstance(game, str) and is_usi_position(game):
        game = Position(game)
    if isinstance(game, Position):
        return Record(initial_sfen=game.start_sfen(), moves=[RecordedMove(move) for move in game.moves])
    return read_record(game)
