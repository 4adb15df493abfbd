"""Ends of games in the words of KIF and KI2: ``投了`` as a move, ``まで97手で先手の勝ち`` below."""

import re
import unicodedata
from typing import NamedTuple

from fukayomi.shogi.position import BLACK, Color
from fukayomi.shogi.record import Record, Result, Termination, result_of, winner_is

MOVER_WINS, MOVER_LOSES, NOBODY = 1, -1, 0

ENDING_WORD = "終局："
"""A comment on the end that begins so says what the format has no words for: 終局：封じ手, 終局：裁定、後手の勝ち."""
NAMES = {
    Termination.RESIGN: "投了", Termination.DECLARATION: "入玉勝ち", Termination.REPETITION: "千日手",
    Termination.PERPETUAL_CHECK: "連続王手の千日手", Termination.IMPASSE: "持将棋", Termination.DRAW: "引き分け",
    Termination.MAX_PLIES: "最大手数", Termination.MATE: "詰み", Termination.NO_MATE: "不詰",
    Termination.TIME_UP: "切れ負け", Termination.ILLEGAL_MOVE: "反則行為", Termination.CRASH: "エンジンの異常終了",
    Termination.STALL: "エンジンの応答なし", Termination.PROTOCOL: "プロトコル違反", Termination.ADJUDICATION: "裁定",
    Termination.INTERRUPTED: "中断", Termination.TAKEN_BACK: "待った", Termination.ERROR: "エラー",
    Termination.OTHER: "その他", Termination.NONE: "記載なし",
}  # fmt: skip
"""Name of each termination in such a comment."""
_NAMED = {name: termination for termination, name in NAMES.items()}
_OUTCOMES = {
    "先手の勝ち": Result.BLACK_WIN, "下手の勝ち": Result.BLACK_WIN, "後手の勝ち": Result.WHITE_WIN,
    "上手の勝ち": Result.WHITE_WIN, "引き分け": Result.DRAW, "勝敗不明": Result.UNKNOWN,
}  # fmt: skip
_LONGEST_WORD = 20
_NO_WORD = re.compile(r"[0-9０-９▲△▼▽☗☖⛊⛉歩香桂銀金角飛馬龍竜*&#：:()（）\[\]［］\s　]|同|[一二三四五六七八九]{2}")

