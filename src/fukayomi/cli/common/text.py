"""What commands print: text from outside never steers the terminal."""

import json
from typing import Any

from fukayomi.tabular import printable

__all__ = ["json_text", "printable"]


def json_text(value: Any) -> str:
    """One JSON value on one line, Japanese text readable; whatever a terminal would not print is escaped.

    Raises:
        ValueError: There is a NaN or an infinity in it, which JSON cannot hold.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)
