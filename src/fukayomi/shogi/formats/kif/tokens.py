"""Tokens on a line of moves, however it is written.

▲７六歩 △３四歩, 1.▲７六歩 2.△３四歩, １手目：７六歩, 先手７六歩 後手３四歩, +7776FU -3334FU, 7g7f 3c3d, △投了
"""

import re
from typing import NamedTuple

from fukayomi.shogi.formats.kif.endings import CLOSING, COUNT, is_known_word, is_statement, may_be_word
from fukayomi.shogi.formats.notation import JAPANESE, MoveError, read_move, western_move
from fukayomi.shogi.formats.text import MOST_PLIES
from fukayomi.shogi.position import BLACK, WHITE, Color, Move, Position

BLACK_MARKS, WHITE_MARKS = "▲▼☗⛊", "△▽☖⛉"
_MARKS = BLACK_MARKS + WHITE_MARKS
_SIDES = {"先手": BLACK, "下手": BLACK, "先": BLACK, "後手": WHITE, "上手": WHITE, "後": WHITE}
_CIRCLED = "①-⑳㉑-㉟㊱-㊿"
_NUMBER = (
    rf"(?:[{_CIRCLED}][\s　]*|初手[\s　]*[：:、]?[\s　]*|[(（]?第?(?P<number>[0-9０-９]{{1,6}})"
    r"(?:手(?!数)目?[\s　]*[：:、]?|[\s　]+手(?:目|(?=[\s　：:、]))[\s　]*[：:、]?|[.．:：、)）]"
    rf"|(?=[\s　{_MARKS}]))[\s　]*)?"
)
_SIDE = (
    r"(?:(?P<side>[先後上下]手|[先後](?=[\s　]*[：:]?[\s　]*[1-9１-９同]))[\s　]*(?P<colon>[：:])?[\s　]*)?"
    rf"(?P<mark>[{_MARKS}])?[\s　]*"
)
_CSA = r"(?P<sign>[+-])?(?P<csa>[0-9]{2}[1-9]{2}[A-Z]{2})(?![A-Za-z0-9])(?:,?T(?P<csa_time>[0-9]{1,9}))?"
_USI = r"(?P<usi>(?:[1-9][a-i]|[PLNSGBR]\*)[1-9][a-i]\+?)(?![A-Za-z0-9])"
_INSIDE = r"[^()（）\[\]［］]*"
_AFTER = (
    rf"(?:[\s　]*[(（\[［](?P<bracket>{_INSIDE})[)）\]］])?(?P<brackets>(?:[\s　]*[(（\[［]{_INSIDE}[)）\]］]){{0,3}})"
    r"(?:\+(?=[\s　]|$))?"
)
_FURTHER = re.compile(rf"[(（\[［]({_INSIDE})[)）\]］]")
_SEPARATORS = " \t　、，,。"
_SEPARATOR = rf"[\s{_SEPARATORS}]*"
_TOKEN = re.compile(rf"{_NUMBER}(?P<text>{_SIDE}(?:{JAPANESE}|{_CSA}|{_USI})){_AFTER}{_SEPARATOR}")
_NAMED = re.compile(rf"{_NUMBER}{_SIDE}(?P<word>[^\s　()（）\[\]［］]{{1,20}}){_AFTER}{_SEPARATOR}")
_NUMBERED = re.compile(r"[(（]?第?(?P<number>[0-9０-９]{1,6})(?:手目|[.．:：、)）])?[\s　]+|")
_COUNTED = re.compile(rf"{COUNT}(?:で|にて)[\s　]*(.+)")
_NEXT_NUMBER = re.compile(r"[(（]([0-9０-９]{1,6})[)）]([\s　]*)$")
_LIKE_MOVE = re.compile(
    rf"[{_MARKS}][1-9１-９同]"
    r"|(?:[1-9１-９][1-9１-９一二三四五六七八九]|同)[\s　]*(?:成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])"
    r"|[0-9]{2}[1-9]{2}(?:FU|KY|KE|GI|KI|KA|HI|OU|TO|NY|NK|NG|UM|RY)"
    r"|(?<![A-Za-z0-9])(?:[1-9][a-i]|[PLNSGBR]\*)[1-9][a-i](?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])[PLNSGBRK](?:[1-9][a-i1-9])?[-x*][1-9][a-i1-9](?![A-Za-z0-9])"
)
_QUOTED = 40  # characters
_LONGEST_REMARK = 200  # characters
_POSITION = re.compile(r"(?:position[\s　]+)?(?:startpos[\s　]+)?moves[\s　]+")
_BEGINNING = re.compile(rf"[\s　]*[0-9０-９(（第初先後上下同PLNSGBR+\-{_MARKS}{_CIRCLED}]|{_POSITION.pattern}")
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_LONG_BLANK = re.compile(r"[\s　]{5,}")


