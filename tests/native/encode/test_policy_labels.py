"""Policy labels: equal to those of cshogi.dlshogi, one for each legal move."""

from collections.abc import Callable

import cshogi
import pytest
from cshogi.dlshogi import make_move_label
from encode_samples import sample_boards

from fukayomi import _native
from fukayomi.shogi import BLACK, WHITE, Color, InvalidMoveError, Move, Position


@pytest.mark.parametrize(
    ("turn", "usi", "label"),
    [
        (BLACK, "7g7f", 59),
        (BLACK, "2g2f", 14),
        (WHITE, "3c3d", 59),
        (BLACK, "8h2b+", 982),
        (BLACK, "P*5e", 1660),
        (BLACK, "L*5e", 1741),
        (BLACK, "N*5e", 1822),
        (BLACK, "S*5e", 1903),
        (BLACK, "B*5e", 1984),
        (BLACK, "R*5e", 2065),
        (BLACK, "G*5e", 2146),
    ],
)
def test_known_labels(turn: Color, usi: str, label: int):
    assert _native.policy_label(turn, Move.from_usi(usi)) == label


def check_samples(count: int, seed: int) -> None:
    for board in sample_boards(count, seed):
        pos = Position.from_sfen(board.sfen())
        labels = pos.legal_labels().tolist()
        assert labels == [_native.policy_label(pos.turn, move) for move in pos.legal_moves]
        assert len(set(labels)) == len(labels)
        expected = {cshogi.move16(move): make_move_label(move, board.turn) for move in board.legal_moves}
        assert {move.raw: label for move, label in zip(pos.legal_moves, labels, strict=True)} == expected


def test_labels_equal_cshogis():
    check_samples(3_000, seed=21)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_labels_equal_cshogis_on_many_positions(record_property: Callable[[str, object], None]):
    count = 100_000
    check_samples(count, seed=22)
    record_property("positions", count)


def test_every_move_of_a_side_is_the_other_sides_rotated():
    for raw in range(1 << 14):
        source, target = raw >> 7, raw & 127
        if target > 80 or source > 87 or source == target:
            continue
        rotated = (source if source > 80 else 80 - source) << 7 | (80 - target)
        move, other = Move.from_raw(raw), Move.from_raw(rotated)
        try:
            label = _native.policy_label(BLACK, move)
        except InvalidMoveError:
            with pytest.raises(InvalidMoveError, match="no piece moves like this"):
                _native.policy_label(WHITE, other)
        else:
            assert _native.policy_label(WHITE, other) == label
            assert label < 2187


def test_the_position_with_most_moves():
    pos = Position.from_sfen("R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1")
    labels = pos.legal_labels()
    assert len(set(labels.tolist())) == len(labels) == 593
