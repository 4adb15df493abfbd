"""The inputs of batches: what is written into them, from positions, packed positions and searches; what is refused."""

import numpy as np
import numpy.typing as npt
import pytest

from fukayomi import IllegalMoveError, InvalidPackedError
from fukayomi._native import (
    HashEvaluator,
    JointInput,
    PlaneInput,
    Search,
    SearchParams,
    SelfplayParams,
    SelfplayPool,
    SlotInput,
    UniformEvaluator,
    encode_hcp,
    encode_position,
)
from fukayomi.shogi import Move, Position

WITHOUT_KING = Position.from_sfen(
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSG1GSNL b - 1", allow_missing_king=True
)


def plane_input(rows: int) -> PlaneInput:
    return PlaneInput(
        np.full((rows, 628), 255, np.uint8),
        np.full((rows, 8), 255, np.uint8),
        np.full((rows, 593), 7, np.uint16),
        np.zeros(rows, np.uint16),
    )


def assert_holds(found: PlaneInput, row: int, position: Position, moves: list[Move]) -> None:
    """A row has the planes of the position and the labels of these moves, and nothing behind them."""
    planes1, planes2 = encode_position(position)
    np.testing.assert_array_equal(found.planes1[row], planes1)
    np.testing.assert_array_equal(found.planes2[row], planes2)
    assert found.counts[row] == len(moves)
    assert found.labels[row, : len(moves)].tolist() == [position.policy_label(move) for move in moves]
    assert (found.labels[row, len(moves) :] == 7).all()


def played(plies: int) -> list[Position]:
    """The positions of a game, one without a king, and one in which mate has come."""
    position, found = Position(), [WITHOUT_KING, Position.from_sfen("k8/G8/G8/9/9/9/9/9/8K w - 1")]
    for ply in range(plies):
        found.append(position.copy())
        position.push(position.legal_moves[7 * ply % position.legal_move_count])
    return found


def test_a_row_has_the_position_and_the_moves_in_the_order_given() -> None:
    given = played(40)
    found = plane_input(len(given))
    for row, position in reversed(list(enumerate(given))):
        found.write(row, position, position.legal_moves[::-2])
    for row, position in enumerate(given):
        assert_holds(found, row, position, position.legal_moves[::-2])
    assert found.counts[1] == 0


def test_packed_positions_are_written_with_all_of_their_legal_moves() -> None:
    given = played(60)[1:]
    hcps = np.frombuffer(b"".join(map(encode_hcp, given)), np.uint8).reshape(-1, 32)
    found = plane_input(len(given) + 1)
    moves, labels = (np.full((len(given), 593), 7, np.uint16) for _ in range(2))
    found.write_hcps(hcps, moves, labels)
    for row, position in enumerate(given):
        assert_holds(found, row, position, position.legal_moves)
        count = position.legal_move_count
        assert moves[row, :count].tolist() == [move.raw for move in position.legal_moves]
        assert labels[row, :count].tolist() == position.legal_labels().tolist()
        assert (moves[row, count:] == 7).all()
        assert (labels[row, count:] == 7).all()
    assert found.counts[-1] == 0
    assert (found.planes1[-1] == 255).all()


def test_bad_packed_positions_and_arrays_are_refused() -> None:
    hcps = np.frombuffer(encode_hcp(Position()) * 3, np.uint8).reshape(3, 32).copy()
    moves, labels = np.zeros((3, 593), np.uint16), np.zeros((3, 593), np.uint16)
    with pytest.raises(ValueError, match="3 and 2"):
        plane_input(3).write_hcps(hcps, moves, labels[1:])
    with pytest.raises(ValueError, match="the input has 2 rows"):
        plane_input(2).write_hcps(hcps, moves, labels)
    hcps[1] = 255
    with pytest.raises(InvalidPackedError, match="record 1: "):
        plane_input(3).write_hcps(hcps, moves, labels)


def test_rows_that_do_not_exist_and_illegal_moves_are_refused() -> None:
    found, position = plane_input(2), Position()
    with pytest.raises(ValueError, match="the input has 2 rows"):
        found.write(2, position, [])
    with pytest.raises(TypeError):
        found.write(-1, position, [])
    with pytest.raises(IllegalMoveError, match="7g7e"):
        found.write(0, position, [*position.legal_moves, Move.from_usi("7g7e")])
    with pytest.raises(ValueError, match="at most 593 moves, not 600"):
        found.write(0, position, list(position.legal_moves) * 20)
    assert not found.counts.any()
    assert (found.planes1 == 255).all()


