"""Reading JKF: the main line and its end, then the forks.

Damage in the main line is an error that names the ply. A damaged fork ends where the damage is. An illegal move is the
end of the game if a foul follows it.
"""

import json
from typing import Any, cast

from fukayomi.shogi.formats.csa.reader import ENDINGS
from fukayomi.shogi.formats.csa.writer import SFEN_LETTER
from fukayomi.shogi.formats.kif.board import HANDICAPS, handicap_sfen
from fukayomi.shogi.formats.kif.endings import NAMES, End, end_of_word, take_ending_word
from fukayomi.shogi.formats.kif.header import set_header
from fukayomi.shogi.formats.notation import MoveError, find_moves, move_from_raw
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.formats.text import MOST_VARIATION_PLIES, check_plies
from fukayomi.shogi.position import (
    BLACK,
    START_SFEN,
    Color,
    Move,
    PieceType,
    Position,
    ShogiError,
    square_name,
)
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    Variation,
    result_of,
)

KINDS = {
    PieceType.PAWN: "FU", PieceType.LANCE: "KY", PieceType.KNIGHT: "KE", PieceType.SILVER: "GI",
    PieceType.BISHOP: "KA", PieceType.ROOK: "HI", PieceType.GOLD: "KI", PieceType.KING: "OU",
    PieceType.PRO_PAWN: "TO", PieceType.PRO_LANCE: "NY", PieceType.PRO_KNIGHT: "NK", PieceType.PRO_SILVER: "NG",
    PieceType.HORSE: "UM", PieceType.DRAGON: "RY",
}  # fmt: skip
"""The kind of each piece, as in CSA."""

PRESETS = {
    "HIRATE": HANDICAPS["平手"], "KY": HANDICAPS["香落"], "KY_R": HANDICAPS["右香落"], "KA": HANDICAPS["角落"],
    "HI": HANDICAPS["飛車落"], "HIKY": HANDICAPS["飛香落"], "2": HANDICAPS["二枚落"], "3": HANDICAPS["三枚落"],
    "4": HANDICAPS["四枚落"], "5": HANDICAPS["五枚落"], "5_L": HANDICAPS["左五枚落"], "6": HANDICAPS["六枚落"],
    "7_L": HANDICAPS["左七枚落"], "7_R": HANDICAPS["右七枚落"], "8": HANDICAPS["八枚落"], "10": HANDICAPS["十枚落"],
}  # fmt: skip
"""The first position of each preset but OTHER."""

RELATIVES = {"左": "L", "直": "C", "右": "R", "上": "U", "寄": "M", "引": "D", "打": "H"}
"""The letter of each mark in Japanese notation."""
_TYPES = {kind: piece for piece, kind in KINDS.items()}
_PROMOTED = {
    PieceType.PAWN: PieceType.PRO_PAWN, PieceType.LANCE: PieceType.PRO_LANCE, PieceType.KNIGHT: PieceType.PRO_KNIGHT,
    PieceType.SILVER: PieceType.PRO_SILVER, PieceType.BISHOP: PieceType.HORSE, PieceType.ROOK: PieceType.DRAGON,
}  # fmt: skip
_MARKS = {letter: mark for mark, letter in RELATIVES.items()}
_HAND_ORDER = ("HI", "KA", "KI", "GI", "KE", "KY", "FU")
_MOST_HELD = 18
_DROPPED = 80  # raw moves have 80 + piece type as the origin of a drop
_PROMOTION = 1 << 14
_LONGEST_TIME = 10**9  # seconds
_Object = dict[str, Any]
_Forks = list[tuple[int, list[object]]]
"""Forks with the number of moves before them."""


def read_jkf(text: str, name: str) -> Record:
    """Read a JKF record.

    Raises:
        IllegalMoveInRecordError: A move is illegal.
        RecordError: The record is damaged.
    """
    try:
        return _JkfReader(name).read(json.loads(text))
    except RecordError:
        raise
    except RecursionError as error:
        raise RecordError(name, None, "nested too deeply") from error
    except json.JSONDecodeError as error:
        raise RecordError(name, error.lineno, f"not JSON: {error.msg}") from error
    except ValueError as error:  # a number of thousands of digits
        raise RecordError(name, None, f"not JSON: {error}") from error