END_WORDS = {
    "投了": (Termination.RESIGN, MOVER_LOSES),
    "詰み": (Termination.MATE, MOVER_LOSES),
    "詰": (Termination.MATE, MOVER_LOSES),
    "切れ負け": (Termination.TIME_UP, MOVER_LOSES),
    "時間切れ": (Termination.TIME_UP, MOVER_LOSES),
    "時間切れ負け": (Termination.TIME_UP, MOVER_LOSES),
    "時間切れ勝ち": (Termination.TIME_UP, MOVER_WINS),
    "切れ勝ち": (Termination.TIME_UP, MOVER_WINS),
    "時間切れ勝": (Termination.TIME_UP, MOVER_WINS),
    "反則負け": (Termination.ILLEGAL_MOVE, MOVER_LOSES),
    "反則勝ち": (Termination.ILLEGAL_MOVE, MOVER_WINS),
    "反則": (Termination.ILLEGAL_MOVE, NOBODY),
    "反則行為": (Termination.ILLEGAL_MOVE, NOBODY),
    "入玉勝ち": (Termination.DECLARATION, MOVER_WINS),
    "宣言勝ち": (Termination.DECLARATION, MOVER_WINS),
    "入玉宣言勝ち": (Termination.DECLARATION, MOVER_WINS),
    "勝ち宣言": (Termination.DECLARATION, MOVER_WINS),
    "入玉宣言": (Termination.DECLARATION, MOVER_WINS),
    "不戦勝": (Termination.OTHER, MOVER_WINS),
    "不戦敗": (Termination.OTHER, MOVER_LOSES),
    "トライ": (Termination.OTHER, NOBODY),
    "トライ勝ち": (Termination.OTHER, NOBODY),
    "二歩": (Termination.ILLEGAL_MOVE, NOBODY),
    "打ち歩詰め": (Termination.ILLEGAL_MOVE, NOBODY),
    "王手放置": (Termination.ILLEGAL_MOVE, NOBODY),
    "二手指し": (Termination.ILLEGAL_MOVE, NOBODY),
    "封じ手": (Termination.OTHER, NOBODY),
    "千日手": (Termination.REPETITION, NOBODY),
    "連続王手の千日手": (Termination.PERPETUAL_CHECK, NOBODY),
    "連続王手": (Termination.PERPETUAL_CHECK, NOBODY),
    "連続王手千日手": (Termination.PERPETUAL_CHECK, NOBODY),
    "持将棋": (Termination.IMPASSE, NOBODY),
    "最大手数": (Termination.MAX_PLIES, NOBODY),
    "手数制限": (Termination.MAX_PLIES, NOBODY),
    "引き分け": (Termination.DRAW, NOBODY),
    "引き分": (Termination.DRAW, NOBODY),
    "引分け": (Termination.DRAW, NOBODY),
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

COUNT = r"[0-9０-９〇一二三四五六七八九十百千]+手"
"""A number of moves."""
_GAP = r"[、，,\s　]{0,8}"
CLOSING = re.compile(
    rf"[\s　]*(?:まで{_GAP}(?:{COUNT}(?:をもって|にて|で)?)?|以上{_GAP}{COUNT}(?:をもって|にて|で)?"
    rf"|{COUNT}(?:まで|にて)(?:で|にて)?){_GAP}(.*)"
)
"""The line below the moves; its group is what it says after まで97手で."""

_SIDES = {
    **dict.fromkeys(("先手", "下手", "▲", "▼", "☗", "⛊"), BLACK),
    **dict.fromkeys(("後手", "上手", "△", "▽", "☖", "⛉"), BLACK.opponent),
}
_SIDE = rf"({'|'.join(_SIDES)})(?:番)?[\s　]{{0,4}}[のがは]?[\s　]{{0,4}}"
_HOW = rf"((?:(?!により|によって|で|{'|'.join(_SIDES)}|負|敗|投了)[^\s　、。勝]){{0,12}})"
_WINNER = re.compile(rf"{_SIDE}{_HOW}勝(?:ち|利)?")
_LOSER = re.compile(
    rf"{_SIDE}(?:(?:反則|時間切れ|切れ|判定|点数|優勢)?(?:負け|負|敗け|敗北|敗)|反則行為|反則(?!勝)|不戦敗|投了"
    r"|時間切れ(?!勝)(?!により))"
)
_LEADING_SIDE = re.compile(rf"^{_SIDE}")
_CAUSE = re.compile(r"(.{1,20})(?:により|によって|で)(?:先手|下手|後手|上手)番?の勝(?:ち|利)?")
_PLAYER = r"(^|により|によって|[\s　、]){}[^\s　、。のがは勝負敗投反時]{{0,8}}(?=[のがは勝負敗投反時\s　])"
"""A player in a closing line, with what stands behind the name, such as 七段."""
_REMARK = re.compile(r"[(（\[［][^()（）\[\]［］]{0,80}[)）\]］]")
# The first of these words that occurs in the closing line decides; a word that contains another comes before it.
_CLOSING_WORDS = (
    ("反則", Termination.ILLEGAL_MOVE), ("入玉勝ち", Termination.DECLARATION), ("宣言", Termination.DECLARATION),
    ("連続王手", Termination.PERPETUAL_CHECK),
    ("千日手", Termination.REPETITION), ("持将棋", Termination.IMPASSE), ("時間切れ", Termination.TIME_UP),
    ("切れ負け", Termination.TIME_UP), ("切れ勝ち", Termination.TIME_UP), ("不戦", Termination.OTHER),
    ("最大手数", Termination.MAX_PLIES), ("手数制限", Termination.MAX_PLIES), ("中断", Termination.INTERRUPTED),
    ("不詰", Termination.NO_MATE), ("詰", Termination.MATE), ("引分", Termination.DRAW),
    ("引き分", Termination.DRAW), ("待った", Termination.TAKEN_BACK), ("エラー", Termination.ERROR),
    ("投了", Termination.RESIGN),
)  # fmt: skip
_DRAWN = re.compile(r"引き?分け?$|^(?:千日手|持将棋)(?:成立)?$")
# What an end is called where the record names a winner
_DECIDED = {Termination.IMPASSE: Termination.DECLARATION, Termination.REPETITION: Termination.PERPETUAL_CHECK}
_WRITTEN_INTERRUPTED = "中断"


class End(NamedTuple):
    """End of a game."""

    termination: Termination
    result: Result
    word: str = ""
    """The record's own word, if the termination does not tell it."""


def may_be_word(word: str) -> bool:
    """True if a word may be one for the end that nobody listed; what looks like a move may not."""
    return 0 < len(word) <= _LONGEST_WORD and _NO_WORD.search(word) is None


def is_known_word(word: str) -> bool:
    """True if a word is one of those that stand in place of a move."""
    return _listed(word) in END_WORDS


def _listed(word: str) -> str:
    """The word as the table has it, whatever its spelling."""
    plain = re.sub(r"[-_%]", "", unicodedata.normalize("NFKC", word).casefold()).rstrip("。.!")
    return _LATIN_WORDS.get(plain, plain if plain in END_WORDS else word)


def end_of_word(word: str, turn: Color) -> End:
    """End of a game with this word in place of a move; a word that nobody listed is kept as it is.

    Args:
        word: The word.
        turn: The side to move, or the one that the record gives the word to.
    """
    termination, outcome = END_WORDS.get(_listed(word), (Termination.OTHER, NOBODY))
    if _listed(word) not in END_WORDS and word in _NAMED:
        termination = _NAMED[word]
    own = word if _is_own(word, termination) else ""
    if outcome == NOBODY:
        is_foul = termination is Termination.ILLEGAL_MOVE
        return End(termination, Result.UNKNOWN if is_foul else result_of(termination, turn), own)
    return End(termination, winner_is(turn if outcome == MOVER_WINS else turn.opponent), own)


def end_in_place(word: str, turn: Color, names: tuple[str, str]) -> End:
    """End of a game with these words in place of a move: 投了, 先手の勝ち, 手数制限による引き分け.

    Args:
        word: The words.
        turn: The side to move, or the one that the record gives the word to.
        names: The players.
    """
    end = end_of_word(word, turn)
    if is_known_word(word) or word in _NAMED:
        return end
    told = end_of_closing(word, turn, names)
    is_drawn = told.result is Result.DRAW and _DRAWN.search(word) is not None
    return (
        told if is_drawn or (told.result in (Result.BLACK_WIN, Result.WHITE_WIN) and _names_side(word, names)) else end
    )


def _names_side(text: str, names: tuple[str, str]) -> bool:
    plain = _with_sides(text, names)
    return _LOSER.search(plain) is not None or _WINNER.search(plain) is not None


def is_statement(text: str) -> bool:
    """True if a text says no more than which side won or lost: 先手の勝ち, 後手反則負け."""
    plain = text.strip().rstrip("。")
    return _WINNER.fullmatch(plain) is not None or _LOSER.fullmatch(plain) is not None


def _is_own(word: str, termination: Termination) -> bool:
    if termination is Termination.ILLEGAL_MOVE:
        return _listed(word) in END_WORDS and not _listed(word).startswith("反則")
    if word in (NAMES[Termination.OTHER], NAMES[Termination.NONE]):
        return False
    return termination in (Termination.OTHER, Termination.INTERRUPTED) and _listed(word) != _WRITTEN_INTERRUPTED


def end_of_closing(text: str, turn: Color, names: tuple[str, str] = ("", "")) -> End:
    """End of a game according to the line below its moves. The winner is unknown where two sides are named, or none.

    Args:
        text: What the line says after まで97手で.
        turn: The side to move at the end.
        names: The players, who may be named instead of their sides.
    """
    text = _with_sides(text, names)
    termination = next((ending for word, ending in _CLOSING_WORDS if word in text), Termination.OTHER)
    said = _REMARK.sub("", text)
    cause = _CAUSE.fullmatch(said.strip().rstrip("。"))
    said_cause = _LEADING_SIDE.sub("", cause[1]) if cause else ""
    if cause and not any(word in said_cause for word, _ in _CLOSING_WORDS):
        termination = END_WORDS.get(said_cause, (Termination.OTHER, NOBODY))[0]
    own = said_cause if said_cause and _is_own(said_cause, termination) else ""
    lost, won = _LOSER.search(said), _WINNER.search(said)
    if lost or won:
        if won and not own and termination is Termination.OTHER and won[2] and won[2][-1] != "の":
            own = f"{won[2]}勝ち" if won[2] != "不戦" else "不戦勝"
        elif lost and "不戦敗" in lost[0]:
            own = "不戦敗"
        if termination is Termination.OTHER and not own:
            termination = Termination.RESIGN
        winners = {_SIDES[lost[1]].opponent} if lost else set[Color]()
        winners |= {_SIDES[won[1]]} if won else set()
        termination = _DECIDED.get(termination, termination)
        return End(termination, winner_is(winners.pop()) if len(winners) == 1 else Result.UNKNOWN, own)
    plain = said.strip().rstrip("。")
    if END_WORDS.get(plain, (None, None))[1] == NOBODY or (plain in _NAMED and plain not in END_WORDS):
        return end_of_word(plain, turn)
    if termination is Termination.OTHER and plain in ("勝ち", "勝", "負け"):
        return End(Termination.RESIGN, Result.UNKNOWN)
    if termination in (Termination.OTHER, Termination.INTERRUPTED) and _is_own(plain, termination):
        own = plain[:_LONGEST_WORD]
    if termination in (Termination.ILLEGAL_MOVE, Termination.TIME_UP, Termination.DECLARATION):
        return End(termination, Result.UNKNOWN)  # the line should name the winner
    return End(termination, result_of(termination, turn), own)


def _with_sides(text: str, names: tuple[str, str]) -> str:
    """The text with 先手 and 後手 for the players, if it names no side."""
    if any(side in text for side in _SIDES):
        return text
    best, side, is_clear = "", "", False
    for name, called in zip(names, ("先手", "後手"), strict=True):
        for part in (name.strip(), *name.split()[:1]):
            if len(part) < len(best) or not part or re.search(_PLAYER.format(re.escape(part)), text) is None:
                continue
            is_clear = len(part) > len(best) or side == called
            best, side = part, called
    return re.sub(_PLAYER.format(re.escape(best)), rf"\g<1>{side}", text, count=1) if is_clear else text


def ending_notes(record: Record, end: End, own: str) -> list[str]:
    """The comment on the end that says what the words of a format do not.

    Args:
        record: The record.
        end: What a reader takes from the words.
        own: The record's own word, if a reader takes it for one.
    """
    if (end.termination, end.result) == (record.termination, record.result) and (not own or end.word == own):
        return []
    if own and "、" not in own and (end.termination, record.result) == (Termination.INTERRUPTED, end.result):
        return [f"{ENDING_WORD}{own}"]
    black, white = record.side_names
    outcome = {
        Result.BLACK_WIN: f"{black}の勝ち", Result.WHITE_WIN: f"{white}の勝ち", Result.DRAW: "引き分け",
        Result.UNKNOWN: "勝敗不明",
    }[record.result]  # fmt: skip
    return [f"{ENDING_WORD}{own or NAMES[record.termination]}、{outcome}"]


def take_ending_word(record: Record, lines: list[str], turn: Color) -> list[str]:
    """Take from the comments on the end what `ending_notes` wrote; returns the others."""
    for number, line in enumerate(lines):
        if not line.startswith(ENDING_WORD):
            continue
        said = line.removeprefix(ENDING_WORD)
        word, _, outcome = said.rpartition("、")
        if word and outcome in _OUTCOMES:
            own = "" if word in _NAMED else word
            termination = _NAMED[word] if word in _NAMED else end_of_word(word, turn).termination
            record.termination, record.result, record.ending_word = termination, _OUTCOMES[outcome], own
        elif record.termination is Termination.INTERRUPTED:
            end = end_of_word(said, turn)
            record.termination, record.ending_word = end.termination, end.word
        else:
            continue
        return lines[:number] + lines[number + 1 :]
    return lines
