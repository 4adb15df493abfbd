"""`Study`: the data, runs, comparisons and matches of studies/learning_tables.py, each made once in a folder."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from learning_runs import Found, Job, Run, compare_runs, do, play_itself, train_run
from learning_scales import Scale

from fukayomi.data.convert.convert import convert_data
from fukayomi.data.dedup import average
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.table import detect_data
from fukayomi.data.verbs import sample
from fukayomi.engine import Network
from fukayomi.files.atomic import replace_file
from fukayomi.learning import Dataset, LabelSettings, label_positions

RANDOM = (("Random_Ply", 32), ("Random_Cutoff", 25), ("Random_Cutoff_Drop", 1))
"""As in dlshogi's matches that show strategies."""


class Study:
    """The folder of the tables, with everything that was computed.

    Args:
        options: The command line.
        scale: Sizes.
        pool: Processes that work.
    """

    def __init__(self, options: argparse.Namespace, scale: Scale, pool: ProcessPoolExecutor) -> None:
        self.scale, self.folder = scale, Path(options.out)
        self.device: str = options.device or ("cuda" if options.gpu else "cpu")
        self._training: list[Path] = options.data
        self._test: Path = options.test.absolute()
        self._pool = pool
        (self.folder / "data").mkdir(exist_ok=True)

    def base(self) -> Run:
        """The run that most others are compared with."""
        return Run(self.scale.network, self.scale.settings, self.drawn(self.scale.positions))

    def do(self, jobs: Sequence[Job]) -> list[Found]:
        """Results of jobs."""
        return do(self.folder, jobs, self._pool)

    def make(self, name: str, write: Callable[[Path], object]) -> str:
        """A file of data, made if it is missing; returns its name."""
        path = self.folder / "data" / name
        if not path.exists():
            print(name, file=sys.stderr, flush=True)
            write(path)
        return name

    def drawn(self, positions: int) -> str:
        """Positions drawn from the data."""
        games = all(detect_data(path) is DataFormat.HCPE3 for path in self._training)
        return self.make(
            f"drawn-{positions}.hcpe",
            lambda path: sample(self._training, path, positions, positions=games, seed=1),
        )

    def games(self, positions: int) -> str:
        """Whole games drawn from the data, with about so many positions.

        Raises:
            DataFileError: The data are no games.
        """

        def write(path: Path) -> None:
            if any(detect_data(each) is not DataFormat.HCPE3 for each in self._training):
                raise DataFileError("heads learn from whole games: give hcpe3 files made from game records")
            found = Dataset(*self._training)
            sample(self._training, path, max(1, round(positions * found.games / len(found))), seed=1)

        return self.make(f"games-{positions}.hcpe3", write)

    def averaged(self, positions: int) -> str:
        """The same positions, duplicates averaged."""
        source = self.folder / "data" / self.drawn(positions)
        return self.make(f"averaged-{positions}.avg", lambda path: average(source, path))

    def labelled(self, positions: int, nodes: int) -> str:
        """Positions with shares of visits, by searches with <5x64>."""

        def write(path: Path) -> None:
            with Network("<5x64>", device=self.device) as network:
                label_positions(self.folder / "data" / self.drawn(positions), path, network, LabelSettings(nodes=nodes))

        return self.make(f"labelled-{positions}-{nodes}.hcpe3", write)

    def tests(self) -> dict[str, str]:
        """The test set alone."""
        return {"all": str(self._test)}

    def tests_by_ply(self) -> dict[str, str]:
        """The test set, and its positions by ply if it knows plies."""
        if detect_data(self._test) not in (DataFormat.HCPE3, DataFormat.PSV):
            return self.tests()
        everything = self.make("test.psv", lambda path: convert_data(self._test, path))
        rows = np.fromfile(self.folder / "data" / everything, PSV)
        found = self.tests()
        for low, high in zip((0, *self.scale.plies), (*self.scale.plies, 65535), strict=True):
            part = rows[(rows["gamePly"] > low) & (rows["gamePly"] <= high)]
            name = f"plies {low + 1} to {high}" if high < 65535 else f"from ply {low + 1}"
            if len(part):
                content = np.ascontiguousarray(part).tobytes()
                found[name] = self.make(
                    f"test-{low + 1}-{high}.psv", lambda path, content=content: replace_file(path, content)
                )
        return found

    def train(self, arms: Mapping[str, Run]) -> dict[str, list[Found]]:
        """Train all seeds of some arms; returns the results by arm and seed."""
        seeds = range(self.scale.seeds)
        found = self.do(
            [
                Job(f"trained: {name}, seed {seed}", train_run, (run.seeded(seed), self.device))
                for seed in seeds
                for name, run in arms.items()
            ]
        )
        return {name: found[number :: len(arms)] for number, name in enumerate(arms)}

    def compare(self, arms: Mapping[str, Run], tests: Mapping[str, str]) -> list[list[dict[str, Any]]]:
        """Evaluate trained arms; returns the rows of `EvaluationTable` for each seed."""
        jobs = [
            Job(
                f"tested: {', '.join(arms)}, seed {seed}", compare_runs,
                (tuple((name, run.seeded(seed)) for name, run in arms.items()), tuple(tests.items()), self.device),
            )
            for seed in range(self.scale.seeds)
        ]  # fmt: skip
        return [found["rows"] for found in self.do(jobs)]

    def play(self, arms: Mapping[str, Run], games: int, nodes: int) -> dict[str, list[Found]]:
        """Play matches of trained networks with themselves; returns the results by arm and seed."""
        jobs = [
            Job(f"played: {name}, seed {seed}", play_itself, (run.seeded(seed), games, nodes, RANDOM, self.device))
            for name, run in arms.items()
            for seed in range(self.scale.seeds)
        ]
        found = self.do(jobs)
        return {
            name: found[number * self.scale.seeds : (number + 1) * self.scale.seeds] for number, name in enumerate(arms)
        }
