"""Mates of three plies and more: against exhaustive search, cshogi's df-pn, and collections of problems."""

import itertools
import json
import math
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cshogi
import pytest
from mate_proofs import MateVerifier
from oracles import random_positions
from test_mate_in_one import sieges

from fukayomi import MateReason, MateSolver, Move, Position

NODES = 50_000
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
    solver, verifier = MateSolver(memory_mb), MateVerifier()
    lengths: list[int] = []
    for pos in itertools.islice((p for p in sieges(600, seed=11) if len(p.checking_moves) < 10), 250):
        expected = shortest_mate(pos, 5)
        result = solver.solve(pos, plies=5)
        assert result.plies == expected, pos
        assert result.reason == (MateReason.NO_MATE if expected is None else MateReason.MATE)
        if expected is not None:
            lengths.append(expected)
            verifier.verify(pos, result.moves)
    assert lengths.count(3) > 5
    assert lengths.count(5) > 0


def test_answers_of_cshogi() -> None:
    """Where both decide, they agree, without any limit of plies: no mate is false, and none is missed."""
    solver, peer, board = MateSolver(16), cshogi.DfPn(31, 3_000), cshogi.Board()
    verifier = MateVerifier()
    decided = 0
    for pos in sieges(200, seed=12):
        board.set_sfen(pos.sfen())
        result = solver.solve(pos, nodes=5_000, plies=31, shortest=False)
        if result.reason in (MateReason.MATE, MateReason.NO_MATE):
            decided += 1
            if result.reason == MateReason.MATE:
                verifier.verify(pos, result.moves, is_longest=False)
            else:
                assert not peer.search(board), pos
    assert decided > 100


@pytest.mark.parametrize("plies", [1, 3, 5, 7])
def test_collections_of_mates(shared_data: Path, plies: int) -> None:
    solver, verifier = MateSolver(16), MateVerifier()
    for sfen in collection(shared_data, plies):
        pos = Position.from_sfen(sfen)
        result = solver.solve(pos, plies=plies)
        assert result.plies is not None, sfen
        assert result.plies <= plies
        verifier.verify(pos, result.moves)


def collection(shared_data: Path, plies: int) -> list[str]:
    return (shared_data / "mate" / f"mate-{plies}-ply.txt").read_text().splitlines()


def problems(shared_data: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shared_data / "tsume" / "tsume.jsonl").read_text().splitlines()]


def test_collection_without_mates(shared_data: Path) -> None:
    solver = MateSolver(16)
    for line in (shared_data / "mate" / "no-mate-1-ply.txt").read_text().splitlines():
        assert solver.solve(Position.from_sfen(line), plies=1).reason == MateReason.NO_MATE


def test_problems_with_one_king(shared_data: Path) -> None:
    solver, verifier = MateSolver(64), MateVerifier()
    for problem in random.Random(1).sample(problems(shared_data), 60):
        pos = Position.from_sfen(problem["sfen"], allow_missing_king=True)
        for shortest in (True, False):
            result = solver.solve(pos, nodes=NODES, shortest=shortest)
            assert result.reason in (MateReason.MATE, MateReason.NODES)
            if result.moves:
                verifier.verify(pos, result.moves, is_longest=shortest and result.nodes < NODES)


