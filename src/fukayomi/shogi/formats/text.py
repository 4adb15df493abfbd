"""Decoding record files: UTF-8, UTF-16 with a mark, Shift_JIS (CP932) or EUC-JP.

Bytes of EUC-JP often decode as Shift_JIS too. Half-width katakana give the mistake away: EUC-JP read as Shift_JIS is
full of them, and records hardly ever use them.
"""

import re

_DECLARED = re.compile(rb"encoding\s*=\s*([A-Za-z0-9_\-]+)", re.IGNORECASE)
_DECLARED_WITHIN = 200  # bytes; the declaration is on the first or second line
_SAMPLE = 10_000  # bytes
_NAMES = {
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "cp932": "cp932", "windows-31j": "cp932",
    "euc-jp": "euc_jp", "euc_jp": "euc_jp", "eucjp": "euc_jp",
}  # fmt: skip


def decode_text(data: bytes) -> str:
    """Decode a record file.

    Raises:
        ValueError: The bytes are not text, or no encoding fits.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _decode_utf16(data)
    if b"\0" in data:
        raise ValueError(f"not text: zero byte at offset {data.index(0)}")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        # UTF-8 comes first, whatever is declared: it never fits by chance, and converted files keep old declarations.
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    for encoding in _likely_encodings(data):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValueError(f"neither UTF-8 nor Shift_JIS nor EUC-JP: {data[:40]!r}...")


def _decode_utf16(data: bytes) -> str:
    try:
        text = data.decode("utf-16")  # the mark tells the order of the bytes
    except UnicodeDecodeError as error:
        raise ValueError(
            f"not UTF-16, though it begins with its mark: {error.reason} at offset {error.start}"
        ) from error
    if "\0" in text:
        raise ValueError(f"not text: zero character at offset {2 * text.index(chr(0)) + 2}")
    return text


def _likely_encodings(data: bytes) -> tuple[str, str]:
    declared = _DECLARED.search(data, 0, _DECLARED_WITHIN)
    encoding = _NAMES.get(declared[1].decode("ascii").lower()) if declared else None
    if encoding is None:
        sample = data[:_SAMPLE].decode("cp932", errors="ignore")
        encoding = "euc_jp" if any("\uff61" <= letter <= "\uff9f" for letter in sample) else "cp932"
    return ("cp932", "euc_jp") if encoding == "cp932" else ("euc_jp", "cp932")
