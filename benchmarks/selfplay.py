"""Self-play: what of the network's own speed the games keep, how many there are an hour, and what a game costs.

    python benchmarks/selfplay.py [--json] [--model FILE ...] [--shapes 10x192 20x256] [--games 64] [--playouts 800]
        [--device auto] [--precision auto] [--batch 0] [--seconds 5] [--repeats 3] [--minutes 8]
        [--league "COMMAND" --league-ms 500 --league-share 0.125 --league-processes 1]

For each network and number of games at once (`--games 256 512 1024`), in turn in every repeat:

- `alone`: positions evaluated a second in full batches, without a search;
- `selfplay`: positions evaluated a second in games, once all are under way; `share_of_evaluator` is the ratio, also by
  CPU time, which other programs disturb less (not for a GPU);
- `cpu_us_a_leaf`: CPU time of the games for each position evaluated, the searches included;
- `moves_per_hour`, `games_per_hour`: moves searched, and games of 100 moves.

Several files after `--model` are measured one after another: `<5x64>` and a sparse network, for example.

`hash` compares the games with the engine's own search, as playouts per second of CPU time with the native hash
evaluator: 64 games (16 fill a batch; the others wait for their turn) beside one tree after another, with the same
playouts, batches and positions. `bytes_a_game` is the memory of the trees of a game in play, `process_bytes_a_game`
that of the process.

`--league` adds for each network and number of games `league`: the moves searched an hour while a USI engine plays a
share of the games, beside games without it, in turn; `share_of_selfplay` is the ratio. Give it more `--seconds`: at
first few games wait for the engine. The author of dlshogi kept about 70 % with 1/8 of the games at 500 ms a move.

`--shapes` measures networks with random parameters instead of `--model`. Rates are medians of the repeats. What
does not fit into the minutes is left out and named.
"""

import argparse
import json
import resource
import shlex
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fukayomi._native import FinishedGame, Search, SelfplayPool
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.engine import Network
from fukayomi.engine.evaluators.protocol import Evaluator, hash_evaluator
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions, run_batches
from fukayomi.selfplay import League, LeagueEngine, LeagueSettings, SelfplaySettings
from fukayomi.shogi import Position

HASH_BATCH, HASH_GAMES = 16, 64
HASH_MOVES = 40
ENGINE_GAMES = 4
GAME_MOVES = 100
OPPONENT_BYTE = 35  # of a game in hcpe3


class Games:
    """Games of a network that never run out, with a thread for each batch in flight."""

    def __init__(
        self, network: Network, games: int, playouts: int, cache_mb: int, league: League | None = None
    ) -> None:
        settings = SelfplaySettings(playouts=playouts)
        self._owners = [evaluator for evaluator in network.evaluators for _ in range(evaluator.slots)]
        self._pool = SelfplayPool(settings.params(1), settings.search_params(), games, len(self._owners), cache_mb)
        self._number = 0
        self._games, self._league = games, league
        self._rows = [0] * len(self._owners)
        self.finished: list[FinishedGame] = []
        self._slots = [evaluator.allocate(evaluator.batch_size) for evaluator in self._owners]

    def run(self, seconds: float) -> tuple[float, float]:
        """Positions evaluated a second, by the clock and by CPU time."""
        end = time.perf_counter() + seconds
        threads = [threading.Thread(target=self._work, args=(n, end)) for n in range(len(self._owners))]
        rows, start, cpu_start = sum(self._rows), time.perf_counter(), time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                self._refill()
                thread.join(0.05)
        done = sum(self._rows) - rows
        return done / (time.perf_counter() - start), done / (time.process_time() - cpu_start)

    def moves_per_hour(self, seconds: float) -> float:
        """Moves searched for, by the clock."""
        before, start = self._pool.totals()[0], time.perf_counter()
        self.run(seconds)
        return 3600 * (self._pool.totals()[0] - before) / (time.perf_counter() - start)

    @property
    def evaluations_a_move(self) -> float | None:
        """Of the searches that have ended; None if there are none yet."""
        searches, _, evaluations = self._pool.totals()
        return evaluations / searches if searches else None

    def _refill(self) -> None:
        self.finished += self._pool.take_finished()
        if self._league is not None:
            for game in self._pool.take_waiting():
                self._league.think(self._pool, game)
            for note in self._league.notes():
                print(note, file=sys.stderr)
        while self._pool.playing < 2 * self._games:
            self._pool.add(self._number, Position(), *(self._league.players(self._number) if self._league else ()))
            self._number += 1

    def _work(self, share: int, end: float) -> None:
        evaluator, slot, pool = self._owners[share], self._slots[share], self._pool
        while time.perf_counter() < end:
            n = pool.gather(share, slot.input, slot.capacity)
            if n == 0:
                time.sleep(0.001)
                continue
            evaluator.run(slot, n)
            pool.apply(share, slot.logits, slot.values)
            self._rows[share] += n


