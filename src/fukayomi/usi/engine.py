"""A USI engine for scripts and notebooks."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from fukayomi._native import MATE_CP
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import START_SFEN, Move, Position, ShogiError
from fukayomi.tabular import Tabular
from fukayomi.usi.client import SearchAnswer, UsiClient
from fukayomi.usi.options import Option, OptionError
from fukayomi.usi.text import MOVE, Go, Info, shorten

TIMEOUT_S = 60.0
"""Time for an engine to start, and to answer after its time."""
UNLIMITED_S = 1e8
"""Three years: nodes and depth alone may take any time."""


@dataclass(frozen=True, slots=True)
class UsiLine:
    """One of the moves that an engine found, with its score and continuation."""

    move: Move
    cp: int | None
    """Centipawns from the point of view of the side to move; None for a mate, or without a score."""
    mate: int | None
    """Plies to mate; negative if the side to move is mated; None without a mate."""
    depth: int | None
    nodes: int | None
    pv: tuple[Move, ...]
    """The expected moves, `move` first."""

    @property
    def eval_cp(self) -> int:
        """The score as training data has it: a mate is `MATE_CP` centipawns, whatever its length; 0 without a score."""
        if self.mate is not None:
            return MATE_CP if self.mate > 0 else -MATE_CP
        return max(1 - MATE_CP, min(MATE_CP - 1, self.cp or 0))


@dataclass(frozen=True)
class UsiResult(Tabular):
    """Answer of an engine: a table of its lines, best first."""

    answer: str
    """The move as USI text, ``resign``, or ``win`` (a declaration win)."""
    lines: tuple[UsiLine, ...]
    """Up to `multipv` lines; empty if the engine sent no scores."""
    seconds: float
    """From ``go`` to the arrival of the answer."""

    @classmethod
    def of(cls, answer: SearchAnswer, position: Position) -> Self:
        """Result of an answer about a position: lines that begin with an illegal move are left out."""
        final = answer.final_infos(needs_pv=True)
        lines = [_line(final[number], position) for number in sorted(final)]
        word = answer.bestmove.move if answer.bestmove is not None else ""
        return cls(word, tuple(line for line in lines if line is not None), answer.seconds)

    @property
    def best(self) -> Move | None:
        """The best move; None if the engine resigns or declares a win."""
        return Move.from_usi(self.answer) if MOVE.fullmatch(self.answer) else None

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per line."""
        return [
            {
                "move": line.move.usi(),
                "cp": line.cp,
                "mate": line.mate,
                "depth": line.depth,
                "nodes": line.nodes,
                "pv": " ".join(move.usi() for move in line.pv),
            }
            for line in self.lines
        ]


