"""How a game ended, in the words of KIF and KI2: ``投了`` as a move, ``まで97手で先手の勝ち`` below."""

import re
import unicodedata
from typing import NamedTuple

from fukayomi.shogi.position import BLACK, Color
from fukayomi.shogi.record import Record, RecordError, Result, Termination, result_of, winner_is

MOVER_WINS, MOVER_LOSES, NOBODY = 1, -1, 0

ENDING_WORD = "終局："
"""A comment on the end that begins so has the record's own word for it, for which CSA and JKF have none."""
_LONGEST_WORD = 20
_NO_WORD = re.compile(r"[0-9０-９▲△▼▽☗☖歩香桂銀金角飛馬龍竜*&#：:()（）\[\]［］\s　]|同|[一二三四五六七八九]{2}")

END_WORDS = {
    "投了": (Termination.RESIGN, MOVER_LOSES),
    "詰み": (Termination.MATE, MOVER_LOSES),
    "詰": (Termination.MATE, MOVER_LOSES),
    "切れ負け": (Termination.TIME_UP, MOVER_LOSES),
    "時間切れ": (Termination.TIME_UP, MOVER_LOSES),
    "時間切れ負け": (Termination.TIME_UP, MOVER_LOSES),
    "時間切れ勝ち": (Termination.TIME_UP, MOVER_WINS),
    "時間切れ勝": (Termination.TIME_UP, MOVER_WINS),
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
_LATIN_WORDS = {
    "resign": "投了", "toryo": "投了", "timeup": "切れ負け", "timeout": "切れ負け", "illegalmove": "反則負け",
    "mate": "詰み", "checkmate": "詰み", "tsumi": "詰み", "win": "入玉勝ち", "kachi": "入玉勝ち", "draw": "引き分け",
    "hikiwake": "引き分け", "sennichite": "千日手", "repetition": "千日手", "jishogi": "持将棋", "impasse": "持将棋",
    "maxmoves": "最大手数", "chudan": "中断", "interrupt": "中断", "matta": "待った", "fuzumi": "不詰",
    "error": "エラー",
}  # fmt: skip
"""The words of other formats, without blanks, hyphens, underscores and CSA's %."""

_COUNT = r"[0-9０-９〇一二三四五六七八九十百千]+手"
_GAP = r"[、，,\s　]{0,8}"
CLOSING = re.compile(
    rf"[\s　]*(?:まで{_GAP}(?:{_COUNT}(?:をもって|にて|で)?)?|以上{_GAP}{_COUNT}(?:をもって|にて|で)?"
    rf"|{_COUNT}(?:まで|にて)(?:で|にて)?){_GAP}(.*)"
)
"""The line below the moves; its group is what it says after まで97手で."""

_WINNER = re.compile(r"(先手|下手|後手|上手)の?[\s　]{0,4}(?:反則|入玉|宣言|入玉宣言|時間切れ)?(?:勝ち|勝|不戦勝)")
_LOSER = re.compile(
    r"(先手|下手|後手|上手)の?[\s　]{0,4}"
    r"(?:(?:反則|時間切れ|切れ)?(?:負け|敗)|反則行為|不戦敗|投了|時間切れ(?!勝)(?!により))"
)
_CAUSE = re.compile(r"(.{1,20})により(?:先手|下手|後手|上手)の勝ち")
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


_WRITTEN_INTERRUPTED = "中断"


class Ending(NamedTuple):
    """The end of a game as KIF and KI2 write it."""

    word: str
    """In place of the next move: 投了."""
    closing: str
    """After まで97手で: 先手の勝ち."""


class End(NamedTuple):
    """How a game ended."""

    termination: Termination
    result: Result
    word: str = ""
    """The record's own word, if the termination does not tell it."""


def may_be_word(word: str) -> bool:
    """Whether a word may be one for the end that nobody listed; what looks like a move may not."""
    return 0 < len(word) <= _LONGEST_WORD and _NO_WORD.search(word) is None


def is_known_word(word: str) -> bool:
    """Whether a word is one of those that stand in place of a move."""
    return _listed(word) in END_WORDS


def _listed(word: str) -> str:
    """The word as the table has it, whatever its spelling."""
    plain = re.sub(r"[-_%]", "", unicodedata.normalize("NFKC", word).casefold()).rstrip("。.")
    return _LATIN_WORDS.get(plain, plain if plain in END_WORDS else word)


def end_of_word(word: str, turn: Color) -> End:
    """How a game ended with this word in place of a move; a word that nobody listed is kept as it is.

    Args:
        word: The word.
        turn: The side to move.
    """
    termination, outcome = END_WORDS.get(_listed(word), (Termination.OTHER, NOBODY))
    own = word if _is_own(word, termination) else ""
    if outcome == NOBODY:
        is_foul = termination is Termination.ILLEGAL_MOVE
        return End(termination, Result.UNKNOWN if is_foul else result_of(termination, turn), own)
    return End(termination, winner_is(turn if outcome == MOVER_WINS else turn.opponent), own)


def _is_own(word: str, termination: Termination) -> bool:
    return termination in (Termination.OTHER, Termination.INTERRUPTED) and _listed(word) != _WRITTEN_INTERRUPTED


def end_of_closing(text: str, turn: Color) -> End:
    """How a game ended according to the line below its moves.

    Args:
        text: What the line says after まで97手で.
        turn: The side to move at the end.
    """
    termination = next((ending for word, ending in _CLOSING_WORDS if word in text), Termination.OTHER)
    cause = _CAUSE.fullmatch(text)
    if cause and not any(word in cause[1] for word, _ in _CLOSING_WORDS):
        termination = Termination.OTHER
    own = cause[1] if cause and termination is Termination.OTHER else ""
    lost, won = _LOSER.search(text), _WINNER.search(text)
    if lost or won:
        if termination is Termination.OTHER and not own and "不戦" not in text:
            termination = Termination.RESIGN
        winner = _side(lost[1]).opponent if lost else _side(won[1]) if won else BLACK
        return End(termination, winner_is(winner), own)
    plain = text.strip().rstrip("。")
    if END_WORDS.get(plain, (None, None))[1] == NOBODY:
        return end_of_word(plain, turn)
    if termination in (Termination.OTHER, Termination.INTERRUPTED) and _is_own(plain, termination):
        own = plain[:20]
    if termination in (Termination.ILLEGAL_MOVE, Termination.TIME_UP, Termination.DECLARATION):
        return End(termination, Result.UNKNOWN)  # the line should name the winner
    return End(termination, result_of(termination, turn), own)


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
        word = _WRITTEN.get(record.termination) or _own_word(record, turn) or _WRITTEN_INTERRUPTED
    expected = end_of_word(word, turn)
    if winner is not None and expected.result is Result.UNKNOWN:  # the closing line tells who won
        cause = f"{word}により" if expected.word else ""
        return Ending(word, f"{cause}{_name(winner, record)}の勝ち")
    if winner is not None and expected.result != record.result:
        what = f"{record.termination} of {'Black' if turn == BLACK else 'White'}, who won or is not to move"
        raise RecordError(record.name, None, f"the format cannot express this end: {what}")
    return Ending(word, _closing(word, record, turn))


def _own_word(record: Record, turn: Color) -> str:
    """The word of the record itself, if a reader takes it for one and for the same end."""
    word = record.ending_word
    if not may_be_word(word):
        return ""
    end = end_of_word(word, turn)
    is_same = end.termination is record.termination and end.result in (Result.UNKNOWN, record.result)
    return word if is_same and end.word == word else ""


def take_ending_word(record: Record, lines: list[str], turn: Color) -> list[str]:
    """Take the record's own word for the end from the comments on it, as CSA and JKF have it; returns the others."""
    for number, line in enumerate(lines):
        if line.startswith(ENDING_WORD) and record.termination is Termination.INTERRUPTED:
            end = end_of_word(line.removeprefix(ENDING_WORD), turn)
            record.termination, record.ending_word = end.termination, end.word
            return lines[:number] + lines[number + 1 :]
    return lines


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
    return record.side_names[color == BLACK.opponent]
