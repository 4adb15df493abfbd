"""Rows for the tests: few positions, so that many are the same."""

import math
from pathlib import Path

import numpy as np

from fukayomi._native import EVAL_SCALE
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.formats.averages import VALUE_ONE
from fukayomi.data.formats.hcpe import HCPE


def random_records(count: int, seed: int, keys: int = 40) -> np.ndarray:
    """HCPE [count] of at most `keys` positions, with few moves and evaluations."""
    rng = np.random.default_rng(seed)
    records = np.zeros(count, HCPE)
    pool = rng.integers(0, 256, (keys, 32), np.uint8)
    pool[: keys // 2, :31] = pool[0, :31]  # half of them differ in one byte only
    records["hcp"] = pool[(keys * rng.random(count) ** 2).astype(int)]
    records["eval"] = rng.choice([-32768, -3, -2, -1, 0, 1, 2, 3, 150, 32767], count)
    records["bestMove16"] = rng.choice([1, 255, 256, 7739, 26704], count)
    records["gameResult"] = rng.integers(0, 3, count)
    return records


def value_of(evaluation: int) -> int:
    """What an evaluation adds to the value of averages."""
    return round(VALUE_ONE / (1 + math.exp(-evaluation / EVAL_SCALE)))


def write(path: Path, records: np.ndarray) -> Path:
    path.write_bytes(records.tobytes())
    return path


def run(tmp_path: Path, mode: Mode, *inputs: np.ndarray | Path, **options: object) -> bytes:
    """The bytes that a job makes of these inputs."""
    paths = [
        given if isinstance(given, Path) else write(tmp_path / f"in{number}.hcpe", given)
        for number, given in enumerate(inputs)
    ]
    out = tmp_path / ("out.avg" if mode.writes_averages else "out.hcpe")
    run_dedup(DedupSettings(mode=mode, inputs=tuple(paths), out=out, **options))  # type: ignore[arg-type]
    assert not list(tmp_path.glob(".out*"))  # neither the work nor a part of the output stays
    return out.read_bytes()


def by_key(records: np.ndarray) -> np.ndarray:
    """The records in the order of their bytes, which no bucket knows."""
    return records[np.lexsort(records.view(np.uint8).reshape(-1, HCPE.itemsize).T[::-1])]
