"""First positions in KIF and KI2: handicaps (手合割) and boards with pieces in hand, as books and GUIs draw them (BOD).

後手の持駒：なし
  ９ ８ ７ ６ ５ ４ ３ ２ １
+---------------------------+
|v香v桂v銀v金v玉v金v銀v桂v香|一
...
+---------------------------+
先手の持駒：飛　歩十八
後手番
"""

import re
import unicodedata

from fukayomi.shogi.position import BLACK, START_SFEN, WHITE, Color, Position, ShogiError

_REST = "/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
HANDICAPS = {
    "平手": START_SFEN,
    "香落": f"lnsgkgsn1/1r5b1{_REST}",
    "右香落": f"1nsgkgsnl/1r5b1{_REST}",
    "角落": f"lnsgkgsnl/1r7{_REST}",
    "飛車落": f"lnsgkgsnl/7b1{_REST}",
    "飛香落": f"lnsgkgsn1/7b1{_REST}",
    "二枚落": f"lnsgkgsnl/9{_REST}",
    "三枚落": f"lnsgkgsn1/9{_REST}",
    "四枚落": f"1nsgkgsn1/9{_REST}",
    "五枚落": f"2sgkgsn1/9{_REST}",
    "左五枚落": f"1nsgkgs2/9{_REST}",
    "六枚落": f"2sgkgs2/9{_REST}",
    "右七枚落": f"3gkgs2/9{_REST}",
    "左七枚落": f"2sgkg3/9{_REST}",
    "八枚落": f"3gkg3/9{_REST}",
    "十枚落": f"4k4/9{_REST}",
}
"""The first position of each handicap, without the ち at the end of its name."""

_SPELLINGS = {
    "飛落": "飛車落",
    "飛車香落": "飛香落",
    "左香落": "香落",
    "右五枚落": "五枚落",
    "平": "平手",
    "平手戦": "平手",
}
_COMMON = (
    "平手", "香落", "右香落", "角落", "飛車落", "飛香落", "二枚落", "四枚落", "六枚落", "八枚落", "十枚落",
)  # fmt: skip
_NAME_OF_SFEN = {HANDICAPS[name]: name if name == "平手" else name + "ち" for name in _COMMON}

_LETTERS = {
    "歩": "P", "香": "L", "桂": "N", "銀": "S", "金": "G", "角": "B", "飛": "R", "玉": "K", "王": "K", "と": "+P",
    "杏": "+L", "圭": "+N", "全": "+S", "馬": "+B", "龍": "+R", "竜": "+R",
}  # fmt: skip
_CELL_OF_LETTER = {letter: name for name, letter in reversed(_LETTERS.items())}
_CELLS = "".join(_LETTERS)
_CELL = re.compile(rf"([ 　vVｖ^]?)([{_CELLS}・．･])")
_ROW = re.compile(
    rf"[ 　]*[|｜]?((?:{_CELL.pattern.replace('(', '(?:')}){{9}})[ 　]*[|｜]?[ 　]*[一二三四五六七八九1-9１-９]?[ 　]*"
)
_LOOKS_LIKE_ROW = re.compile(rf"[ 　]*[|｜]|(?:[ 　vV^]?[{_CELLS}・．･]){{5}}")
_HELD = re.compile(
    r"([歩香桂銀金角飛])([0-9]{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九〇]{1,2})?"
)
_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九")}
_KANJI = "〇一二三四五六七八九"
_NOTHING = ("", "なし", "無し", "無", "ナシ")
_PIECES_OF_A_SIDE = 20
_HAND_ORDER = "RBGSNLP"


def handicap_sfen(name: str) -> str | None:
    """The first position of a handicap; None if its name is not known.

    >>> handicap_sfen("飛落ち") == handicap_sfen("飛車落ち")
    True
    """
    plain = unicodedata.normalize("NFKC", name)
    plain = re.sub(r"\s", "", plain).removesuffix("ち").translate({ord(str(n)): _KANJI[n] for n in range(2, 9)})
    plain = plain.replace("10", "十")
    return HANDICAPS.get(_SPELLINGS.get(plain, plain))


def handicap_name(sfen: str) -> str | None:
    """The name of a first position that all programs know by name."""
    return _NAME_OF_SFEN.get(sfen)


def is_handicap(sfen: str) -> bool:
    """Whether a first position is that of a handicap game (駒落ち): White begins, lacks pieces, and Black has all."""
    rows, turn, *_ = sfen.split()
    even = START_SFEN.split()[0]
    own = even[even.index("/PPPPPPPPP") :]
    return turn == "w" and rows.endswith(own) and len(re.findall("[a-z]", rows)) < _PIECES_OF_A_SIDE


