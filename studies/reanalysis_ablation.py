"""What reanalysis gives a network: old games as they are, relabelled, searched again, and fresh games of the same cost.

    .venv/bin/python studies/reanalysis_ablation.py games.hcpe3 --test test.hcpe3 --new new.onnx --out ablation \\
      --openings openings.sfen

The games are drawn from games.hcpe3. Networks of one shape learn for the same number of steps, with the settings of
`--preset` where it names one, from

- stale: the games with their own targets;
- relabelled: a layer of the new network's policy and value (`reanalyze` with 0 nodes);
- searched: a layer of searches by the new network, of --nodes nodes;
- fresh: games that the new network plays against itself with --nodes playouts, as many positions as "searched" has new.

They are tested on test.hcpe3, which should hold no game of the others, and play matches of pairs against "stale" of the
same seed. Figures are means over the seeds with 95 % intervals (Student's t), differences to "stale" paired by seed;
the Elo difference counts the pairs of games of all seeds. `--scale` sizes everything. Run the same command again to
resume. OUT/reanalysis.json has the figures of each run.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from learning_report import MEASURES, mean_of, row, text_of
from match_parts import read_openings
from trained_arms import Machine, export_arm, play_arms, train_arm
from work_folder import Measurement, StoppedError

from fukayomi.arena import elo
from fukayomi.data.verbs import sample
from fukayomi.engine import Network
from fukayomi.learning import (
    Dataset,
    ReanalysisSettings,
    Root,
    TrainingSettings,
    evaluate,
    reanalyze,
)
from fukayomi.learning.settings import PRESET_TARGETS, PRESETS
from fukayomi.selfplay import SelfplaySettings, find_chunks, generate

STALE, RELABELLED, SEARCHED, FRESH = "stale", "relabelled", "searched", "fresh"
ARMS = (STALE, RELABELLED, SEARCHED, FRESH)
GAMES, STEPS, MATCH_GAMES = 1000, 2000, 200
"""With --scale 1: games that are drawn, steps of each network, games of each match."""
FRESH_POSITIONS = 1000
"""So many positions are worth another fresh game at once: all games that have begun are played to their end."""
OPENING_PLIES = 16


class Ablation(Measurement):
    """The files of the measurement, each made once.

    Args:
        options: The command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, "reanalysis.json", ("data", "runs", "matches"), free=("seeds", "device"))

    def sized(self, count: int, least: int = 1) -> int:
        """A number of things at this scale."""
        return max(least, round(count * self.options.scale))

    @property
    def games(self) -> Path:
        """The games that are drawn."""
        path = self.folder / "games.hcpe3"
        if not path.exists():
            sample(self.options.games, path, self.sized(GAMES), seed=1)
        return path

    def prepare(self, arm: str) -> dict[str, Any]:
        """Make the data of an arm; returns its cost."""
        options = self.options

        def layer() -> dict[str, Any]:
            settings = ReanalysisSettings(
                nodes=options.nodes if arm == SEARCHED else 0, share=options.share, root=options.root
            )
            with Network(options.new, device=options.device) as network:
                begin = time.process_time()
                (info,) = reanalyze(self.games, network, settings, layer=arm).layers.values()
            return {"positions": info.changed, "moved": info.moved, "cpu_seconds": time.process_time() - begin}

        def fresh() -> dict[str, Any]:
            settings = SelfplaySettings(playouts=options.nodes, root_rule=str(options.root))
            begin = time.process_time()
            wanted = self.prepare(SEARCHED)["positions"]
            out = self.folder / "fresh"
            at_once = max(1, wanted // FRESH_POSITIONS) if wanted < 64 * FRESH_POSITIONS else 0
            result = generate(
                settings, options.new, out, positions=wanted, seed=1, parallel=at_once, device=options.device
            )
            if not result.finished:
                raise StoppedError
            positions = len(Dataset(*find_chunks(out)))
            return {"positions": positions, "cpu_seconds": time.process_time() - begin}

        makers = {STALE: lambda: {"positions": len(Dataset(self.games)), "cpu_seconds": 0.0}, FRESH: fresh}
        return self.note("data", arm, makers.get(arm, layer))

    def data(self, arm: str) -> Dataset:
        """What an arm learns from."""
        preset = PRESET_TARGETS.get(self.options.preset, {}) if self.options.preset else {}
        if arm == FRESH:
            return Dataset(*find_chunks(self.folder / "fresh"), **preset)
        return Dataset(self.games, layer=None if arm == STALE else arm, **preset)

    def run(self, arm: str, seed: int) -> dict[str, Any]:
        """Train and test one network."""
        options = self.options

        def learn() -> dict[str, Any]:
            preset = PRESETS[options.preset] if options.preset else {}
            steps = self.sized(STEPS)
            plan: dict[str, Any] = {"batch": options.batch, "warmup": steps // 20, "seed": seed, "amp": "off"}
            settings = TrainingSettings(**(preset | plan | {"steps": steps, "epochs": None}))
            run = self.folder / "runs" / f"{arm}-{seed}"
            checkpoint = train_arm(options.network, self.data(arm), run, settings, options.device)
            found = evaluate(checkpoint, Dataset(options.test), device=options.device).as_dict()
            return {name: found[name] for name in MEASURES}

        return self.note("runs", f"{arm}, seed {seed}", learn)

    def exported(self, arm: str, seed: int) -> Path:
        """A trained network as ONNX."""
        run = self.folder / "runs" / f"{arm}-{seed}"
        return export_arm(run / "checkpoint.pt", run / "network.onnx")

    def play(self, arm: str, seed: int) -> dict[str, Any]:
        """A match of an arm against "stale"."""
        options = self.options

        def play() -> dict[str, Any]:
            result = play_arms(
                {name: self.exported(name, seed) for name in (arm, STALE)},
                self.folder / "matches" / f"{arm}-{seed}",
                games=2 * self.sized(MATCH_GAMES // 2),
                nodes=options.match_nodes,
                openings=read_openings(options.openings, OPENING_PLIES) if options.openings else None,
                seed=seed,
                machine=Machine(options.device, options.device),
            )
            (meeting,) = result.standings.meetings()
            return {"pairs": meeting.counts.pairs}

        return self.note("matches", f"{arm}, seed {seed}", play)


def table(ablation: Ablation, seeds: int) -> str:
    """The figures as Markdown."""
    measures = [name.replace("_", " ") for name in MEASURES]
    lines = [row(["data", "positions", "CPU-s", *measures, "Elo to stale"]), f"|{'---|' * (4 + len(MEASURES))}"]
    values = {
        (arm, name): [ablation.run(arm, seed)[name] for seed in range(seeds)] for arm in ARMS for name in MEASURES
    }
    for arm in ARMS:
        data = ablation.prepare(arm)
        head = [arm, f"{data['positions']:,}", f"{data['cpu_seconds']:.0f}"]
        strength = ""
        if arm != STALE and ablation.options.match_nodes:
            pairs = [ablation.play(arm, seed)["pairs"] for seed in range(seeds)]
            strength = str(elo(pairs=[sum(counts) for counts in zip(*pairs, strict=True)]))
        lines.append(row([*head, *(text_of(mean_of(values[arm, name]), False) for name in MEASURES), strength]))
    for arm in ARMS[1:]:
        cells = [
            text_of(mean_of([a - b for a, b in zip(values[arm, name], values[STALE, name], strict=True)]), True)
            for name in MEASURES
        ]
        lines.append(row([f"{arm} - {STALE}", "", "", *cells, ""]))
    return "\n".join(lines)


def read_options(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("games", type=Path, help="Games of an older network, hcpe3.")
    parser.add_argument("--test", type=Path, required=True, help="Held-out games or positions.")
    parser.add_argument("--new", required=True, help="The newer network, an ONNX file.")
    parser.add_argument("--out", type=Path, required=True, help="Folder of the measurement.")
    parser.add_argument("--openings", type=Path, help="USI lines that matches begin with; without, the start position.")
    parser.add_argument("--scale", type=float, default=1.0, help="Size: of games, steps, and games of the matches.")
    parser.add_argument("--seeds", type=int, default=3, help="Networks for each kind of data.")
    parser.add_argument("--nodes", type=int, default=100, help="Nodes of a search, playouts of a fresh move.")
    parser.add_argument("--root", type=Root, default=Root.PUCT, help="puct or gumbel.")
    parser.add_argument("--share", type=float, default=0.8, help="Share of the positions that get new targets.")
    parser.add_argument("--preset", choices=sorted(PRESETS), help="Settings of training; steps and batch stay.")
    parser.add_argument("--network", default="resnet3x48_relu", help="Shape of the networks that learn.")
    parser.add_argument("--batch", type=int, default=256, help="Positions per step.")
    parser.add_argument("--match-nodes", type=int, default=50, help="Nodes per move of the matches; 0: no matches.")
    parser.add_argument("--device", default="auto", help="Where everything is computed.")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = read_options(words)
    ablation = Ablation(options)
    try:
        for arm in ARMS:
            ablation.prepare(arm)
        for seed in range(options.seeds):
            for arm in ARMS:
                ablation.run(arm, seed)
                if arm != STALE and options.match_nodes:
                    ablation.play(arm, seed)
        print(table(ablation, options.seeds))
    except (KeyboardInterrupt, StoppedError):
        sys.exit("stopped; run the same command again to resume")


if __name__ == "__main__":
    main()
