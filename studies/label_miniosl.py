"""Targets from a network of another project: miniosl's, which knows shogi better than the embedded one.

It is T. Kaneko's (https://github.com/tkaneko/miniosl; BSD-style licence) and comes with his package, which needs Python
3.11 and goes beside fukayomi:

    .venv/bin/pip install miniosl==0.1.6
    .venv/bin/fukayomi data convert games -o games.hcpe3
    .venv/bin/python studies/label_miniosl.py games.hcpe3 -o labels --share 0.35 --jobs 2
    .venv/bin/fukayomi train labels/*.hcpe3 --out run

Each searched move of a game is drawn with the probability --share. Those that are get the network's policy as 65535
visits, and a win rate that mixes the network's with that of the move's own search; the others lose their targets.
Results stay. The network sees the last seven moves too, so games must begin at the start position; others are left
out.

With --off, positions beside the games are labelled, as a search asks for them: from each that is drawn, up to so many
moves by the policy of the embedded sparse network lead away, and where none mates at once, the position becomes
a game of one move, as in the files of `fukayomi leaves`, with the network's own win rate.

--precision bf16 takes OpenVINO (.venv/bin/pip install '.[openvino]'): twice as fast on a CPU with such arithmetic, as
`fukayomi doctor` tells.

OUT gets files of up to 200 games, each complete or not there; the same command resumes.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from work_folder import pieces_of_work

from fukayomi._environment import without_openvino_telemetry
from fukayomi._native import EVAL_SCALE, encode_hcp
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe3 import Game, Games, join_games, read_hcpe3
from fukayomi.engine import Network
from fukayomi.engine.evaluation import Evaluation
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.files.atomic import replace_file
from fukayomi.learning.reanalysis.targets import labels_of_evaluation, renew
from fukayomi.shogi import Move, Position

Outputs = Callable[[NDArray[np.float32]], tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Planes [N, 176, 9, 9] to the logits of moves [N, 2187] and the values [N, 4]."""

INSTALL = ".venv/bin/pip install miniosl==0.1.6 openvino"
GAMES_OF_A_FILE = 200
BATCH = 64
LEAST_SHARE = 1 / 512
"""Moves of positions beside a game with a smaller share of the policy are left out, but for the best one."""

# miniosl's label of a move is direction * 81 + square too, in its own order of directions and with files and ranks
# swapped: tests/studies/test_label_miniosl.py compares them move by move.
DIRECTIONS = (8, 7, 9, 10, 11, 13, 12, 14, 15, 16, 18, 17, 19, 20, 21, 23, 22, 24, 25, 26, 1, 2, 3, 4, 5, 6, 0)
SQUARES = np.arange(81).reshape(9, 9).T.reshape(-1)
LABELS = (np.array(DIRECTIONS)[:, None] * 81 + SQUARES).reshape(-1)
"""miniosl's label of each of dlshogi's: int64 [2187]."""


@dataclass(frozen=True)
class Plan:
    """What is labelled, and how."""

    share: float
    """Probability that a searched move is labelled."""
    search: float
    """Share of the move's own search in its win rate."""
    seed: int
    precision: str = "fp32"
    off: int = 0
    """Most moves that lead away from the game."""


