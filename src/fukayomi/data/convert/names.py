"""Names of the files in a folder of converted records: those of the files that the records were read from."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath

_SUFFIXES = (".csa", ".kif", ".kifu", ".ki2", ".ki2u", ".jkf", ".json", ".usi", ".sfen", ".txt")
_COMPRESSED = (".gz", ".bz2", ".xz")
_NUMBER = re.compile(r"#([0-9]+)$")  # of a later game in a file
_LONGEST = 180  # bytes of a part; file systems take 255
_DEEPEST = 16  # folders


class RecordNames:
    """Gives each record a path in the folder; no two have the same, and none leaves the folder."""

    def __init__(self, suffix: str, roots: Sequence[Path] = ()) -> None:
        """Begin a folder.

        Args:
            suffix: Of the files, without the dot.
            roots: Files and folders that the records are read from; subfolders and archives in them are kept.
        """
        self._suffix = suffix
        self._roots = sorted((str(root).rstrip("/") for root in roots), key=len, reverse=True)
        self._taken: set[str] = set()
        self._used: Counter[str] = Counter()

    def __call__(self, name: str, number: int) -> PurePath:
        """The path of a record.

        Args:
            name: Name of the record, as the reader gives it: ``games/2025/a.csa``, ``games.zip/2025/a.csa#2``.
            number: Number of the record, which names it if it has no name.
        """
        later = _NUMBER.search(name)
        parts = self._below_roots(name[: later.start()] if later else name)
        stem = _stem(parts[-1]) if parts else ""
        stem = f"{stem or f'{number:06}'}-{later[1]}" if later else stem or f"{number:06}"
        folder = PurePath(*(self._folder_name(part) for part in parts[:-1])) if len(parts) <= _DEEPEST else PurePath()
        path = str(folder / stem)
        first = path.casefold()  # some file systems do not tell A from a
        while path.casefold() in self._taken:
            self._used[first] += 1
            path = str(folder / f"{stem}-{self._used[first] + 1}")
        self._taken.add(path.casefold())
        return PurePath(f"{path}.{self._suffix}")

    def _below_roots(self, name: str) -> list[str]:
        """The parts of a path below the input that it belongs to."""
        for root in self._roots:
            if name.startswith(f"{root}/"):
                name = name[len(root) + 1 :]
                break
        else:
            name = name.rpartition("/")[2]
        parts = (_safe(part) for part in name.split("/"))
        return [part for part in parts if part.strip(".")]

    def _folder_name(self, part: str) -> str:
        """Not the name of a file: the archive a.kif beside the record a.csa."""
        return f"{part}_" if part.casefold().endswith(f".{self._suffix}") else part


def _stem(name: str) -> str:
    for endings in (_COMPRESSED, _SUFFIXES):
        stem, dot, ending = name.rpartition(".")
        if stem and dot + ending.lower() in endings:
            name = stem
    return name


def _safe(part: str) -> str:
    printable = "".join(letter if letter.isprintable() else "_" for letter in part)
    return printable.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")
