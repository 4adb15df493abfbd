"""A match between networks, many games at once in a pool, beside one between engines in this process: seconds of each.

    python benchmarks/network_matches.py [--json] [--preset tiny] [--playouts 32] [--games 48] [--repeats 2]

Both play the same openings by the engine's search with the same number of playouts (nodes), on all cores; the engines
play a game after another on each core, with networks of their own. The network is `<5x64>`, or with `--preset`
the first network of that preset of `fukayomi learn`. CPU time and time by the clock, in turn; medians of the repeats.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from fukayomi.arena.game.rules import OpeningOrder
from fukayomi.arena.match.match import run_match
from fukayomi.arena.match.settings import build_settings as build_match
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.engine import Engine, Network
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.network import embedded_network
from fukayomi.engine.settings import UsiSettings
from fukayomi.loop import build_settings
from fukayomi.loop.learner import create_network
from fukayomi.loop.run import Run
from fukayomi.loop.settings import OPENINGS, suffix_of
from fukayomi.selfplay import play_networks

NAMES = ("one", "two")


def load(stack: ExitStack, network: Path, devices: int) -> Network:
    """A network with a thread for each device."""
    return stack.enter_context(
        Network([network] * devices, device="native", precision="auto", threads=1, batch_size=8, cache_mb=0)
    )


def in_a_pool(network: Path, games: int, playouts: int) -> None:
    """Play the match in a pool."""
    with ExitStack() as stack:
        networks = {name: load(stack, network, usable_cpus()) for name in NAMES}
        play_networks(networks, games=games, playouts=playouts, openings=OPENINGS, seed=1, parallel=16 * usable_cpus())


def by_engines(network: Path, games: int, playouts: int) -> None:
    """Play it by engines in this process."""
    options = UsiSettings(hash_mb=64, mate_root_plies=0, resign_threshold=10)
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        players = [
            {name: stack.enter_context(Engine(load(stack, network, 1), settings=options)) for name in NAMES}
            for _ in range(usable_cpus())
        ]
        match = build_match(
            {
                "engine": [{"name": name, "identity": name} for name in NAMES],
                "games": games,
                "clock": f"nodes={playouts}",
                "openings": OPENINGS,
                "opening_order": OpeningOrder.RANDOM,
                "seed": 1,
                "rules": {"max_plies": 256},
                "concurrency": len(players),
            }
        )
        run_match(match, Path(folder), start_workers=partial(LocalWorkers, players=players))


def measure(play: Callable[[Path, int, int], None], network: Path, games: int, playouts: int) -> tuple[float, float]:
    """Seconds by the clock, and of CPU time."""
    begin, cpu = time.perf_counter(), time.process_time()
    play(network, games, playouts)
    return time.perf_counter() - begin, time.process_time() - cpu


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--preset", help="preset of fukayomi learn; <5x64> by default")
    parser.add_argument("--playouts", type=int, default=32, help="of a move")
    parser.add_argument("--games", type=int, default=48, help="of a match")
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args(words)
    found: dict[str, list[tuple[float, float]]] = {"pool": [], "engines": []}
    with tempfile.TemporaryDirectory() as name:
        network = embedded_network()
        if given.preset:
            run = Run(build_settings({"preset": given.preset}), name)
            create_network(run)
            network = run.folder.network(0, suffix_of(run.settings.network))
        for _ in range(given.repeats):
            for kind, play in (("pool", in_a_pool), ("engines", by_engines)):
                found[kind].append(measure(play, network, given.games, given.playouts))
    report = {
        kind: {"seconds": statistics.median(a for a, _ in each), "cpu_seconds": statistics.median(b for _, b in each)}
        for kind, each in found.items()
    }
    ratios = [engines[0] / pool[0] for pool, engines in zip(found["pool"], found["engines"], strict=True)]
    if given.json:
        print(json.dumps({"games": given.games, **report, "ratio": statistics.median(ratios)}))
        return
    for kind, values in report.items():
        print(f"{kind}: {given.games} games in {values['seconds']:.1f} s, {values['cpu_seconds']:.1f} s of CPU time")
    print(f"the pool is {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
