"""Output of the engine: one for all threads, and the progress of a search as info lines."""

import errno
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from fukayomi._native import centipawns
from fukayomi.engine.search import has_score
from fukayomi.engine.settings import UsiSettings
from fukayomi.tabular import printable
from fukayomi.usi.text import Info, UsiScore, shorten

if TYPE_CHECKING:
    from fukayomi.engine.search import Progress

READER_GONE = (errno.EPIPE, errno.EINVAL)
"""Errors of a pipe whose reader has ended; the second is Windows's."""
LONGEST_TEXT = 1000
"""Characters of an ``info string``."""


@dataclass
class Output:
    """Writes whole lines to the GUI from any thread, and flushes them. Once the GUI is gone it does nothing."""

    stream: BinaryIO
    problem: str | None = None
    """Reason why nothing can be written any more, such as a full disk; None where the GUI is gone."""
    is_broken: bool = False
    """True if nothing can be written any more, for whatever reason."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, *lines: str) -> None:
        """Write lines, with none of another thread between them."""
        with self._lock:
            if self.is_broken:
                return
            try:
                self.stream.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
                self.stream.flush()
            except ValueError:  # a closed stream
                self.is_broken = True
            except OSError as error:
                self.is_broken = True
                self.problem = None if error.errno in READER_GONE else error.strerror or str(error)

    def say(self, text: str) -> None:
        """Write an ``info string``."""
        self.write(info_string(text))

    def report(self, progress: "Progress", settings: UsiSettings) -> None:
        """Write how far a search is."""
        if progress.error is not None:
            self.say(f"Error: {progress.error}")
        self.write(*(info.text() for info in search_infos(progress, settings)))


def info_string(text: str) -> str:
    """An ``info string``. The text may quote what came from outside: it is cut, without control characters."""
    return Info(string=printable(shorten(" ".join(text.split()), LONGEST_TEXT))).text()


def info_lines(infos: Iterable[Info]) -> list[str]:
    """The lines of infos, of which the strings may quote what came from outside."""
    return [info.text() if info.string is None else info_string(info.string) for info in infos]


def search_infos(progress: "Progress", settings: UsiSettings) -> list[Info]:
    """The progress of a search in USI's terms, one info for each of the first MultiPV lines.

    Moves that were not visited have no score, and so no line. The first line is that of the position, which has one.
    """
    return [
        Info(
            depth=line.depth,
            seldepth=max(progress.seldepth, line.depth),
            multipv=number if settings.multipv > 1 else None,
            score=UsiScore(mate=line.mate)
            if line.mate is not None
            else UsiScore(cp=centipawns(line.winrate, settings.eval_coef)),
            nodes=progress.nodes,
            nps=progress.nodes_per_s,
            hashfull=progress.hashfull,
            time_ms=round(progress.seconds * 1000),
            pv=tuple(move.usi() for move in line.pv),
        )
        for number, line in enumerate(progress.lines[: settings.multipv], 1)
        if number == 1 or has_score(line)
    ]
