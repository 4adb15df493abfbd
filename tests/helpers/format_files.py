"""The same games in every format of training data, for tests of commands."""

from pathlib import Path

import numpy as np
from verb_runs import make_games

from fukayomi import _native
from fukayomi.data.convert.convert import convert_data
from fukayomi.data.convert.reading import read_data
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.formats.averages import averages_to_cache
from fukayomi.data.formats.book import BOOK_ENTRY
from fukayomi.data.formats.cache import write_cache
from fukayomi.data.formats.hcpe import HCPE, read_hcpe
from fukayomi.data.formats.kinds import DataFormat, Target
from fukayomi.data.formats.table import as_rows

_TARGETS = {
    DataFormat.HCPE: Target.HCPE,
    DataFormat.PSV: Target.PSV,
    DataFormat.HCP: Target.HCP,
    DataFormat.SFEN: Target.SFEN,
    DataFormat.PLAIN: Target.PLAIN,
    DataFormat.RECORDS: Target.CSA,
}


def write_all_formats(folder: Path, games: int = 30) -> dict[DataFormat, Path]:
    """A file of each format."""
    found = make_games(games, 1)
    paths = {kind: folder / f"in.{kind}" for kind in DataFormat}
    paths[DataFormat.HCPE3].write_bytes(found.write())
    rows = as_rows(found).records
    assert (rows["gameResult"] > 3).any()
    paths[DataFormat.HCPE2].write_bytes(rows.tobytes())
    for kind, target in _TARGETS.items():
        convert_data([paths[DataFormat.HCPE3]], paths[kind], to=target)
    run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(paths[DataFormat.HCPE3],), out=paths[DataFormat.AVERAGES]))
    write_cache(paths[DataFormat.CACHE], (averages_to_cache(part) for part in read_data(paths[DataFormat.AVERAGES])))
    write_book(paths[DataFormat.BOOK], read_hcpe(paths[DataFormat.HCPE]))
    return paths


def write_book(path: Path, rows: np.ndarray) -> None:
    """A book of the positions and moves of rows, HCPE [N]."""
    assert rows.dtype == HCPE
    entries = np.zeros(len(rows), BOOK_ENTRY)
    keys = np.empty(len(rows), np.uint64)
    _native.book_keys(np.ascontiguousarray(rows["hcp"]), keys)
    entries["key"] = keys
    entries["fromToPro"], entries["count"], entries["score"] = rows["bestMove16"], 3, rows["eval"]
    path.write_bytes(entries[np.argsort(entries["key"], kind="stable")].tobytes())
