"""Training data: read, write, convert and check hcpe, hcpe3, psv and the other formats, as NumPy arrays.

Functions that turn files into files of any size are here too: `uniq`, `average`, `shuffle`, `split`, `sample`, `merge`,
`filter` and `fix_eval`; `measure` gives the statistics of files.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from fukayomi.data import check_data, convert_data, load_rows, read_data
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "game.usi").write_text("startpos moves 7g7f 3c3d 2g2f")
    >>> from fukayomi.data import Targets
    >>> as_draws = Targets(one_hot=True, unfinished_as_draws=True)
    >>> convert_data(folder / "game.usi", folder / "game.hcpe3", targets=as_draws).positions
    3
    >>> for games in read_data(folder / "game.hcpe3"):
    ...     print(len(games), games.moves, games.evals)
    1 [7739 2581 1934] [0 0 0]
    >>> rows = load_rows(folder / "game.hcpe3")
    >>> rows.dtype.names
    ('hcp', 'eval', 'bestMove16', 'gameResult', 'dummy')
    >>> rows["gameResult"]
    array([0, 0, 0], dtype=uint8)
    >>> check_data(folder / "game.hcpe3").errors
    0

`read_data` yields a file in parts, so that files of any size fit into memory; `read_rows` yields rows of hcpe whatever
the format. Everything listed here is imported on first use.
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.data.check import Finding, Report, check_data
    from fukayomi.data.conditions import FilterConditions, Filters
    from fukayomi.data.convert.convert import Conversion, NothingConvertedError, convert_data
    from fukayomi.data.convert.positions import HoldOut, convert_records, positions_of
    from fukayomi.data.convert.reading import load_rows, read_data, read_rows
    from fukayomi.data.convert.writers import DataWriter, write_data
    from fukayomi.data.dedup.run import average, uniq
    from fukayomi.data.formats.averages import Averages
    from fukayomi.data.formats.book import BOOK_ENTRY
    from fukayomi.data.formats.cache import CachedPositions
    from fukayomi.data.formats.format import DataFileError
    from fukayomi.data.formats.games import Targets
    from fukayomi.data.formats.hcp import HCP
    from fukayomi.data.formats.hcpe import HCPE, ResultFlag, Rows
    from fukayomi.data.formats.hcpe3 import Game, Games
    from fukayomi.data.formats.kinds import DataFormat
    from fukayomi.data.formats.psv import PSV
    from fukayomi.data.formats.table import FORMATS, detect_data
    from fukayomi.data.printing import describe
    from fukayomi.data.records.reading import read_records
    from fukayomi.data.stats.statistics import measure
    from fukayomi.data.verbs import filter, fix_eval, merge, sample, shuffle, split

__all__ = [
    "BOOK_ENTRY",
    "FORMATS",
    "HCP",
    "HCPE",
    "PSV",
    "Averages",
    "CachedPositions",
    "Conversion",
    "DataFileError",
    "DataFormat",
    "DataWriter",
    "FilterConditions",
    "Filters",
    "Finding",
    "Game",
    "Games",
    "HoldOut",
    "NothingConvertedError",
    "Report",
    "ResultFlag",
    "Rows",
    "Targets",
    "average",
    "check_data",
    "convert_data",
    "convert_records",
    "describe",
    "detect_data",
    "filter",
    "fix_eval",
    "load_rows",
    "measure",
    "merge",
    "positions_of",
    "read_data",
    "read_records",
    "read_rows",
    "sample",
    "shuffle",
    "split",
    "uniq",
    "write_data",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".check": ("Finding", "Report", "check_data"),
        ".convert.convert": ("Conversion", "NothingConvertedError", "convert_data"),
        ".conditions": ("FilterConditions", "Filters"),
        ".convert.positions": ("HoldOut", "convert_records", "positions_of"),
        ".convert.reading": ("load_rows", "read_data", "read_rows"),
        ".convert.writers": ("DataWriter", "write_data"),
        ".dedup.run": ("average", "uniq"),
        ".formats.averages": ("Averages",),
        ".formats.book": ("BOOK_ENTRY",),
        ".formats.cache": ("CachedPositions",),
        ".formats.games": ("Targets",),
        ".formats.hcp": ("HCP",),
        ".formats.hcpe": ("HCPE", "ResultFlag", "Rows"),
        ".formats.hcpe3": ("Game", "Games"),
        ".formats.kinds": ("DataFormat",),
        ".formats.psv": ("PSV",),
        ".formats.format": ("DataFileError",),
        ".formats.table": ("FORMATS", "detect_data"),
        ".printing": ("describe",),
        ".records.reading": ("read_records",),
        ".stats.statistics": ("measure",),
        ".verbs": ("filter", "fix_eval", "merge", "sample", "shuffle", "split"),
    },
)