def alone(evaluator: Evaluator, seconds: float) -> tuple[float, float]:
    """Positions a second in full batches, by the clock and by CPU time."""
    slots = [filled_slot(evaluator, evaluator.batch_size, probe_positions()) for _ in range(evaluator.slots)]
    start, cpu_start = time.perf_counter(), time.process_time()
    done = run_batches(evaluator, slots, evaluator.batch_size, seconds) * evaluator.batch_size
    return done / (time.perf_counter() - start), done / (time.process_time() - cpu_start)


def measure(network: Network, games: int, playouts: int, seconds: float, repeats: int) -> dict[str, object]:
    """The figures of a network with so many games at once."""
    played = Games(network, games, playouts, cache_mb=0)
    played.run(seconds)  # all games are under way then
    pairs = [(alone(network.evaluator, seconds), played.run(seconds)) for _ in range(repeats)]
    by_clock = [games_rate / alone_rate for (alone_rate, _), (games_rate, _) in pairs]
    by_cpu = [games_rate / alone_rate for (_, alone_rate), (_, games_rate) in pairs]
    rate, cost = statistics.median(games_rate for _, (games_rate, _) in pairs), played.evaluations_a_move
    cpu_rate = statistics.median(games_rate for _, (_, games_rate) in pairs)
    return {
        "network": network.identity,
        "batch_size": network.evaluator.batch_size,
        "slots": network.evaluator.slots,
        "games": games,
        "playouts": playouts,
        "alone_per_s": round(statistics.median(alone_rate for (alone_rate, _), _ in pairs)),
        "selfplay_per_s": round(rate),
        "share_of_evaluator": round(statistics.median(by_clock), 3),
        "share_of_evaluator_by_cpu": round(statistics.median(by_cpu), 3),
        "shares": [round(share, 3) for share in by_clock],
        "cpu_us_a_leaf": round(1e6 / cpu_rate, 2),
        "moves_per_hour": None if cost is None else round(3600 * rate / cost),
        "games_per_hour": None if cost is None else round(3600 * rate / cost / GAME_MOVES),
    }


def measure_league(network: Network, games: int, given: argparse.Namespace) -> dict[str, object]:
    """What a league with an engine leaves of the moves of a network."""
    engine = LeagueEngine(name="engine", command=tuple(shlex.split(given.league)), processes=given.league_processes)
    clock = TimeControl(byoyomi_ms=given.league_ms)
    with League(LeagueSettings(share=given.league_share, clock=clock, engines=(engine,))) as league:
        pools = [Games(network, games, given.playouts, 0), Games(network, games, given.playouts, 0, league)]
        for pool in pools:
            pool.run(given.seconds)
        pairs = [[pool.moves_per_hour(given.seconds) for pool in pools] for _ in range(given.repeats)]
    ratios = [with_league / alone for alone, with_league in pairs]
    against = [game for game in pools[1].finished if game.data[OPPONENT_BYTE]]
    return {
        "share_of_games": given.league_share,
        "ms_a_move": given.league_ms,
        "processes": given.league_processes,
        "moves_per_hour": round(statistics.median(alone for alone, _ in pairs)),
        "moves_per_hour_with_league": round(statistics.median(with_league for _, with_league in pairs)),
        "share_of_selfplay": round(statistics.median(ratios), 3),
        "shares": [round(ratio, 3) for ratio in ratios],
        "finished_games": len(pools[1].finished),
        "finished_against_the_engine": len(against),
    }


def engine_rate(playouts: int, games: list[FinishedGame]) -> float:
    """Playouts per second of CPU time of the engine's search: a new tree for each position of some games."""
    search = Search(SelfplaySettings().search_params(), 64)
    evaluator = hash_evaluator(HASH_BATCH)
    slot, batch = evaluator.allocate(HASH_BATCH), search.new_batch(HASH_BATCH)
    done, start = 0, time.process_time()
    for position in positions_of(games):
        search.set_position(position)
        while (left := playouts - search.nodes) > 0:
            n = search.gather(batch, slot.input, 0, min(left, HASH_BATCH))
            if n == 0:
                break
            evaluator.run(slot, n)
            search.apply(batch, slot.logits, slot.values)
        done += search.playouts
        search.lines()
    return done / (time.process_time() - start)


