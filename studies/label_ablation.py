"""What soft policies of MultiPV searches give a network, against single moves that cost the engine the same.

    .venv/bin/fukayomi data convert GAMES -o games.hcpe3
    .venv/bin/python studies/label_ablation.py games.hcpe3 --out ablation \\
      --engine /usr/games/fairy-stockfish --option UCI_Variant=shogi

Positions of the games are drawn and labelled by `label_positions` in three ways of about the same number of nodes:
several lines at --nodes; one line at --nodes; and one line at a quarter of that on four times as many positions. Tiny
networks learn from each, and from the first way with the best line alone, all with the same steps. They are tested on
positions of other games: against the engine's moves at --test-nodes, and against results. Figures and differences to
single moves have intervals as in studies/learning_tables.py. The engine's seconds are printed too, and the temperature
of shares that best predicts the engine's moves at --test-nodes (maximum likelihood, over the positions where that move
is one of the lines).

Run the same command again to resume. OUT/ablation.json has the figures of each run.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from learning_report import MEASURES, Table, metrics_of
from numpy.typing import NDArray
from trained_arms import train_arm
from work_folder import Measurement, StoppedError

from fukayomi.data.verbs import sample, split
from fukayomi.learning import Dataset, LabelSettings, TrainingSettings, evaluate_networks, label_positions
from fukayomi.learning.labelling.settings import TEMPERATURE
from fukayomi.nn import NetworkConfig
from fukayomi.usi import UsiEngine

HELD_OUT = 20
"""One game in so many is for the tests."""
MORE = 4
"""How many times as many positions the third way has."""
BASELINE = "one line"
RESAMPLES = 300
"""Of the bootstrap."""


@dataclass(frozen=True)
class Labels:
    """A way to label."""

    file: str
    """Name of the file of labels."""
    positions: int
    multipv: int
    nodes: int


@dataclass(frozen=True)
class Arm:
    """What networks learn from."""

    name: str
    labels: Labels
    temperature: float = 1.0
    """Of training; 0 takes the best move alone."""


class Ablation(Measurement):
    """The files of the measurement, each made once.

    Args:
        options: The command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, "ablation.json", ("seconds", "rows"), free=("seeds", "workers"))
        self.engine = UsiEngine(options.engine, options=dict(text.split("=", 1) for text in options.option))

    def make(self, name: str, write: Callable[[Path], object]) -> Path:
        """A file of the folder, made if it is missing."""
        path = self.folder / name
        if not path.exists():
            print(name, file=sys.stderr, flush=True)
            write(path)
        return path

    def drawn(self, positions: int, purpose: str) -> Path:
        """Positions for training, or for the test."""
        train_games, test_games = self.folder / "train.hcpe3", self.folder / "test.hcpe3"
        self.make(test_games.name, lambda _: split(self.options.games, [train_games, test_games], every=HELD_OUT))
        games = {"train": train_games, "test": test_games}[purpose]
        name = f"{purpose}-{positions}.hcpe"
        return self.make(name, lambda path: sample(games, path, positions, positions=True, seed=1))

    def label(self, labels: Labels, purpose: str) -> Path:
        """The labels of one way, with the seconds that the engine took."""

        def write(path: Path) -> None:
            settings = LabelSettings(nodes=labels.nodes, multipv=labels.multipv)
            positions = self.drawn(labels.positions, purpose)
            begin = time.monotonic()
            summary = label_positions(positions, path, self.engine, settings, workers=self.options.workers)
            if not summary.resumed:
                self.found["seconds"][labels.file] = (time.monotonic() - begin) * self.options.workers
            self.save()

        return self.make(labels.file, write)

    def trained(self, arm: Arm, seed: int) -> Path:
        """The checkpoint of one network."""
        options = self.options
        name = f"{arm.name}, seed {seed}"
        folder = self.folder / "runs" / name.replace(", ", "-").replace(" ", "-")
        settings = TrainingSettings(
            steps=options.steps, batch=options.batch, warmup=options.steps // 20, seed=seed, amp="off"
        )
        print(name, file=sys.stderr, flush=True)
        data = Dataset(self.label(arm.labels, "train"), temperature=arm.temperature)
        shape = NetworkConfig(blocks=options.blocks, channels=options.channels)
        return train_arm(shape, data, folder, settings, "cpu", options.threads)

    def tested(self, compared: Sequence[Arm], seed: int, test: Path) -> list[dict[str, Any]]:
        """The rows of the evaluation of one seed's networks, trained if they are not there."""
        if str(seed) not in self.found["rows"]:
            base, *others = sorted(compared, key=lambda arm: arm.name != BASELINE)
            networks = {arm.name: self.trained(arm, seed) for arm in (base, *others)}
            self.found["rows"][str(seed)] = evaluate_networks(networks, {"test": Dataset(test)}).rows()
            self.save()
        return self.found["rows"][str(seed)]


