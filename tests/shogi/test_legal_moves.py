"""Legal moves: equal to those of two other generators on positions of random games."""

import itertools
import pickle
import random
from collections.abc import Callable, Sequence

import cshogi
import numpy as np
import pytest
from oracles import (
    HANDICAPS,
    MATSURI,
    cshogi_moves,
    pawn_drop_square,
    random_positions,
    raw_moves,
    rsshogi_moves,
    useful_raw_moves,
)

from fukayomi.shogi import InvalidMoveError, Move, Position


def compare_with_oracles(positions: int, in_check: int, pawn_checks: int, seed: int) -> dict[str, int]:
    """Check that all three agree on the legal moves.

    Returns:
        Number of positions, of those in check, and of those with a checking pawn drop.
    """
    seen_in_check = seen_pawn_checks = 0
    for seen, pos in enumerate(random_positions(seed), start=1):
        sfen = pos.sfen()
        moves = raw_moves(pos)
        assert moves == cshogi_moves(sfen), f"cshogi differs in {sfen}"
        assert moves == rsshogi_moves(sfen), f"rsshogi differs in {sfen}"
        assert pos.legal_move_count == len(moves) == len(set(moves)), sfen
        assert pos.is_mated() == (not moves), sfen
        assert sorted(move.raw for move in pos.useful_moves) == useful_raw_moves(pos), sfen
        seen_in_check += pos.is_check()
        seen_pawn_checks += pawn_drop_square(pos) is not None
        if seen >= positions and seen_in_check >= in_check and seen_pawn_checks >= pawn_checks:
            return {"positions": seen, "in check": seen_in_check, "checking pawn drop at hand": seen_pawn_checks}
        assert seen < 2 * positions, "the random games do not fill the quotas"
    raise AssertionError("random games have no end")


def test_same_moves_as_cshogi_and_rsshogi() -> None:
    compare_with_oracles(10_000, in_check=1_000, pawn_checks=50, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_same_moves_as_cshogi_and_rsshogi_at_length(record_property: Callable[[str, object], None]) -> None:
    for name, count in compare_with_oracles(200_000, in_check=20_000, pawn_checks=1_000, seed=2).items():
        record_property(name, count)


def test_push_and_pop_return_the_same_position() -> None:
    for pos in itertools.islice(random_positions(seed=3), 0, 4_000, 20):
        before = pos.sfen(), pos.key, pos.is_check(), raw_moves(pos)
        for move in pos.legal_moves:
            pos.push(move)
            again = Position.from_sfen(pos.sfen())
            assert (pos.key, pos.is_check()) == (again.key, again.is_check()), (before, move)
            assert pos == again
            assert pos.pop() == move
        assert (pos.sfen(), pos.key, pos.is_check(), raw_moves(pos)) == before


def test_a_whole_game_taken_back_returns_to_the_start() -> None:
    rng = random.Random(4)
    for _ in range(20):
        pos = Position()
        states: list[tuple[str, int, int]] = []
        while pos.legal_moves and len(states) < 300:
            states.append((pos.sfen(), pos.key, pos.occurrences()))
            pos.push(rng.choice(pos.legal_moves))
        while states:
            pos.pop()
            assert (pos.sfen(), pos.key, pos.occurrences()) == states.pop()


def test_gives_check_says_what_cshogi_sees_after_the_move() -> None:
    for pos in itertools.islice(random_positions(seed=5), 0, 4_000, 20):
        board = cshogi.Board(pos.sfen())
        for move in pos.legal_moves:
            board.push_usi(move.usi())
            assert pos.gives_check(move) == board.is_check(), (pos, move)
            board.pop()


def test_no_other_move_is_legal() -> None:
    every_move = [Move.from_raw(raw) for raw in range(1 << 15) if is_a_move(raw)]
    for sfen in [*HANDICAPS.values(), MATSURI, "7pk/6G2/7S1/9/9/9/9/9/K8 b P 1"]:
        pos = Position.from_sfen(sfen)
        assert sorted(move.raw for move in every_move if pos.is_legal(move)) == cshogi_moves(sfen)
    for pos in itertools.islice(random_positions(seed=6), 0, 8_000, 20):
        assert sorted(move.raw for move in every_move if pos.is_legal(move)) == raw_moves(pos), pos.sfen()


def is_a_move(raw: int) -> bool:
    to, source, promotion = raw & 127, raw >> 7 & 127, raw >> 14
    return to < 81 and to != source and source <= 87 and not (source > 80 and promotion)


@pytest.mark.parametrize("sfen", HANDICAPS.values(), ids=HANDICAPS.keys())
def test_handicap_starts(sfen: str) -> None:
    pos = Position.from_sfen(sfen)
    assert pos.sfen() == sfen
    assert raw_moves(pos) == cshogi_moves(sfen) == rsshogi_moves(sfen)


def test_a_position_without_moves_is_lost_even_without_check() -> None:
    pos = Position.from_sfen("k8/1R7/K8/9/9/9/9/9/9 w - 1")
    assert not pos.is_check()
    assert pos.is_mated()
    assert pos.legal_moves == []


def test_legal_moves_are_a_sequence() -> None:
    pos = Position()
    moves = pos.legal_moves
    listed = list(moves)
    assert isinstance(moves, Sequence)
    assert (len(moves), bool(moves), repr(moves)) == (30, True, repr(listed))
    assert [moves[0], moves[-1], moves[np.int64(2)], moves[3:5]] == [listed[0], listed[-1], listed[2], listed[3:5]]
    assert (moves.index(listed[7]), moves.count(listed[7]), list(reversed(moves))) == (7, 1, listed[::-1])
    assert Move.from_usi("7g7f") in moves
    assert Move.from_usi("7g7e") not in moves
    assert [text in moves for text in ("7g7f", "7g7e")] == [True, False]
    with pytest.raises(InvalidMoveError, match="'７六歩'"):
        _ = "７六歩" in moves
    assert moves == listed == pos.legal_moves
    assert pickle.loads(pickle.dumps(moves)) == listed
    pos.push_usi("7g7f")
    assert moves == listed != pos.legal_moves  # it does not change with the position
    for index in (30, -31):
        with pytest.raises(IndexError):
            _ = moves[index]
