"""Positions for sparse networks: of random games, without kings, and those of the shared data, folder by folder."""

import json
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.reading import iter_records
from fukayomi.data.records.sources import find_files, iter_sources
from fukayomi.shogi import Position, Record

STEPS = {"mate": 500, "tsume": 500, "games-wcsc28": 2000}
"""Folders, and which of their positions a short test takes."""
SOAK_STEPS = {"mate": 1, "tsume": 1, "games-wcsc28": 1, "openings": 1, "games-engine": 100, "games-engine-2": 100}
LONG = [pytest.mark.soak, pytest.mark.timeout(7200)]
SAMPLES = [*STEPS.items(), *(pytest.param(*each, marks=LONG) for each in SOAK_STEPS.items())]

MISSING_KINGS = [
    "9/4k4/9/9/9/9/9/9/9 b 2R2B4G4S4N4L18P 1",
    "4k4/9/4G4/9/9/9/9/9/9 b G2r2b2g4s4n4l18p 1",
    "9/9/9/9/9/9/9/9/8K b - 1",
    "9/9/9/9/9/9/9/9/K8 w - 1",
]


def random_position(seed: int) -> Position:
    source = random.Random(seed)
    position = Position()
    for _ in range(source.randint(0, 150)):
        if not position.legal_moves:
            break
        position.push(source.choice(position.legal_moves))
    return position


def positions(shared_data: Path, folder: str, step: int) -> Iterator[Position]:
    """Every step-th of the different positions of a folder."""
    return islice(_different(_all(shared_data / folder)), 0, None, step)


def _all(folder: Path) -> Iterator[Position]:
    if folder.name == "mate":
        for path in sorted(folder.glob("*.txt")):
            yield from map(Position.from_sfen, path.read_text("utf-8").splitlines())
    elif folder.name == "tsume":
        for line in (folder / "tsume.jsonl").read_text("utf-8").splitlines():
            yield Position.from_sfen(json.loads(line)["sfen"], allow_missing_king=True)
    else:
        for record in iter_records(iter_sources(find_files([folder])), SeenGames()):
            if isinstance(record, Record):
                yield from (position for position, _ in record.replay())


def _different(each: Iterable[Position]) -> Iterator[Position]:
    seen: set[int] = set()
    for position in each:
        if position.key not in seen:
            seen.add(position.key)
            yield position
