"""State that the handlers of requests share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fukayomi import __version__
from fukayomi.web.hub import Hub, Message
from fukayomi.web.positions import handicaps
from fukayomi.web.records import clean
from fukayomi.web.search.live import LiveAnalysis
from fukayomi.web.search.network_loader import NetworkLoader
from fukayomi.web.settings import WebSettings

PAGES = (".html", ".htm")
"""Suffixes of pages, which may have an analysis in them."""


@dataclass(frozen=True, slots=True)
class File:
    """Something that the command line names."""

    number: int
    path: Path
    kind: str
    """record (also a folder or an archive of them), analysis, runs, or matches."""

    def described(self) -> dict[str, Any]:
        """Description for the page: id, name, kind."""
        return {"id": self.number, "name": clean(self.path.absolute().name) or "/", "kind": self.kind}


def find_files(paths: tuple[Path, ...]) -> list[File]:
    """The files, with their kinds.

    Raises:
        FileNotFoundError: One is missing.
    """
    return [File(number, path, _kind(path)) for number, path in enumerate(paths, 1)]


class State:
    """State of the server: what the page serves, and what searches for it.

    Args:
        settings: What the page is started with.

    Raises:
        FileNotFoundError: One of the files is missing.
    """

    def __init__(self, settings: WebSettings) -> None:
        self.settings = settings
        self.files = find_files(settings.files)
        self.hub = Hub()
        self.network = NetworkLoader(settings, self.tell)
        self.live = LiveAnalysis(self.network)
        self._closers: list[Callable[[], None]] = []
        self._handicaps = handicaps()

    def start(self) -> None:
        """Begin what runs behind the page."""
        self.network.start()

    def add_closer(self, close: Callable[[], None]) -> None:
        """Have something called when the server ends, before the network is freed; what was added last comes first."""
        self._closers.append(close)

    def close(self) -> None:
        """End everything that runs."""
        for close in reversed(self._closers):
            close()
        self.live.close()
        self.network.close()

    def describe(self) -> dict[str, Any]:
        """Facts that a page must know at its start: version, network (`NetworkLoader.state`), files, book (its name or
        None), handicaps."""
        return {
            "version": __version__,
            "network": self.network.state(),
            "files": [file.described() for file in self.files],
            "book": None if self.settings.book is None else clean(self.settings.book.name),
            "handicaps": self._handicaps,
        }

    def message(self) -> Message:
        """The message of a socket that says how things are."""
        return {"type": "state", "state": self.describe()}

    def tell(self) -> None:
        """Tell all pages what has changed, from any thread."""
        self.hub.send_all(self.message(), "state")


def _kind(path: Path) -> str:
    from fukayomi.arena.results.match_db import DATABASE
    from fukayomi.engine.report.files import DOCUMENT, PAGE
    from fukayomi.web.runs import folders

    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    if path.is_dir():
        if (path / DOCUMENT).is_file():
            return "analysis"
        kind = folders.first_kind(path)
        if kind is None:
            return "record"
        return "matches" if kind is folders.Kind.MATCH else "runs"
    if path.name == DATABASE:
        return "matches"
    if path.name in (DOCUMENT, PAGE) and path.with_name(DOCUMENT).is_file():
        return "analysis"
    return "analysis" if path.suffix.lower() in PAGES else "record"