def positions_of(games: list[FinishedGame]) -> Iterator[Position]:
    """The positions before each move, the same object again and again."""
    for game in games:
        position = Position()
        for move in game.moves:
            yield position
            position.push(move)


def pool_rate(playouts: int) -> tuple[float, int, int, list[FinishedGame]]:
    """The same of the pool, the memory of a game (of its trees, and of the process), and some games."""
    settings = SelfplaySettings(playouts=playouts, early_stop=False, extension=0, root_noise=0, max_move=HASH_MOVES)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pool = SelfplayPool(settings.params(1), settings.search_params(), HASH_GAMES)
    for number in range(HASH_GAMES):
        pool.add(number, Position())
    evaluator = hash_evaluator(HASH_BATCH)
    slot = evaluator.allocate(HASH_BATCH)
    batches = trees = 0
    start = time.process_time()
    while pool.playing:
        n = pool.gather(0, slot.input, HASH_BATCH)
        evaluator.run(slot, n)
        pool.apply(0, slot.logits, slot.values)
        batches += 1
        if batches % 256 == 0:
            trees = max(trees, pool.bytes_used // max(1, pool.playing - pool.queued))
    elapsed = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return pool.totals()[1] / elapsed, trees, grown // HASH_BATCH, pool.take_finished()[:ENGINE_GAMES]


def hash_figures(given: argparse.Namespace) -> dict[str, object]:
    """The games beside the engine's search."""
    pools = [pool_rate(given.playouts)]
    engines = [engine_rate(given.playouts, pools[0][3])]
    for _ in range(given.repeats - 1):
        pools.append(pool_rate(given.playouts))
        engines.append(engine_rate(given.playouts, pools[0][3]))
    rates = [rate for rate, *_ in pools]
    ratios = [rate / engine for rate, engine in zip(rates, engines, strict=True)]
    return {
        "playouts_per_cpu_s": round(statistics.median(rates)),
        "engine_playouts_per_cpu_s": round(statistics.median(engines)),
        "share_of_engine": round(statistics.median(ratios), 3),
        "bytes_a_game": max(trees for _, trees, *_ in pools),
        "process_bytes_a_game": pools[0][2],
    }


def networks(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Network]]:
    """The networks to measure, one at a time, by name."""
    options: dict[str, Any] = {"device": given.device, "precision": given.precision}
    options |= {"batch_size": given.batch, "cache_mb": 0}
    if not given.shapes:
        for model in given.model:
            with Network(model, **options) as network:
                yield network.name, network
        return
    from gpu_play import make_network

    for shape in given.shapes:
        with Network(make_network(shape, folder), **options) as network:
            yield shape, network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--model", nargs="+", default=["<5x64>"], metavar="FILE", help="networks")
    parser.add_argument("--shapes", nargs="*", default=[], help="networks with random parameters, blocks x channels")
    parser.add_argument("--games", nargs="*", type=int, default=[64], help="games at once")
    parser.add_argument("--playouts", type=int, default=800)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--league", metavar="COMMAND", help="USI engine that plays a share of the games")
    parser.add_argument("--league-ms", type=int, default=500, help="time of its moves")
    parser.add_argument("--league-share", type=float, default=0.125, help="share of its games")
    parser.add_argument("--league-processes", type=int, default=1, help="processes of it")
    parser.add_argument("--minutes", type=float, default=8.0)
    given = parser.parse_args()
    begin = time.monotonic()
    report: dict[str, object] = {"hash": hash_figures(given)}
    measured: list[dict[str, object]] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, network in networks(given, Path(folder)):
            for games in given.games:
                runs = (2 * given.repeats + 2) * (2 if given.league else 1)
                if time.monotonic() - begin + given.seconds * runs > 60 * given.minutes:
                    left_out.append(f"{name}, {games} games")
                    continue
                found = measure(network, games, given.playouts, given.seconds, given.repeats)
                if given.league:
                    found["league"] = measure_league(network, games, given)
                measured.append({"name": name, **found})
                print(measured[-1], file=sys.stderr)
    report |= {"networks": measured, "left_out": left_out}
    print(json.dumps(report) if given.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
