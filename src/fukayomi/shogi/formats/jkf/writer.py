"""Writing JKF, with scores and expected lines as ShogiHome writes them in comments."""

import json
import re
from collections.abc import Iterable
from typing import Any

from fukayomi.shogi.formats.csa.board import CsaBoard
from fukayomi.shogi.formats.jkf.names import KINDS, PRESETS, RELATIVES
from fukayomi.shogi.formats.kif.board import handicap_name
from fukayomi.shogi.formats.kif.endings import ending_of
from fukayomi.shogi.formats.kif.header import header_pairs
from fukayomi.shogi.formats.kif.writer import comment_lines, text_comment_lines
from fukayomi.shogi.formats.notation import move_name
from fukayomi.shogi.position import BLACK, Move, Position, ShogiError
from fukayomi.shogi.record import Record, RecordedMove, Variation

_SPECIALS = {
    "投了": "TORYO", "詰み": "TSUMI", "切れ負け": "TIME_UP", "入玉勝ち": "KACHI", "千日手": "SENNICHITE",
    "持将棋": "JISHOGI", "最大手数": "HIKIWAKE", "引き分け": "HIKIWAKE", "不詰": "FUZUMI", "待った": "MATTA",
    "エラー": "ERROR", "中断": "CHUDAN", "反則負け": "ILLEGAL_MOVE",
}  # fmt: skip
"""The words of JKF for those of KIF."""
_PRESET_OF = {sfen: preset for preset, sfen in PRESETS.items()}
_SURROGATES = re.compile("[\ud800-\udfff]")
_CSA_MOVE = re.compile(r"[+-]([0-9])([0-9])([1-9])([1-9])([A-Z]{2})")
_Object = dict[str, Any]


def write_jkf(record: Record) -> str:
    """Write a record as JKF, with its variations as forks.

    Raises:
        RecordError: JKF cannot express how the game ended.
    """
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    forks = _Forks(record)
    used_ms = [0, 0]
    lines = _lines(text_comment_lines(record.comment))
    items = _items(position, record.moves, used_ms, forks)
    end = _end_items(record, position)
    if found := forks.at(len(record) + 1, position, used_ms):  # they begin where the game ends
        end = end or [{}]
        end[0]["forks"] = found
    document = {
        "header": _header(record),
        "initial": _initial(record.initial_sfen),
        "moves": [{"comments": lines} if lines else {}, *items, *end],
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATES.sub("?", text) + "\n"


class _Forks:
    """The variations of a game by the ply at which they leave it."""

    def __init__(self, record: Record) -> None:
        self._lines: dict[int, list[Variation]] = {}
        for variation in record.variations:
            self._lines.setdefault(variation.ply, []).append(variation)

    def at(self, ply: int, position: Position, used_ms: list[int]) -> list[list[_Object]]:
        """The variations that begin with this ply, as lists of items.

        Args:
            ply: Number of the move.
            position: Position before it.
            used_ms: Time that Black and White have used before it.
        """
        found: list[list[_Object]] = []
        for variation in self._lines.get(ply, ()):
            items = _items(position, variation.moves, list(used_ms))
            for _ in variation.moves:
                position.pop()
            if items and (lines := _lines(text_comment_lines(variation.comment))):
                items[0]["comments"] = lines + items[0].get("comments", [])
            found.append(items)
        return found


def _items(
    position: Position, moves: Iterable[RecordedMove], used_ms: list[int], forks: _Forks | None = None
) -> list[_Object]:
    """The items of moves, which are played on the position; their times are added to those used."""
    items: list[_Object] = []
    for ply, played in enumerate(moves, 1):
        item: _Object = {}
        if lines := _lines(comment_lines(played)):
            item["comments"] = lines
        item["move"] = _move(position, played.move)
        if played.time_ms is not None:
            used_ms[position.turn] += played.time_ms
            now, total = _time(played.time_ms), _time(used_ms[position.turn])
            item["time"] = {"now": now if now["h"] else {"m": now["m"], "s": now["s"]}, "total": total}
        if forks is not None and (found := forks.at(ply, position, used_ms)):
            item["forks"] = found
        position.push(played.move)
        items.append(item)
    return items


def _header(record: Record) -> dict[str, str]:
    names = (("先手", record.black_name), ("後手", record.white_name))
    return dict(header_pairs(record)) | {key: name for key, name in names if name}


def _lines(comments: list[str]) -> list[str]:
    """Lines of KIF without their mark."""
    return [line[1:] for line in comments]


def _move(position: Position, move: Move) -> _Object:
    last = position.peek().to_square if position.moves else None
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


def _end_items(record: Record, position: Position) -> list[_Object]:
    ending = ending_of(record, position.turn)
    if ending is None:
        return []
    if ending.word == "反則勝ち":  # a foul of the side that is not to move
        return [{"special": "-ILLEGAL_ACTION" if position.turn == BLACK else "+ILLEGAL_ACTION"}]
    special = {"special": _SPECIALS[ending.word]}
    illegal = _illegal_move(record.illegal_move, position) if ending.word == "反則負け" else None
    return [special] if illegal is None else [{"move": illegal}, special]


def _illegal_move(text: str, position: Position) -> _Object | None:
    """An illegal move, in USI or CSA, of the side to move; None if JKF cannot express it."""
    color = 0 if position.turn == BLACK else 1
    if found := _CSA_MOVE.fullmatch(text):
        from_file, from_rank, to_file, to_rank = map(int, found.groups()[:4])
        origin = (from_file - 1) * 9 + from_rank - 1 if from_file and from_rank else None
        target, dropped = (to_file - 1) * 9 + to_rank - 1, found[5]
        is_promotion = False
    else:
        try:
            move = Move.from_usi(text)
        except ShogiError:
            return None
        origin, target, is_promotion = move.from_square, move.to_square, move.is_promotion
        dropped = KINDS[move.dropped] if move.dropped is not None else ""
    if origin is None:
        return {"color": color, "to": _place(target), "piece": dropped} if dropped in KINDS.values() else None
    standing = position.piece_on(origin)
    if standing is None:
        return None
    is_promotion = is_promotion or dropped not in ("", KINDS[standing.type])
    end = {"promote": True} if is_promotion else {}
    return {"color": color, "from": _place(origin), "to": _place(target), "piece": KINDS[standing.type]} | end