@pytest.mark.soak
@pytest.mark.parametrize("shortest", [True, False])
@pytest.mark.parametrize(
    "group", [*(f"mate-{plies}" for plies in (1, 3, 5, 7)), *(f"tsume-{n}" for n in (1, 3, 5, 7, 9))]
)
def test_every_mate_of_the_collections_is_proven(
    shared_data: Path, group: str, shortest: bool, record_property: Callable[[str, object], None]
) -> None:
    kind, plies = group.split("-")
    if kind == "mate":
        sfens = collection(shared_data, int(plies))
    else:
        sfens = [problem["sfen"] for problem in problems(shared_data) if problem["plies"] == int(plies)]
    solver, verifier, proven, start = MateSolver(64), MateVerifier(64), 0, time.process_time()
    for sfen in sfens:
        pos = Position.from_sfen(sfen, allow_missing_king=True)
        result = solver.solve(pos, nodes=NODES, shortest=shortest)
        assert result.reason in (MateReason.MATE, MateReason.NODES), sfen
        if result.moves:
            verifier.verify(pos, result.moves, is_longest=shortest and result.nodes < NODES)
            proven += 1
    record_property("problems", len(sfens))
    record_property("solved and proven", proven)
    record_property("defences", verifier.defences)
    record_property("CPU-seconds", round(time.process_time() - start, 1))
    assert proven > 0.95 * len(sfens)


def is_proven(pos: Position, line: list[Move], *, is_longest: bool = True) -> bool:
    try:
        MateVerifier(1).verify(pos, line, is_longest=is_longest)
    except AssertionError:
        return False
    return True


def test_lines_of_three_plies_are_proven_if_they_are_mates() -> None:
    """Any first move, a defence, and a mate in one."""
    proven: list[bool] = []
    for pos in itertools.islice(sieges(300, seed=13), 60):
        for move in pos.legal_moves[::3]:
            gives_check = pos.gives_check(move)
            pos.push(move)
            lines: list[list[Move]] = []
            for defence in pos.legal_moves:
                pos.push(defence)
                if (last := pos.find_mate_in_one()) is not None:
                    lines.append([move, defence, last])
                pos.pop()
            is_mate = gives_check and len(lines) == len(pos.legal_moves)
            pos.pop()
            for line in lines[:2]:
                proven.append(is_proven(pos, line))
                assert proven[-1] == is_mate, (pos, line)
    assert proven.count(True) > 5
    assert proven.count(False) > 50


def test_a_line_that_is_not_the_longest_is_a_mate() -> None:
    pos = Position.from_sfen("l7l/3+N2+R2/p5n2/2G1pk3/5g2p/1s+bnSP3/PGN1P1BpP/K1g2R3/L7L b S9Psp 107")
    line = [Move.from_usi(text) for text in ["4f4e", "4d3e", "3b3c", "3e2e", "G*2d"]]  # 4d3d lasts seven plies
    assert is_proven(pos, line, is_longest=False)
    assert not is_proven(pos, line)
    for end in range(5):
        assert not is_proven(pos, line[:end], is_longest=False)


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


def test_a_share_of_a_core() -> None:
    pos = Position.from_sfen("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")
    solver = MateSolver(64)
    whole = solver.solve(pos, nodes=20_000)
    began_s, worked_s = time.monotonic(), time.thread_time()
    part = solver.solve(pos, nodes=20_000, share=0.2)
    worked_s = time.thread_time() - worked_s
    assert (part.reason, part.nodes) == (whole.reason, whole.nodes)
    assert worked_s <= 0.3 * (time.monotonic() - began_s)
    assert solver.solve(pos, nodes=10**9, time_ms=50, share=0.001).reason == MateReason.TIME
    threading.Timer(0.05, solver.stop).start()
    began_s = time.monotonic()
    assert solver.solve(pos, nodes=10**9, share=0.001).reason == MateReason.STOPPED, "while it slept"
    assert time.monotonic() - began_s < 60


@pytest.mark.parametrize(
    "limits",
    [{"nodes": 0}, {"plies": 0}, {"plies": 1024}, {"time_ms": -1}, {"share": 0}, {"share": 1.1}, {"share": math.nan}],
)
def test_bad_limits(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        MateSolver(1).solve(Position(), **limits)  # pyright: ignore[reportArgumentType]


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="memory_mb is 0"):
        MateSolver(0)
    with pytest.raises(ValueError, match="no king to mate"):
        MateSolver(1).solve(Position.from_sfen("9/9/9/9/9/9/9/9/4K4 b G 1", allow_missing_king=True))
