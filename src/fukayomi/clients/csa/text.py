"""The text of the CSA protocol: game summaries, moves, ends of games. No I/O.

https://www2.computer-shogi.org/protocol/tcp_ip_server_121.html describes the protocol. shogi-server, which floodgate
runs, adds game names with a clock (``floodgate-600-10F``) and comments with a score (``'* 30 -3334FU``).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from fukayomi.clients.csa.clock import CsaTime, CsaTimeError
from fukayomi.errors import FukayomiError
from fukayomi.shogi import BLACK, START_SFEN, WHITE, Color, Move, Position, ShogiError
from fukayomi.shogi.formats import csa_moves, write_csa
from fukayomi.shogi.formats.notation import western_move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, winner_is
from fukayomi.tabular import printable

PORT = 4081
"""The port of CSA servers."""
LONGEST_LINE = 4096
"""Bytes of a line; the longest honest ones have a comment with 64 moves."""
SUMMARY_LINES = 5000
"""Lines of a game summary at most."""
NAME = re.compile(r"[A-Za-z0-9_@.-]{1,64}")
"""The name of a player. The protocol allows 32 letters; servers allow more."""
GAME_NAME = re.compile(r"[A-Za-z0-9_@.+-]{1,64}")
GAME_ID = re.compile(r"[!-~]{1,250}")
SIGN = {BLACK: "+", WHITE: "-"}
COLOR = {"+": BLACK, "-": WHITE}
RESIGN, DECLARE, INTERRUPT = "%TORYO", "%KACHI", "%CHUDAN"
MOVE = re.compile(r"([+-])([0-9]{4}[A-Z]{2})")
_ECHO = re.compile(r"([+-][0-9]{4}[A-Z]{2}|%[A-Z]{1,20})(?:,T([0-9]{1,9}))?")
_COMMENT = re.compile(r"'\*{1,2} ?(-?[0-9]{1,7})((?: [+-][0-9]{4}[A-Z]{2}){0,64})")

OUTCOMES = ("#WIN", "#LOSE", "#DRAW", "#CENSORED", "#CHUDAN")
"""Lines that end a game for a player."""
_REASONS = {
    "#RESIGN": Termination.RESIGN,
    "#SENNICHITE": Termination.REPETITION,
    "#OUTE_SENNICHITE": Termination.PERPETUAL_CHECK,
    "#ILLEGAL_MOVE": Termination.ILLEGAL_MOVE,
    "#ILLEGAL_ACTION": Termination.PROTOCOL,
    "#TIME_UP": Termination.TIME_UP,
    "#JISHOGI": Termination.DECLARATION,
    "#MAX_MOVES": Termination.MAX_PLIES,
    "#CHUDAN": Termination.INTERRUPTED,
}
_REASON_LINES = {termination: line for line, termination in _REASONS.items()} | {Termination.IMPASSE: "#JISHOGI"}


class CsaProtocolError(FukayomiError):
    """A peer that does not follow the CSA protocol. The message quotes what it sent."""


@dataclass(slots=True)
class GameSummary:
    """A game as the server proposes it."""

    game_id: str
    names: dict[Color, str]
    """The players."""
    turn: Color
    """The side of the client that it is sent to (``Your_Turn``)."""
    times: dict[Color, CsaTime]
    """The time of each side."""
    record: Record = field(default_factory=Record)
    """The first position, and the moves that have been played already, with their times."""
    max_moves: int | None = None
    """The game ends after this many moves; None: no limit."""
    to_move: Color = BLACK
    """The side to move after these moves."""
    fields: dict[str, str] = field(default_factory=dict[str, str])
    """All fields of the general part, as they were sent."""

    def position(self) -> Position:
        """The position with the moves that have been played."""
        position = Position.from_sfen(self.record.initial_sfen)
        for played in self.record.moves:
            position.push(played.move)
        return position

    def lines(self) -> list[str]:
        """The lines of the summary, as a server sends them."""
        general = {
            "Protocol_Version": "1.2", "Protocol_Mode": "Server", "Format": "Shogi 1.0", "Declaration": "Jishogi 1.1",
            "Game_ID": self.game_id, "Name+": self.names[BLACK], "Name-": self.names[WHITE],
            "Your_Turn": SIGN[self.turn], "Rematch_On_Draw": "NO", "To_Move": SIGN[self.to_move],
        }  # fmt: skip
        if self.max_moves is not None:
            general["Max_Moves"] = str(self.max_moves)
        general |= self.fields
        lines = ["BEGIN Game_Summary", *(f"{name}:{value}" for name, value in general.items())]
        if self.times[BLACK] == self.times[WHITE]:
            lines += ["BEGIN Time", *self.times[BLACK].lines(), "END Time"]
        else:
            for color, sign in SIGN.items():
                lines += [f"BEGIN Time{sign}", *self.times[color].lines(), f"END Time{sign}"]
        return [*lines, "BEGIN Position", *self._position_lines(), "END Position", "END Game_Summary"]

    def _position_lines(self) -> list[str]:
        """Board, side to move and moves; times in units of the clock."""
        start = Record(initial_sfen=self.record.initial_sfen)
        board = [line for line in write_csa(start).splitlines() if line[:1] in ("P", "+", "-")]
        if self.record.initial_sfen == START_SFEN:
            board = [*_START_BOARD, "+"]
        moves = csa_moves(self.record.initial_sfen, self.record.usi_moves())
        times = self.times
        return board + [
            f"{text},T{(played.time_ms or 0) // times[COLOR[text[0]]].unit_ms}"
            for text, played in zip(moves, self.record.moves, strict=True)
        ]


_START_BOARD = (
    "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY", "P2 * -HI *  *  *  *  * -KA * ", "P3-FU-FU-FU-FU-FU-FU-FU-FU-FU",
    "P4 *  *  *  *  *  *  *  *  * ", "P5 *  *  *  *  *  *  *  *  * ", "P6 *  *  *  *  *  *  *  *  * ",
    "P7+FU+FU+FU+FU+FU+FU+FU+FU+FU", "P8 * +KA *  *  *  *  * +HI * ", "P9+KY+KE+GI+KI+OU+KI+GI+KE+KY",
)  # fmt: skip


def read_summary(lines: Iterable[str]) -> GameSummary:
    """Read a game summary.

    Args:
        lines: The lines after ``BEGIN Game_Summary``, with ``END Game_Summary`` or without.

    Raises:
        CsaProtocolError: A field is missing or wrong, or the position or a move cannot be read.
    """
    general: dict[str, str] = {}
    times: dict[str, dict[str, str]] = {}
    board: list[str] = []
    section = ""
    for line in lines:
        if line.startswith("BEGIN "):
            if section:
                raise CsaProtocolError(f"the game summary has {line!r} within {section}")
            section = line.removeprefix("BEGIN ").strip()
        elif line.startswith("END "):
            section = ""
        elif section == "Position":
            board.append(line)
        elif line:
            name, colon, value = line.partition(":")
            if not colon:
                raise CsaProtocolError(f"the game summary has {line[:80]!r}, which is no field")
            (times.setdefault(section, {}) if section.startswith("Time") else general)[name] = value.strip()
    return _summary(general, times, board)


def _summary(general: dict[str, str], times: dict[str, dict[str, str]], board: list[str]) -> GameSummary:
    game_id = general.get("Game_ID", "")
    if game_id and not GAME_ID.fullmatch(game_id):
        raise CsaProtocolError(f"the game summary has the Game_ID {game_id[:80]!r}")
    if not general.get("Format", "Shogi").startswith("Shogi"):
        raise CsaProtocolError(f"the game summary has the Format {general['Format'][:80]!r}, not Shogi 1.0")
    common = times.get("Time", {})
    try:
        sides = {color: CsaTime.from_fields({**common, **times.get(f"Time{sign}", {})}) for color, sign in SIGN.items()}
    except CsaTimeError as error:
        raise CsaProtocolError(f"the game summary has a wrong time: {error}") from error
    limit = general.get("Max_Moves")
    if limit is not None and not re.fullmatch("[0-9]{1,6}", limit):
        raise CsaProtocolError(f"the game summary has Max_Moves:{limit[:80]!r}, which is no number")
    record = _record(board, sides)
    turn = _color(general, "Your_Turn")
    first = BLACK if record.initial_sfen.split()[1] == "b" else WHITE
    mover = first if len(record.moves) % 2 == 0 else first.opponent
    if "To_Move" in general and _color(general, "To_Move") not in (mover, first):
        raise CsaProtocolError(f"the game summary has To_Move:{general['To_Move']}, but the position says otherwise")
    names = {color: printable(general.get(f"Name{sign}", "")[:64]) for color, sign in SIGN.items()}
    return GameSummary(game_id, names, turn, sides, record, int(limit) if limit else None, mover, general)


def _color(general: dict[str, str], name: str) -> Color:
    if general.get(name) not in COLOR:
        raise CsaProtocolError(f"the game summary has {name}:{general.get(name, '')[:80]!r}, not + or -")
    return COLOR[general[name]]


def _record(board: list[str], times: dict[Color, CsaTime]) -> Record:
    """The position of a summary with its moves."""
    if not board:
        raise CsaProtocolError("the game summary has no position")
    try:
        record = Record.from_text("\n".join(["V2.2", *board, ""]))
        Position.from_sfen(record.initial_sfen)  # a player without a king cannot play
    except ShogiError as error:
        raise CsaProtocolError(f"the game summary has a wrong position: {error}") from error
    turn = BLACK if record.initial_sfen.split()[1] == "b" else WHITE
    moves: list[RecordedMove] = []
    for played in record.moves:
        units = (played.time_ms or 0) // 1000  # the reader takes them for seconds
        moves.append(RecordedMove(played.move, time_ms=units * times[turn].unit_ms))
        turn = turn.opponent
    return Record(initial_sfen=record.initial_sfen, moves=moves)


@dataclass(frozen=True, slots=True)
class Echo:
    """A move or a word that the server has accepted, with its time."""

    text: str
    """``+7776FU`` or ``%TORYO``."""
    units: int | None
    """Time used, in units of the clock; None: the server does not say."""


def read_echo(line: str) -> Echo | None:
    """Read a line such as ``+7776FU,T12``; None if it is none."""
    found = _ECHO.fullmatch(line)
    return None if found is None else Echo(found[1], int(found[2]) if found[2] else None)


def csa_text(position: Position, move: Move) -> str:
    """A legal move as the protocol writes it: ``+7776FU``."""
    return csa_moves(position.sfen(), [move.usi()])[0]


def read_move(text: str, position: Position) -> Move | None:
    """The move that a text such as ``+7776FU`` means; None if it is none, of the other side, or not legal."""
    found = MOVE.fullmatch(text)
    if found is None or COLOR[found[1]] != position.turn:
        return None
    meant = western_move(text, position)
    try:
        move = None if meant is None else Move.from_usi(meant.usi())
    except ShogiError:
        return None
    return move if move is not None and position.is_legal(move) and csa_text(position, move) == text else None


def comment(position: Position, score_cp: int, pv: str) -> str:
    """The comment that floodgate keeps with a move: ``'* 30 -3334FU +2726FU``.

    Args:
        position: The position after the move.
        score_cp: Score from Black's side, in centipawns.
        pv: The moves expected after it, in USI.
    """
    return " ".join([f"'* {score_cp}", *csa_moves(position.sfen(), pv.split())])


def read_comment(text: str, position: Position) -> tuple[int | None, str]:
    """Score from Black's side and the expected moves in USI of a comment; None and "" if it says nothing of them.

    Args:
        text: The comment.
        position: The position after the move.
    """
    found = _COMMENT.fullmatch(text)
    if found is None:
        return None, ""
    after, moves = position.copy(), list[str]()
    for word in found[2].split():
        move = read_move(word, after)
        if move is None:
            break
        moves.append(move.usi())
        after.push(move)
    return int(found[1]), " ".join(moves)


def ending(reason: str, outcome: str, color: Color) -> tuple[Termination, Result]:
    """Termination and result of a game by the server's last lines.

    Args:
        reason: Such as ``#RESIGN``; "" if there was none.
        outcome: One of OUTCOMES.
        color: The side of the client that they were sent to.
    """
    termination = _REASONS.get(reason, Termination.OTHER)
    if outcome == "#CHUDAN":
        return Termination.INTERRUPTED, Result.UNKNOWN
    if outcome == "#WIN":
        return termination, winner_is(color)
    if outcome == "#LOSE":
        return termination, winner_is(color.opponent)
    is_impasse = termination is Termination.DECLARATION
    if outcome == "#DRAW" or termination is Termination.MAX_PLIES:
        kind = Termination.IMPASSE if is_impasse else Termination.DRAW if not reason else termination
        return kind, Result.DRAW
    return termination, Result.UNKNOWN


def ending_lines(termination: Termination, result: Result, color: Color) -> list[str]:
    """The last lines of a game that a server sends to the side `color`."""
    if termination is Termination.INTERRUPTED:
        return ["#CHUDAN"]
    reason = _REASON_LINES[termination]
    if termination is Termination.MAX_PLIES:
        return [reason, "#CENSORED"]
    return [reason, "#DRAW" if result is Result.DRAW else "#WIN" if result == winner_is(color) else "#LOSE"]
