"""benchmarks/loader.py keeps its contract: one JSON object, and outputs that were compared."""

import random
from pathlib import Path

import numpy as np
from benchmark_figures import figures_of

from fukayomi import _native
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.table import Rows, as_games
from fukayomi.shogi import Position


def test_the_benchmark_prints_its_figures(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = np.zeros(1200, HCPE)
    position = Position()
    for row in rows:
        if position.ply > 60 or not position.legal_moves:
            position = Position()
        move = rng.choice(position.legal_moves)
        row["hcp"] = np.frombuffer(_native.encode_hcp(position), np.uint8)
        row["bestMove16"], row["gameResult"], row["eval"] = move.raw, rng.randrange(3), rng.randrange(-999, 999)
        position.push(move)
    with DataWriter(tmp_path / "some.hcpe3") as writer:
        writer.append(as_games(Rows(rows, np.zeros(len(rows), np.uint16))))
    figures = figures_of("loader.py", tmp_path / "some.hcpe3", "--rounds", 1)
    assert figures["positions"] == 1200
    assert {"ours_positions_per_s", "cshogi_positions_per_s", "ratio"} <= set(figures)
    assert all(figure > 0 for figure in figures.values())
