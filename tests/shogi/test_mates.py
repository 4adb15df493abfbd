"""Mates of three plies and more: against exhaustive search, cshogi's df-pn, and collections of problems."""

import itertools
import json
import random
import threading
from pathlib import Path

import cshogi
import pytest
from oracles import random_positions
from test_mate_in_one import sieges

from fukayomi import MateReason, MateSolver, Move, Position

KNIGHT_AND_ROOK = "8l/6lpk/7n1/6S1P/9/9/9/9/K8 b RN 1"


def shortest_mate(pos: Position, plies: int) -> int | None:
    """Length of the shortest mate of at most so many plies, by trying everything."""
    for length in range(1, plies + 1, 2):
        if mates_within(pos, length):
            return length
    return None


def mates_within(pos: Position, plies: int) -> bool:
    if plies < 1:
        return False
    for move in [move for move in pos.legal_moves if pos.gives_check(move)]:
        pos.push(move)
        is_mate = all(mates_after(pos, answer, plies - 2) for answer in pos.legal_moves)
        pos.pop()
        if is_mate:
            return True
    return False


def mates_after(pos: Position, answer: Move, plies: int) -> bool:
    pos.push(answer)
    is_mate = mates_within(pos, plies)
    pos.pop()
    return is_mate


def verify(pos: Position, solver: MateSolver, moves: list[Move]) -> None:
    """Replay the line; at each defence every other one must be mated too, in no more plies."""
    pos = pos.copy()
    for i, move in enumerate(moves):
        if i % 2 == 0:
            assert pos.gives_check(move)
        else:
            for other in pos.legal_moves:
                pos.push(other)
                found = solver.solve(pos, plies=len(moves) - i - 1)
                assert found.reason == MateReason.MATE, (pos, other)
                pos.pop()
        pos.push(move)
    assert pos.is_check()
    assert pos.is_mated()


def test_checking_moves_are_those_of_the_rules() -> None:
    for pos in itertools.chain(itertools.islice(random_positions(3), 2_000), sieges(1_000, seed=4)):
        checking = [move for move in pos.legal_moves if pos.gives_check(move)]
        assert sorted(move.raw for move in pos.checking_moves) == sorted(move.raw for move in checking), pos


def test_three_plies_against_exhaustive_search() -> None:
    mates = 0
    for pos in itertools.chain(itertools.islice(random_positions(5), 300), sieges(300, seed=6)):
        expected = shortest_mate(pos, 3)
        found = pos.find_mate_in_three()
        assert (found is not None) == (expected is not None), pos
        mates += expected == 3
        if found is not None and expected == 3:
            pos.push(found)
            assert all(mates_after(pos, answer, 1) for answer in pos.legal_moves)
            pos.pop()
    assert mates > 10


@pytest.mark.parametrize("memory_mb", [1, 16])
def test_shortest_mates_against_exhaustive_search(memory_mb: int) -> None:
    solver = MateSolver(memory_mb)
    lengths: list[int] = []
    for pos in itertools.islice((p for p in sieges(600, seed=11) if len(p.checking_moves) < 10), 250):
        expected = shortest_mate(pos, 5)
        result = solver.solve(pos, plies=5)
        assert result.plies == expected, pos
        assert result.reason == (MateReason.NO_MATE if expected is None else MateReason.MATE)
        if expected is not None:
            lengths.append(expected)
            verify(pos, solver, result.moves)
    assert lengths.count(3) > 5
    assert lengths.count(5) > 0


def test_answers_of_cshogi() -> None:
    """Where both decide, they agree, without any limit of plies: no mate is false, and none is missed."""
    solver, peer, board = MateSolver(16), cshogi.DfPn(31, 3_000), cshogi.Board()
    decided = 0
    for pos in sieges(200, seed=12):
        board.set_sfen(pos.sfen())
        result = solver.solve(pos, nodes=5_000, plies=31, shortest=False)
        if result.reason in (MateReason.MATE, MateReason.NO_MATE):
            decided += 1
            if peer.search(board):
                assert result.reason == MateReason.MATE, pos
            elif result.reason == MateReason.MATE:
                verify(pos, solver, result.moves)
    assert decided > 100


