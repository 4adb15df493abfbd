"""Input planes: equal to those of cshogi.dlshogi, whichever way they are made."""

from collections.abc import Callable

import cshogi
import numpy as np
import pytest
from cshogi.dlshogi import make_input_features
from encode_samples import HANDICAPS, START, cshogi_hcp, sample_boards

from fukayomi import _native
from fukayomi.shogi import Position

CHUNK = 1000


def unpack(planes1: np.ndarray, planes2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(planes1)
    features1, features2 = np.full((n, 62, 9, 9), np.nan, np.float32), np.full((n, 57, 9, 9), np.nan, np.float32)
    _native.unpack_planes(planes1, planes2, features1, features2)
    return features1, features2


def check_against_cshogi(boards: list[cshogi.Board]) -> None:
    n = len(boards)
    hcps = np.frombuffer(b"".join(cshogi_hcp(board) for board in boards), np.uint8).reshape(n, 32)
    expected1, expected2 = np.zeros((n, 62, 9, 9), np.float32), np.zeros((n, 57, 9, 9), np.float32)
    for i, board in enumerate(boards):
        make_input_features(board, expected1[i], expected2[i])
    planes1, planes2 = np.zeros((n, 628), np.uint8), np.zeros((n, 8), np.uint8)
    _native.decode_hcp(hcps, planes1, planes2)
    features1, features2 = unpack(planes1, planes2)
    assert np.array_equal(features1, expected1)
    assert np.array_equal(features2, expected2)
    for i, board in enumerate(boards):
        single1, single2 = _native.encode_position(Position.from_sfen(board.sfen()))
        assert np.array_equal(single1, planes1[i])
        assert np.array_equal(single2, planes2[i])


def check_samples(count: int, seed: int) -> None:
    chunk: list[cshogi.Board] = []
    for board in sample_boards(count, seed):
        chunk.append(board.copy())
        if len(chunk) == CHUNK:
            check_against_cshogi(chunk)
            chunk = []


def test_planes_equal_cshogis():
    check_samples(6_000, seed=11)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_planes_equal_cshogis_on_many_positions(record_property: Callable[[str, object], None]):
    count = 500_000
    check_samples(count, seed=12)
    record_property("positions", count)


def test_planes_of_handicaps_equal_cshogis():
    check_against_cshogi([cshogi.Board(sfen) for sfen in HANDICAPS.values()])


@pytest.mark.parametrize("turn", ["b", "w"])
def test_sums_of_the_start_position(turn: str):
    planes1, planes2 = _native.encode_position(Position.from_sfen(START.replace(" b ", f" {turn} ")))
    features1, features2 = unpack(planes1[None], planes2[None])
    side = [9, 2, 2, 2, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 9, 4, 4, 6, 4, 9, 8, 5, 0, 0, 0, 0, 0, 0, 30, 12, 6]
    assert features1[0].sum(axis=(1, 2)).astype(int).tolist() == side * 2
    assert not features2.any()


def test_hands_and_check_fill_whole_planes():
    pos = Position.from_sfen("4k4/9/9/9/9/9/9/4r4/4K4 b 10P2LBgr 1")
    _, features2 = unpack(*(planes[None] for planes in _native.encode_position(pos)))
    filled = [plane for plane in range(57) if features2[0, plane].all()]
    assert filled == [*range(8), 8, 9, 24, 28 + 20, 28 + 26, 56]
    assert features2.sum() == len(filled) * 81


def test_packed_bits_are_the_floats_in_order():
    planes1, planes2 = _native.encode_position(Position.from_sfen(START))
    features1, features2 = unpack(planes1[None], planes2[None])
    bits1, bits2 = np.unpackbits(planes1, bitorder="little"), np.unpackbits(planes2, bitorder="little")
    assert np.array_equal(bits1[: 62 * 81], features1.ravel())
    assert not bits1[62 * 81 :].any()
    assert np.array_equal(bits2[:57], features2[0, :, 0, 0])
    assert not bits2[57:].any()


@pytest.mark.parametrize(("turn", "plane"), [("b", 0.0), ("w", 1.0)])
def test_the_58th_constant_plane_is_whites_turn(turn: str, plane: float):
    planes1, planes2 = (
        planes[None] for planes in _native.encode_position(Position.from_sfen(f"4k4/9/9/9/9/9/9/9/4K4 {turn} P 1"))
    )
    features1, plain = unpack(planes1, planes2)
    features2 = np.full((1, 58, 9, 9), np.nan, np.float32)
    _native.unpack_planes(planes1, planes2, features1, features2)
    assert np.array_equal(features2[:, :57], plain)
    assert (features2[:, 57] == plane).all()


@pytest.mark.parametrize("count", [0, 56, 59, 64])
def test_other_numbers_of_constant_planes_are_refused(count: int):
    planes1, planes2 = np.zeros((1, 628), np.uint8), np.zeros((1, 8), np.uint8)
    with pytest.raises(ValueError, match="57 or 58 planes"):
        _native.unpack_planes(
            planes1, planes2, np.zeros((1, 62, 9, 9), np.float32), np.zeros((1, count, 9, 9), np.float32)
        )


def test_any_bits_unpack_to_floats():
    rng = np.random.default_rng(1)
    planes1, planes2 = rng.integers(0, 256, (3, 628), np.uint8), rng.integers(0, 256, (3, 8), np.uint8)
    features1, features2 = unpack(planes1, planes2)
    bits1 = np.unpackbits(planes1, axis=1, bitorder="little")[:, : 62 * 81]
    bits2 = np.unpackbits(planes2, axis=1, bitorder="little")[:, :57]
    assert np.array_equal(features1.reshape(3, -1), bits1)
    assert np.array_equal(features2, np.broadcast_to(bits2[:, :, None, None], (3, 57, 9, 9)))
