"""Text from outside, on a terminal."""


def printable(text: str) -> str:
    """The text with ``?`` for what could steer a terminal: names come out of files and archives."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