class _JkfReader:
    """A record as it is read."""

    def __init__(self, name: str) -> None:
        self.record = Record(name=name)
        self.position = Position()
        self._notes: list[str] = []
        """Comments that belong to what was read last."""
        self.path: list[RecordedMove] = []
        """The moves played on the position."""
        self._owners: list[int | None] = []
        """Index of the variation that each of these moves belongs to; None: the game."""

    def read(self, document: object) -> Record:
        """Read the document."""
        root = self._object(document, "the record")
        header = self._object(root.get("header") or {}, "header")
        texts = {_text(key): _text(value).strip() for key, value in header.items() if isinstance(value, str)}
        self.record.initial_sfen = self._initial_sfen(root.get("initial"), texts.pop("手合割", ""))
        for key, value in texts.items():
            set_header(self.record, key, value)
        self.position = Position.from_sfen(self.record.initial_sfen, allow_missing_king=True)
        items = [self._object(item, "an item of moves") for item in self._list(root.get("moves"), "moves")]
        forks = self._play_game(items)
        self.record.moves = list(self.path)
        self._owners = [None] * len(self.path)
        self._read_forks(forks)
        return self.record

    def _error(self, reason: str) -> RecordError:
        return RecordError(self.record.name, None, reason)

    def _object(self, value: object, what: str) -> _Object:
        if not isinstance(value, dict):
            raise self._error(f"JKF: {what} is no object")
        return cast(_Object, value)

    def _list(self, value: object, what: str) -> list[object]:
        if not isinstance(value, list):
            raise self._error(f"JKF: {what} is no list")
        return cast("list[object]", value)

    def _initial_sfen(self, initial: object, handicap: str) -> str:
        if initial is None:
            return (handicap_sfen(handicap) if handicap else None) or START_SFEN
        found = self._object(initial, "initial")
        preset = found.get("preset")
        if preset != "OTHER" and found.get("data") is None:
            known = (PRESETS.get(preset) or handicap_sfen(preset)) if isinstance(preset, str) else None
            if known is None:
                raise self._error(f"JKF: unknown preset {str(preset)[:40]!r}")
            return known
        data = self._object(found.get("data"), "the data of initial")
        board = data.get("board")
        columns = [self._list(column, "a column of the board") for column in self._list(board or [], "the board")]
        rows = "/".join("".join(self._square(columns, file, rank) for file in range(8, -1, -1)) for rank in range(9))
        hands = self._list(data.get("hands"), "hands")
        held = "".join(self._held(hand, number) for number, hand in enumerate(hands[:2]))
        sfen = f"{rows} {'w' if data.get('color') == 1 else 'b'} {held or '-'} 1"
        try:
            return Position.from_sfen(sfen, allow_missing_king=True).sfen()
        except ShogiError as error:
            raise self._error(f"the first position is impossible: {error}") from error

    def _square(self, columns: list[list[object]], file: int, rank: int) -> str:
        if file >= len(columns) or rank >= len(columns[file]):
            return "1"
        square = self._object(columns[file][rank], "a square of the board")
        kind = square.get("kind")
        if kind is None:
            return "1"
        if not isinstance(kind, str) or kind not in SFEN_LETTER:
            raise self._error(f"JKF: unknown piece {str(kind)[:40]!r} on the board")
        return SFEN_LETTER[kind].lower() if square.get("color") == 1 else SFEN_LETTER[kind]

    def _held(self, hand: object, color: int) -> str:
        counts = self._object(hand, "a hand")
        text = ""
        for kind in _HAND_ORDER:
            count = counts.get(kind) or 0
            if not isinstance(count, int) or not 0 <= count <= _MOST_HELD:
                raise self._error(f"JKF: {str(count)[:40]} {kind} in a hand")
            letter = SFEN_LETTER[kind].lower() if color else SFEN_LETTER[kind]
            text += f"{count}{letter}" if count else ""
        return text

    def _play_game(self, items: list[_Object]) -> _Forks:
        """Play the main line; returns the forks with the number of moves before them."""
        record = self.record
        forks: _Forks = []
        illegal: MoveError | None = None
        for item in items:
            if isinstance(found := item.get("forks"), list):
                forks.append((len(self.path), cast("list[object]", found)))
            special = item.get("special")
            ply = len(self.path) + 1
            is_over = illegal is not None or record.termination is not Termination.NONE
            if item.get("move") is not None:
                if illegal is not None:
                    break
                if is_over:
                    raise self._error(f"ply {ply}: a move after the end of the game")
                check_plies(ply, record.name, None)
                self._give_notes(self.path[-1] if self.path else record)
                try:
                    self._play(item)
                except MoveError as error:
                    illegal = error
                    record.illegal_move = self._usi_of(item["move"])
                    record.illegal_move_time_ms = _time_ms(item.get("time"))
            elif isinstance(special, str) and record.termination is Termination.NONE:
                if not is_over:
                    self._give_notes(self.path[-1] if self.path else record)
                end = end_of_special(special, self.position.turn)
                record.termination, record.result, record.ending_word = end
                record.ending_time_ms = _time_ms(item.get("time"))
            self._notes += self._lines(item)
        is_foul = record.termination is Termination.ILLEGAL_MOVE
        if illegal is not None or record.termination is not Termination.NONE:
            self._give_notes_to_end()
        else:
            self._give_notes(self.path[-1] if self.path else record)
        if illegal is not None and (not illegal.is_illegal or not is_foul):
            kind = IllegalMoveInRecordError if illegal.is_illegal else RecordError
            raise kind(record.name, None, f"ply {len(self.path) + 1}: {illegal}") from illegal
        return forks

    def _give_notes(self, place: RecordedMove | Variation | Record) -> None:
        """Give the comments that were collected to a move or to what begins; those with & before them are bookmarks."""
        comments = [line for line in self._notes if not line.startswith("&")]
        bookmarks = [line[1:] for line in self._notes if line.startswith("&")]
        self._notes = []
        if comments:
            place.comment = "\n".join([place.comment, *comments] if place.comment else comments)
        if bookmarks:
            place.bookmark = "\n".join(bookmarks)
        if comments and isinstance(place, RecordedMove):
            read_remarks(place.comment, place)

    def _give_notes_to_end(self) -> None:
        """Give the comments that were collected to the end of the game, which may have its own word there."""
        record = self.record
        self._notes = take_ending_word(record, self._notes, self.position.turn)
        record.ending_comment, self._notes = "\n".join(self._notes), []

    def _lines(self, item: _Object) -> list[str]:
        """The comments of an item."""
        lines = item.get("comments")
        if isinstance(lines, str):
            lines = [lines]
        return [_text(line) for line in self._list(lines or [], "comments") if isinstance(line, str)]

    def _play(self, item: _Object) -> None:
        """Play the move of an item.

        Raises:
            MoveError: It is illegal, or no move.
        """
        move = self._move(self._object(item["move"], "a move"))
        try:
            self.position.push(move)
        except ShogiError as error:
            raise MoveError(str(error)) from error
        self.path.append(RecordedMove(move, time_ms=_time_ms(item.get("time"))))

    def _move(self, found: _Object) -> Move:
        position = self.position
        if found.get("color") in (0, 1) and (found["color"] == 0) != (position.turn == BLACK):
            raise MoveError("it is the other side's turn", is_illegal=False)
        target = _square_of(found.get("to"))
        if target is None and found.get("same") and self.path:
            target = self.path[-1].move.to_square
        kind = found.get("piece")
        piece = _TYPES.get(kind) if isinstance(kind, str) else None
        if target is None or piece is None:
            raise MoveError("a move without target or piece", is_illegal=False)
        if found.get("from") is None:
            return self._move_without_origin(found, target, piece)
        origin = _square_of(found["from"])
        if origin is None or origin == target:
            raise MoveError("a move without origin", is_illegal=False)
        standing = position.piece_on(origin)
        if standing is None:
            raise MoveError(f"illegal move {square_name(origin)}{square_name(target)}: there is no piece")
        # CSA names the piece after the move, and so do some programs here
        is_promotion = found.get("promote") is True or piece == _PROMOTED.get(standing.type)
        if piece not in (standing.type, _PROMOTED.get(standing.type)):
            raise MoveError(f"illegal move {square_name(origin)}{square_name(target)}: there is no {kind}")
        return move_from_raw(target | origin << 7 | (_PROMOTION if is_promotion else 0))

    def _move_without_origin(self, found: _Object, target: int, piece: PieceType) -> Move:
        relative = found.get("relative")
        if piece <= PieceType.GOLD and relative in (None, "H"):
            return move_from_raw(target | (_DROPPED + piece) << 7)
        marks = "".join(_MARKS.get(letter, "") for letter in relative) if isinstance(relative, str) else ""
        moves = find_moves(self.position, target, piece, marks, "成" if found.get("promote") is True else None)
        if len(moves) != 1:
            what = f"illegal move of {KINDS[piece]} to {square_name(target)}"
            raise MoveError(f"{what}: {len(moves)} moves fit" if moves else what, is_illegal=not moves)
        return moves[0]

    def _usi_of(self, move: object) -> str:
        """The illegal move of an item in USI, as far as it is one."""
        found = self._object(move, "a move")
        origin, target = _square_of(found.get("from")), _square_of(found.get("to"))
        kind = found.get("piece")
        if target is None:
            return ""
        if origin is not None:
            return square_name(origin) + square_name(target) + ("+" if found.get("promote") is True else "")
        letter = SFEN_LETTER.get(kind, "") if isinstance(kind, str) else ""
        return f"{letter}*{square_name(target)}" if len(letter) == 1 and letter != "K" else ""

    def _read_forks(self, forks: _Forks) -> None:
        """Read the forks of the game and those that leave them: of each line from its end to its beginning."""
        waiting = _newest_first(forks)
        plies = 0
        while waiting and plies <= MOST_VARIATION_PLIES:
            before, line = waiting.pop()
            while len(self.path) > before:
                self.path.pop()
                self._owners.pop()
                self.position.pop()
            if isinstance(line, list):
                waiting += _newest_first(self._read_fork(cast("list[object]", line)))
                plies += len(self.path) - before

    def _read_fork(self, items: list[object]) -> _Forks:
        """Read a fork up to its end or the first damage; returns the forks that leave it."""
        begin = len(self.path)
        variation = Variation(begin + 1, parent=self._owners[-1] if begin else None)
        forks: _Forks = []
        for item in items:
            if not isinstance(item, dict):
                break
            found = cast(_Object, item)
            if isinstance(inner := found.get("forks"), list):
                forks.append((len(self.path), cast("list[object]", inner)))
            try:
                if found.get("move") is not None:
                    check_plies(len(self.path) + 1, self.record.name, None)
                    self._give_notes(self.path[-1] if len(self.path) > begin else variation)
                    self._play(found)
                elif isinstance(special := found.get("special"), str):
                    self._give_notes(self.path[-1] if len(self.path) > begin else variation)
                    self._notes.append(_word_of(special))
                self._notes += self._lines(found)
            except ValueError as error:  # damage, or an illegal move
                self.record.leave_out(None, f"the rest of a variation from move {begin + 1}: {error}")
                break
        self._give_notes(self.path[-1] if len(self.path) > begin else variation)
        variation.moves = self.path[begin:]
        if variation.moves:
            self._owners += [len(self.record.variations)] * len(variation.moves)
            self.record.variations.append(variation)
        else:
            self.record.leave_out(None, f"a variation from move {begin + 1} without moves")
        return forks


