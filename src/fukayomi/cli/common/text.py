"""Text for terminals: control characters of names and comments are never printed as they are."""

import json
from typing import Any

from fukayomi.tabular import printable

__all__ = ["json_text", "printable"]


def json_text(value: Any) -> str:
    """A value as one line of JSON; Japanese text stays readable, and unprintable characters are escaped.

    Raises:
        ValueError: The value has a NaN or an infinity, which JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)
