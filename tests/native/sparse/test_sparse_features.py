"""The features of sparse networks beside their slow definition."""

from collections.abc import Callable
from pathlib import Path

import plain_features
import pytest
import sparse_positions
from hypothesis import given
from hypothesis import strategies as st

from fukayomi._native import (
    MOVE_ROWS,
    SPARSE_FEATURES_VERSION,
    SPARSE_LABELS,
    SPARSE_ROWS,
    IllegalMoveError,
    sparse_moves,
    sparse_rows,
)
from fukayomi.shogi import Move, Position


def check(position: Position) -> None:
    sfen = position.sfen()
    assert sorted(sparse_rows(position).tolist()) == plain_features.rows(sfen), sfen
    moves = position.legal_moves
    labels, rows = sparse_moves(position, moves)
    for n, move in enumerate(moves):
        assert (int(labels[n]), rows[n].tolist()) == plain_features.move(sfen, move.usi()), (sfen, move.usi())


def test_sizes() -> None:
    assert (SPARSE_FEATURES_VERSION, SPARSE_ROWS, SPARSE_LABELS) == (1, 24_832, 4374)
    assert sum(plain_features.SIZES) == MOVE_ROWS


@given(st.integers(0, 2**32))
def test_positions_of_random_games(seed: int) -> None:
    check(sparse_positions.random_position(seed))


@pytest.mark.parametrize(("folder", "step"), sparse_positions.SAMPLES)
def test_positions_of_the_shared_data(
    shared_data: Path, folder: str, step: int, record_property: Callable[[str, object], None]
) -> None:
    count = 0
    for position in sparse_positions.positions(shared_data, folder, step):
        check(position)
        count += 1
    assert count > 0
    record_property("positions", count)


@pytest.mark.parametrize("sfen", sparse_positions.MISSING_KINGS)
def test_positions_without_a_king(sfen: str) -> None:
    position = Position.from_sfen(sfen, allow_missing_king=True)
    assert sorted(sparse_rows(position).tolist()) == plain_features.rows(position.sfen())


def test_both_sides_and_both_halves_of_the_board_see_the_same() -> None:
    sfens = [
        "lnsg1gsnl/1r3k1b1/ppppppppp/9/9/2P6/PP1PPPPPP/1BK4R1/LNSG1GSNL b - 1",
        "lnsg1gsnl/1r4kb1/pppppp1pp/6p2/9/9/PPPPPPPPP/1B1K3R1/LNSG1GSNL w - 1",
    ]
    first, second = (sorted(sparse_rows(Position.from_sfen(sfen)).tolist()) for sfen in sfens)
    assert first == second


def test_a_move_that_is_not_legal_is_refused() -> None:
    with pytest.raises(IllegalMoveError, match="illegal move '5i5a'"):
        sparse_moves(Position(), [Move.from_usi("5i5a")])