def _word_of(special: str) -> str:
    """Name of an end in a comment."""
    return NAMES[ENDINGS[special]] if special in ENDINGS else _text(special)


def end_of_special(word: str, turn: Color) -> End:
    """End of a game with this word of JKF, and `turn` to move."""
    if word not in ENDINGS:
        return end_of_word(_text(word), turn)
    if word in ("+ILLEGAL_ACTION", "-ILLEGAL_ACTION"):
        return End(ENDINGS[word], Result.WHITE_WIN if word[0] == "+" else Result.BLACK_WIN)
    return End(ENDINGS[word], result_of(ENDINGS[word], turn))


def _newest_first(forks: _Forks) -> list[tuple[int, object]]:
    """Forks as a stack, with the one to be read first at its end."""
    return [(before, line) for before, lines in forks for line in reversed(lines)]


def _text(text: str) -> str:
    """Text that can be written: JSON may have halves of characters."""
    return text.encode("utf-8", "replace").decode()


def _square_of(place: object) -> int | None:
    if not isinstance(place, dict):
        return None
    x, y = cast(_Object, place).get("x"), cast(_Object, place).get("y")
    if isinstance(x, int) and isinstance(y, int) and 1 <= x <= 9 and 1 <= y <= 9:
        return (x - 1) * 9 + y - 1
    return None


def _time_ms(time: object) -> int | None:
    now = cast(_Object, time).get("now") if isinstance(time, dict) else None
    if not isinstance(now, dict):
        return None
    hours, minutes, seconds = (cast(_Object, now).get(unit) or 0 for unit in "hms")
    for part in (hours, minutes, seconds):
        if not isinstance(part, int | float) or not 0 <= part < _LONGEST_TIME:
            return None
    return round(1000 * (3600 * hours + 60 * minutes + seconds))
