"""What a fleet costs: polls, bytes, requests to the store, CPU of ingest, and games that are lost. A simulation.

    python studies/fleet_costs.py --workers 100 5000
    python studies/fleet_costs.py --workers 5000 --poll 60 --chunk 1000 --json
    python studies/fleet_costs.py --games-an-hour 6000 --games run/games

Workers look for a new task, fetch it with its network, play, deliver chunks, and die; the learner lists and fetches
chunks and publishes a network now and then; each event is simulated with the times and delays of `fukayomi.loop.fleet`.
What an event weighs was measured, each by the command beside it; the speed of a worker is an input.
"""

import argparse
import heapq
import json
import math
import random
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fukayomi.selfplay.chunk import find_chunks, read_chunk_info, sidecar_of

# fukayomi selfplay "<internal>" -o games --games 6 --playouts 800 --seed 1 --devices 1 --device cpu
# python studies/fleet_costs.py --games games --json; games of 118 plies.
GAME_BYTES = 8_914
SIDECAR_BYTES = 1_871
# benchmarks/selfplay.py: <5x64> on two cores, 800 playouts.
GAMES_AN_HOUR = 595.0
# Parameters of resnet20x256_swish, which the preset fleet trains (docs/learning.md), in float32.
NETWORK_BYTES = 24_363_714 * 4
# current.json and tasks/000001.json in the folder of a run with a fleet: wc -c.
CURRENT_BYTES = 86
TASK_BYTES = 1_386
# benchmarks/ingest.py: games taken into the manifest a CPU-second.
INGESTED_A_SECOND = 12_000.0
# A line of manifest.jsonl: the mean of 467 chunks of the long test in tests/loop/fleet.
MANIFEST_BYTES = 1_097
LISTED = 1000
"""Files in an answer of an object store to a list."""
TASKS_LISTED = 3
"""Tasks that the learner looks at each time (`fukayomi.loop.fleet.generator`)."""


@dataclass(frozen=True)
class Fleet:
    """What is simulated."""

    workers: int
    hours: float
    poll_s: float
    network_s: float
    """From one new network to the next."""
    chunk: int
    """Games of a chunk."""
    games_an_hour: float
    """Of a worker."""
    parallel: int
    """Games in play of a worker."""
    death_h: float
    """Hours that a worker lives, on average."""
    restart_s: float
    """From its death to the next worker's first game."""
    game_bytes: float
    sidecar_bytes: float


