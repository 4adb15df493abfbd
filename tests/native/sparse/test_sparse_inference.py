"""Sparse networks in integers: all instructions and the slow definition side by side."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import plain_inference
import pytest
import sparse_files
import sparse_positions
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sparse_positions import random_position

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
    SparseWidths(policy=1024, value=1024, shared=512, hidden=256),
]


@pytest.fixture(scope="module", params=WIDTHS, ids=lambda widths: f"{widths.policy}-{widths.value}")
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SparseFile:
    return sparse_files.write(tmp_path_factory.mktemp("sparse"), request.param)


def evaluated(
    networks: Sequence[SparseInferenceNetwork],
    positions: Sequence[Position],
    moves: Sequence[Sequence[Move]] | None = None,
) -> Iterator[list[NDArray[np.float32]]]:
    """What each network says of the positions: the logits of each, and the values."""
    each = [position.legal_moves for position in positions] if moves is None else moves
    given = SparseInput(len(positions))
    for n, position in enumerate(positions):
        given.write(n, position, list(each[n]))
    for network in networks:
        logits = np.full((len(positions), 593), np.nan, np.float32)
        values = np.full(len(positions), np.nan, np.float32)
        assert SparseRunner(network, 2).run(given, len(positions), logits, values)
        for n, row in enumerate(logits):
            assert np.isnan(row[len(each[n]) :]).all()
        yield [*(row[: len(each[n])] for n, row in enumerate(logits)), values]


def networks_of(file: SparseFile) -> list[SparseInferenceNetwork]:
    """One for each set of instructions."""
    return [SparseInferenceNetwork(file.data, instructions) for instructions in sparse_instructions()]


def bits(arrays: Sequence[NDArray[np.float32]]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


def check(
    file: SparseFile, networks: Sequence[SparseInferenceNetwork], positions: Sequence[Position], *, every: int = 1
) -> None:
    """All instructions have the same bits, which are those of the slow definition: of every so many positions."""
    moves = [position.legal_moves for position in positions]
    first, *others = evaluated(networks, positions, moves)
    for found, network in zip(others, networks[1:], strict=True):
        assert bits(found) == bits(first), network.instructions
    for n in range(0, len(positions), every):
        labels, groups = sparse_moves(positions[n], moves[n])
        rows = sparse_rows(positions[n]).tolist()
        logits, value = plain_inference.evaluate(file, rows, labels.tolist(), groups.tolist())
        assert logits.tobytes() == first[n].tobytes(), positions[n].sfen()
        assert value == pytest.approx(float(first[-1][n]), rel=1e-5)


@settings(max_examples=5)
@given(st.lists(st.integers(0, 2**32), min_size=1, max_size=3))
def test_random_games(file: SparseFile, seeds: list[int]) -> None:
    check(file, networks_of(file), [random_position(seed) for seed in seeds])


@pytest.mark.parametrize(("folder", "step"), sparse_positions.SAMPLES)
def test_positions_of_the_shared_data(
    file: SparseFile, shared_data: Path, folder: str, step: int, record_property: Callable[[str, object], None]
) -> None:
    count = 0
    networks, positions = networks_of(file), sparse_positions.positions(shared_data, folder, step)
    while batch := [position.copy() for position in islice(positions, 256)]:
        check(file, networks, batch, every=100)
        count += len(batch)
    assert count > 0
    record_property("positions", count)


@pytest.mark.parametrize("sfen", [*sparse_positions.MISSING_KINGS, "9/9/9/9/9/9/9/9/9 b RBGSNLP 1"])
def test_positions_without_a_king(file: SparseFile, sfen: str) -> None:
    check(file, networks_of(file), [Position.from_sfen(sfen, allow_missing_king=True)])


def test_a_result_depends_on_nothing_else(file: SparseFile) -> None:
    """Leaves of one tree have most rows in common, which does not show."""
    source = random.Random(3)
    leaves: list[Position] = []
    for _ in range(21):
        position = random_position(5)
        for _ in range(source.randint(0, 4)):
            position.push(source.choice(position.legal_moves))
        leaves.append(position)
    for positions in ([random_position(seed) for seed in range(20)], leaves):
        reverse = [position.legal_moves[::-1] for position in positions]
        networks = networks_of(file)
        alone = [list(evaluated(networks, [position])) for position in positions]
        turned = evaluated(networks, positions, reverse)
        for which, (*logits, values) in enumerate(evaluated(networks, positions)):
            for n, found in enumerate(alone):
                assert bits(found[which]) == bits([logits[n], values[n : n + 1]])
            *backwards, same = next(turned)
            assert bits([*(row[::-1] for row in backwards), same]) == bits([*logits, values])


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