def is_row(line: str) -> bool:
    """Whether a line is a row of a board, with its frame or without."""
    return _ROW.fullmatch(line) is not None


def looks_like_row(line: str) -> bool:
    """Whether a line was probably meant as a row of a board."""
    return _LOOKS_LIKE_ROW.match(line) is not None


def row_sfen(line: str) -> str:
    """A row of a board as in an SFEN."""
    found = _ROW.fullmatch(line)
    assert found is not None
    text = ""
    for side, cell in _CELL.findall(found[1]):
        letter = _LETTERS.get(cell, "1")
        text += letter.lower() if side and side in "vVｖ" else letter
    return re.sub("1+", lambda empty: str(len(empty[0])), text)


def hand_sfen(text: str, color: Color) -> str:
    """Pieces in hand as in an SFEN, such as those of ``飛　歩十八`` or ``歩18``.

    Raises:
        ValueError: The text is not pieces and their numbers.
    """
    plain = re.sub(r"[\s、,]", "", unicodedata.normalize("NFKC", text))
    if plain in _NOTHING:
        return ""
    counts: dict[str, int] = {}
    at = 0
    while at < len(plain):
        found = _HELD.match(plain, at)
        if found is None:
            raise ValueError(f"not pieces in hand: {text.strip()[:60]!r}")
        letter = _LETTERS[found[1]]
        counts[letter] = counts.get(letter, 0) + _number(found[2] or "1")
        at = found.end()
    held = "".join(f"{counts[letter] if counts[letter] > 1 else ''}{letter}" for letter in counts if counts[letter])
    return held if color == BLACK else held.lower()


def _number(text: str) -> int:
    if text.isascii():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return int("".join(str(_DIGITS[digit]) for digit in text))
    return 10 * (_DIGITS[tens[-1]] if tens else 1) + (_DIGITS[ones[0]] if ones else 0)


def first_position(rows: list[str], hands: dict[Color, str], turn: Color, ply: int) -> str:
    """The SFEN of a board.

    Args:
        rows: Nine rows as `row_sfen` gives them.
        hands: Pieces in hand as `hand_sfen` gives them.
        turn: The side to move.
        ply: Number of the next move.

    Raises:
        ValueError: The position is impossible.
    """
    held = hands.get(BLACK, "") + hands.get(WHITE, "")
    sfen = f"{'/'.join(rows)} {'b' if turn == BLACK else 'w'} {held or '-'} {ply}"
    try:
        return Position.from_sfen(sfen, allow_missing_king=True).sfen()
    except ShogiError as error:
        raise ValueError(f"the first position is impossible: {error}") from error


def board_lines(sfen: str) -> list[str]:
    """The lines of a board (BOD) for a first position that has no name."""
    board, turn, hands, ply = sfen.split()
    lines = [f"後手の持駒：{_hand(hands, WHITE)}", "  ９ ８ ７ ６ ５ ４ ３ ２ １", "+---------------------------+"]
    for rank, row in zip(_KANJI[1:], board.split("/"), strict=True):
        cells = ""
        for promoted, letter in re.findall(r"(\+?)([A-Za-z]|[1-9])", row):
            if letter.isdigit():
                cells += " ・" * int(letter)
            else:
                cells += (" " if letter.isupper() else "v") + _CELL_OF_LETTER[promoted + letter.upper()]
        lines.append(f"|{cells}|{rank}")
    lines += ["+---------------------------+", f"先手の持駒：{_hand(hands, BLACK)}"]
    lines += [f"手数＝{int(ply) - 1}　まで"] if int(ply) > 1 else []
    return [*lines, "先手番" if turn == "b" else "後手番"]


def _hand(hands: str, color: Color) -> str:
    counts = {
        letter.upper(): int(count or 1)
        for count, letter in re.findall(r"(\d*)([A-Za-z])", hands)
        if letter.isupper() == (color == BLACK)
    }
    held = [_CELL_OF_LETTER[letter] + _kanji(counts[letter]) for letter in _HAND_ORDER if letter in counts]
    return "".join(f"{piece}　" for piece in held) or "なし"


def _kanji(count: int) -> str:
    if count == 1:
        return ""
    tens, ones = divmod(count, 10)
    return ("十" if tens else "") + (_KANJI[ones] if ones else "")