class Simulation:
    """Events in the order of their times. Times are seconds."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self._fleet, self._chance = fleet, random.Random(seed)
        self._events: list[tuple[float, int, str, int]] = []
        self._number = 0
        self._newest, self._network_of = 1, [0] * fleet.workers
        self._life = [0] * fleet.workers  # events of earlier lives are void
        self._stored: Counter[int] = Counter()  # files, by task
        self.requests: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.by_second: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """Of all workers."""
        self.games = 0.0
        self.lost = 0.0
        self._unfetched = 0
        self._played_s = [0.0] * fleet.workers  # since when the open chunk fills

    def run(self) -> None:
        """Simulate all hours."""
        fleet, chance = self._fleet, self._chance
        self._at(fleet.network_s, "network", 0)
        self._at(fleet.poll_s, "collect", 0)
        for worker in range(fleet.workers):
            self._start(worker, chance.uniform(0, fleet.poll_s))  # they do not all begin at once
        end_s = fleet.hours * 3600
        while self._events and self._events[0][0] < end_s:
            time_s, _, what, who = heapq.heappop(self._events)
            kind, _, life = what.partition(" ")
            if not life or int(life) == self._life[who]:
                getattr(self, f"_{kind}")(time_s, who)
        open_s = sum(max(0.0, end_s - begin_s) for begin_s in self._played_s)
        self.games += open_s * fleet.games_an_hour / 3600  # of chunks that are not complete

    def _at(self, time_s: float, what: str, who: int, *, of_life: bool = False) -> None:
        self._number += 1
        heapq.heappush(self._events, (time_s, self._number, f"{what} {self._life[who]}" if of_life else what, who))

    def _ask(self, time_s: float, what: str, size: float, count: int = 1) -> None:
        self.requests[what] += count
        self.bytes[what] += round(size)
        if what in ("list", "get", "publish"):  # the learner's, which come one after another
            return
        second = self.by_second[int(time_s)]
        second["requests"] += count
        second["bytes"] += round(size)

    def _start(self, worker: int, time_s: float) -> None:
        fleet, chance = self._fleet, self._chance
        self._network_of[worker] = 0
        self._played_s[worker] = time_s
        self._at(time_s, "poll", worker, of_life=True)
        self._at(time_s + self._chunk_s() * chance.uniform(0.9, 1.1), "chunk", worker, of_life=True)
        self._at(time_s + chance.expovariate(1 / (fleet.death_h * 3600)), "death", worker, of_life=True)

    def _chunk_s(self) -> float:
        return self._fleet.chunk / self._fleet.games_an_hour * 3600

    def _poll(self, time_s: float, worker: int) -> None:
        """The worker looks at current.json, and fetches task and network if they are new."""
        self._ask(time_s, "poll", CURRENT_BYTES)
        if self._network_of[worker] != self._newest:
            self._ask(time_s, "task", TASK_BYTES)
            self._ask(time_s, "network", NETWORK_BYTES)
            if self._network_of[worker]:
                self._deliver(time_s, worker)  # the last chunk of the task before is short
            self._network_of[worker] = self._newest
        self._at(time_s + self._fleet.poll_s * self._chance.uniform(0.5, 1.5), "poll", worker, of_life=True)

    def _chunk(self, time_s: float, worker: int) -> None:
        self._deliver(time_s, worker)
        self._at(time_s + self._chunk_s() * self._chance.uniform(0.9, 1.1), "chunk", worker, of_life=True)

    def _deliver(self, time_s: float, worker: int) -> None:
        games = (time_s - self._played_s[worker]) * self._fleet.games_an_hour / 3600
        self._played_s[worker] = time_s
        self.games += games
        self._ask(time_s, "put", games * self._fleet.game_bytes + self._fleet.sidecar_bytes, 2)
        self._stored[self._network_of[worker]] += 2
        self._unfetched += 1
        self.bytes["get"] += round(games * self._fleet.game_bytes + self._fleet.sidecar_bytes)

    def _death(self, time_s: float, worker: int) -> None:
        """Games in play are lost, about half of each; finished ones wait on the machine for the next worker."""
        self.lost += self._fleet.parallel / 2
        self._life[worker] += 1
        self._start(worker, time_s + self._fleet.restart_s)

    def _network(self, time_s: float, _: int) -> None:
        self._newest += 1
        self._ask(time_s, "publish", NETWORK_BYTES + TASK_BYTES + CURRENT_BYTES, 3)
        self._at(time_s + self._fleet.network_s, "network", 0)

    def _collect(self, time_s: float, _: int) -> None:
        """The learner lists the newest tasks and fetches what is new."""
        tasks = sorted(self._stored)[-TASKS_LISTED:]
        pages = 1 + sum(max(1, math.ceil(self._stored[task] / LISTED)) for task in tasks)
        self._ask(time_s, "list", 0, pages)
        self._ask(time_s, "get", 0, 2 * self._unfetched)
        self._unfetched = 0
        self._at(time_s + self._fleet.poll_s, "collect", 0)


def costs(fleet: Fleet, seed: int) -> dict[str, Any]:
    """What a fleet costs."""
    simulation = Simulation(fleet, seed)
    simulation.run()
    seconds, days = fleet.hours * 3600, fleet.hours / 24
    requests, size = simulation.requests, simulation.bytes
    chunks = requests["put"] / 2
    games_a_second = simulation.games / seconds
    return {
        **asdict(fleet),
        "games_a_day": simulation.games / days,
        "polls_a_second": requests["poll"] / seconds,
        "requests_a_second": sum(requests.values()) / seconds,
        "requests_a_second_peak": max(second["requests"] for second in simulation.by_second.values()),
        "requests_a_day": {name: round(count / days) for name, count in sorted(requests.items())},
        "bytes_a_second": {name: round(count / seconds) for name, count in sorted(size.items())},
        "bytes_a_second_peak": max(second["bytes"] for second in simulation.by_second.values()),
        "games_gb_a_day": size["put"] / days / 1e9,
        "networks_gb_a_day": size["network"] / days / 1e9,
        "files_a_day": round(requests["put"] / days),
        "manifest_mb_a_day": chunks * MANIFEST_BYTES / days / 1e6,
        "ingest_cores": games_a_second / INGESTED_A_SECOND,
        "lost_share": simulation.lost / max(1.0, simulation.games + simulation.lost),
    }


def measured(folder: Path) -> tuple[float, float]:
    """Bytes of a game, with its weights, and of a sidecar, from real chunks."""
    chunks = find_chunks(folder)
    infos = [read_chunk_info(sidecar_of(chunk)) for chunk in chunks]
    games = sum(info.games for info in infos)
    if not games:
        raise SystemExit(f"{folder}: no chunks with games")
    data = sum(path.stat().st_size for path in folder.iterdir() if path.suffix in (".hcpe3", ".npy"))
    return data / games, sum(sidecar_of(chunk).stat().st_size for chunk in chunks) / len(chunks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[100, 5000])
    parser.add_argument("--hours", type=float, default=2.0, help="simulated time")
    parser.add_argument("--poll", type=float, default=30.0, help="fleet.poll_s, seconds")
    parser.add_argument("--network-minutes", type=float, default=20.0, help="from one new network to the next")
    parser.add_argument("--chunk", type=int, default=100, help="selfplay.chunk_games")
    parser.add_argument("--games-an-hour", type=float, default=GAMES_AN_HOUR, help="of a worker")
    parser.add_argument("--parallel", type=int, default=64, help="games in play of a worker")
    parser.add_argument("--death-hours", type=float, default=24.0, help="how long a worker lives, on average")
    parser.add_argument("--restart-seconds", type=float, default=60.0, help="until the next one plays")
    parser.add_argument("--games", type=Path, help="folder of real chunks, whose sizes count instead of the built-in")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    game_bytes, sidecar_bytes = measured(options.games) if options.games else (GAME_BYTES, SIDECAR_BYTES)
    common: dict[str, Any] = {
        "hours": options.hours,
        "poll_s": options.poll,
        "network_s": options.network_minutes * 60,
        "chunk": options.chunk,
        "games_an_hour": options.games_an_hour,
        "parallel": options.parallel,
        "death_h": options.death_hours,
        "restart_s": options.restart_seconds,
        "game_bytes": game_bytes,
        "sidecar_bytes": sidecar_bytes,
    }
    found = [costs(Fleet(workers=workers, **common), options.seed) for workers in options.workers]
    if options.json:
        print(json.dumps(found, indent=1))
        return
    lines = (
        ("games a day", lambda one: f"{one['games_a_day']:,.0f}"),
        ("polls a second", lambda one: f"{one['polls_a_second']:.1f}"),
        ("requests a second", lambda one: f"{one['requests_a_second']:.1f}"),
        ("requests a second, peak of workers", lambda one: f"{one['requests_a_second_peak']:,}"),
        ("requests a day", lambda one: f"{sum(one['requests_a_day'].values()):,}"),
        ("games, GB a day", lambda one: f"{one['games_gb_a_day']:.2f}"),
        ("networks, GB a day", lambda one: f"{one['networks_gb_a_day']:.0f}"),
        ("bytes a second, peak of workers", lambda one: f"{one['bytes_a_second_peak'] / 1e6:,.0f} MB"),
        ("files a day", lambda one: f"{one['files_a_day']:,}"),
        ("manifest, MB a day", lambda one: f"{one['manifest_mb_a_day']:.0f}"),
        ("ingest, cores", lambda one: f"{one['ingest_cores']:.4f}"),
        ("games lost by deaths", lambda one: f"{100 * one['lost_share']:.2f} %"),
    )
    print("workers".ljust(36) + "".join(f"{one['workers']:>18,}" for one in found))
    for name, text in lines:
        print(name.ljust(36) + "".join(f"{text(one):>18}" for one in found))


if __name__ == "__main__":
    main()
