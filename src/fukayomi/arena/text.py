"""Text from outside, as names out of files, on a terminal."""

import unicodedata

WIDE_SPACE = "\u3000"
"""The space of Japanese text, the only one beside the plain one that names have and terminals show."""


def printable(text: str) -> str:
    """The text with ``?`` for what could steer a terminal or turn the writing direction."""
    return "".join(letter if letter.isprintable() or letter == WIDE_SPACE else "?" for letter in text)


def display_width(text: str) -> int:
    """Columns that the text takes in a terminal: a kanji takes two, a combining mark none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
