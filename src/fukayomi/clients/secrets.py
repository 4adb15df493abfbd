"""Secrets (passwords, tokens) from files and the environment, which no log, process list or record ever shows."""

import os
from pathlib import Path
from typing import final

from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener

HIDDEN = "*****"
LONGEST = 1024
"""Bytes of a secret."""


class SecretError(InvalidValueError):
    """A secret that is missing or cannot be used. The message says where it was looked for, and never quotes it."""


@final
class Secret:
    """A text that is not printed.

    >>> Secret("moon")
    Secret(*****)
    >>> Secret("moon").reveal()
    'moon'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def hidden_in(self, text: str) -> str:
        """A text without the secret, which a peer may have repeated."""
        return text.replace(self._text, HIDDEN)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not stored")


def read_secret(file: Path | None, variable: str, what: str, option: str, listener: Listener = SILENT) -> Secret:
    """Read a secret: the first line of a file, or an environment variable, which is removed from the environment in any
    case, so that engines do not inherit it.

    Args:
        file: The file; None: the variable.
        variable: Name of the variable.
        what: What the secret is, for messages: ``the password``.
        option: The option that names the file, for messages: ``--password-file``.
        listener: Gets a note if other users can read the file.

    Raises:
        SecretError: There is none, or it has spaces or control characters.
        OSError: The file cannot be read.
    """
    text = os.environ.pop(variable, "")
    if file is None:
        if not text:
            raise SecretError(f"{what} is missing: write it to a file and give {option} FILE, or set {variable}")
        place = variable
    else:
        place = str(file)
        with file.open("rb") as opened:
            data = opened.read(LONGEST + 2)
            if os.name == "posix" and os.fstat(opened.fileno()).st_mode & 0o077:
                listener.note(f"other users can read {what} in {file}; chmod 600 {file}")
        text = data.decode("utf-8", "replace").split("\n")[0].rstrip("\r")
    if not text or len(text) > LONGEST or not all("!" <= letter <= "~" for letter in text):
        raise SecretError(f"{what} in {place} must be one line of letters, digits and signs, without spaces")
    return Secret(text)
