"""What Gumbel at the root is worth beside PUCT, for the same number of evaluator calls.

A player is a rule, its simulations, and options of the search: gumbel-16 evaluates the root and 16 leaves of each
position, and gumbel-16,gumbel_c_scale=1 does so with another constant. Two measurements:

- teach: positions are searched by each player, and what it teaches is compared with the visits of a long search, by
  cross-entropy in nats: less is better, and the first row is the network's policy without search.
- play: each pair of players plays a match from each seed, all with one network, a leaf at a time, without chance, from
  an empty tree for each move.

    .venv/bin/python studies/gumbel_cost.py teach --out out/gumbel
    .venv/bin/python studies/gumbel_cost.py play --openings OPENINGS.sfen --out out/gumbel --jobs 2

What was done is kept in OUT; run the same command again to resume, or with more games, seeds or players. The table of
play has the Elo ratings of all seeds together with their 95 % errors, and those of each seed. What networks learn from
games of each rule, for the same number of calls, is an option of studies/selfplay_ablation.py: --only root.
"""

import argparse
import json
import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from match_parts import MEMORY_MB, Log, read_openings
from trained_arms import MOST_PLIES
from work_folder import StoppedError, pieces_of_work

from fukayomi._native import RootRule, Search, SearchParams
from fukayomi.arena import MovePlayer, play_match, rate
from fukayomi.engine import Network
from fukayomi.engine.evaluation import sample_positions
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.shogi import Move, Position
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import BestMove, Go

PLAYERS = ("gumbel-16", "puct-16", "puct-100")
RESIGNS_AT = 0.02
"""Win rate below which a player resigns."""
ELO_SCALE = 200.2419
"""`rate` gives Elo ratings with it."""
LONG_SEARCH = 800
"""Nodes of the search that others are compared with."""
EVEN_SHARE = 0.01
"""Share of the even distribution that a policy is mixed with, so that the cross-entropy is finite."""
BATCH = 8
"""Positions per batch, except in matches."""


@dataclass(frozen=True)
class Root:
    """A rule for the root, its budget, and other options of the search."""

    rule: RootRule
    simulations: int
    options: tuple[tuple[str, float], ...] = ()

    @classmethod
    def from_name(cls, name: str) -> "Root":
        """The one that "gumbel-16" or "puct-100,forced_playouts=2" names.

        Raises:
            ValueError: The name is another.
        """
        match = re.fullmatch(r"(gumbel|puct)-([1-9][0-9]{0,5})((?:,[a-z_]+=[0-9.]+)*)", name)
        if match is None:
            raise ValueError(f"'{name}' is not a rule and its simulations, such as gumbel-16 or puct-100")
        options = (option.split("=") for option in match[3].split(",")[1:])
        root = cls(RootRule[match[1].upper()], int(match[2]), tuple((name, float(value)) for name, value in options))
        root.set_on(SearchParams())
        return root

    @property
    def calls(self) -> int:
        """Evaluator calls for a position."""
        return self.simulations + 1

    def set_on(self, params: SearchParams) -> SearchParams:
        """Set rule and options.

        Raises:
            ValueError: There is no such option, or it does not take its value.
        """
        params.root_rule = self.rule
        for name, value in self.options:
            if not hasattr(params, name):
                raise ValueError(f"'{name}' is no option of the search")
            setattr(params, name, type(getattr(params, name))(value))
        return params


@dataclass(frozen=True)
class Plan:
    """What all players have in common."""

    network: str | None
    openings: tuple[str, ...]
    games: int
    out: Path

    def folder(self, seed: int, pair: Sequence[str]) -> Path:
        """Where a match is kept."""
        return self.out / "play" / f"seed-{seed}" / "_".join(pair)

    def opened(self, batch_size: int) -> Network:
        """The network, the same to the last digit in each run."""
        return Network(self.network, device="cpu", precision="fp32", threads=1, batch_size=batch_size, cache_mb=0)


def search(evaluator: Evaluator, slot: Slot, position: Position, params: SearchParams, nodes: int) -> Search:
    """Search a position from an empty tree, with batches of the slot's capacity."""
    found = Search(params, MEMORY_MB)
    batch = found.new_batch(slot.capacity)
    found.set_position(position, nodes=nodes)
    while (left := nodes - found.nodes) > 0:
        limit = min(left, slot.capacity)
        n = found.gather(batch, slot.input, 0, limit, left)
        if n == 0:
            break
        evaluator.run(slot, n)
        found.apply(batch, slot.logits, slot.values)
    return found


# ---------------------------------------------------------------------------------------------------- teach


def teach(plan: Plan, players: Sequence[str], count: int) -> list[dict[str, Any]]:
    """A row for the policy and for each player, over positions that a long search does not decide."""
    with plan.opened(BATCH) as network:
        evaluator, many = network.evaluator, network.evaluator.allocate(BATCH)
        one = evaluator.allocate(1)
        positions = sample_positions(evaluator, count, seed=1)
        params = network.settings.search_params
        long = [search(evaluator, many, position, params(), LONG_SEARCH) for position in positions]
        targets = [(n, dict(found.teaching())) for n, found in enumerate(long) if not found.is_decided]

        def row(name: str, nodes: int, root: Root | None) -> dict[str, Any]:
            entropy, highest = 0.0, 0.0
            for n, target in targets:
                own = params() if root is None else root.set_on(params())
                own.seed = n
                found = search(evaluator, one, positions[n], own, nodes)
                lines = {line.move: line.prior for line in found.lines(600)}
                policy = lines if root is None else dict(found.teaching())
                entropy += cross_entropy(target, policy, list(lines))
                highest += max(policy.values()) / sum(policy.values())
            total = len(targets)
            return {"player": name, "calls": nodes, "positions": total, "cross_entropy": entropy / total,
                    "highest": highest / total}  # fmt: skip

        roots = [(name, Root.from_name(name)) for name in players]
        return [row("policy", 1, None), *(row(name, root.calls, root) for name, root in roots)]


