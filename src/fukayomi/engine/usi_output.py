"""What the engine says: one way out for all threads, and a search's progress as info lines."""

import math
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from fukayomi._native import MATE_CP
from fukayomi.engine.settings import Settings
from fukayomi.usi.text import Info, Score

if TYPE_CHECKING:
    from fukayomi.engine.search import Progress


@dataclass
class Output:
    """The way to the GUI: whole lines, one writer at a time, flushed. Quiet once nobody reads."""

    stream: BinaryIO
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_broken: bool = False

    def write(self, *lines: str) -> None:
        """Send lines, none of another writer between them."""
        with self._lock:
            if self._is_broken:
                return
            try:
                self.stream.write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
                self.stream.flush()
            except (OSError, ValueError):  # a broken pipe, or a stream that is closed
                self._is_broken = True

    def say(self, text: str) -> None:
        """Send an ``info string``."""
        self.write(Info(string=text).text())


class Reporter:
    """Info lines while a search runs."""

    def __init__(self, output: Output, settings: Settings) -> None:
        self._output = output
        self._settings = settings

    def report(self, progress: "Progress") -> None:
        """Say how far the search is."""
        if progress.error is not None:
            self._output.say(f"Error: {progress.error}")
        self._output.write(*info_lines(progress, self._settings))


def info_lines(progress: "Progress", settings: Settings) -> list[str]:
    """A progress as USI says it: a line for each variation."""
    lines: list[str] = []
    for number, line in enumerate(progress.lines, 1):
        info = Info(
            depth=line.depth,
            seldepth=max(progress.seldepth, line.depth),
            multipv=number if settings.multipv > 1 else None,
            score=Score(mate=line.mate)
            if line.mate is not None
            else Score(cp=centipawns(line.winrate, settings.eval_coef)),
            nodes=progress.nodes,
            nps=progress.nodes_per_s,
            hashfull=progress.hashfull,
            time_ms=round(progress.seconds * 1000),
            pv=tuple(move.usi() for move in line.pv),
        )
        lines.append(info.text())
    return lines


def centipawns(winrate: float, coefficient: float) -> int:
    """-coefficient * ln(1 / winrate - 1), as dlshogi has it; a certain result is +-30000."""
    if winrate <= 0.0 or winrate >= 1.0:
        return -MATE_CP if winrate <= 0.0 else MATE_CP
    return max(-MATE_CP, min(MATE_CP, round(-coefficient * math.log(1 / winrate - 1))))
