"""How a game ended, in the words of KIF and KI2: ``投了`` as a move, ``まで97手で先手の勝ち`` below."""

import re
from typing import NamedTuple

from fukayomi.shogi.formats.kif.board import is_handicap
from fukayomi.shogi.position import BLACK, Color
from fukayomi.shogi.record import Record, RecordError, Result, Termination, result_of, winner_is

MOVER_WINS, MOVER_LOSES, NOBODY = 1, -1, 0

END_WORDS = {
    "投了": (Termination.RESIGN, MOVER_LOSES),
    "詰み": (Termination.MATE, MOVER_LOSES),
    "詰": (Termination.MATE, MOVER_LOSES),
    "切れ負け": (Termination.TIME_UP, MOVER_LOSES),
    "時間切れ": (Termination.TIME_UP, MOVER_LOSES),
    "反則負け": (Termination.ILLEGAL_MOVE, MOVER_LOSES),
    "反則勝ち": (Termination.ILLEGAL_MOVE, MOVER_WINS),
    "反則行為": (Termination.ILLEGAL_MOVE, NOBODY),
    "入玉勝ち": (Termination.DECLARATION, MOVER_WINS),
    "宣言勝ち": (Termination.DECLARATION, MOVER_WINS),
    "入玉宣言勝ち": (Termination.DECLARATION, MOVER_WINS),
    "入玉宣言": (Termination.DECLARATION, MOVER_WINS),
    "不戦勝": (Termination.OTHER, MOVER_WINS),
    "不戦敗": (Termination.OTHER, MOVER_LOSES),
    "トライ": (Termination.OTHER, NOBODY),
    "封じ手": (Termination.OTHER, NOBODY),
    "千日手": (Termination.REPETITION, NOBODY),
    "持将棋": (Termination.IMPASSE, NOBODY),
    "最大手数": (Termination.MAX_PLIES, NOBODY),
    "引き分け": (Termination.DRAW, NOBODY),
    "引分": (Termination.DRAW, NOBODY),
    "裁定引分": (Termination.DRAW, NOBODY),
    "不詰": (Termination.NO_MATE, NOBODY),
    "中断": (Termination.INTERRUPTED, NOBODY),
    "切断": (Termination.INTERRUPTED, NOBODY),
    "待った": (Termination.TAKEN_BACK, NOBODY),
    "エラー": (Termination.ERROR, NOBODY),
}
"""The words that stand in place of a move: how the game ended, and whether the side to move won."""

CLOSING = re.compile(r"[\s　]*まで[、\s　]*(?:[0-9０-９]+手(?:で)?)?(.*)")
"""The line below the moves; its group is what it says after まで97手で."""

_WINNER = re.compile(r"(先手|下手|後手|上手)の(?:勝ち|勝|反則勝ち|入玉勝ち|不戦勝)")
_LOSER = re.compile(r"(先手|下手|後手|上手)の(?:反則負け|反則行為|不戦敗)")
# The first of these words that occurs in the closing line decides; a word that contains another comes before it.
_CLOSING_WORDS = (
    ("反則", Termination.ILLEGAL_MOVE), ("入玉勝ち", Termination.DECLARATION), ("宣言", Termination.DECLARATION),
    ("千日手", Termination.REPETITION), ("持将棋", Termination.IMPASSE), ("時間切れ", Termination.TIME_UP),
    ("切れ負け", Termination.TIME_UP), ("不戦", Termination.OTHER),
    ("最大手数", Termination.MAX_PLIES), ("中断", Termination.INTERRUPTED),
    ("不詰", Termination.NO_MATE), ("詰", Termination.MATE), ("引分", Termination.DRAW),
    ("引き分け", Termination.DRAW), ("待った", Termination.TAKEN_BACK), ("エラー", Termination.ERROR),
    ("勝ち", Termination.RESIGN), ("投了", Termination.RESIGN),
)  # fmt: skip
# A foul without a word of its own is one against the rules of the game.
_FOULS = (
    Termination.ILLEGAL_MOVE, Termination.PERPETUAL_CHECK, Termination.CRASH, Termination.STALL, Termination.PROTOCOL,
)  # fmt: skip
_WRITTEN = {
    Termination.RESIGN: "投了", Termination.MATE: "詰み", Termination.TIME_UP: "切れ負け",
    Termination.DECLARATION: "入玉勝ち", Termination.REPETITION: "千日手", Termination.IMPASSE: "持将棋",
    Termination.MAX_PLIES: "最大手数", Termination.DRAW: "引き分け", Termination.NO_MATE: "不詰",
    Termination.TAKEN_BACK: "待った", Termination.ERROR: "エラー",
}  # fmt: skip


