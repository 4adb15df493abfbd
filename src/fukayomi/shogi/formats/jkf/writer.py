"""Writing JKF, with scores and expected lines as ShogiHome writes them in comments."""

import json
import re
from collections.abc import Iterable
from typing import Any

from fukayomi.shogi.formats.csa.writer import CsaBoard
from fukayomi.shogi.formats.jkf.reader import KINDS, PRESETS, RELATIVES, end_of_special
from fukayomi.shogi.formats.kif.board import handicap_name
from fukayomi.shogi.formats.kif.endings import ending_notes
from fukayomi.shogi.formats.kif.header import header_pairs
from fukayomi.shogi.formats.kif.writer import bookmark_lines, comment_lines, ending_of, noted_word, text_comment_lines
from fukayomi.shogi.formats.notation import foul_of, last_target, move_name
from fukayomi.shogi.position import BLACK, Color, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, RecordError

_SPECIALS = {
    "投了": "TORYO", "詰み": "TSUMI", "切れ負け": "TIME_UP", "入玉勝ち": "KACHI", "千日手": "SENNICHITE",
    "持将棋": "JISHOGI", "最大手数": "HIKIWAKE", "引き分け": "HIKIWAKE", "不詰": "FUZUMI", "待った": "MATTA",
    "エラー": "ERROR", "中断": "CHUDAN", "反則負け": "ILLEGAL_MOVE",
}  # fmt: skip
"""The words of JKF for those of KIF."""
_PRESET_OF = {sfen: preset for preset, sfen in PRESETS.items()}
_SURROGATES = re.compile("[\ud800-\udfff]")
_Object = dict[str, Any]


def write_jkf(record: Record) -> str:
    """Write a record as JKF, with its variations as forks.

    Raises:
        RecordError: A variation has no place in the record, or the variations are nested too deeply.
    """
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    clocks = _Clocks()
    first: _Object = {}
    if lines := _lines(text_comment_lines(record.comment), record.bookmark):
        first["comments"] = lines
    items = _items(position, record.moves, clocks)
    items += _end_items(record, position, clocks)
    _add_forks(record, position, clocks, items)
    document = {
        "header": _header(record),
        "initial": _initial(record.initial_sfen),
        "moves": [first, *items],
    }
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise RecordError(record.name, None, "the variations are nested too deeply for JKF; write KIF") from error
    return _SURROGATES.sub("?", text) + "\n"


class _Clocks:
    """The time that Black and White have used after each ply."""

    def __init__(self) -> None:
        self._used_ms = [(0, 0)]

    def play(self, color: Color, time_ms: int | None) -> _Object:
        """The time of the next move as the item has it; nothing if it is not known."""
        black_ms, white_ms = self._used_ms[-1]
        if color == BLACK:
            black_ms += time_ms or 0
        else:
            white_ms += time_ms or 0
        self._used_ms.append((black_ms, white_ms))
        if time_ms is None:
            return {}
        now, total = _time(time_ms), _time(black_ms if color == BLACK else white_ms)
        return {"time": {"now": now if now["h"] else {"m": now["m"], "s": now["s"]}, "total": total}}

    def take_back(self, plies: int) -> None:
        """Return to the time before the last moves."""
        del self._used_ms[len(self._used_ms) - plies :]


def _add_forks(record: Record, position: Position, clocks: _Clocks, game: list[_Object]) -> None:
    """Add the variations to the items of the game and to each other's.

    Args:
        record: The record.
        position: Position after the last move of the game; it changes.
        clocks: The time used in the game; it changes.
        game: The items of the game.
    """
    lines: dict[int | None, tuple[int, list[_Object]]] = {None: (1, game)}
    depth = len(record.moves)
    for index, variation in record.variation_order():
        plies = depth - variation.ply + 1
        for _ in range(plies):
            position.pop()
        clocks.take_back(plies)
        depth += len(variation.moves) - plies
        items = _items(position, variation.moves, clocks)
        before = _lines(text_comment_lines(variation.comment), variation.bookmark)
        if items and before:
            items[0]["comments"] = before + items[0].get("comments", [])
        lines[index] = variation.ply, items
        first, parent = lines[variation.parent]
        if variation.ply - first == len(parent):  # it begins where the line ends
            parent.append({})
        parent[variation.ply - first].setdefault("forks", []).append(items)


