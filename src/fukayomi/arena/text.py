"""Text from files, such as player names, made safe for a terminal."""

WIDE_SPACE = "\u3000"
"""The Japanese space: names contain it and terminals show it."""


def printable(text: str) -> str:
    """The text with ``?`` for every character that could control the terminal or reverse the writing direction."""
    return "".join(letter if letter.isprintable() or letter == WIDE_SPACE else "?" for letter in text)