class Token(NamedTuple):
    """A move, a word for the end, or what is neither."""

    text: str
    """As it is written, without its number."""
    number: int | None = None
    side: Color | None = None
    """The side that the record gives it to."""
    found: re.Match[str] | None = None
    """The move; None if it is none."""
    word: str = ""
    """The word for the end."""
    bracket: str = ""
    """Text in brackets behind it: a time. Of a comment, the comment."""
    remarks: tuple[str, ...] = ()
    """Text in further brackets behind it."""

    @property
    def is_junk(self) -> bool:
        """True if it is neither a move nor a word for the end."""
        return self.found is None and not self.word and not self.is_comment

    @property
    def is_comment(self) -> bool:
        """True if it is a comment behind moves."""
        return not self.text


def read_tokens(line: str) -> list[Token]:
    """The tokens of a line; the last one may be junk, and is all of the rest. Empty if the line is something else."""
    line, at = _tidy(line), 0
    if (stated := _statement(line)) is not None:
        return [stated]
    tokens: list[Token] = []
    while at < len(line) and len(tokens) <= MOST_PLIES:
        if tokens and line[at] in "*'":  # a comment on the same line
            return [*tokens, Token("", bracket=line[at + 1 :])]
        found = _TOKEN.match(line, at) or _NAMED.match(line, at)
        token = None if found is None else _move(found) if "piece" in found.groupdict() else _word(found, not tokens)
        if tokens and (rest := CLOSING.fullmatch(line, at)):
            token, found = Token(rest[0], word=rest[0]), rest
        if found is None or token is None:
            if tokens and is_known_word(tokens[-1].word) and not is_like_move(line[at:]):
                return [*tokens, Token("", bracket=line[at:])]
            is_marked = bool(tokens) or line[0] in _MARKS
            return [*tokens, Token(line[at : at + _QUOTED])] if is_marked else []
        at = found.end()
        if token.found is not None and (begin := _next_number(line, found, token.number or len(tokens) + 1)):
            token, at = token._replace(bracket="", remarks=()), begin
        tokens.append(token)
    return tokens


def _next_number(line: str, found: re.Match[str], number: int) -> int:
    """Start of the bracket behind a move, if it is the number of the next: (1)▲７六歩 (2)△３四歩; 0 if not."""
    begin, end = found.start("bracket") - 1, found.end()
    if begin < 0 or found["brackets"] or end == len(line):
        return 0
    next_one = _NEXT_NUMBER.match(line[begin:end])
    if next_one is None or int(next_one[1]) != number + 1 or _TOKEN.match(line, end) is None:
        return 0
    return begin if line[0] in "(（" or (line[begin - 1] in " \t　" and not next_one[2]) else 0


def _statement(line: str) -> Token | None:
    """Token in place of a move, or alone, that tells the result: 先手の勝ち, まで2手で後手の勝ち."""
    begin = _NUMBERED.match(line)
    assert begin is not None  # the number may be missing
    rest = line[begin.end() :]
    number = int(begin["number"]) if begin["number"] else None
    if number is not None and CLOSING.fullmatch(rest):
        return Token(rest, number, word=rest)
    said = re.split(r"[(（\[［]", rest, maxsplit=1)[0]
    if number is not None and (counted := _COUNTED.fullmatch(said)):
        said, rest = counted[1], rest[counted.start(1) :]
    elif not is_statement(said):
        return None
    remarks = _FURTHER.findall(rest, 0, len(said) + _LONGEST_REMARK)
    return Token(said.strip(), number, word=said.strip(), remarks=tuple(remarks))