class UsiEngine:
    """A USI engine in a process of its own. It starts with the first search; close it, or use it in a `with` statement.

        >>> from fukayomi import Position, UsiEngine
        >>> with UsiEngine("fairy-stockfish", options={"UCI_Variant": "shogi"}) as engine:  # doctest: +SKIP
        ...     result = engine.search(Position(), time_ms=1000, multipv=3)
        >>> result.best  # doctest: +SKIP
        Move.from_usi('2g2f')

    `play_match` takes it too, and starts processes of its own.

    Args:
        command: Program and arguments, as one text or as a list.
        options: USI options, sent before the first search.
        directory: Working directory; None: the current one.
        timeout_s: Seconds to wait for the engine to start, and for an answer that is late.
        undeclared_options: Send options and values all the same that the engine does not declare. Otherwise the first
            search raises ValueError, with the nearest name.

    Raises:
        ValueError: The command is empty, or a quote in it is not closed.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        options: Mapping[str, str | int | bool] | None = None,
        directory: str | Path | None = None,
        timeout_s: float = TIMEOUT_S,
        undeclared_options: bool = False,
    ) -> None:
        try:
            self.command = tuple(split_words(command) if isinstance(command, str) else command)
        except ValueError as error:
            raise InvalidValueError(f"{command!r} is not a command: {error}") from error
        if not self.command or not self.command[0].strip():
            raise InvalidValueError(f"{command!r} is not a command: it names no program")
        self.options = {name: option_text(value) for name, value in (options or {}).items()}
        self.directory = None if directory is None else Path(directory)
        self.undeclared_options = undeclared_options
        self._timeout_s = timeout_s
        self._client: UsiClient | None = None
        self._multipv = ""

    @property
    def name(self) -> str:
        """The name that the engine reports."""
        return self._started().name

    @property
    def author(self) -> str:
        """The author that the engine reports."""
        return self._started().author

    @property
    def declared_options(self) -> Mapping[str, Option]:
        """The options that the engine declares, by name."""
        return self._started().options

    def search(
        self,
        position: Position,
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        depth: int | None = None,
        multipv: int = 1,
    ) -> UsiResult:
        """Search a position.

        Args:
            position: The position with the moves that led to it.
            nodes: Node limit (``go nodes``).
            time_ms: Milliseconds to search (``go movetime``).
            depth: Depth limit (``go depth``). One of the three limits is needed.
            multipv: Number of lines.

        Raises:
            ValueError: No limit is given, a number is below 1, the engine has no MultiPV, or it does not declare one of
                the options (OptionError).
            EngineError: The engine does not start, dies, or does not answer; the next search starts it again.
        """
        check_limits(multipv, nodes=nodes, time_ms=time_ms, depth=depth)
        client = self._started()
        self._set_multipv(client, multipv)
        try:
            start_sfen = position.start_sfen()
            moves = [move.usi() for move in position.moves]
            client.position(None if start_sfen == START_SFEN else start_sfen, moves)
            client.start_go(Go(nodes=nodes, movetime_ms=time_ms, depth=depth))
            answer = client.wait_answer(UNLIMITED_S if time_ms is None else time_ms / 1000 + self._timeout_s)
        except BaseException:  # Ctrl-C, too: the engine is somewhere in a search
            self._end(0)
            raise
        return UsiResult.of(answer, position)

    def new_game(self) -> None:
        """Tell the engine that the next position belongs to another game."""
        client = self._started()
        client.wait_ready(self._timeout_s)
        client.new_game()

    def close(self) -> None:
        """End the process. The next search starts it again."""
        self._end(None)

    def __enter__(self) -> Self:
        self._started()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"UsiEngine({shlex.join(self.command)!r})"

    def _started(self) -> UsiClient:
        if self._client is None:
            client = self._client = UsiClient(self.command, self.directory, timeout_s=self._timeout_s)
            try:
                client.handshake()
                self._set_options(client)
                declared = client.options.get("MultiPV")
                given = next((text for name, text in self.options.items() if name.lower() == "multipv"), "")
                self._multipv = given or (declared.default if declared else "") or "1"
                client.wait_ready(self._timeout_s)
                client.new_game()
            except BaseException:
                self._end(0)
                raise
        return self._client

    def _set_options(self, client: UsiClient) -> None:
        try:
            client.set_options(self.options, undeclared=self.undeclared_options, ready_timeout_s=self._timeout_s)
        except OptionError as error:
            raise OptionError(f"{shorten(client.name) or self.command[0]}: {error}") from error

    def _set_multipv(self, client: UsiClient, multipv: int) -> None:
        if str(multipv) == self._multipv:
            return
        if "MultiPV" not in client.options:
            raise InvalidValueError(f"{client.name or self.command[0]} has no option MultiPV")
        self._multipv = str(multipv)
        client.set_option("MultiPV", self._multipv)

    def _end(self, timeout_s: float | None) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout_s)


def check_limits(multipv: int, **limits: int | None) -> None:
    """Check the arguments of a search.

    Args:
        multipv: Number of lines.
        limits: The limits of the search by name; None: not limited.

    Raises:
        ValueError: There is no limit, or a number is below 1.
    """
    if all(value is None for value in limits.values()):
        *others, last = (f"{name}=..." for name in limits)
        raise InvalidValueError(f"a search needs a limit: {', '.join(others)} or {last}")
    for name, value in (*limits.items(), ("multipv", multipv)):
        if value is not None and value < 1:
            raise InvalidValueError(f"{name} must be at least 1, not {value}")


def split_words(command: str, folder: Path | None = None) -> list[str]:
    """Split a command line into words. The path of a program is one word, whether spaces in it are quoted or not.

    Args:
        command: Program and arguments; spaces inside an argument need quotes, and so do those in a path before one.
        folder: Folder of a relative path; None: the current one.

    Raises:
        ValueError: A quote is not closed.
    """
    if os.path.isfile((folder or Path()) / command):  # noqa: PTH113 - Path.is_file raises where the text is no path
        return [command]
    if os.name == "posix":
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]


def option_text(value: str | int | float | bool) -> str:
    """The value of an option as USI text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line(info: Info, position: Position) -> UsiLine | None:
    """A line as far as it is legal; None if its first move is not."""
    after = position.copy()
    pv: list[Move] = []
    for text in info.pv:
        try:
            pv.append(after.push_usi(text))
        except ShogiError:
            break
    if not pv:
        return None
    score = info.score
    assert score is not None
    return UsiLine(pv[0], score.cp, score.mate, info.depth, info.nodes, tuple(pv))