def _items(position: Position, moves: Iterable[RecordedMove], clocks: _Clocks) -> list[_Object]:
    """The items of moves, which are played on the position; their times are added to those used."""
    items: list[_Object] = []
    for played in moves:
        item: _Object = {}
        if lines := _lines(comment_lines(played), played.bookmark):
            item["comments"] = lines
        item["move"] = _move(position, played.move)
        items.append(item | clocks.play(position.turn, played.time_ms))
        position.push(played.move)
    return items


def _header(record: Record) -> dict[str, str]:
    black, white = record.side_names
    names = ((black, record.black_name), (white, record.white_name))
    return dict(header_pairs(record)) | {key: name for key, name in names if name}


def _lines(comments: list[str], bookmark: str = "") -> list[str]:
    """Comments as lines of KIF without their mark, and bookmarks with it, as json-kifu-format has them."""
    return [line[1:] for line in comments] + bookmark_lines(bookmark)


def _move(position: Position, move: Move) -> _Object:
    last = last_target(position)
    piece = move.dropped
    name = move_name(position, move, last)
    found: _Object = {"color": 0 if position.turn == BLACK else 1}
    if move.from_square is not None:
        found["from"] = _place(move.from_square)
        standing = position.piece_on(move.from_square)
        piece = standing.type if standing is not None else None
    assert piece is not None
    found |= {"to": _place(move.to_square), "piece": KINDS[piece]}
    if move.to_square == last:
        found["same"] = True
    if move.is_promotion or name.endswith("不成"):
        found["promote"] = move.is_promotion
    if (captured := position.piece_on(move.to_square)) is not None:
        found["capture"] = KINDS[captured.type]
    if relative := "".join(RELATIVES.get(letter, "") for letter in name):
        found["relative"] = relative
    return found


def _place(square: int) -> dict[str, int]:
    return {"x": square // 9 + 1, "y": square % 9 + 1}


def _time(milliseconds: int) -> dict[str, int]:
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return {"h": hours, "m": minutes, "s": seconds}


def _initial(sfen: str) -> _Object:
    if handicap_name(sfen) is not None:  # not every program knows the others
        return {"preset": _PRESET_OF[sfen]}
    board = CsaBoard.from_sfen(sfen)
    squares = [{"color": 0 if text[0] == "+" else 1, "kind": text[1:]} if text else {} for text in board.squares]
    data = {
        "color": 0 if sfen.split()[1] == "b" else 1,
        "board": [squares[file * 9 : file * 9 + 9] for file in range(9)],
        "hands": [dict(board.hands[sign]) for sign in "+-"],
    }
    return {"preset": "OTHER", "data": data}


def _end_items(record: Record, position: Position, clocks: _Clocks) -> list[_Object]:
    """The items of the illegal move that ended the game, and of the end."""
    ending = ending_of(record, position.turn)
    comments = _lines(text_comment_lines(record.ending_comment))
    if ending is None:
        return [{"comments": comments}] if comments else []
    items: list[_Object] = []
    illegal = _illegal_move(record.illegal_move, position) if ending.word == "反則負け" else None
    if illegal is not None:
        items.append({"move": illegal} | clocks.play(position.turn, record.illegal_move_time_ms))
    if ending.word == "反則勝ち":  # a foul of the side that is not to move
        special = "-ILLEGAL_ACTION" if position.turn == BLACK else "+ILLEGAL_ACTION"
    else:
        special = _SPECIALS.get(ending.word, "CHUDAN")
    said = end_of_special(special, position.turn)
    comments = ending_notes(record, said, noted_word(record, position.turn)) + comments
    turn = position.turn.opponent if illegal else position.turn
    item = {"special": special} | clocks.play(turn, record.ending_time_ms)
    clocks.take_back(len(items) + 1)
    return [*items, item | ({"comments": comments} if comments else {})]


def _illegal_move(text: str, position: Position) -> _Object | None:
    """An illegal move of the side to move; None if JKF cannot express it."""
    foul = foul_of(text, position, last_target(position))
    if foul is None:
        return None
    move: _Object = {"color": 0 if position.turn == BLACK else 1}
    if foul.origin is not None:
        move["from"] = _place(foul.origin)
    move |= {"to": _place(foul.target), "piece": KINDS[foul.piece]}
    return move | ({"promote": True} if foul.is_promotion else {})