@pytest.mark.parametrize("plies", [1, 3, 5, 7])
def test_collections_of_mates(shared_data: Path, plies: int) -> None:
    lines = (shared_data / "mate" / f"mate-{plies}-ply.txt").read_text().splitlines()
    solver = MateSolver(16)
    for i, line in enumerate(lines):
        pos = Position.from_sfen(line)
        result = solver.solve(pos, plies=plies)
        assert result.plies is not None, line
        assert result.plies <= plies
        if i % 25 == 0:
            verify(pos, solver, result.moves)


def test_collection_without_mates(shared_data: Path) -> None:
    solver = MateSolver(16)
    for line in (shared_data / "mate" / "no-mate-1-ply.txt").read_text().splitlines():
        assert solver.solve(Position.from_sfen(line), plies=1).reason == MateReason.NO_MATE


def test_problems_with_one_king(shared_data: Path) -> None:
    problems = [json.loads(line) for line in (shared_data / "tsume" / "tsume.jsonl").read_text().splitlines()]
    solver = MateSolver(64)
    for problem in random.Random(1).sample(problems, 60):
        pos = Position.from_sfen(problem["sfen"], allow_missing_king=True)
        result = solver.solve(pos, nodes=30_000, shortest=False)
        assert result.reason in (MateReason.MATE, MateReason.NODES)
        if result.moves and problem["plies"] <= 5:
            verify(pos, solver, result.moves)


def test_a_mate_is_told() -> None:
    result = MateSolver(1).solve(Position.from_sfen(KNIGHT_AND_ROOK))
    assert (result.reason, result.plies, [str(move) for move in result.moves]) == (
        MateReason.MATE, 3, ["N*2d", "1b2a", "R*4a"],
    )  # fmt: skip
    assert repr(result) == "<MateResult: mate in 3, N*2d>"
    assert repr(MateSolver(1).solve(Position())) == "<MateResult: no mate>"


def test_pawn_drops_do_not_mate() -> None:
    assert MateSolver(1).solve(Position.from_sfen("7pk/6G2/7S1/9/9/9/9/9/K8 b P 1")).reason == MateReason.NO_MATE


def test_repetition_is_no_mate() -> None:
    """A rook checks for ever, and no limit of plies ends it."""
    assert MateSolver(1).solve(Position.from_sfen("7k1/9/9/9/9/9/9/R8/K8 b - 1")).reason == MateReason.NO_MATE


def test_limits() -> None:
    pos = Position.from_sfen("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")
    solver = MateSolver(16)
    assert solver.solve(pos, nodes=1).reason in (MateReason.NODES, MateReason.MATE)
    limited = solver.solve(pos, nodes=50)
    assert limited.nodes <= 50
    hard = Position.from_sfen("9/9/9/9/4k4/9/9/9/9 b 2R2B4G4S4N4L18P 1", allow_missing_king=True)
    assert solver.solve(hard, nodes=10**12, time_ms=0, plies=1023).reason in (MateReason.TIME, MateReason.MATE)


def test_stop() -> None:
    pos = Position.from_sfen("4k4/9/9/9/9/9/9/9/4K4 b RBGS2N2Lrbgs2n2l17p 1")
    solver = MateSolver(16)
    solver.stop()
    assert solver.solve(pos, nodes=10**9).reason == MateReason.STOPPED
    solver.resume()
    threading.Timer(0.05, solver.stop).start()
    assert solver.solve(pos, nodes=10**12).reason in (MateReason.STOPPED, MateReason.NO_MATE)


@pytest.mark.parametrize(
    "limits",
    [{"nodes": 0}, {"plies": 0}, {"plies": 1024}, {"time_ms": -1}],
)
def test_bad_limits(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        MateSolver(1).solve(Position(), **limits)  # pyright: ignore[reportArgumentType]


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="memory_mb is 0"):
        MateSolver(0)
    with pytest.raises(ValueError, match="no king to mate"):
        MateSolver(1).solve(Position.from_sfen("9/9/9/9/9/9/9/9/4K4 b G 1", allow_missing_king=True))
