"""A folder of self-play: what its chunks say, from the first to the last, and their games."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fukayomi.arena.statistics.intervals import win_rate
from fukayomi.selfplay.chunk import (
    ChunkError,
    ChunkInfo,
    GameLine,
    find_chunks,
    list_games,
    read_chunk_info,
    read_game,
    sidecar_of,
)
from fukayomi.shogi import Color
from fukayomi.shogi.record import Record
from fukayomi.web.runs.keeping import Keeper, Stamp, stamp_of

MOST_POINTS = 300
"""More chunks are put together."""
MOST_CHUNKS = 20_000
"""Chunks that are read; of more, the newest."""
MOST_NAMES = 50
GAMES_A_PAGE = 100
MOST_LISTED = 20
"""Chunks whose lists of games are in memory."""


class ReadChunk(NamedTuple):
    """A chunk whose sidecar was read."""

    path: Path
    time: float
    """Time when it was written, in seconds since the epoch."""
    info: ChunkInfo


def selfplay_stamp(folder: Path) -> Stamp:
    """Changes when a chunk is written: then the folder does."""
    return stamp_of([folder])


class SidecarReader:
    """Reads the sidecars of a folder, each once: a chunk never changes."""

    def __init__(self) -> None:
        self._read: dict[Path, ReadChunk | None] = {}

    def all(self, folder: Path) -> tuple[list[ReadChunk], int]:
        """The chunks in the order of time, and the number of those whose sidecar cannot be read."""
        chunks = find_chunks(folder)[-MOST_CHUNKS:]
        for chunk in chunks:
            if chunk not in self._read:
                sidecar = sidecar_of(chunk)
                try:
                    self._read[chunk] = ReadChunk(chunk, sidecar.stat().st_mtime, read_chunk_info(sidecar))
                except (OSError, ChunkError):
                    self._read[chunk] = None
        good = list(filter(None, (self._read[chunk] for chunk in chunks)))
        good.sort(key=lambda each: (each.time, each.info.worker, each.info.sequence, each.path.name))
        return good, len(chunks) - len(good)


class GameReader:
    """The games of chunks by number: from 1 on, through all chunks in the order of time.

    A chunk counts with the games that its sidecar names, so that only the chunks of a page are opened.
    """

    def __init__(self) -> None:
        self._listed = Keeper[list[GameLine]](MOST_LISTED)

    def page(self, chunks: Sequence[ReadChunk], before: int | None = None) -> Any:
        """Games as `matches.games_page` gives them, the last first; players are the networks' hashes, shortened, and
        an opponent's name where a chunk has one only. The date is in seconds since the epoch, of the chunk.

        Args:
            chunks: The chunks of a folder, in order.
            before: Only games with smaller numbers.
        """
        found: list[dict[str, Any]] = []
        for first, chunk in _numbered(chunks, before):
            for number, line in reversed(list(enumerate(self._lines(chunk), first))):
                if before is None or number < before:
                    found.append(_described(number, line, chunk))
                if len(found) > GAMES_A_PAGE:
                    return {"games": found[:GAMES_A_PAGE], "more": True}
        return {"games": found, "more": False}

    def record(self, chunks: Sequence[ReadChunk], number: int) -> Record | None:
        """A game; None if there is none with this number.

        Raises:
            Hcpe3Error: The chunk has changed.
            OSError: It cannot be read.
        """
        for first, chunk in _numbered(chunks, number + 1):
            lines = self._lines(chunk)
            if not first <= number < first + len(lines):
                return None
            line = lines[number - first]
            record = read_game(chunk.path, line)
            record.black_name, record.white_name = _players(line, chunk)
            return record
        return None

    def _lines(self, chunk: ReadChunk) -> list[GameLine]:
        """At most as many games as the sidecar names; none if the chunk cannot be read."""
        try:
            lines = self._listed.get(chunk.path, stamp_of([chunk.path]), lambda: list_games(chunk.path))
        except OSError:
            return []
        return lines[: chunk.info.games]


def _numbered(chunks: Sequence[ReadChunk], before: int | None) -> Iterator[tuple[int, ReadChunk]]:
    """The chunks that can have games with smaller numbers, the last first, each with the number of its first game."""
    end = 1 + sum(chunk.info.games for chunk in chunks)
    for chunk in reversed(chunks):
        end -= chunk.info.games
        if before is None or end < before:
            yield end, chunk


def _described(number: int, line: GameLine, chunk: ReadChunk) -> dict[str, Any]:
    black, white = _players(line, chunk)
    return {
        "number": number, "black": black, "white": white, "result": int(line.result),
        "termination": str(line.termination), "date": chunk.time, "plies": line.plies,
    }  # fmt: skip


def _players(line: GameLine, chunk: ReadChunk) -> tuple[str, str]:
    network = chunk.info.network[:12]
    names = list(chunk.info.opponents)
    opponent = names[0] if len(names) == 1 else "league"
    return (
        opponent if line.opponent == Color.BLACK else network,
        opponent if line.opponent == Color.WHITE else network,
    )


def selfplay_document(chunks: Sequence[ReadChunk], damaged: int) -> Any:
    """Figures of some chunks together, and how they changed.

    Args:
        chunks: The chunks, in order.
        damaged: Chunks whose sidecar cannot be read.
    """
    infos = [chunk.info for chunk in chunks]
    opponents: dict[str, list[int]] = {}
    for info in infos:
        for name, counts in info.opponents.items():
            total = opponents.setdefault(name, [0, 0, 0])
            for which, count in enumerate(counts):
                total[which] += count
    workers, networks = Counter[str](), Counter[str]()
    for info in infos:
        workers[info.worker] += info.games
        networks[info.network[:12]] += info.games
    return {
        "chunks": len(infos),
        "damaged": damaged,
        **_totals(infos),
        "opponents": [_opponent(name, *counts) for name, counts in sorted(opponents.items())[:MOST_NAMES]],
        "workers": dict(workers.most_common(MOST_NAMES)),
        "networks": dict(networks.most_common(MOST_NAMES)),
        "points": _points(chunks),
    }


def _points(chunks: Sequence[ReadChunk]) -> list[dict[str, Any]]:
    """The totals of neighbouring chunks, each with the games up to its end and its time."""
    size = -(-len(chunks) // MOST_POINTS) if chunks else 1
    found: list[dict[str, Any]] = []
    games = 0
    for start in range(0, len(chunks), size):
        part = chunks[start : start + size]
        totals = _totals([chunk.info for chunk in part])
        games += totals["games"]
        found.append({"time": part[-1].time, "games_before": games - totals["games"], **totals})
    return found


def _totals(infos: Sequence[ChunkInfo]) -> dict[str, Any]:
    games = sum(info.games for info in infos)
    plies = sum(info.plies for info in infos)
    checked, wrong = (sum(info.wrong_resignations[which] for info in infos) for which in range(2))
    endings = Counter[str]()
    for info in infos:
        endings.update(info.results.by_reason())
    return {
        "games": games,
        "positions": sum(info.positions for info in infos),
        "plies_a_game": plies / games if games else None,
        "black_wins": sum(info.results.black_wins for info in infos),
        "white_wins": sum(info.results.white_wins for info in infos),
        "draws": sum(info.results.draws for info in infos),
        "endings": dict(endings),
        "wrong_resignations": [checked, wrong],
    }


def _opponent(name: str, wins: int, draws: int, losses: int) -> dict[str, Any]:
    found = win_rate(wins, losses=losses, draws=draws)
    return {
        "name": name, "wins": wins, "draws": draws, "losses": losses, "win_rate": found.rate, "low": found.low,
        "high": found.high,
    }  # fmt: skip
