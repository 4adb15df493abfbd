"""The embedded network against miniosl's, both under fukayomi's search, at equal time on one core each.

miniosl's network (see studies/label_miniosl.py) also wants the last seven moves, which evaluators are not told. So the
evaluator here remembers for each position that it has judged which positions its moves lead to; the search asks for
nothing else, as long as there is no cache of evaluations. A position that several lines reach has the moves of the
first.

    .venv/bin/python studies/miniosl_match.py --openings taya36_2020-11-06.sfen --games 40 --out out/miniosl

Run the same command again to resume. What remembering costs is counted in miniosl's time; the tool prints its share.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from label_miniosl import INSTALL, LABELS, features_after, open_network
from match_parts import MEMORY_MB, Log, read_openings
from numpy.typing import NDArray

from fukayomi._native import encode_position
from fukayomi.arena import MatchResult, play_match
from fukayomi.arena.game.player import MovePlayer
from fukayomi.arena.game.rules import Rules
from fukayomi.engine import Engine, EvaluatorError, Network
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot
from fukayomi.shogi import Move, Position
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import Go

OURS, THEIRS = "fukayomi", "miniosl"
START = Position().start_sfen()


class MinioslEvaluator:
    """miniosl's network behind the protocol of evaluators, on one thread.

    Args:
        precision: "fp32" (ONNX Runtime) or "bf16" (OpenVINO).
        batch_size: Positions per batch, at most.
    """

    slots = 1

    def __init__(self, precision: str = "fp32", batch_size: int = 8) -> None:
        self.identity = f"miniosl-{precision}"
        self.batch_size = batch_size
        self.network_s = 0.0
        """Time that the network took."""
        self.all_s = 0.0
        """Time of all `run`s."""
        self._network = open_network(precision)
        self._known: dict[int, tuple[tuple[Move, ...], Move | None]] = {}
        """By the hash of a position: the moves before the last one, and the last."""

    def begin(self, position: Position) -> None:
        """Know the position whose search is next.

        Raises:
            ValueError: Its game did not begin at the start position.
        """
        if position.start_sfen() != START:
            raise ValueError(f"miniosl's network needs all moves from the start position: {position.usi()}")
        self._known[key_of(position)] = tuple(position.moves), None

    def forget(self) -> None:
        """Forget all positions: a new game begins."""
        self._known.clear()

    def allocate(self, capacity: int) -> PlaneSlot:
        """Memory for a batch of up to ``capacity`` positions."""
        return PlaneSlot.zeros(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot."""
        assert isinstance(slot, PlaneSlot)
        begin_s = time.perf_counter()
        known = [self._known[_key(slot.input.planes1[row], slot.input.planes2[row])] for row in range(n)]
        games = [before if last is None else (*before, last) for before, last in known]
        features = np.stack([features_after(moves) for moves in games])
        asked_s = time.perf_counter()
        logits, values = self._network(features)
        self.network_s += time.perf_counter() - asked_s
        for row, count in enumerate(slot.input.counts[:n].tolist()):
            slot.logits[row, :count] = logits[row, LABELS[slot.input.labels[row, :count]]]
        slot.values[:n] = np.clip((values[:, 0] + 1) / 2, 0, 1)  # the first of its values is the expected result
        for moves in games:
            self._remember_children(moves)
        self.all_s += time.perf_counter() - begin_s

    def close(self) -> None:
        """Nothing to free."""

    def _remember_children(self, moves: tuple[Move, ...]) -> None:
        position = Position()
        for move in moves:
            position.push(move)
        for move in position.legal_moves:
            position.push(move)
            self._known.setdefault(key_of(position), (moves, move))
            position.pop()


class MinioslPlayer(MovePlayer):
    """An engine with miniosl's network."""

    def __init__(self, engine: Engine, evaluator: MinioslEvaluator) -> None:
        self._engine = engine
        self._evaluator = evaluator

    @property
    def identity(self) -> str:
        """See `MovePlayer`."""
        return self._engine.identity

    def new_game(self) -> None:
        """See `MovePlayer`."""
        self._evaluator.forget()
        self._engine.new_game()

    def choose(self, position: Position, go: Go) -> SearchAnswer:
        """See `MovePlayer`."""
        self._evaluator.begin(position)
        return self._engine.choose(position, go)

    def stop(self) -> None:
        """See `MovePlayer`."""
        self._engine.stop()


def key_of(position: Position) -> int:
    """A hash of what a slot has of a position."""
    return _key(*encode_position(position))


def _key(planes1: NDArray[np.uint8], planes2: NDArray[np.uint8]) -> int:
    return hash(planes1.tobytes() + planes2.tobytes())


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openings", type=Path, required=True, help="a file of 'startpos moves ...' lines")
    parser.add_argument("--out", type=Path, required=True, help="folder of the match")
    parser.add_argument("--clock", default="movetime=1s", help="as of fukayomi match")
    parser.add_argument("--games", type=int, default=40, help="games, two for each opening")
    parser.add_argument("--network", type=Path, help="file; an embedded network without it")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of miniosl's network")
    parser.add_argument("--opening-plies", type=int, default=24, help="moves of each opening that are played")
    parser.add_argument("--seed", type=int, default=1, help="order of the openings")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def play(options: argparse.Namespace) -> tuple[MatchResult, MinioslEvaluator]:
    """Play the match, or go on."""
    openings = read_openings(options.openings, options.opening_plies)
    evaluator = MinioslEvaluator(options.precision)
    with (
        Network(options.network, threads=1) as ours,
        Network(evaluator, cache_mb=0) as theirs,
        Engine(ours, memory_mb=MEMORY_MB) as one,
        Engine(theirs, memory_mb=MEMORY_MB) as other,
    ):
        result = play_match(
            {OURS: one, THEIRS: MinioslPlayer(other, evaluator)},
            games=options.games,
            clock=options.clock,
            openings=openings,
            folder=options.out,
            seed=options.seed,
            rules=Rules.model_validate({"margin_ms": 500, "resign": {"score_cp": 3000, "moves": 3}}),
            listener=Log(OURS),
        )
    return result, evaluator


def main() -> None:
    """Play the match, and print the result."""
    options = parse_arguments()
    try:
        result, evaluator = play(options)
    except ImportError as error:
        sys.exit(f"{error}. Install it: {INSTALL}")
    except (ValueError, OSError, EvaluatorError) as error:
        sys.exit(str(error))
    if not result.is_complete:
        sys.exit("interrupted; run the same command again to resume")
    first, _ = result.rows()
    share = evaluator.network_s / evaluator.all_s if evaluator.all_s else None
    if options.json:
        print(json.dumps({**first, "share_of_network": share}))
        return
    print(result)
    if share is not None:
        print(f"miniosl's network had {share:.0%} of the time of its evaluations", file=sys.stderr)


if __name__ == "__main__":
    main()
