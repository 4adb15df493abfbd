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

from fukayomi.errors import InvalidValueError
from fukayomi.shogi.position import BLACK, START_SFEN, WHITE, Color, Position, ShogiError

_SIDES = "/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
_REST = f"/ppppppppp{_SIDES} w - 1"
_NAKED = f"4k4/9/9{_SIDES}"
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
    "右九枚落": f"4kg3/9{_REST}",
    "左九枚落": f"3gk4/9{_REST}",
    "十枚落": f"4k4/9{_REST}",
    "トンボ+桂香": f"ln2k2nl/1r5b1{_REST}",
    "トンボ+香": f"l3k3l/1r5b1{_REST}",
    "トンボ": f"4k4/1r5b1{_REST}",
    "歩三兵": f"{_NAKED} w 3p 1",
    "裸玉": f"{_NAKED} w - 1",
    "青空将棋": "lnsgkgsnl/1r5b1/9/9/9/9/9/1B5R1/LNSGKGSNL b - 1",
}
"""The first position of each handicap, without the ち at the end of its name. White gives it; left is White's left.
Those that name pieces (銀落, 飛銀落, 両桂落) and those that give them to Black (香得) follow from their names."""

_SPELLINGS = {
    "飛落": "飛車落",
    "左香落": "香落",
    "一丁半": "飛香落",
    "飛角落": "二枚落",
    "角飛落": "二枚落",
    "右五枚落": "五枚落",
    "七枚落": "右七枚落",
    "九枚落": "右九枚落",
    "十九枚落": "裸玉",
    "裸王": "裸玉",
    "トンボ落": "トンボ",
    "青空": "青空将棋",
    "二枚持": "二枚得",
    "平": "平手",
    "平手戦": "平手",
    "互先": "平手",
    "定先": "平手",
    "先": "平手",
    # Series of even games and games with a lance: such a game is even unless it says 香落.
    "香平": "平手",
    "香平手": "平手",
    "平香": "平手",
    "平香交": "平手",
    "平香交り": "平手",
    "平香交じり": "平手",
}
_COMMON = (
    "平手", "香落", "右香落", "角落", "飛車落", "飛香落", "二枚落", "四枚落", "六枚落", "八枚落", "十枚落",
)  # fmt: skip
_NAME_OF_SFEN = {HANDICAPS[name]: name if name == "平手" else name + "ち" for name in _COMMON}
_LAST_RANK = "lnsgkgsnl"
_PLACES = {"金": (3, 5), "銀": (2, 6), "桂": (1, 7), "香": (0, 8)}
"""Places of White's pieces on the last rank: right and left."""
_PIECES_GIVEN = re.compile(r"(?:飛|角|[右左両]?[金銀桂香])+(?=落)")
_BRACKET = re.compile(r"\(([^()]*)\)$")
_EVEN_OR_PIECE = r"(?:平手?|[飛角香](?:落ち?)?)"
_SERIES = re.compile(rf"半香落?|{_EVEN_OR_PIECE}(?:[・、,/／と]?{_EVEN_OR_PIECE}){{1,3}}(?:交(?:ぜ|じ?り)?)?")
"""Several handicaps, which the games of a series have in turn."""
_COUNT = re.compile(r"[右左]?(?:十?[一二三四五六七八九]|十)枚落|歩落")
_ONE_GIVEN = re.compile(r"([右左両]?)([飛角金銀桂香])")

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
    >>> handicap_sfen("香得")
    'lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w L 1'
    """
    plain, inner = _plain(name)
    sfen = _sfen_of(plain)
    other = _sfen_of(_plain(inner)[0]) if inner else None
    if other is None or sfen is None or _SERIES.fullmatch(plain):
        return other or sfen
    return sfen if other == sfen else None


def why_unknown(name: str) -> str:
    """Problem with the name of a handicap for which `handicap_sfen` knows no position."""
    plain, inner = _plain(name)
    quoted = repr(name[:40])
    if inner and _sfen_of(plain) is not None:
        return f"handicap {quoted} names two positions"
    if _SERIES.fullmatch(plain):
        return f"handicap {quoted} names several games and not this one"
    if _COUNT.fullmatch(plain):
        return f"handicap {quoted} does not tell which pieces are missing"
    return f"unknown handicap {quoted} without a board"


def _plain(name: str) -> tuple[str, str]:
    """The name of a handicap in one spelling, and what stands in brackets behind it."""
    plain = re.sub(r"\s", "", unicodedata.normalize("NFKC", name))
    bracket = _BRACKET.search(plain)
    plain = plain[: bracket.start()] if bracket else plain
    plain = re.sub(r"([飛香])車|角行|桂馬|([金銀])将", lambda found: found[0][0], plain)
    plain = re.sub(r"(?<![0-9])1?[0-9](?=枚)", lambda found: _kanji_number(int(found[0])), plain)
    plain = re.sub(r"([金銀桂香])(?:二枚)(?=落|得)", r"両\1", plain)
    plain = re.sub(r"(?<=[落得持])(?:ち|とし|し)$", "", plain)
    return plain, bracket[1] if bracket else ""


def _sfen_of(plain: str) -> str | None:
    plain = _SPELLINGS.get(plain, plain)
    if plain.endswith("得"):  # what White lacks is in Black's hand
        plain = plain[:-1] + "落"
        return _with_given(_board_without(_SPELLINGS.get(plain, plain)))
    return _board_without(plain)


def _board_without(plain: str) -> str | None:
    """The first position of a handicap whose name has one spelling."""
    if plain in HANDICAPS:
        return HANDICAPS[plain]
    found = _PIECES_GIVEN.match(plain)
    if found is None or found.end() != len(plain) - 1:
        return None
    rank, second = list(_LAST_RANK), "1r5b1"
    for side, piece in _ONE_GIVEN.findall(found[0]):
        if piece in "飛角":
            second = second.replace("r" if piece == "飛" else "b", "1")
            continue
        right, left = _PLACES[piece]
        for place in {"右": (right,), "両": (right, left)}.get(side, (left,)):
            rank[place] = "1"
    rows = (re.sub("[0-9]+", lambda empty: str(sum(map(int, empty[0]))), row) for row in ("".join(rank), second))
    return "/".join(rows) + _REST


def _with_given(sfen: str | None) -> str | None:
    """The first position with the pieces that White lacks in Black's hand."""
    if sfen is None or "ppppppppp" not in sfen:
        return None
    ranks = sfen.split("/ppp")[0]
    counts = {letter: START_SFEN.split("/ppp")[0].count(letter) - ranks.count(letter) for letter in "rbgsnl"}
    held = "".join(f"{count if count > 1 else ''}{letter.upper()}" for letter, count in counts.items() if count)
    return sfen.replace(" - ", f" {held} ") if held else None


def handicap_name(sfen: str) -> str | None:
    """The name of a first position that all programs know by name."""
    return _NAME_OF_SFEN.get(sfen)


def is_handicap(sfen: str) -> bool:
    """True if a first position is that of a handicap game (駒落ち): White begins, lacks pieces, and Black has all."""
    rows, turn, *_ = sfen.split()
    even = START_SFEN.split()[0]
    own = even[even.index("/PPPPPPPPP") :]
    return turn == "w" and rows.endswith(own) and len(re.findall("[a-z]", rows)) < _PIECES_OF_A_SIDE


def is_row(line: str) -> bool:
    """True if a line is a row of a board, with its frame or without."""
    return _ROW.fullmatch(line) is not None


def looks_like_row(line: str) -> bool:
    """True if a line was probably meant as a row of a board."""
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
            raise InvalidValueError(f"not pieces in hand: {text.strip()[:60]!r}")
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
        raise InvalidValueError(f"the first position is impossible: {error}") from error


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
    return "" if count == 1 else _kanji_number(count)


def _kanji_number(count: int) -> str:
    """A number from 1 to 19."""
    tens, ones = divmod(count, 10)
    return ("十" if tens else "") + (_KANJI[ones] if ones else "")