def test_wrong_arrays_make_no_input() -> None:
    good = (
        np.zeros((4, 628), np.uint8),
        np.zeros((4, 8), np.uint8),
        np.zeros((4, 593), np.uint16),
        np.zeros(4, np.uint16),
    )
    read_only = good[0].copy()
    read_only.flags.writeable = False
    wrong = [
        (0, good[0][:, :627]), (0, good[0].astype(np.int8)), (0, read_only), (0, np.zeros((4, 1256), np.uint8)[:, ::2]),
        (0, None), (1, np.zeros((4, 9), np.uint8)), (2, np.zeros((593, 4), np.uint16).T), (3, np.zeros(4, np.uint32)),
    ]  # fmt: skip
    for place, array in wrong:
        with pytest.raises(TypeError):
            PlaneInput(*good[:place], array, *good[place + 1 :])  # pyright: ignore[reportArgumentType]
    for place in range(4):
        with pytest.raises(ValueError, match=r"3 and 4|4 and 3"):
            PlaneInput(*good[:place], good[place][:3], *good[place + 1 :])
    with pytest.raises(ValueError, match="at least one input"):
        JointInput([])
    with pytest.raises((TypeError, ValueError)):
        JointInput([PlaneInput(*good), None])  # pyright: ignore[reportArgumentType]


def test_inputs_keep_their_arrays_and_parts() -> None:
    parts = [plane_input(2), plane_input(3)]
    joint = JointInput([JointInput(parts), plane_input(4)])
    planes, counts = parts[0].planes1, joint.counts
    del parts
    joint.write(1, Position(), Position().legal_moves)
    np.testing.assert_array_equal(planes[1], encode_position(Position())[0])
    assert joint.counts.tolist() == [0, 30]
    assert counts.tolist() == [0, 0]
    assert not counts.flags.writeable


def test_a_joint_input_writes_every_part() -> None:
    parts, position = [plane_input(2), plane_input(3)], Position()
    joint = JointInput(parts)
    assert joint.capacity == 2
    joint.write(1, position, position.legal_moves[3:9])
    for part in parts:
        assert_holds(part, 1, position, position.legal_moves[3:9])
    with pytest.raises(ValueError, match="the input has 2 rows"):
        joint.write(2, position, [])


def test_a_search_writes_into_several_parts_from_a_row_on() -> None:
    parts = [plane_input(20), plane_input(24)]
    joint, alone = JointInput(parts), plane_input(16)
    filled: list[int] = []
    for target, first in ((joint, 4), (alone, 0)):
        search = Search(SearchParams(), 16)
        batch = search.new_batch(16)
        logits, values = np.zeros((16, 593), np.float32), np.full(16, 0.5, np.float32)
        assert search.gather(batch, target, first, 16) == 1
        search.apply(batch, logits, values)
        filled.append(search.gather(batch, target, first, 16))
    assert filled[0] == filled[1] > 1
    for part in parts:
        for found, expected in (
            (part.planes1, alone.planes1), (part.labels, alone.labels), (part.counts, alone.counts)
        ):  # fmt: skip
            np.testing.assert_array_equal(found[4 : 4 + filled[0]], expected[: filled[0]])
        assert (part.planes1[:4] == 255).all()


def as_they_are(target: SlotInput) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]:
    """What both evaluators of the core say of 3 rows."""
    found = []
    for evaluator in (HashEvaluator(1), UniformEvaluator()):
        logits, values = np.zeros((3, 593), np.float32), np.zeros(3, np.float32)
        evaluator.run(target, 3, logits, values)
        found.append((logits, values))
    return found


def test_evaluators_take_the_inputs_that_they_read() -> None:
    for _, values in as_they_are(plane_input(3)):
        assert ((values > 0) & (values < 1)).all()
    with pytest.raises(ValueError, match="the input is of another evaluator"):
        as_they_are(JointInput([plane_input(3)]))
    logits, values = np.zeros((3, 593), np.float32), np.zeros(3, np.float32)
    UniformEvaluator().run(JointInput([plane_input(3)]), 3, logits, values)
    assert (values == 0.5).all()
    with pytest.raises(ValueError, match="the input has 2 rows"):
        HashEvaluator().run(plane_input(2), 3, logits, values)
    with pytest.raises(ValueError, match="an array has 3 rows; it needs 4"):
        HashEvaluator().run(plane_input(4), 4, logits, values)


def test_a_pool_refuses_more_rows_than_there_are() -> None:
    pool = SelfplayPool(SelfplayParams(), SearchParams(), 4)
    pool.add(0, Position())
    with pytest.raises(ValueError, match="the input has 2 rows"):
        pool.gather(0, plane_input(2), 3)
    assert pool.gather(0, plane_input(2), 2) == 1