def cross_entropy(target: Mapping[Move, float], policy: Mapping[Move, float], moves: Sequence[Move]) -> float:
    """Of two unnormalised policies, in nats."""
    whole, own = sum(target.values()), sum(policy.values())
    odds = {move: (1 - EVEN_SHARE) * policy.get(move, 0.0) / own + EVEN_SHARE / len(moves) for move in moves}
    return -sum(weight / whole * math.log(odds[move]) for move, weight in target.items())


# ---------------------------------------------------------------------------------------------------- play


class RootPlayer(MovePlayer):
    """Searches with a number of nodes, a leaf at a time, from an empty tree."""

    def __init__(self, network: Network, root: Root, name: str, seed: int) -> None:
        self._evaluator = network.evaluator
        self._slot = self._evaluator.allocate(1)
        params = network.settings.search_params()
        params.seed, params.gumbel_scale = seed, 0.0
        self._params = root.set_on(params)
        self._identity = f"{network.identity} {name} seed={seed}"

    @property
    def identity(self) -> str:
        """See `MovePlayer`."""
        return self._identity

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        """See `MovePlayer`."""
        assert go.nodes is not None
        best = search(self._evaluator, self._slot, position, self._params, go.nodes).lines(1)[0]
        return best.move if best.winrate >= RESIGNS_AT else SearchAnswer(BestMove("resign"))


def play(plan: Plan, seed: int, pair: tuple[str, str]) -> None:
    """Play or resume a match of two rules with the same network, in this process."""
    roots = {name: Root.from_name(name) for name in pair}
    with plan.opened(1) as network:
        result = play_match(
            {name: RootPlayer(network, root, name, seed) for name, root in roots.items()},
            games=plan.games,
            clock={name: f"nodes={root.calls}" for name, root in roots.items()},
            openings=list(plan.openings),
            folder=plan.folder(seed, pair),
            seed=seed,
            rules={"max_plies": MOST_PLIES},
            listener=Log(f"seed {seed}, {pair[0]} against {pair[1]}"),
        )
    if not result.is_complete:
        raise StoppedError


def rated(plan: Plan, players: Sequence[str], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each player: its calls, and its ratings by all seeds and by each."""

    def ratings(of: Sequence[int], simulations: int) -> Any:
        folders = [plan.folder(seed, pair) for seed in of for pair in combinations(players, 2)]
        return rate(folders, scale=ELO_SCALE, average=0.0, simulations=simulations)

    pooled = ratings(seeds, 1000)
    single = {seed: ratings([seed], 0) for seed in seeds}

    return [
        {
            "player": name, "calls": Root.from_name(name).calls, "games": pooled[name].played,
            "points": pooled[name].points, "elo": pooled[name].rating, "elo_error": pooled[name].error,
            "elo_by_seed": {str(seed): found[name].rating for seed, found in single.items()},
        }
        for name in players
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------- tables


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The table of a measurement."""
    if "cross_entropy" in rows[0]:
        lines = ["| player | evaluator calls | positions | cross-entropy | highest share |", "|---|---|---|---|---|"]
        cells = ("player", "calls", "positions"), ("cross_entropy", "highest")
        for row in rows:
            texts = [str(row[name]) for name in cells[0]] + [f"{row[name]:.2f}" for name in cells[1]]
            lines.append(f"| {' | '.join(texts)} |")
        return "\n".join(lines)
    head = ["player", "calls a position", "games", "score", "Elo", "Elo by seed"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        error = "" if row["elo_error"] is None else f" ±{row['elo_error']:.0f}"
        seeds = ", ".join(f"{elo:+.0f}" for elo in row["elo_by_seed"].values())
        score = f"{row['points'] / row['games']:.1%}"
        texts = [row["player"], str(row["calls"]), str(row["games"]), score, f"{row['elo']:+.0f}{error}", seeds]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines)


def read_options(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("teach", "play"))
    parser.add_argument("--out", type=Path, required=True, help="folder of the measurement")
    parser.add_argument("--openings", type=Path, help="a file of 'startpos moves ...' lines, for matches")
    parser.add_argument("--network", help="ONNX file; the embedded network without it")
    parser.add_argument("--players", nargs="+", default=list(PLAYERS), help="rules and their simulations")
    parser.add_argument("--positions", type=int, default=400, help="teach: number of positions")
    parser.add_argument("--games", type=int, default=400, help="games of each pair from each seed")
    parser.add_argument("--opening-plies", type=int, default=24)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1, help="pieces of work at once, each on one core")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(words)
    try:
        options.players = list(dict.fromkeys(options.players))
        options.seeds = list(dict.fromkeys(options.seeds))
        for name in options.players:
            Root.from_name(name)
        if options.what != "teach" and (len(options.players) < 2 or options.openings is None):
            raise ValueError("matches need two different players, and --openings")
        lines = [] if options.openings is None else read_openings(options.openings, options.opening_plies)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    options.plan = Plan(network=options.network, openings=tuple(lines), games=options.games, out=options.out)
    return options


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = read_options(words)
    plan, players, seeds = options.plan, options.players, options.seeds
    if options.what == "teach":
        rows = teach(plan, players, options.positions)
    else:
        pairs = list(combinations(players, 2))
        with pieces_of_work(plan.out, options.jobs) as pool:
            for each in as_completed([pool.submit(play, plan, seed, pair) for seed in seeds for pair in pairs]):
                each.result()
        rows = rated(plan, players, seeds)
    print(json.dumps(rows) if options.json else markdown(rows))


if __name__ == "__main__":
    main()
