"""Sparse networks in integers: all instructions and the slow definition side by side."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import plain_inference
import pytest
import sparse_files
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fukayomi._native import (
    SPARSE_ROWS,
    HashEvaluator,
    IllegalMoveError,
    SparseInferenceNetwork,
    SparseInput,
    SparseRunner,
    sparse_instructions,
    sparse_kept_rows,
    sparse_moves,
    sparse_rows,
)
from fukayomi.files.sparse_network import SparseFile, SparseWidths
from fukayomi.shogi import Move, Position

WIDTHS = [
    sparse_files.SMALL,
    SparseWidths(policy=192, value=320, shared=96, hidden=24),
    SparseWidths(policy=384, value=384, shared=64, hidden=32),
    SparseWidths(policy=1024, value=1024, shared=512, hidden=256),
]


@pytest.fixture(scope="module", params=WIDTHS, ids=lambda widths: f"{widths.policy}-{widths.value}")
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SparseFile:
    return sparse_files.write(tmp_path_factory.mktemp("sparse"), request.param)


def random_position(seed: int) -> Position:
    source = random.Random(seed)
    position = Position()
    for _ in range(source.randint(0, 150)):
        if not position.legal_moves:
            break
        position.push(source.choice(position.legal_moves))
    return position


def evaluated(
    network: SparseInferenceNetwork, positions: Sequence[Position], moves: Sequence[Sequence[Move]] | None = None
) -> tuple[list[NDArray[np.float32]], NDArray[np.float32]]:
    each = [position.legal_moves for position in positions] if moves is None else moves
    given = SparseInput(len(positions))
    for n, position in enumerate(positions):
        given.write(n, position, list(each[n]))
    logits = np.full((len(positions), 593), np.nan, np.float32)
    values = np.full(len(positions), np.nan, np.float32)
    assert SparseRunner(network, 2).run(given, len(positions), logits, values)
    for n, row in enumerate(logits):
        assert np.isnan(row[len(each[n]) :]).all()
    return [row[: len(each[n])] for n, row in enumerate(logits)], values


def check(file: SparseFile, positions: Sequence[Position]) -> None:
    """All instructions have the same bits, which are those of the slow definition."""
    first: tuple[list[NDArray[np.float32]], NDArray[np.float32]] | None = None
    for instructions in sparse_instructions():
        found = evaluated(SparseInferenceNetwork(file.data, instructions), positions)
        first = first or found
        assert [row.tobytes() for row in found[0]] == [row.tobytes() for row in first[0]], instructions
        assert found[1].tobytes() == first[1].tobytes(), instructions
    assert first is not None
    for n, position in enumerate(positions):
        labels, groups = sparse_moves(position, position.legal_moves)
        logits, value = plain_inference.evaluate(file, sparse_rows(position).tolist(), labels.tolist(), groups.tolist())
        assert logits.tobytes() == first[0][n].tobytes(), position.sfen()
        assert value == pytest.approx(float(first[1][n]), rel=1e-5)


@settings(max_examples=5)
@given(st.lists(st.integers(0, 2**32), min_size=1, max_size=3))
def test_random_games(file: SparseFile, seeds: list[int]) -> None:
    check(file, [random_position(seed) for seed in seeds])


def test_positions_of_mate_problems(file: SparseFile, shared_data: Path) -> None:
    lines = (shared_data / "mate" / "mate-3-ply.txt").read_text("utf-8").splitlines()
    check(file, [Position.from_sfen(line) for line in lines[::1000]])


@pytest.mark.parametrize(
    "sfen",
    [
        "9/4k4/9/9/9/9/9/9/9 b 2R2B4G4S4N4L18P 1",
        "4k4/9/4G4/9/9/9/9/9/9 b G2r2b2g4s4n4l18p 1",
        "9/9/9/9/9/9/9/9/8K b - 1",
        "9/9/9/9/9/9/9/9/K8 w - 1",
        "9/9/9/9/9/9/9/9/9 b RBGSNLP 1",
    ],
)
def test_positions_without_a_king(file: SparseFile, sfen: str) -> None:
    check(file, [Position.from_sfen(sfen, allow_missing_king=True)])


def test_a_result_depends_on_nothing_else(file: SparseFile) -> None:
    positions = [random_position(seed) for seed in range(20)]
    for instructions in sparse_instructions():
        network = SparseInferenceNetwork(file.data, instructions)
        logits, values = evaluated(network, positions)
        for n, position in enumerate(positions):
            alone, value = evaluated(network, [position])
            assert alone[0].tobytes() == logits[n].tobytes()
            assert value[0] == values[n]
        reverse = [position.legal_moves[::-1] for position in positions]
        assert [row[::-1].tobytes() for row in evaluated(network, positions, reverse)[0]] == [
            row.tobytes() for row in logits
        ]


def test_leaves_of_one_tree_share_rows(file: SparseFile) -> None:
    """They have most rows in common, which does not show: each has the result that it has alone."""
    source = random.Random(3)
    positions = []
    for _ in range(21):
        position = random_position(5)
        for _ in range(source.randint(0, 4)):
            position.push(source.choice(position.legal_moves))
        positions.append(position)
    for instructions in sparse_instructions():
        network = SparseInferenceNetwork(file.data, instructions)
        logits, values = evaluated(network, positions)
        for n, position in enumerate(positions):
            alone, value = evaluated(network, [position])
            assert alone[0].tobytes() == logits[n].tobytes()
            assert value[0] == values[n]


def test_rows_that_are_left_out_do_not_occur() -> None:
    kept = set(sparse_kept_rows().tolist())
    assert len(kept) == SPARSE_ROWS - 1539
    for seed in range(300):
        assert kept.issuperset(sparse_rows(random_position(seed)).tolist())


def test_what_is_refused(file: SparseFile) -> None:
    network = SparseInferenceNetwork(file.data)
    read = SparseInput(2)
    assert read.capacity == 2
    with pytest.raises(ValueError, match="2 rows"):
        read.write(2, Position(), [])
    with pytest.raises(IllegalMoveError, match="5i5a"):
        read.write(0, Position(), [Move.from_usi("5i5a")])
    with pytest.raises(ValueError, match="at most 593 moves, not 594"):
        read.write(0, Position(), [Move.from_usi("7g7f")] * 594)
    runner = SparseRunner(network, 1)
    with pytest.raises(ValueError, match="2 rows"):
        runner.run(read, 3, np.empty((3, 593), np.float32), np.empty(3, np.float32))
    with pytest.raises(ValueError, match="1 rows"):
        runner.run(read, 2, np.empty((1, 593), np.float32), np.empty(1, np.float32))
    with pytest.raises(ValueError, match="another evaluator"):
        HashEvaluator().run(read, 1, np.empty((1, 593), np.float32), np.empty(1, np.float32))
    with pytest.raises(ValueError, match="threads must be"):
        SparseRunner(network, 0)
    with pytest.raises(ValueError, match="this processor has no abacus"):
        SparseInferenceNetwork(file.data, "abacus")
