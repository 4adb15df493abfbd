"""Where games for a book should begin: at the start, where players follow the book, or half of them at the frontier.

    python studies/book_frontier.py [--trees 20] [--rounds 30] [--games 20] [--th 20] [--json]

Trees are drawn by chance: at each ply the players know a few moves, and after `--plies` the side of the book wins with
a chance that is hidden. Moves change it by random steps, so that good lines are found by looking around. Players choose
a move by what they think of it, which is the truth with an error. After each round the book is made again by min-max,
as `fukayomi book grow` does, and counted is what its choice at the start is really worth below the best one (by min-max
of the hidden chances). Both ways see the same trees and have the same number of games.
"""

import argparse
import hashlib
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev
from typing import Any

from fukayomi.book.minmax.frontier import frontier
from fukayomi.book.minmax.games import GameColumns
from fukayomi.book.minmax.minmax import Solved, reached
from fukayomi.book.minmax.settings import MinmaxSettings
from fukayomi.book.moves import BookError
from fukayomi.shogi import BLACK, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

STEP = 0.35
"""Standard deviation of what a move changes, in logits."""


@dataclass(frozen=True)
class Tree:
    """A hidden tree of shogi positions: the moves of each, and the chances at its leaves."""

    seed: int
    width: int
    plies: int
    error: float
    """Error of the players, in logits."""

    def number(self, *words: object) -> random.Random:
        """Chance that is the same for the same words."""
        text = " ".join(map(str, (self.seed, *words)))
        return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))

    def moves(self, position: Position) -> list[Move]:
        """The moves that players know."""
        legal = sorted(position.legal_moves, key=lambda move: move.usi())
        return self.number("moves", position.sfen().rsplit(" ", 1)[0]).sample(legal, min(self.width, len(legal)))

    def truth(self) -> "Truth":
        """The chances by min-max."""
        return Truth(self)


class Truth:
    """What the positions of a tree are really worth."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.value = cache(self._value)
        """Win rate of Black with the best moves of both, by the USI moves from the start and their logit."""

    def children(self, path: str, logit: float) -> list[tuple[Move, str, float]]:
        """The moves of a position, the paths after them and their logits."""
        position = Position.from_usi(f"startpos moves {path}" if path else "startpos")
        found: list[tuple[Move, str, float]] = []
        for move in self._tree.moves(position):
            after = f"{path} {move.usi()}".strip()
            found.append((move, after, logit + self._tree.number("step", after).gauss(0, STEP)))
        return found

    def _value(self, path: str, logit: float) -> float:
        plies = len(path.split())
        children = [] if plies >= self._tree.plies else self.children(path, logit)
        if not children:
            return 1 / (1 + math.exp(-logit))
        best = max if plies % 2 == 0 else min
        return best(self.value(after, worth) for _, after, worth in children)


def play(tree: Tree, truth: Truth, line: list[Move], solved: Solved | None, rng: random.Random) -> Record:
    """A game from a line on: Black follows the book, and the rest is what the players think best."""
    best = {} if solved is None else {node.sfen: solved.best[at] for at, node in enumerate(solved.nodes)}
    path, logit, position = "", 0.0, Position()
    while len(position.moves) < tree.plies:
        children = truth.children(path, logit)
        edge = best.get(position.sfen()) if position.turn == BLACK else None
        sign = 1 if position.turn == BLACK else -1
        told = None if edge is None else Move.from_raw(edge.raw)
        if len(position.moves) < len(line):
            told = line[len(position.moves)]
        hoped = max(children, key=lambda child: sign * child[2] + rng.gauss(0, tree.error))
        chosen, path, logit = next((child for child in children if child[0] == told), hoped)
        position.push(chosen)
    result = Result.BLACK_WIN if rng.random() < 1 / (1 + math.exp(-logit)) else Result.WHITE_WIN
    moves = [RecordedMove(move) for move in position.moves]
    quiet = sorted(position.legal_moves, key=lambda move: move.usi())
    return Record(
        moves=[*moves, RecordedMove(rng.choice(quiet))], result=result, termination=Termination.RESIGN
    )  # the last move is played after the tree


def grow(tree: Tree, rounds: int, games: int, th: int, *, with_frontier: bool) -> Iterator[float]:
    """What the book's choice at the start loses, in win rate, after each round; without a choice, what chance loses."""
    truth, rng = tree.truth(), tree.number("games", with_frontier)
    columns, solved = GameColumns(), None
    settings = MinmaxSettings(th=th)
    worth = {move: truth.value(after, logit) for move, after, logit in truth.children("", 0.0)}
    for _ in range(rounds):
        lines = frontier(solved, games // 4) if solved is not None and with_frontier else []
        for number in range(games // 2):
            line: list[Move] = []
            if number % 2 and number // 2 < len(lines):
                line = list(Position.from_usi(lines[number // 2].line).moves)[: tree.plies]
            for _ in range(2):
                columns.add(play(tree, truth, line, solved, rng))
        try:
            solved = Solved(reached(columns, Position(), settings, None), BLACK, settings)
        except BookError:
            yield max(worth.values()) - fmean(worth.values())
            continue
        edge = solved.best[0]
        chosen = fmean(worth.values()) if edge is None else worth[Move.from_raw(edge.raw)]
        yield max(worth.values()) - chosen


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--games", type=int, default=20, help="games of a round")
    parser.add_argument("--th", type=int, default=20)
    parser.add_argument("--width", type=int, default=4, help="moves of a position")
    parser.add_argument("--plies", type=int, default=5)
    parser.add_argument("--error", type=float, default=0.3, help="error of the players, in logits")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    every = max(1, given.rounds // 6)
    lost: dict[str, list[list[float]]] = {"trunk": [], "frontier": []}
    for seed in range(given.trees):
        tree = Tree(seed, given.width, given.plies, given.error)
        for name, curves in lost.items():
            curves.append(list(grow(tree, given.rounds, given.games, given.th, with_frontier=name == "frontier")))
    rows: list[dict[str, Any]] = []
    for at in range(every - 1, given.rounds, every):
        gains = [one[at] - other[at] for one, other in zip(lost["trunk"], lost["frontier"], strict=True)]
        rows.append(
            {
                "games": (at + 1) * given.games,
                **{name: fmean(curve[at] for curve in curves) for name, curves in lost.items()},
                "gain": fmean(gains),
                "error": 1.96 * stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else None,
            }
        )
    if given.json:
        print(json.dumps({"settings": vars(given), "rows": rows}))
        return
    print("games  lost by trunk  by frontier  gain, 95 %")
    for row in rows:
        error = "" if row["error"] is None else f" ±{row['error']:.3f}"
        print(f"{row['games']:5}  {row['trunk']:13.3f}  {row['frontier']:11.3f}  {row['gain']:+.3f}{error}")


if __name__ == "__main__":
    main()
