"""USI, the protocol between a shogi GUI and an engine: parsing and writing its lines, no I/O.

Moves are text here ("7g7f"); whether they are legal is not checked. Specification:
http://shogidokoro.starfree.jp/usi.html. Unknown tokens are skipped, as the protocol demands, and kept in ``ignored`` so
that an engine can report them.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from fukayomi.errors import InvalidValueError

MOVE = re.compile(r"[1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i]")
RESIGN = "resign"
WIN = "win"
"""The move that declares a win (入玉宣言勝ち)."""


class UsiTextError(InvalidValueError):
    """A line that is not USI. The message quotes it and names the problem."""


# ---------------------------------------------------------------------------------------------- GUI -> engine


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A command without arguments: usi, isready, usinewgame, stop, quit."""

    name: str

    def text(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class SetOption:
    """``setoption name NAME [value VALUE]``; a button has no value."""

    name: str
    value: str | None = None

    def text(self) -> str:
        if self.value is None:
            return f"setoption name {self.name}"
        return f"setoption name {self.name} value {self.value or '<empty>'}"


@dataclass(frozen=True, slots=True)
class SetPosition:
    """``position {startpos | sfen ...} [moves ...]``; ``sfen`` is None for the start position."""

    sfen: str | None = None
    moves: tuple[str, ...] = ()

    def text(self) -> str:
        start = "startpos" if self.sfen is None else f"sfen {self.sfen}"
        return f"position {start} moves {' '.join(self.moves)}" if self.moves else f"position {start}"


@dataclass(frozen=True, slots=True)
class Go:
    """``go`` with its limits. None: not given."""

    ponder: bool = False
    """Search in the opponent's time, until ``ponderhit`` or ``stop``."""
    infinite: bool = False
    """Search until ``stop``."""
    btime_ms: int | None = None
    """Black's remaining time."""
    wtime_ms: int | None = None
    """White's remaining time."""
    byoyomi_ms: int | None = None
    """Byoyomi (秒読み), time per move after the remaining time has run out."""
    binc_ms: int | None = None
    """Black's increment per move."""
    winc_ms: int | None = None
    """White's increment per move."""
    movetime_ms: int | None = None
    """Time for this move."""
    nodes: int | None = None
    """Maximum number of nodes."""
    depth: int | None = None
    """Maximum depth."""
    mate: bool = False
    """Solve the position as a mate problem."""
    mate_ms: int | None = None
    """Time for the mate problem; None: no limit."""
    searchmoves: tuple[str, ...] = ()
    """The only moves to search; all if empty."""
    ignored: tuple[str, ...] = field(default=(), compare=False)
    """Unknown tokens."""

    def has_limits(self) -> bool:
        """True if anything but ``stop`` ends the search."""
        limits = (self.btime_ms, self.wtime_ms, self.byoyomi_ms, self.binc_ms, self.winc_ms, self.movetime_ms)
        return any(x is not None for x in (*limits, self.nodes, self.depth))

    def arguments(self) -> str:
        words = [name for name in ("ponder", "infinite") if getattr(self, name)]
        for word, name in _GO_NUMBERS.items():
            value: int | None = getattr(self, name)
            if value is not None:
                words += [word, str(value)]
        if self.mate:
            words += ["mate", "infinite" if self.mate_ms is None else str(self.mate_ms)]
        if self.searchmoves:
            words += ["searchmoves", *self.searchmoves]
        return " ".join(words)

    def text(self) -> str:
        return f"go {self.arguments()}".rstrip()


@dataclass(frozen=True, slots=True)
class PonderHit:
    """``ponderhit``, alone or with the times that ``go ponder`` left out (the "early ponder" extension)."""

    go: Go = field(default_factory=Go)

    def text(self) -> str:
        return f"ponderhit {self.go.arguments()}".rstrip()


@dataclass(frozen=True, slots=True)
class GameOver:
    """``gameover {win | lose | draw}``; any other word is kept."""

    result: str = ""

    def text(self) -> str:
        return f"gameover {self.result}".rstrip()


Command = SimpleCommand | SetOption | SetPosition | Go | PonderHit | GameOver

_SIMPLE = frozenset({"usi", "isready", "usinewgame", "stop", "quit"})
_GO_NUMBERS = {
    "btime": "btime_ms",
    "wtime": "wtime_ms",
    "byoyomi": "byoyomi_ms",
    "binc": "binc_ms",
    "winc": "winc_ms",
    "movetime": "movetime_ms",
    "nodes": "nodes",
    "depth": "depth",
}
_SETOPTION = re.compile(r"setoption\s+name\s+(?P<name>\S.*?)(?:\s+value(?:\s+(?P<value>.*))?)?")


def parse_command(line: str) -> Command | None:
    """Read a line from a GUI.

    Returns:
        The command, or None for an empty line.

    Raises:
        UsiTextError: The line is not a command, or an argument is missing.
    """
    line = line.strip()
    if not line:
        return None
    name, *words = line.split()
    if name in _SIMPLE:
        return SimpleCommand(name)
    if name == "setoption":
        return _parse_setoption(line)
    if name == "position":
        return _parse_position(line, words)
    if name == "go":
        return _parse_go(words)
    if name == "ponderhit":
        return PonderHit(_parse_go(words))
    if name == "gameover":
        return GameOver(" ".join(words))
    raise UsiTextError(f"unknown command {shorten(line)!r}")


def _parse_setoption(line: str) -> SetOption:
    match = _SETOPTION.fullmatch(line)
    if match is None:
        raise UsiTextError(f"{shorten(line)!r} is not of the form 'setoption name NAME [value VALUE]'")
    value = match["value"]
    if value is None and re.search(r"\svalue$", line):
        value = ""
    return SetOption(match["name"], "" if value == "<empty>" else value)


def _parse_position(line: str, words: list[str]) -> SetPosition:
    start, moves = words, []
    if "moves" in words:
        cut = words.index("moves")
        start, moves = words[:cut], words[cut + 1 :]
    if start == ["startpos"]:
        return SetPosition(None, tuple(moves))
    if len(start) >= 4 and start[0] == "sfen":  # board, side, hand, and mostly a ply
        return SetPosition(" ".join(start[1:]), tuple(moves))
    raise UsiTextError(f"{shorten(line)!r} is not of the form 'position {{startpos | sfen SFEN}} [moves MOVE...]'")


def _parse_go(words: list[str]) -> Go:
    values: dict[str, Any] = {}
    searchmoves: list[str] = []
    ignored: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        following = words[i + 1] if i + 1 < len(words) else ""
        i += 1
        if word in ("ponder", "infinite"):
            values[word] = True
        elif word in _GO_NUMBERS:
            number = _number(following)
            if number is None:
                ignored.append(word)
                continue
            values[_GO_NUMBERS[word]] = number
            i += 1
        elif word == "mate":
            values["mate"] = True
            values["mate_ms"] = _number(following)
            i += following == "infinite" or values["mate_ms"] is not None
        elif word == "searchmoves":
            while i < len(words) and MOVE.fullmatch(words[i]):
                searchmoves.append(words[i])
                i += 1
        else:
            ignored.append(word)
    return Go(**values, searchmoves=tuple(searchmoves), ignored=tuple(ignored))


def _number(word: str) -> int | None:
    """An integer as GUIs write it; some send negative times or fractions."""
    match = re.fullmatch(r"([+-]?[0-9]{1,18})(?:\.[0-9]*)?", word)
    return int(match[1]) if match else None


# ---------------------------------------------------------------------------------------------- engine -> GUI


@dataclass(frozen=True, slots=True)
class UsiScore:
    """A score, as the side to move sees it: centipawns or a mate."""

    cp: int | None = None
    """Centipawns."""
    mate: int | None = None
    """Plies to mate; negative if the side to move is mated."""
    bound: str = ""
    """One of "lowerbound" and "upperbound", or "" for an exact score."""
    mate_length_known: bool = True
    """False for ``mate +`` and ``mate -``, where ``mate`` is 1 or -1."""

    def text(self) -> str:
        if self.mate is None:
            words = f"cp {self.cp or 0}"
        elif self.mate_length_known:
            words = f"mate {self.mate}"
        else:
            words = "mate +" if self.mate > 0 else "mate -"
        return f"score {words} {self.bound}".rstrip()


@dataclass(frozen=True, slots=True)
class Info:
    """An ``info`` line. It has a ``pv`` or a ``string``, not both: each takes the rest of the line."""

    depth: int | None = None
    """Depth of the search in plies."""
    seldepth: int | None = None
    """Depth of the deepest line in plies."""
    multipv: int | None = None
    """Rank of the line, from 1."""
    score: UsiScore | None = None
    """UsiScore of the line."""
    nodes: int | None = None
    """Nodes searched."""
    nps: int | None = None
    """Nodes per second."""
    hashfull: int | None = None
    """Memory in use, per mille."""
    time_ms: int | None = None
    """Time searched."""
    pv: tuple[str, ...] = ()
    """Moves of the line."""
    string: str | None = None
    """Free text."""

    def text(self) -> str:
        words = ["info"]
        for word, value in (("depth", self.depth), ("seldepth", self.seldepth), ("multipv", self.multipv)):
            if value is not None:
                words.append(f"{word} {value}")
        if self.score is not None:
            words.append(self.score.text())
        counts = (("nodes", self.nodes), ("nps", self.nps), ("hashfull", self.hashfull), ("time", self.time_ms))
        words += [f"{word} {value}" for word, value in counts if value is not None]
        if self.string is not None:
            words.append(f"string {' '.join(self.string.split())}")
        elif self.pv:
            words.append(f"pv {' '.join(self.pv)}")
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class BestMove:
    """``bestmove {MOVE | resign | win} [ponder MOVE]``."""

    move: str
    ponder: str | None = None

    def text(self) -> str:
        return f"bestmove {self.move}" if self.ponder is None else f"bestmove {self.move} ponder {self.ponder}"


@dataclass(frozen=True, slots=True)
class Checkmate:
    """``checkmate``, the answer to ``go mate``: moves, or one of nomate, timeout, notimplemented."""

    moves: tuple[str, ...] = ()
    verdict: str = ""

    def text(self) -> str:
        return f"checkmate {' '.join(self.moves) or self.verdict}"


@dataclass(frozen=True, slots=True)
class Other:
    """Any other line of an engine: id, option, usiok, readyok, or noise."""

    name: str
    rest: str = ""

    def text(self) -> str:
        return f"{self.name} {self.rest}".rstrip()


Answer = Info | BestMove | Checkmate | Other


def parse_answer(line: str) -> Answer | None:
    """Read a line from an engine; None for an empty one.

    Raises:
        UsiTextError: The argument of ``bestmove`` or ``checkmate`` is missing or is not a move.
    """
    name, _, rest = line.strip().partition(" ")
    words = rest.split()
    if not name:
        return None
    if name == "info":
        return _parse_info(rest)
    if name == "bestmove":
        if not words or (words[0] not in (RESIGN, WIN) and not MOVE.fullmatch(words[0])):
            raise UsiTextError(f"{shorten(line)!r} names no move")
        ponder = words[2] if len(words) >= 3 and words[1] == "ponder" and MOVE.fullmatch(words[2]) else None
        return BestMove(words[0], ponder)
    if name == "checkmate":
        if words and all(MOVE.fullmatch(word) for word in words):
            return Checkmate(moves=tuple(words))
        if len(words) == 1:
            return Checkmate(verdict=words[0])
        raise UsiTextError(f"{shorten(line)!r} names neither moves nor a verdict")
    return Other(name, rest.strip())


_INFO_NUMBERS = {
    "depth": "depth",
    "seldepth": "seldepth",
    "multipv": "multipv",
    "nodes": "nodes",
    "nps": "nps",
    "hashfull": "hashfull",
    "time": "time_ms",
}


def _parse_info(rest: str) -> Info:
    head, found, string = rest.partition("string ")
    if found and (not head or head.endswith(" ")):
        return Info(string=string.strip())
    words = rest.split()
    values: dict[str, Any] = {}
    score: UsiScore | None = None
    pv: tuple[str, ...] = ()
    i = 0
    while i < len(words):
        word = words[i]
        following = words[i + 1] if i + 1 < len(words) else ""
        if word == "pv":
            pv = tuple(words[i + 1 :])
            break
        if word == "score":
            score, i = _parse_score(words, i + 1)
            continue
        if word in _INFO_NUMBERS and (number := _number(following)) is not None:
            values[_INFO_NUMBERS[word]] = number
            i += 1
        i += 1
    return Info(**values, score=score, pv=pv)


def _parse_score(words: list[str], i: int) -> tuple[UsiScore | None, int]:
    """Read ``cp N`` or ``mate N`` and a bound from ``words[i:]``; return it and the index of the next word."""
    kind, text = [*words[i : i + 2], "", ""][:2]
    bound = words[i + 2] if words[i + 2 : i + 3] and words[i + 2] in ("lowerbound", "upperbound") else ""
    after = i + 2 + bool(bound)
    number = _number(text)
    if kind == "cp" and number is not None:
        return UsiScore(cp=number, bound=bound), after
    if kind == "mate" and text in ("+", "-", "+0", "-0"):
        return UsiScore(mate=1 if text[0] == "+" else -1, bound=bound, mate_length_known=False), after
    if kind == "mate" and number is not None:
        return UsiScore(mate=number, bound=bound), after
    return None, i


def shorten(text: str, limit: int = 120) -> str:
    """Cut a long text for a message."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
