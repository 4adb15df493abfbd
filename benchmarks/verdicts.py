"""How far the verdicts of an analysis hold: the share of moves whose class changes beside searches of 20 000 nodes.

    python benchmarks/verdicts.py [--json] [--nodes 400] [--plies 8] [--reference 20000] [--known FILE] [GAME...]
    python benchmarks/verdicts.py --network '<sparse>' --nodes 3200 --reference-network '<5x64>' ...

The classes are those of `fukayomi analyse`: no mistake, inaccuracy, dubious, mistake, blunder. There are two ways to
them. "separate_searches" is what analyses usually do: each position is searched, in the order of the game and with a
tree that is kept, and a move loses the difference of the win rates before and after it. "one_tree" is `fukayomi
analyse`: the move is compared with the best one in the tree of the position before it, and suspicious moves are
searched deeper; it may spend as many nodes on a game as the other.

Both are compared with both references: the same two ways with 20 000 nodes, separate searches with a new tree for each.
Another network may find those, so that two networks are compared beside the same at equal time: `cpu_seconds` is what
the judging took, without the references.

Each game is judged on --plies moves in a row, elsewhere in each. The references take minutes to hours; with --known
they are written to a file as they are found, and a run goes on where the last one ended.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fukayomi.engine import Engine, Network
from fukayomi.engine.analysis.game_analysis import Mistake
from fukayomi.engine.search import SearchResult
from fukayomi.shogi import Position, Record, read_record

EXAMPLE = Path(__file__).parent.parent / "examples" / "game.csa"


@dataclass(frozen=True)
class Window:
    """Successive moves of a game."""

    name: str
    record: Record
    first: int
    last: int

    @staticmethod
    def of(path: Path, number: int, plies: int) -> "Window":
        record = read_record(path)
        first = max(1, min(21 + number * 23 % 80, len(record) - 18))
        return Window(path.stem, record, first, min(first + plies - 1, len(record)))

    def positions(self) -> Iterator[tuple[int, Position]]:
        """The positions before the moves and the one after the last, with the number of moves before them."""
        position = Position.from_sfen(self.record.initial_sfen)
        for ply in range(self.last + 1):
            if ply >= self.first - 1:
                yield ply, position
            if ply < self.last:
                position.push(self.record.moves[ply].move)


@dataclass(frozen=True)
class Judgement:
    """The best move of a position, and the win rate of the side to move."""

    best: str
    winrate: float

    @staticmethod
    def of(result: SearchResult) -> "Judgement":
        return Judgement(result.lines[0].move.usi(), result.lines[0].winrate)


def losses(window: Window, judgements: dict[int, Judgement]) -> dict[int, float]:
    """What each move lost, by the searches before and after it."""
    found: dict[int, float] = {}
    for ply in range(window.first, window.last + 1):
        before, after = judgements[ply - 1], judgements[ply]
        is_best = before.best == window.record.moves[ply - 1].move.usi()
        found[ply] = 0.0 if is_best else max(0.0, before.winrate - (1.0 - after.winrate))
    return found


def separate_searches(engine: Engine, window: Window, nodes: int) -> tuple[dict[int, float], int]:
    """The losses by a search of each position, and the nodes spent."""
    engine.new_game()
    judgements: dict[int, Judgement] = {}
    spent = 0
    for ply, position in window.positions():
        result = engine.search(position, nodes=nodes)
        judgements[ply] = Judgement.of(result)
        spent += result.progress.nodes
    return losses(window, judgements), spent


def one_tree(engine: Engine, window: Window, nodes: int) -> tuple[dict[int, float], int, set[int]]:
    """The losses by `Engine.analyse`, the nodes spent, and the plies whose class is uncertain."""
    engine.new_game()
    analysis = engine.analyse(window.record, nodes=nodes, first=window.first, last=window.last)
    uncertain = {move.ply for move in analysis.moves if not move.is_certain}
    return {move.ply: move.loss for move in analysis.moves}, sum(each.nodes for each in analysis.positions), uncertain


class References:
    """What is found with many nodes, kept in a file of JSON lines."""

    def __init__(self, network: str, nodes: int, path: Path | None) -> None:
        self.network = network
        self.nodes = nodes
        self._path = path
        self._judgements: dict[tuple[str, int], Judgement] = {}
        self._losses: dict[tuple[str, int], float] = {}
        for line in path.read_text().splitlines() if path is not None and path.exists() else ():
            entry = json.loads(line)
            if (entry["network"], entry["nodes"]) != (network, nodes):
                continue
            if "loss" in entry:
                self._losses[entry["game"], entry["ply"]] = entry["loss"]
            else:
                self._judgements[entry["game"], entry["ply"]] = Judgement(entry["best"], entry["winrate"])

    def separate_searches(self, engine: Engine, window: Window) -> dict[int, float]:
        """The losses by a search of each position with a new tree."""
        for ply, position in window.positions():
            if (window.name, ply) not in self._judgements:
                engine.new_game()
                found = self._judgements[window.name, ply] = Judgement.of(engine.search(position, nodes=self.nodes))
                self._write(window, ply, best=found.best, winrate=found.winrate)
        return losses(window, {ply: self._judgements[window.name, ply] for ply, _ in window.positions()})

    def one_tree(self, engine: Engine, window: Window) -> dict[int, float]:
        """The losses by `Engine.analyse`."""
        plies = range(window.first, window.last + 1)
        if any((window.name, ply) not in self._losses for ply in plies):
            for ply, loss in one_tree(engine, window, self.nodes)[0].items():
                self._losses[window.name, ply] = loss
                self._write(window, ply, loss=loss)
        return {ply: self._losses[window.name, ply] for ply in plies}

    def _write(self, window: Window, ply: int, **found: object) -> None:
        if self._path is not None:
            where = {"game": window.name, "ply": ply, "network": self.network, "nodes": self.nodes}
            with self._path.open("a") as file:
                file.write(json.dumps(where | found) + "\n")


@dataclass
class Count:
    """The moves that one way judges, beside both references."""

    nodes: int = 0
    cpu_seconds: float = 0.0
    uncertain: int = 0
    changed: dict[str, int] = field(default_factory=lambda: {"separate_searches": 0, "one_tree": 0})
    changed_and_certain: dict[str, int] = field(default_factory=lambda: {"separate_searches": 0, "one_tree": 0})

    def add(self, found: dict[int, float], open_plies: set[int], references: dict[str, dict[int, float]]) -> None:
        self.uncertain += len(open_plies)
        for name, reference in references.items():
            for ply, loss in reference.items():
                is_changed = Mistake.from_loss(found[ply]) is not Mistake.from_loss(loss)
                self.changed[name] += is_changed
                self.changed_and_certain[name] += is_changed and ply not in open_plies


def opened(name: str) -> Engine:
    return Engine(Network(name, device="native", batch_size=8, threads=1, cache_mb=0))


def measure(windows: list[Window], network: str, nodes: int, references: References) -> dict[str, object]:
    separate, one = Count(), Count()
    with opened(network) as engine, opened(references.network) as judge:
        for number, window in enumerate(windows, 1):
            wanted = {
                "separate_searches": references.separate_searches(judge, window),
                "one_tree": references.one_tree(judge, window),
            }
            begin = time.process_time()
            found, spent = separate_searches(engine, window, nodes)
            separate.nodes += spent
            separate.cpu_seconds += time.process_time() - begin
            separate.add(found, set(), wanted)
            begin = time.process_time()
            found, spent, open_plies = one_tree(engine, window, nodes)
            one.nodes += spent
            one.cpu_seconds += time.process_time() - begin
            one.add(found, open_plies, wanted)
            print(f"{number}/{len(windows)} {window.name}", file=sys.stderr)
    return {
        "moves": sum(window.last - window.first + 1 for window in windows),
        "network": network,
        "nodes_per_position": nodes,
        "reference_network": references.network,
        "reference_nodes": references.nodes,
        "separate_searches": asdict(separate),
        "one_tree": asdict(one),
    }


def main() -> None:
    """Measure the games, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", type=Path, metavar="GAME", help="game records (default: examples/game.csa)")
    parser.add_argument("--network", default="<5x64>", help="the network that judges (default <5x64>)")
    parser.add_argument("--reference-network", metavar="NETWORK", help="that of the references (default: the same)")
    parser.add_argument("--nodes", type=int, default=400, help="nodes per position (default 400)")
    parser.add_argument("--plies", type=int, default=8, help="moves to judge in each game (default 8)")
    parser.add_argument("--reference", type=int, default=20_000, help="nodes per position of the reference")
    parser.add_argument("--known", type=Path, metavar="FILE", help="file of the reference, read and appended to")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    windows = [Window.of(path, number, arguments.plies) for number, path in enumerate(arguments.games or [EXAMPLE])]
    references = References(arguments.reference_network or arguments.network, arguments.reference, arguments.known)
    figures = measure(windows, arguments.network, arguments.nodes, references)
    print(json.dumps(figures) if arguments.json else "\n".join(f"{name}: {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