@cache
def open_network(precision: str) -> Outputs:
    """miniosl's network on one thread.

    Raises:
        ImportError: miniosl, or the library of the precision, is missing.
        ValueError: The CPU does not compute in this precision.
    """
    import miniosl

    path = Path(miniosl.__file__).parent / "pretrained" / "eval.onnx"
    if precision == "bf16":
        if "BF16" not in cpu_features():
            raise ValueError("this CPU does not compute in bf16: use --precision fp32")
        with without_openvino_telemetry():
            import openvino

        settings = {"INFERENCE_PRECISION_HINT": "bf16", "INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
        settings |= {"ENABLE_CPU_PINNING": False}  # all processes would share the first core
        request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()

        def infer(features: NDArray[np.float32]) -> tuple[Any, Any]:
            request.infer({"input": features})
            return request.get_tensor("move").data.copy(), request.get_tensor("value").data.copy()

        return infer
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(features: NDArray[np.float32]) -> tuple[Any, Any]:
        move, value = session.run(["move", "value"], {"input": features})
        return move, value

    return run


def features_after(moves: Sequence[Move]) -> NDArray[np.float32]:
    """The network's inputs after some moves from the start position, [176, 9, 9]."""
    import miniosl

    # What was longer ago is no input, and miniosl takes no moves after the fourth time of a position.
    position = Position()
    for move in moves[: -miniosl.history_length]:
        position.push(move)
    last = " ".join(move.usi() for move in moves[-miniosl.history_length :])
    record = miniosl.usi_record(f"sfen {position.sfen()}" + (f" moves {last}" if last else ""))
    return np.asarray(miniosl.GameManager.from_record(record).export_heuristic_feature16(), np.float32)


@cache
def guide() -> Network:
    """The network by whose policy moves lead away from games."""
    return Network("<sparse>", device="native", threads=1, batch_size=64, review_model="")


def lead_away(positions: Sequence[Position], most: int, chooser: np.random.Generator) -> None:
    """Play up to so many moves in each position."""
    steps = chooser.integers(0, most + 1, len(positions))
    for step in range(most):
        going = [each for each, last in zip(positions, steps, strict=True) if step < last and each.legal_move_count]
        if not going:
            return
        found = guide().evaluate(going)
        drawn = chooser.random(len(going))[:, None] < np.cumsum(found.probabilities, axis=1)
        for row, position in enumerate(going):
            place = min(int(drawn[row].argmax()), int(found.counts[row]) - 1)
            position.push(Move.from_raw(int(found.moves[row, place])))


def is_asked(position: Position) -> bool:
    """True if a search asks a network about a position: it does not about the end of a game, or a mate at once."""
    return position.legal_move_count > 0 and position.find_mate_in_one() is None


def evaluate(features: NDArray[np.float32], positions: Sequence[Position], precision: str = "fp32") -> Evaluation:
    """What the network says of positions: its policy over the legal moves, and its win rate."""
    network = open_network(precision)
    outputs = [network(part) for part in split(features)]
    logits, values = (np.concatenate([each[i] for each in outputs]) for i in (0, 1))
    counts = np.array([position.legal_move_count for position in positions], np.uint16)
    shape = len(positions), int(counts.max(initial=0))
    moves, labels, probabilities = np.zeros(shape, np.uint16), np.zeros(shape, np.uint16), np.zeros(shape, np.float32)
    for row, (position, count) in enumerate(zip(positions, counts.tolist(), strict=True)):
        labels[row, :count] = position.legal_labels()
        moves[row, :count] = [move.raw for move in position.legal_moves]
        found = logits[row, LABELS[labels[row, :count]]]
        shares = np.exp(found - found.max(initial=0))
        probabilities[row, :count] = shares / shares.sum()
    # Of its four values the first is the expected result, from -1 to 1.
    return Evaluation(np.clip((values[:, 0] + 1) / 2, 0.001, 0.999), counts, moves, labels, probabilities)


def split(features: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Batches."""
    return [features[begin : begin + BATCH] for begin in range(0, len(features), BATCH)]


def label_game(game: Game, plan: Plan, chooser: np.random.Generator) -> Sequence[Game] | None:
    """A game with the network's targets, or positions beside it; None if it begins elsewhere."""
    moves = [Move.from_raw(raw) for raw in game.moves.tolist()]
    position = Position()
    if game.start != encode_hcp(position):
        return None
    chosen = (np.diff(game.candidates.astype(np.int64)) > 0) & (chooser.random(len(moves)) < plan.share)
    positions: list[Position] = []
    for move, is_chosen in zip(moves, chosen.tolist(), strict=True):
        if is_chosen:
            positions.append(position.copy())
        position.push(move)
    if plan.off:
        lead_away(positions, plan.off, chooser)
        return label_positions([each for each in positions if is_asked(each)], plan.precision)
    games = join_games([game]).with_candidates(chosen)
    if not positions:
        return list(games)
    evaluation = evaluate_after(positions, plan.precision)
    searched = 1 / (1 + np.exp(-game.evals[chosen].astype(np.float64) / EVAL_SCALE))
    mixed = plan.search * searched + (1 - plan.search) * evaluation.winrates
    labels = labels_of_evaluation(replace(evaluation, winrates=mixed.astype(np.float32)), None)
    return list(renew(games, chosen, labels).games)


def evaluate_after(positions: Sequence[Position], precision: str) -> Evaluation:
    """What the network says of positions with their moves from the start position."""
    return evaluate(np.stack([features_after(each.moves) for each in positions]), positions, precision)


def label_positions(positions: Sequence[Position], precision: str) -> list[Game]:
    """Games of one move with the network's targets, drawn as those of `fukayomi leaves` are."""
    if not positions:
        return []
    labels = labels_of_evaluation(evaluate_after(positions, precision), None, LEAST_SHARE)
    ends = np.cumsum(labels.counts)
    return [
        Game(
            start=(start := encode_hcp(position)),
            result_byte=0,
            opponent=0,
            hcps=np.frombuffer(start, np.uint8)[None],
            moves=labels.moves[row : row + 1],
            evals=labels.evals[row : row + 1],
            candidates=np.array([0, end - begin], np.uint64),
            candidate_moves=labels.candidate_moves[begin:end],
            candidate_visits=labels.candidate_visits[begin:end],
        )
        for row, (position, begin, end) in enumerate(zip(positions, ends - labels.counts, ends, strict=True))
    ]


def label_file(number: int, games: Games, target: Path, plan: Plan) -> tuple[int, int]:
    """Label the games of a file; how many there are, and how many positions."""
    chooser = np.random.default_rng((plan.seed, number))
    found = [labelled for game in games if (labelled := label_game(game, plan, chooser)) is not None]
    labelled = join_games([each for some in found for each in some])
    replace_file(target, labelled.write())
    return len(found), int((labelled.candidate_counts() > 0).sum())


def files_of(source: Path, out: Path) -> Iterator[tuple[int, Games, Path]]:
    """The games of each file that is missing, with its number."""
    number = 0
    for games in read_hcpe3(source):
        group = np.arange(len(games)) // GAMES_OF_A_FILE
        for index in range(group[-1] + 1):
            number += 1
            target = out / f"{source.stem}-{number:06}.hcpe3"
            if not target.exists():
                yield number, games.select(group == index), target


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path, nargs="+", help="hcpe3 files of whole games")
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the labelled games")
    parser.add_argument("--share", type=float, default=1.0, help="probability that a searched move is labelled")
    parser.add_argument("--search", type=float, default=0.5, help="share of the move's own search in its win rate")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of the network's arithmetic")
    parser.add_argument("--off", type=int, default=0, help="most moves that lead away from the game; 0: none")
    parser.add_argument("--seed", type=int, default=1, help="which moves are drawn")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, each on one core")
    options = parser.parse_args()
    for path in options.games:
        if not path.is_file():
            parser.error(f"{path}: no such file")
        if path.stat().st_size == 0:
            parser.error(f"{path}: the file is empty")
    if len({path.stem for path in options.games}) < len(options.games):
        parser.error("two files have the same name, and so would their labels; rename one of them")
    for name in ("share", "search"):
        if not 0 <= getattr(options, name) <= 1:
            parser.error(f"--{name} must be from 0 to 1")
    if options.seed < 0 or options.jobs < 1 or options.off < 0:
        parser.error("--seed and --off must be 0 or more, --jobs 1 or more")
    try:
        open_network(options.precision)
    except ImportError as error:
        parser.error(f"{error}. Install it: {INSTALL}")
    except ValueError as error:
        parser.error(str(error))
    return options


def main() -> None:
    """Label the games."""
    options = parse_arguments()
    plan = Plan(options.share, options.search, options.seed, options.precision, options.off)
    settings = {**asdict(plan), "games": {path.name: path.stat().st_size for path in options.games}}
    try:
        with pieces_of_work(options.out, options.jobs, settings) as pool:
            work: dict[Future[tuple[int, int]], tuple[Path, int]] = {}
            for source in options.games:
                for number, games, target in files_of(source, options.out):
                    work[pool.submit(label_file, number, games, target, plan)] = target, len(games)
            for number, done in enumerate(as_completed(work), 1):
                count, positions = done.result()
                target, given = work[done]
                elsewhere = f", {given - count} games left out that begin elsewhere" if count < given else ""
                place = f"{number} of {len(work)}: {target.name}"
                print(f"{place}, {count} games, {positions} positions{elsewhere}", flush=True)
    except DataFileError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
