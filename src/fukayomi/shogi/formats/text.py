"""The text of record files, in any of their encodings, and the limits of game records from outside.

Files are in UTF-8, UTF-16, Shift_JIS (CP932), EUC-JP or ISO-2022-JP, or in several of them. A clean file is decoded as
a whole. Otherwise the file is decoded line by line, and bytes that no encoding has become U+FFFD: names and comments
lose a letter, and at most the game whose moves they damage is lost.

Bytes of EUC-JP often decode as Shift_JIS too. Half-width katakana give the mistake away: EUC-JP read as Shift_JIS is
full of them, and records hardly ever use them. Damaged UTF-8 decodes as Shift_JIS, too; characters of three bytes give
it away, for text in other encodings hardly ever has them.
"""

import re
from collections.abc import Callable
from itertools import zip_longest
from typing import NamedTuple

from fukayomi._native import MOST_PLIES
from fukayomi.errors import InvalidValueError
from fukayomi.shogi.record import RecordError

_RETURNS = re.compile("(?<!\r)\r+\n")
_KATAKANA_RUN = re.compile("[\uff61-\uff9f]+")
_SHORTEST_KATAKANA = 3  # letters of a word; fewer are a sign of EUC-JP
_MOVE_LETTER = re.compile("[▲△▼▽☗☖０-９一二三四五六七八九同歩香桂銀金角飛玉王馬龍竜と成手]")
_MOVE_SHARE = 0.4  # of letters in moves, for a line of UTF-16 that has nothing else to show it
_DECLARED = re.compile(rb"encoding\s*=\s*([A-Za-z0-9_\-]+)", re.IGNORECASE)
_DECLARED_WITHIN = 200  # bytes; the declaration is on the first or second line
_SAMPLE = 10_000  # bytes
_NAMES = {
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "cp932": "cp932", "windows-31j": "cp932",
    "euc-jp": "euc_jp", "euc_jp": "euc_jp", "eucjp": "euc_jp",
}  # fmt: skip
_HIGH = re.compile(rb"[\x80-\xff]")
_HEAD = 1 << 16  # bytes
_MOST_LINES = 1 << 20  # of a text that is decoded line by line
_LONGEST_LINE = 1 << 16  # bytes of a line that is decoded by characters
_BOM = b"\xef\xbb\xbf"
_LOST = "\ufffd"
_WIDE = re.compile("[\u0800-\ufefe\uff00-\ufffc]")  # three bytes in UTF-8
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_CONTROL = re.compile("[\0-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROL = 50  # more than one control character in so many is no text; a single one is damage
_MOST_LOST = 4  # more than one lost character in so many is no text
_UTF_16_SHARE = 0.9  # of letters that records have, for UTF-16 without a mark
_LETTERS = re.compile("[\t\n\r -~\u2190-\u27bf\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")
_NOT_CP932 = "\x80\uf8f0\uf8f1\uf8f2\uf8f3"  # what Python makes of 80, A0, FD, FE and FF
_JIS = re.compile(rb"\x1b(\$[@B]|\$\([@BD]|\([BJHI])([^\x1b\r\n]*)")
_TO_EUC = bytes(byte | 0x80 if 0x21 <= byte <= 0x7E else byte for byte in range(256))
_ONLY_7_BITS = bytes(byte if byte < 0x80 else 0xFF for byte in range(256))  # FF is nothing in EUC-JP
_EUC = re.compile(rb"[\0-\x7f]+|\x8e[\xa1-\xdf]|\x8f[\xa1-\xfe]{2}|[\xa1-\xfe]{2}|.", re.DOTALL)


def decode_text(data: bytes) -> str:
    """Decode a record file. Bytes that are in no encoding become U+FFFD; CR as the end of lines becomes LF.

    Raises:
        ValueError: The bytes are not text, or no encoding fits.
    """
    if b"\0" not in data and b"\x1b" not in data:
        try:
            # UTF-8 comes first, whatever is declared: it hardly fits by chance, and converted files keep declarations.
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return _tidy(text)
    text = _decode_utf16(data)
    return _tidy(_decode_8_bits(data) if text is None else text)


def _tidy(text: str) -> str:
    """Text without byte order marks and DOS's end of file, with LF at the end of lines if that was CR alone."""
    text = text.replace("\ufeff", "").rstrip("\x1a")
    returns = text.count("\r")
    if "\r\r\n" in text:  # some programs write the end of lines twice
        text = _RETURNS.sub("\n", text)
    elif returns and returns - text.count("\r\n") > text.count("\n"):
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def utf_16_codec(data: bytes) -> str | None:
    """Python's codec for text of UTF-16, with its mark or without; None for other encodings."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"  # the mark tells the order of the bytes
    if b"\0" not in data[:_SAMPLE]:
        return _codec_of_moves(data) if len(data) <= _SAMPLE else None
    sample = data[: min(_SAMPLE, len(data)) & ~1]
    texts = {codec: sample.decode(codec, "replace") for codec in ("utf-16-le", "utf-16-be")}
    letters = {codec: len(_LETTERS.findall(text)) for codec, text in texts.items()}
    codec = max(letters, key=lambda codec: letters[codec])
    return codec if letters[codec] >= _UTF_16_SHARE * len(texts[codec]) else None


def _codec_of_moves(data: bytes) -> str | None:
    """The codec for a line of moves in UTF-16, which has neither a line break nor any other zero byte."""
    if not data or len(data) % 2:
        return None
    if any(not _CONTROL.search(text) and _LOST not in text for text in (_decode_cp932(data), _decode_euc(data))):
        return None
    for codec in ("utf-16-le", "utf-16-be"):
        text = data.decode(codec, "replace")
        if len(_LETTERS.findall(text)) == len(text) and len(_MOVE_LETTER.findall(text)) >= _MOVE_SHARE * len(text):
            return codec
    return None


def _decode_utf16(data: bytes) -> str | None:
    codec = utf_16_codec(data)
    if codec is None:
        return None
    text = data[: len(data) & ~1].decode(codec, "replace")
    _refuse_other_data(text, data)
    return text.replace("\0", _LOST)


def _refuse_other_data(text: str, data: bytes) -> None:
    """Raise an error if what was decoded is not text.

    Raises:
        ValueError: It has too many control characters, or too many that are in no encoding.
    """
    control = len(_CONTROL.findall(text))
    if control > 1 and control * _MOST_CONTROL > len(text):
        where = f"zero byte at offset {data.index(0)}" if b"\0" in data else "control characters"
        raise InvalidValueError(f"not text: {where}")
    if text.count(_LOST) * _MOST_LOST > len(text):
        encodings = "UTF-8 nor UTF-16 nor Shift_JIS nor EUC-JP nor ISO-2022-JP"
        raise InvalidValueError(f"neither {encodings}: {data[:40]!r}...")


def _decode_8_bits(data: bytes) -> str:
    filled = data.rstrip(b"\0\x1a")  # the rest is space that a program reserved
    data = filled or data
    if len(data) > 2 * _HEAD:
        _decode_8_bits(data[:_HEAD].rpartition(b"\n")[0] or data[:_HEAD])  # other data is refused before it takes long
    if _JIS.search(data):
        lines = _JIS.sub(_jis_to_euc, data.translate(_ONLY_7_BITS)).split(b"\n", _MOST_LINES)
        text = "\n".join(map(_decode_euc, lines))
    else:
        text = _decode_mixed(data)
    _refuse_other_data(text, data)
    return text.replace("\0", _LOST)


def _jis_to_euc(found: re.Match[bytes]) -> bytes:
    """A run of ISO-2022-JP as EUC-JP."""
    escape, run = found.groups()
    if escape == b"(I":  # half-width katakana
        return b"".join(b"\x8e" + bytes([byte | 0x80]) if byte > 0x20 else bytes([byte]) for byte in run)
    if escape.startswith(b"("):
        return run
    run = run.translate(_TO_EUC)
    if escape == b"$(D":
        return b"".join(b"\x8f" + run[at : at + 2] for at in range(0, len(run), 2))
    return run


def _decode_mixed(data: bytes) -> str:
    """Text of UTF-8 with damage, of Shift_JIS or EUC-JP, or with lines of several encodings."""
    if data.count(b"\n") > _MOST_LINES:
        texts = (_Utf8.of(data).text, _decode_cp932(data), data.decode("euc_jp", "replace"))
        return min(texts, key=lambda text: text.count(_LOST))
    parts, foreign = _split_at_foreign_lines(data)
    lines = _decode_foreign(foreign, is_utf_8=data.startswith(_BOM), legacy=_likely_encodings(data, foreign))
    return "".join(text for part, line in zip_longest(parts, lines, fillvalue="") for text in (part, line))


def _split_at_foreign_lines(data: bytes) -> tuple[list[str], bytes]:
    """The ASCII text before, between and after the lines with other bytes, and those lines, with LF between them."""
    parts: list[str] = []
    lines: list[bytes] = []
    end = 0
    while (found := _HIGH.search(data, end)) is not None:
        begin = max(data.rfind(b"\n", end, found.start()) + 1, end)
        parts.append(data[end:begin].decode())
        end = data.find(b"\n", begin)
        end = end if end >= 0 else len(data)
        lines.append(data[begin:end])
    parts.append(data[end:].decode())
    return parts, b"\n".join(lines)


def _decode_foreign(data: bytes, *, is_utf_8: bool, legacy: "tuple[_Decode, _Decode]") -> list[str]:
    """The text of lines that are not ASCII."""
    utf_8 = _Utf8.of(data)
    is_utf_8 = is_utf_8 or utf_8.is_likely
    if not is_utf_8 and not utf_8.wide:
        first, second = (decode(data) for decode in legacy)
        if _LOST not in first:
            return first.split("\n")
        if _LOST not in second and _faults(second) < _faults(first):
            return second.split("\n")
    return [_decode_line(line, legacy, is_utf_8=is_utf_8) for line in data.split(b"\n")]


_Decode = Callable[[bytes], str]


class _Utf8(NamedTuple):
    """Bytes read as UTF-8."""

    text: str
    lost: int
    """Bytes and parts of characters that are not UTF-8."""
    wide: int
    """Characters of three bytes."""

    @classmethod
    def of(cls, data: bytes) -> "_Utf8":
        text = data.decode("utf-8", "replace")
        return cls(text, text.count(_LOST), len(_WIDE.findall(text)))

    @property
    def is_likely(self) -> bool:
        """True if it is damaged UTF-8 rather than another encoding."""
        return self.wide >= self.lost and self.wide > 0


def _decode_line(line: bytes, legacy: tuple[_Decode, _Decode], *, is_utf_8: bool) -> str:
    """A line of a file with damage or with several encodings.

    Args:
        line: The line.
        legacy: The other encodings, the likely one first.
        is_utf_8: Whether most of the file is UTF-8.
    """
    utf_8 = _Utf8.of(line)
    if utf_8.is_likely or (is_utf_8 and utf_8.lost <= 1):
        return utf_8.text
    first, second = (decode(line) for decode in legacy)
    if _LOST not in first and all(len(run) >= _SHORTEST_KATAKANA for run in _KATAKANA_RUN.findall(first)):
        return first
    if _LOST not in second and not _HALF_WIDTH.search(second):
        return second
    return min(first, second, utf_8.text, key=_faults)


def _faults(text: str) -> int:
    """Number of faults of an encoding: lost characters, and half-width katakana, which records hardly ever have."""
    return 2 * text.count(_LOST) + len(_HALF_WIDTH.findall(text))


def _likely_encodings(data: bytes, foreign: bytes) -> tuple[_Decode, _Decode]:
    """Decoders for the foreign lines of a file that is not UTF-8: the likely encoding, and the other one."""
    declared = _DECLARED.search(data, 0, _DECLARED_WITHIN)
    encoding = _NAMES.get(declared[1].decode("ascii").lower()) if declared else None
    if encoding is None:
        sample = foreign[:_SAMPLE]
        encoding = "cp932" if _faults(_decode_cp932(sample)) <= _faults(_decode_euc(sample)) else "euc_jp"
    return (_decode_cp932, _decode_euc) if encoding == "cp932" else (_decode_euc, _decode_cp932)


def _decode_cp932(data: bytes) -> str:
    text = data.decode("cp932", "replace")
    for letter in _NOT_CP932:
        text = text.replace(letter, _LOST)
    return text


def _decode_euc(data: bytes) -> str:
    """Text of EUC-JP, with the characters of vendors that CP932 has: ①, ㈱, 髙."""
    try:
        return data.decode("euc_jp")
    except UnicodeDecodeError:
        if len(data) > _LONGEST_LINE:
            return data.decode("euc_jp", "replace")
        return "".join(map(_euc_character, _EUC.findall(data)))


def _euc_character(data: bytes) -> str:
    text = data.decode("euc_jp", "replace")
    if _LOST not in text or len(data) != 2:
        return text if _LOST not in text else _LOST
    row, column = data[0] - 0xA1, data[1] - 0xA1
    lead = row // 2 + (0x81 if row < 62 else 0xC1)  # Shift_JIS has two rows a lead byte
    trail = column + 0x9F if row % 2 else column + 0x40 + (column >= 63)  # 7F is left out
    text = _decode_cp932(bytes([lead, trail]))
    return _LOST if _LOST in text else text


LARGEST_RECORD = 64 << 20
"""Bytes; no larger file is read as one game."""

MOST_VARIATION_PLIES = 100_000
"""Plies of all variations of a game, each counted from where it leaves the game; later variations are left out."""


def check_plies(count: int, name: str, line: int | None) -> None:
    """Raise an error if a game has more plies than `MOST_PLIES`.

    Args:
        count: Plies of the game so far.
        name: Name of the record.
        line: Line of the last move, if known.

    Raises:
        RecordError: There are too many.
    """
    if count > MOST_PLIES:
        raise RecordError(name, line, f"a game may have at most {MOST_PLIES} plies")