def arms(options: argparse.Namespace) -> list[Arm]:
    """What is compared; the nodes of all are about the same."""
    lines, nodes, positions = options.multipv, options.nodes, options.positions
    soft = Labels(f"lines-{lines}.hcpe3", positions, lines, nodes)
    single = Labels("single.hcpe3", positions, 1, nodes)
    more = Labels(f"single-{MORE}x.hcpe3", MORE * positions, 1, nodes // MORE)
    return [
        Arm(f"{lines} lines, shares", soft),
        Arm(f"{lines} lines, the best", soft, 0.0),
        Arm(BASELINE, single),
        Arm(f"{BASELINE}, {MORE}x positions", more),
    ]


def table(ablation: Ablation, compared: Sequence[Arm], test: Path) -> Table:
    """The figures of all seeds; networks are trained and tested if they are not yet."""
    rows = [ablation.tested(compared, seed, test) for seed in range(ablation.options.seeds)]
    table = Table("Labels of about the same cost", ("nodes", "positions", "engine_s", *MEASURES))
    for arm in compared:
        labels, seconds = arm.labels, ablation.found["seconds"].get(arm.labels.file)
        cost = {
            "nodes": labels.nodes,
            "positions": labels.positions,
            "engine_s": "?" if seconds is None else f"{seconds:.0f}",
        }
        table.rows.append((arm.name, cost | metrics_of(rows, arm.name, None, "test"), False))
    for arm in compared:
        if arm.name != BASELINE:
            table.rows.append((f"{arm.name} − {BASELINE}", metrics_of(rows, arm.name, BASELINE, "test"), True))
    table.notes.append(
        f"{ablation.options.seeds} seeds; tested on the engine's moves at {ablation.options.test_nodes:,} nodes."
    )
    return table


def fit_temperature(shares: Dataset, moves: Dataset) -> str:
    """The temperature of labels that gives the moves of other labels of the same positions the greatest likelihood.

    Args:
        shares: Labels of several lines, made with TEMPERATURE and read with temperature 1.
        moves: Labels of one line.

    Returns:
        A sentence: the temperature with its 95 % interval (bootstrap of the positions).
    """
    logs: list[NDArray[np.float64]] = []
    for index in range(len(moves)):
        policy, move = shares[index].policy, moves[index].move
        if move in policy:
            logs.append(np.log(np.array([policy[move], *policy.values()])))
    grid = np.geomspace(0.05, 20, 241)
    scores = np.array([[each[0] / t - np.log(np.exp(each[1:] / t).sum()) for t in grid.tolist()] for each in logs])
    draws = np.random.default_rng(0).integers(0, len(logs), (RESAMPLES, len(logs)))
    best, *others = (TEMPERATURE * grid[int(np.argmax(scores[draw].sum(0)))] for draw in (slice(None), *draws))
    low, high = np.percentile(others, [2.5, 97.5]).tolist()
    return (
        f"these moves are among the lines at {len(logs) / len(moves):.1%} of {len(moves)} positions, and most likely "
        f"with temperature {best:.3f} (95 % interval {low:.3f} to {high:.3f})"
    )


def read_options(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("games", type=Path, help="Games with evaluations, hcpe3.")
    parser.add_argument("--out", type=Path, required=True, help="Folder of the measurement.")
    parser.add_argument("--engine", required=True, help="Command of a USI engine with MultiPV.")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="A USI option.")
    parser.add_argument("--workers", type=int, default=1, help="Engines at once.")
    parser.add_argument("--positions", type=int, default=50_000, help="Positions to label.")
    parser.add_argument("--nodes", type=int, default=1000, help="Nodes of each search.")
    parser.add_argument("--multipv", type=int, default=4, help="Lines of the soft policies.")
    parser.add_argument("--test-positions", type=int, default=5000, help="Positions of the test.")
    parser.add_argument("--test-nodes", type=int, default=20_000, help="Nodes of each search of the test.")
    parser.add_argument("--seeds", type=int, default=3, help="Networks for each way; 0: only fit the temperature.")
    parser.add_argument("--steps", type=int, default=2000, help="Steps of each network.")
    parser.add_argument("--batch", type=int, default=256, help="Positions per step.")
    parser.add_argument("--blocks", type=int, default=3, help="Blocks of the networks.")
    parser.add_argument("--channels", type=int, default=48, help="Channels of the networks.")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of training.")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = read_options(words)
    ablation = Ablation(options)
    compared = arms(options)
    test = ablation.label(Labels("test-labels.hcpe3", options.test_positions, 1, options.test_nodes), "test")
    lines = Labels("test-lines.hcpe3", options.test_positions, options.multipv, options.nodes)
    fit = fit_temperature(Dataset(ablation.label(lines, "test")), Dataset(test))
    if options.seeds:
        for arm in compared:
            ablation.label(arm.labels, "train")
        try:
            print(f"{table(ablation, compared, test).markdown()}\n")
        except StoppedError:
            sys.exit("stopped; run the same command again to resume")
    print(fit)


if __name__ == "__main__":
    main()
