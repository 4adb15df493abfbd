"""The features of sparse networks beside their slow definition."""

import random
from pathlib import Path

import plain_features
import pytest
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
    source = random.Random(seed)
    position = Position()
    for _ in range(source.randint(0, 150)):
        if not position.legal_moves:
            break
        position.push(source.choice(position.legal_moves))
    check(position)


def test_positions_of_mate_problems(shared_data: Path) -> None:
    lines = (shared_data / "mate" / "mate-3-ply.txt").read_text("utf-8").splitlines()
    for line in lines[::400]:
        check(Position.from_sfen(line))


@pytest.mark.parametrize(
    "sfen",
    [
        "9/4k4/9/9/9/9/9/9/9 b 2R2B4G4S4N4L18P 1",
        "4k4/9/4G4/9/9/9/9/9/9 b G2r2b2g4s4n4l18p 1",
        "9/9/9/9/9/9/9/9/8K b - 1",
        "9/9/9/9/9/9/9/9/K8 w - 1",
    ],
)
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
