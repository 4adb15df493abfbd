"""What the options of self-play bring, each beside games without it that cost as much.

For each option and seed, the same network plays games against itself until they have cost a number of evaluator calls.
A new network learns from them, with the same steps as all others, and plays a match at fixed nodes against the network
that learned from games without any option ("base").

    .venv/bin/python studies/selfplay_ablation.py --out out/selfplay                       # all options
    .venv/bin/python studies/selfplay_ablation.py --out out/selfplay --only playout-cap    # one of them
    .venv/bin/python studies/selfplay_ablation.py --out out/selfplay-gpu --scale gpu

Everything is kept in OUT: the same command resumes, also with other options of the table, and prints the table when
all is done. Elo is that of all seeds together, with the 95 % interval of the games; "by seed" shows what chance in
games and training does besides.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from learning_report import mean_of
from match_parts import read_openings
from trained_arms import Machine, export_arm, play_arms, train_arm
from work_folder import StoppedError, pieces_of_work

from fukayomi.arena import elo
from fukayomi.files.atomic import replace_file
from fukayomi.learning import Dataset, TrainingSettings
from fukayomi.loop.settings import OPENINGS
from fukayomi.selfplay import SelfplayListener, SelfplaySettings, find_chunks, generate
from fukayomi.selfplay.journal import GameSummary

BASE = "base"
CONTROL = "control"
"""The base again with other seeds: what chance does, also that of the base, which all options share."""
CONTROL_SEED = 1000
"""Added to the seed."""
NEAR = 0.1
"""The number of games is estimated anew when so large a share of them is missing."""


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    calls: int
    """Evaluator calls of each arm and seed."""
    playouts: int
    """Of a move."""
    steps: int
    batch: int
    shape: str
    """Of the networks that learn."""
    games: int
    """Of each match."""
    match_nodes: int
    parallel: int
    """Games against itself at once."""
    chunk_games: int
    generator_batch: int
    root_playouts: tuple[int, int] = (16, 100)
    """Of Gumbel and of PUCT, and of PUCT again, in the arms of the option "root"."""
    machine: Machine = Machine()  # noqa: RUF009 - frozen
    max_move: int = 320


SMALL = Scale(
    calls=500_000, playouts=32, steps=300, batch=256, shape="resnet3x48_relu", games=160, match_nodes=32, parallel=16,
    chunk_games=8, generator_batch=16,
)  # fmt: skip
"""For one CPU core: 20 to 25 minutes for one option, three hours for all."""
SCALES = {
    "small": SMALL,
    "gpu": Scale(
        calls=40_000_000, playouts=128, steps=10_000, batch=1024, shape="resnet10_swish", games=800, match_nodes=100,
        parallel=512, chunk_games=256, generator_batch=256, machine=Machine("cuda", "cuda"),
    ),
    "tiny": replace(
        SMALL, calls=600, playouts=4, steps=2, batch=8, shape="resnet1x8", games=2, match_nodes=2, parallel=4,
        chunk_games=2, root_playouts=(4, 6), max_move=24,
    ),
}  # fmt: skip


def arms_of(scale: Scale) -> dict[str, dict[str, dict[str, Any]]]:
    """The settings of each option's arms, by option and arm; an option may have several."""
    playouts, few = scale.playouts, max(1, scale.playouts // 4)
    less, more = scale.root_playouts
    return {
        "playout-cap": {"playout-cap": {"playouts": 2 * playouts, "cheap": 0.75, "cheap_playouts": few}},
        "forced-playouts": {"forced-playouts": {"forced_playouts": 2.0}},
        "surprise": {"surprise": {"surprise": 0.5}},
        "soft-resignation": {"soft-resignation": {"soft_playouts": few, "soft_weight": 0.1}},
        "forks": {"forks": {"fork": 0.2}},
        "unvisited": {
            "unvisited half": {"fpu": "half", "fpu_root": "half"},
            "unvisited loss": {"fpu": "loss", "fpu_root": "loss"},
        },
        "root": {
            f"gumbel {less}": {"root_rule": "gumbel", "playouts": less},
            f"puct {less}": {"playouts": less},
            f"puct {more}": {"playouts": more},
        },
        CONTROL: {CONTROL: {}},
    }


OPTIONS = tuple(arms_of(SMALL))


@dataclass(frozen=True)
class Plan:
    """What all arms have in common."""

    out: Path
    scale: Scale
    network: str
    openings: tuple[str, ...]

    def folder(self, arm: str, seed: int) -> Path:
        """Where an arm is kept."""
        return self.out / f"seed-{seed}" / arm.replace(" ", "-")

    def match(self, arm: str, seed: int) -> Path:
        """Where the match of an arm is kept."""
        return self.folder(arm, seed) / "match"

    def settings(self, arm: str) -> SelfplaySettings:
        """How an arm plays."""
        scale = self.scale
        changes = {name: values for option in arms_of(scale).values() for name, values in option.items()}
        base = {
            "playouts": scale.playouts, "early_stop": False, "extension": 0.0, "random": 16, "random_cutoff": 0.05,
            "max_move": scale.max_move, "out_max_move": True, "chunk_games": scale.chunk_games,
        }  # fmt: skip
        return SelfplaySettings(**(base | changes.get(arm, {})))


class CallsLog(SelfplayListener):
    """Keeps the evaluator calls of each game in a file of lines, so that they are known after a kill.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+", encoding="utf-8")
        self._file.seek(0)
        self.calls: dict[int, int] = {}
        """By game."""
        for line in self._file.read().splitlines():
            words = line.split()
            if len(words) == 2:  # not cut off by a kill
                self.calls[int(words[0])] = int(words[1])
        self._file.write("\n")

    def game(self, game: GameSummary) -> None:
        """See `SelfplayListener`."""
        self.calls[game.number] = game.evaluations
        self._file.write(f"{game.number} {game.evaluations}\n")
        self._file.flush()

    @property
    def mean(self) -> float:
        """Calls of a game."""
        return sum(self.calls.values()) / len(self.calls)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def seed_of(arm: str, seed: int) -> int:
    """What games and training draw their chance from."""
    return seed + CONTROL_SEED if arm == CONTROL else seed


def generate_games(plan: Plan, arm: str, seed: int) -> dict[str, int]:
    """Generate games until they have cost the calls; how many follows from those that are over.

    Returns:
        Evaluator calls, games, and positions with targets.

    Raises:
        StoppedError: The user stopped it.
    """
    scale, folder = plan.scale, plan.folder(arm, seed)
    folder.mkdir(parents=True, exist_ok=True)
    log = CallsLog(folder / "calls.txt")
    games = 2 * scale.parallel
    try:
        while True:
            result = generate(
                plan.settings(arm), plan.network, folder / "games", games=games, seed=seed_of(arm, seed),
                parallel=scale.parallel, batch_size=scale.generator_batch, cache_mb=0, listener=log,
                **scale.machine.network,
            )  # fmt: skip
            if not result.finished:
                raise StoppedError
            missing = round(scale.calls / log.mean) - games
            if missing < scale.chunk_games:
                return {
                    "calls": round(log.mean * games), "games": games, "positions": result.progress.positions,
                }  # fmt: skip
            more = missing if missing <= NEAR * games else round((1 - NEAR) * missing)
            games += max(1, more // scale.chunk_games) * scale.chunk_games
    finally:
        log.close()


def make(plan: Plan, seed: int, arm: str) -> None:
    """Generate the games of an arm, and train its network."""
    folder, scale = plan.folder(arm, seed), plan.scale
    figures = folder / "generated.json"
    if not figures.exists():
        replace_file(figures, json.dumps(generate_games(plan, arm, seed)).encode())
    print(f"seed {seed}, {arm}: {figures.read_text('utf-8')}", file=sys.stderr, flush=True)
    training = TrainingSettings(
        steps=scale.steps, warmup=scale.steps // 20, batch=scale.batch, seed=seed_of(arm, seed),
        amp="off" if scale.machine.device == "cpu" else "auto",
    )  # fmt: skip
    data = Dataset(*find_chunks(folder / "games"))
    checkpoint = train_arm(scale.shape, data, folder / "run", training, scale.machine.device)
    export_arm(checkpoint, folder / "network.onnx")


def play(plan: Plan, seed: int, arm: str) -> None:
    """Play the match of an arm against the base."""
    folder = plan.folder(arm, seed)
    result = play_arms(
        {name: plan.folder(name, seed) / "network.onnx" for name in (arm, BASE)},
        folder / "match",
        games=plan.scale.games,
        nodes=plan.scale.match_nodes,
        openings=plan.openings,
        seed=seed,
        machine=plan.scale.machine,
        name=f"seed {seed}, {arm} against {BASE}",
    )
    (meeting,) = result.standings.meetings()
    replace_file(folder / "pairs.json", json.dumps(meeting.counts.pairs).encode())


def rows_of(plan: Plan, arms: Sequence[str], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each arm, the base first: what its games cost, and how its networks did against the base."""
    rows: list[dict[str, Any]] = []
    for arm in (BASE, *arms):
        folders = [plan.folder(arm, seed) for seed in seeds]
        made = [json.loads((folder / "generated.json").read_text("utf-8")) for folder in folders]
        row: dict[str, Any] = {"arm": arm, **{name: sum(each[name] for each in made) for name in made[0]}}
        if arm != BASE:
            pairs = [json.loads((folder / "pairs.json").read_text("utf-8")) for folder in folders]
            pooled = elo(pairs=[sum(counts) for counts in zip(*pairs, strict=True)])
            by_seed = [elo(pairs=counts).elo for counts in pairs]
            row |= {
                "match_games": 2 * sum(map(sum, pairs)), "score": pooled.score, "elo": pooled.elo,
                "elo_error": pooled.elo_error, "elo_by_seed": by_seed,
            }  # fmt: skip
            if all(each is not None for each in by_seed):
                row["seeds_error"] = mean_of([each for each in by_seed if each is not None]).margin
        rows.append(row)
    return rows


def markdown(plan: Plan, rows: Sequence[dict[str, Any]]) -> str:
    """The table as docs/measurements has it."""
    base = plan.settings(BASE).model_dump()
    first = f"playouts={base['playouts']}"
    lines = [
        "| self-play | settings | calls | games | positions | match games | score | Elo to base | by seed |",
        f"|{'---|' * 9}",
    ]
    for row in rows:
        own = plan.settings(row["arm"]).model_dump()
        changed = [f"{name}={value}" for name, value in own.items() if value != base[name]]
        texts = [row["arm"], f"`{' '.join(changed or [first])}`"]
        texts += [f"{row[name]:,}" for name in ("calls", "games", "positions")]
        if row["arm"] == BASE:
            texts += [""] * 4
        else:
            error = "" if row["elo_error"] is None else f" ±{row['elo_error']:.0f}"
            spread = row.get("seeds_error")
            seeds = ", ".join("-" if each is None else f"{each:+.0f}" for each in row["elo_by_seed"])
            texts += [
                str(row["match_games"]), f"{row['score']:.1%}",
                "-" if row["elo"] is None else f"{row['elo']:+.0f}{error}",
                seeds if spread is None else f"{seeds} (mean ±{spread:.0f})",
            ]  # fmt: skip
        lines.append(f"| {' | '.join(texts)} |")
    scale = plan.scale
    lines += [
        "",
        f"{scale.calls:,} evaluator calls for each arm and seed, {scale.steps:,} steps of {scale.batch} positions, "
        f"{scale.shape}, matches at {scale.match_nodes} playouts.",
    ]
    return "\n".join(lines)


def read_options(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the measurement")
    parser.add_argument("--only", nargs="+", choices=OPTIONS, default=list(OPTIONS), help="options to measure")
    parser.add_argument(
        "--scale", choices=SCALES, default="small", help="small: one CPU core; gpu: CUDA; tiny: whether it works"
    )
    parser.add_argument("--network", default="<5x64>", help="ONNX file of the network that plays")
    parser.add_argument("--openings", type=Path, help="USI lines that matches begin with; else those of the package")
    parser.add_argument("--opening-plies", type=int, default=24, help="plies of an opening that are played")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="a network of each arm for each seed")
    parser.add_argument("--jobs", type=int, default=1, help="pieces of work at once, each on one core or the same GPU")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(words)
    options.seeds = list(dict.fromkeys(options.seeds))
    try:
        lines = read_openings(options.openings or OPENINGS, options.opening_plies)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    options.plan = Plan(options.out, SCALES[options.scale], options.network, tuple(lines))
    return options


def do(
    pool: ProcessPoolExecutor,
    work: Callable[[Plan, int, str], None],
    result: str,
    plan: Plan,
    seeds: Sequence[int],
    arms: Sequence[str],
) -> None:
    """Do the pieces of work whose result is not there."""
    missing = [(seed, arm) for seed in seeds for arm in arms if not (plan.folder(arm, seed) / result).exists()]
    for each in as_completed([pool.submit(work, plan, seed, arm) for seed, arm in missing]):
        each.result()


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = read_options(words)
    plan: Plan = options.plan
    found = arms_of(plan.scale)
    arms = [arm for option in OPTIONS if option in options.only for arm in found[option]]
    settings = {"network": plan.network, "scale": asdict(plan.scale), "openings": len(plan.openings)}
    with pieces_of_work(plan.out, options.jobs, settings) as pool:
        do(pool, make, "network.onnx", plan, options.seeds, (BASE, *arms))
        do(pool, play, "pairs.json", plan, options.seeds, arms)
    rows = rows_of(plan, arms, options.seeds)
    print(json.dumps(rows) if options.json else markdown(plan, rows))


if __name__ == "__main__":
    main()