class Ending(NamedTuple):
    """The end of a game as KIF and KI2 write it."""

    word: str
    """In place of the next move: 投了."""
    closing: str
    """After まで97手で: 先手の勝ち."""


def end_of_word(word: str, turn: Color) -> tuple[Termination, Result] | None:
    """How a game ended with this word in place of a move; None if the word is not known."""
    if word not in END_WORDS:
        return None
    termination, outcome = END_WORDS[word]
    if outcome == NOBODY:
        return termination, result_of(termination, turn) if termination != Termination.ILLEGAL_MOVE else Result.UNKNOWN
    return termination, winner_is(turn if outcome == MOVER_WINS else turn.opponent)


def end_of_closing(text: str, turn: Color) -> tuple[Termination, Result]:
    """How a game ended according to the line below its moves.

    Args:
        text: What the line says after まで97手で.
        turn: The side to move at the end.
    """
    termination = next((ending for word, ending in _CLOSING_WORDS if word in text), Termination.OTHER)
    if lost := _LOSER.search(text):
        return termination, winner_is(_side(lost[1]).opponent)
    if won := _WINNER.search(text):
        return termination, winner_is(_side(won[1]))
    if termination in (Termination.ILLEGAL_MOVE, Termination.TIME_UP, Termination.DECLARATION):
        return termination, Result.UNKNOWN  # the line should name the winner
    return termination, result_of(termination, turn)


def _side(word: str) -> Color:
    return BLACK if word in ("先手", "下手") else BLACK.opponent


def ending_of(record: Record, turn: Color, *, is_illegal_move_shown: bool = False) -> Ending | None:
    """The end of a game in the words of KIF and KI2; None if the record does not have one.

    What has no word there is written as a foul, a resignation, a draw or an interruption with the same winner.

    Args:
        record: The record.
        turn: The side to move after the last move of the record.
        is_illegal_move_shown: Whether the illegal move that ended the game stands before the word.

    Raises:
        RecordError: The formats have no words for such an end.
    """
    if record.termination is Termination.NONE:
        return None
    winner = {Result.BLACK_WIN: BLACK, Result.WHITE_WIN: BLACK.opponent}.get(record.result)
    if record.termination in _FOULS and winner is not None:
        if is_illegal_move_shown:
            turn = turn.opponent
        word = "反則勝ち" if winner == turn else "反則負け"
        return Ending(word, f"{_name(turn, record)}の{word}")
    if record.termination is Termination.ADJUDICATION and record.result is Result.DRAW:
        word = _WRITTEN[Termination.DRAW]
    elif record.termination is Termination.ADJUDICATION and winner == turn.opponent:
        word = _WRITTEN[Termination.RESIGN]
    else:
        word = _WRITTEN.get(record.termination, "中断")
    expected = end_of_word(word, turn)
    assert expected is not None
    if winner is not None and expected[1] is Result.UNKNOWN:  # the closing line tells who won
        return Ending(word, f"{_name(winner, record)}の勝ち")
    if winner is not None and expected[1] != record.result:
        what = f"{record.termination} of {'Black' if turn == BLACK else 'White'}, who won or is not to move"
        raise RecordError(record.name, None, f"the format cannot express this end: {what}")
    return Ending(word, _closing(word, record, turn))


def _closing(word: str, record: Record, turn: Color) -> str:
    match word:
        case "投了":
            return f"{_name(turn.opponent, record)}の勝ち"
        case "切れ負け":
            return f"時間切れにより{_name(turn.opponent, record)}の勝ち"
        case "入玉勝ち":
            return f"{_name(turn, record)}の入玉勝ち"
        case "詰み":
            return "詰"
        case _:
            return word


def _name(color: Color, record: Record) -> str:
    names = ("下手", "上手") if is_handicap(record.initial_sfen) else ("先手", "後手")
    return names[0] if color == BLACK else names[1]
