"""Games of networks against themselves, and the chunks they are stored in.

>>> import tempfile
>>> from pathlib import Path
>>> from fukayomi.selfplay import SelfplaySettings, find_chunks, generate
>>> settings = SelfplaySettings(playouts=4, max_move=12, out_max_move=True)
>>> out = Path(tempfile.mkdtemp())
>>> result = generate(settings, "<hash>", out, games=3)  # or a network's file
>>> result.progress.games, [path.name for path in find_chunks(out)]
(3, ['selfplay-000001.hcpe3'])
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.selfplay.chunk import (
        Chunk,
        ChunkDetails,
        ChunkError,
        ChunkInfo,
        ResultCounts,
        find_chunks,
        read_chunk,
        read_chunk_info,
        write_chunk,
    )
    from fukayomi.selfplay.generator import SelfplayResult, generate
    from fukayomi.selfplay.journal import GameSummary, Opponents
    from fukayomi.selfplay.league import League, LeagueEngine, LeagueError, LeagueNetwork, LeagueSettings
    from fukayomi.selfplay.leaves import Leaves, collect_leaves
    from fukayomi.selfplay.listener import SelfplayListener, SelfplayProgress, SelfplayRun
    from fukayomi.selfplay.matches import play_networks
    from fukayomi.selfplay.openings import Openings, OpeningSet
    from fukayomi.selfplay.reports import JsonLines, LogLines, TensorBoard
    from fukayomi.selfplay.settings import LeafError, LeafSettings, SelfplaySettings

__all__ = [
    "Chunk",
    "ChunkDetails",
    "ChunkError",
    "ChunkInfo",
    "GameSummary",
    "JsonLines",
    "LeafError",
    "LeafSettings",
    "League",
    "LeagueEngine",
    "LeagueError",
    "LeagueNetwork",
    "LeagueSettings",
    "Leaves",
    "LogLines",
    "OpeningSet",
    "Openings",
    "Opponents",
    "ResultCounts",
    "SelfplayListener",
    "SelfplayProgress",
    "SelfplayResult",
    "SelfplayRun",
    "SelfplaySettings",
    "TensorBoard",
    "collect_leaves",
    "find_chunks",
    "generate",
    "play_networks",
    "read_chunk",
    "read_chunk_info",
    "write_chunk",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".chunk": (
            "Chunk", "ChunkDetails", "ChunkError", "ChunkInfo", "ResultCounts", "find_chunks", "read_chunk",
            "read_chunk_info", "write_chunk",
        ),
        ".generator": ("SelfplayResult", "generate"),
        ".journal": ("GameSummary", "Opponents"),
        ".league": ("League", "LeagueEngine", "LeagueError", "LeagueNetwork", "LeagueSettings"),
        ".leaves": ("Leaves", "collect_leaves"),
        ".listener": ("SelfplayListener", "SelfplayProgress", "SelfplayRun"),
        ".matches": ("play_networks",),
        ".openings": ("OpeningSet", "Openings"),
        ".reports": ("JsonLines", "LogLines", "TensorBoard"),
        ".settings": ("LeafError", "LeafSettings", "SelfplaySettings"),
    },
)  # fmt: skip
