"""How surely ingest finds a poisoned worker, and how often it suspects an honest one: a table, and a ROC picture.

    .venv/bin/python studies/canaries.py GAMES.hcpe3... --old OLD.hcpe3... --out out/canaries

GAMES are chunks of honest self-play with one network and one set of settings, OLD are chunks of another network with
the same settings. In each trial the honest games are dealt out at random to workers. Then one worker at a time delivers
poisoned games in place of its own: games of random moves, flipped results, values of the wrong sign or of the move
before, visits of the wrong candidate, targets of a search with an eighth of the visits, or games of the other network
under the name of the first. With --share less than 1 it poisons so many of its games and leaves the others alone.

"rejected" is the share of the trials in which the worker's chunk is refused because a game breaks the rules or
contradicts its result; "flagged" that in which the tripwires name the worker, whether its chunk was refused or not;
"found" that of both together. False alarms are those of trials in which all workers are honest. The picture has the
tripwires alone: each worker's highest |z| against a threshold.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from canary_games import CANARIES

from fukayomi import _native
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe3 import Game, Games, join_games, read_hcpe3
from fukayomi.files.atomic import replace_file
from fukayomi.learning.curves.pictures import THEMES, picture, styled
from fukayomi.loop.ingest.statistics import ChunkStatistics, statistics_of
from fukayomi.loop.ingest.tripwires import Tripwires, compare_workers
from fukayomi.loop.ingest.validation import rules_of, validate_chunk

OLD = "old network"
POISONED = "w0"


@dataclass(frozen=True)
class Study:
    """What the trials have in common."""

    honest: list[Game]
    poisoned: dict[str, list[Game]]
    """By kind; game i is made of honest game i, but for those of an old network."""
    settings: dict[str, Any]
    workers: int
    alarm_rate: float


@dataclass
class Row:
    """The trials of one kind of worker."""

    kind: str
    share: float
    games: int
    trials: int = 0
    rejected: int = 0
    flagged: int = 0
    found: int = 0

    def cells(self) -> list[str]:
        """The row as text."""
        shares = (f"{100 * count / self.trials:.1f} %" for count in (self.rejected, self.flagged, self.found))
        return [self.kind, f"{self.share:g}", str(self.games), *shares]


def read_chunks(paths: Sequence[Path]) -> tuple[list[Game], dict[str, Any]]:
    """The games of chunks that ingest would accept, and their settings."""
    games: list[Game] = []
    settings: list[dict[str, Any]] = []
    for path in paths:
        settings.append(dict(validate_chunk(path).info.settings))
        games += [game for part in read_hcpe3(path) for game in part]
    if any(found != settings[0] for found in settings):
        sys.exit("canaries.py: the chunks have different settings")
    return games, settings[0]


def decoded(games: Sequence[Game]) -> _native.DecodedGames:
    return _native.decode_hcpe3(np.frombuffer(join_games(games).write(), np.uint8), True)


def is_rejected(games: Sequence[Game], settings: dict[str, Any]) -> bool:
    """Whether ingest refuses a chunk of these games."""
    found = decoded(games)
    return bool(found.damages or _native.check_selfplay(found, rules_of(settings)).faults)


def statistics(games: Sequence[Game]) -> ChunkStatistics:
    return statistics_of(decoded(games))


def highest_z(found: Tripwires, worker: str) -> float:
    return max((abs(row.z) for row in found.comparisons if row.worker == worker), default=0.0)


class Trials:
    """Runs trials, and counts."""

    def __init__(self, study: Study, shares: Sequence[float], games: Sequence[int], rng: np.random.Generator) -> None:
        self._study, self._shares, self._games, self._rng = study, shares, games, rng
        self.rows: dict[tuple[str, float, int], Row] = {}
        self.alarms: dict[int, Counter[str]] = defaultdict(Counter)
        """By games of a worker: trials, trials with a flag, honest workers, honest workers flagged."""
        self.scores: dict[tuple[str, float, int], list[float]] = defaultdict(list)
        """Highest |z| of the worker in question, "honest" included."""
        self.reasons: dict[str, Counter[str]] = defaultdict(Counter)
        """By kind: the metrics that gave it away."""

    def run(self) -> None:
        """One trial of everything."""
        for games in self._games:
            order = self._rng.permutation(len(self._study.honest))
            parts = [order[games * worker : games * (worker + 1)].tolist() for worker in range(self._study.workers)]
            workers = {
                f"w{worker}": statistics([self._study.honest[at] for at in part]) for worker, part in enumerate(parts)
            }
            self._honest(workers, games)
            for kind in self._study.poisoned:
                for share in self._shares:
                    self._poisoned(workers, parts[0], kind, share)

    def _honest(self, workers: dict[str, ChunkStatistics], games: int) -> None:
        found = compare_workers(workers, self._study.alarm_rate, least_games=2)
        self.alarms[games].update(
            {"trials": 1, "alarms": bool(found.flags), "workers": len(workers), "flagged": len(found.flags)}
        )
        self.scores["honest", 1.0, games] += [highest_z(found, worker) for worker in workers]

    def _poisoned(self, workers: dict[str, ChunkStatistics], part: list[int], kind: str, share: float) -> None:
        source = self._study.poisoned[kind]
        bad = max(1, round(share * len(part)))
        taken = self._rng.choice(len(source), bad, replace=False).tolist() if kind == OLD else part[:bad]
        games = [source[at] for at in taken] + [self._study.honest[at] for at in part[bad:]]
        key = (kind, share, len(part))
        row = self.rows.setdefault(key, Row(*key))
        found = compare_workers(workers | {POISONED: statistics(games)}, self._study.alarm_rate, least_games=2)
        reasons = [flag.metric for flag in found.flags if flag.worker == POISONED]
        rejected = is_rejected(games, self._study.settings)
        row.trials += 1
        row.rejected += rejected
        row.flagged += bool(reasons)
        row.found += rejected or bool(reasons)
        self.reasons[kind].update(reasons)
        self.scores[key].append(highest_z(found, POISONED))


def draw_roc(trials: Trials, out: Path) -> None:
    """Detection against false alarms by the threshold of the highest |z|; a panel for each share and number."""
    from matplotlib.figure import Figure

    colors = THEMES["light"]
    shares = sorted({key[1] for key in trials.rows}, reverse=True)
    games = sorted({key[2] for key in trials.rows})
    kinds = list(dict.fromkeys(key[0] for key in trials.rows))
    with styled("light", "en"):
        size = (3.6 * len(shares) + 1.6, 3.1 * len(games))
        figure = Figure(figsize=size, facecolor=colors.card, layout="constrained")
        grid = figure.subplots(len(games), len(shares), squeeze=False, sharex=True, sharey=True)
        for row, count in zip(grid, games, strict=True):
            for axes, share in zip(row, shares, strict=True):
                honest = np.sort(trials.scores["honest", 1.0, count])
                thresholds = np.concatenate([[np.inf], honest[::-1], [-1.0]])
                alarms = [(honest > threshold).mean() for threshold in thresholds]
                for number, kind in enumerate(kinds):
                    scores = np.array(trials.scores[kind, share, count])
                    finds = [(scores > threshold).mean() for threshold in thresholds]
                    axes.step(alarms, finds, where="post", color=colors.runs[number], label=kind)
                axes.set_xscale("symlog", linthresh=0.001)
                axes.set_xlim(0, 1)
                axes.set_ylim(0, 1.03)
                axes.set_xticks([0, 0.001, 0.01, 0.1, 1], ["0", "0.001", "0.01", "0.1", "1"])
                axes.set_title(f"{count} games a worker, {100 * share:g} % poisoned", loc="left", fontsize=9)
        figure.supxlabel("share of honest workers flagged", fontsize=9)
        figure.supylabel("share of poisoned workers flagged", fontsize=9)
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside right center")
    replace_file(out, picture(figure, "svg", "light", "en"))


def as_text(trials: Trials, alarm_rate: float) -> str:
    """The table in Markdown."""
    lines = ["| worker | share poisoned | games | rejected | flagged | found |", "|---|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in trials.rows.values()]
    for games, counts in trials.alarms.items():
        honest = 100 * counts["flagged"] / counts["workers"]
        lines.append(f"| honest | 0 | {games} | 0.0 % | {honest:.2f} % | {honest:.2f} % |")
    lines.append("")
    for games, counts in trials.alarms.items():
        share = 100 * counts["alarms"] / counts["trials"]
        lines.append(
            f"With {games} games a worker, {share:.1f} % of {counts['trials']:,} generations of honest workers had a "
            f"flag (limit {100 * alarm_rate:g} %)."
        )
    for kind, reasons in trials.reasons.items():
        lines.append(f"{kind}: " + ", ".join(f"{metric} {count:,}" for metric, count in reasons.most_common()))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chunks", nargs="+", type=Path, help="chunks of honest self-play (hcpe3 with sidecars)")
    parser.add_argument("--old", nargs="+", type=Path, default=[], help="chunks of another network")
    parser.add_argument("--out", type=Path, default=Path("out/canaries"), help="folder of table and picture")
    parser.add_argument("--workers", type=int, default=8, help="workers of a generation (default 8)")
    parser.add_argument("--games", nargs="+", type=int, default=[32, 64], help="games of a worker (default 32 64)")
    parser.add_argument("--share", nargs="+", type=float, default=[1.0, 0.25], help="shares poisoned (default 1 0.25)")
    parser.add_argument("--trials", type=int, default=200, help="trials (default 200)")
    parser.add_argument("--alarm-rate", type=float, default=0.01, help="as in IngestSettings (default 0.01)")
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    args = parser.parse_args()
    try:
        honest, settings = read_chunks(args.chunks)
        old = read_chunks(args.old)[0] if args.old else []
    except (DataFileError, OSError) as error:
        sys.exit(f"canaries.py: {error}")
    if len(honest) < args.workers * max(args.games) or (old and len(old) < max(args.games)):
        sys.exit(f"canaries.py: {args.workers} workers with {max(args.games)} games need more than {len(honest)} games")
    rng = np.random.default_rng(args.seed)
    whole: Games = join_games(honest)
    poisoned = {kind: list(make(whole, settings, rng)) for kind, make in CANARIES.items()}
    study = Study(honest, poisoned | ({OLD: old} if old else {}), settings, args.workers, args.alarm_rate)
    trials = Trials(study, args.share, args.games, rng)
    for done in range(args.trials):
        trials.run()
        print(f"\r{done + 1} of {args.trials} trials", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    args.out.mkdir(parents=True, exist_ok=True)
    text = as_text(trials, args.alarm_rate)
    replace_file(args.out / "canaries.md", f"{text}\n".encode())
    rows = [vars(row) for row in trials.rows.values()]
    alarms = {str(games): dict(counts) for games, counts in trials.alarms.items()}
    replace_file(args.out / "canaries.json", json.dumps({"rows": rows, "honest": alarms}, indent=1).encode())
    draw_roc(trials, args.out / "roc.svg")
    print(text)


if __name__ == "__main__":
    main()