def _tidy(line: str) -> str:
    """A line without blanks around it and long ones within, which would take long, and USI's words before moves."""
    plain = _LONG_BLANK.sub("    ", line.strip(" \t\r\n\v\f　"))
    return plain[found.end() :] if (found := _POSITION.match(plain)) else plain


def is_moves(line: str) -> bool:
    """True if a line is of moves, understood or not: it begins with one, and not as prose does (７六歩からの研究)."""
    if _BEGINNING.match(line) is None:
        return False
    line = _tidy(line)
    found = _TOKEN.match(line)
    if found is None:
        return False
    is_marked = any(found[name] is not None for name in ("number", "side", "mark"))
    return is_marked or found[0][-1] in _SEPARATORS or not read_tokens(line)[-1].is_junk


def is_western(line: str) -> bool:
    """True if the first move of a line is in the notation of CSA or USI."""
    found = _TOKEN.match(_tidy(line))
    return found is not None and found["piece"] is None


def is_like_move(line: str) -> bool:
    """True if a line has something that looks like a move."""
    return _LIKE_MOVE.search(line) is not None


def has_second_move(rest: str) -> bool:
    """True if another move follows on the line of a move of KIF."""
    plain = re.sub(r"^[(（\[［][^()（）\[\]［］]*[)）\]］][\s　]*", "", _tidy(rest))
    return plain[:1] not in ("", "(", "+") and _TOKEN.match(plain) is not None


def _move(found: re.Match[str]) -> Token:
    number = int(found["number"]) if found["number"] else None
    bracket = found["bracket"] or found["csa_time"] or ""
    return Token(found["text"].strip(), number, _side(found), found, "", bracket, _further(found))


def _further(found: re.Match[str]) -> tuple[str, ...]:
    return tuple(_FURTHER.findall(found["brackets"])) if found["brackets"] else ()


def _side(found: re.Match[str]) -> Color | None:
    groups = found.groupdict()
    if mark := groups["mark"]:
        return BLACK if mark in BLACK_MARKS else WHITE
    if side := groups["side"]:
        return _SIDES[side]
    sign = groups.get("sign")
    return None if not sign else BLACK if sign == "+" else WHITE


def _word(found: re.Match[str], is_first: bool) -> Token | None:
    """A word for the end. One that nobody listed stands at the end of a line, behind a number, a mark or a move."""
    word = found["word"]
    if found["colon"] or not is_known_word(word):
        is_marked = found["number"] is not None or found["mark"] is not None
        is_apart = not is_first and found.string[found.start() - 1] in " \t　" and _HIRAGANA.fullmatch(word) is None
        is_last = found.end() == len(found.string)
        if not is_last or not (is_marked or is_apart) or found["side"] or not may_be_word(word):
            return None
    number = int(found["number"]) if found["number"] else None
    return Token(found[0].strip(), number, _side(found), None, word, found["bracket"] or "", _further(found))


def find_move(token: Token, position: Position, last: int | None) -> Move:
    """The move of a token. It may be illegal if it has an origin or is a drop.

    Args:
        token: A token with a move.
        position: Position before the move.
        last: Target of the move before, for 同.

    Raises:
        MoveError: There is no such move.
    """
    found = token.found
    assert found is not None
    if token.side is not None and token.side != position.turn:
        raise MoveError("is a move of the wrong side", is_illegal=False)
    if found["piece"]:
        return read_move(found, position, last)
    move = western_move(found["usi"] or found["csa"], position)
    if move is None or move.origin == move.target:
        raise MoveError("")
    return Move.from_usi(move.usi())
