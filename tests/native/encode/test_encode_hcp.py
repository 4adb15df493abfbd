"""hcp: byte for byte what cshogi writes, and nothing else is read."""

import random
from collections.abc import Callable
from itertools import islice

import cshogi
import numpy as np
import pytest
from encode_samples import HANDICAPS, START, cshogi_hcp, sample_boards, scattered_positions
from hypothesis import given
from hypothesis import strategies as st

from fukayomi import _native
from fukayomi.shogi import InvalidPackedError, Position

START_HCP = "58a449210cd757217e8e4d212caf427814c2ab109e4d212cd75f213e8e49210c"
ALL_IN_HAND = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1"
VALID = [_native.encode_hcp(Position.from_sfen(sfen)) for sfen in (START, ALL_IN_HAND, *HANDICAPS.values())] + [
    _native.encode_hcp(pos) for pos in islice(scattered_positions(5), 20)
]


def planes_of(hcp: bytes) -> tuple[np.ndarray, np.ndarray]:
    planes1, planes2 = np.zeros((1, 628), np.uint8), np.zeros((1, 8), np.uint8)
    _native.decode_hcp(np.frombuffer(hcp, np.uint8).reshape(1, 32), planes1, planes2)
    return planes1[0], planes2[0]


def read_both_ways(hcp: bytes) -> Position | None:
    """The position, or None if both ways of reading the bytes reject them; they must agree."""
    try:
        pos = _native.position_from_hcp(hcp)
    except InvalidPackedError:
        with pytest.raises(InvalidPackedError, match=f"record 0: hcp {hcp.hex()}: "):
            planes_of(hcp)
        return None
    for ours, encoded in zip(planes_of(hcp), _native.encode_position(pos), strict=True):
        assert np.array_equal(ours, encoded)
    return pos


@pytest.mark.parametrize(
    ("sfen", "hcp"),
    [
        (START, START_HCP),
        (START.replace(" b ", " w "), "59" + START_HCP[2:]),
        (ALL_IN_HAND, "582400000000000000000000000000000000104208638c514a29e79cf3f9fc7e"),
    ],
)
def test_known_codes(sfen: str, hcp: str):
    assert _native.encode_hcp(Position.from_sfen(sfen)).hex() == hcp
    assert _native.position_from_hcp(bytes.fromhex(hcp)).sfen() == sfen


@pytest.mark.parametrize("sfen", HANDICAPS.values(), ids=HANDICAPS.keys())
def test_handicaps_are_written_as_cshogi_does(sfen: str):
    hcp = _native.encode_hcp(Position.from_sfen(sfen))
    assert hcp == cshogi_hcp(cshogi.Board(sfen))
    assert _native.position_from_hcp(hcp).sfen() == sfen


def check_round_trips(count: int, seed: int) -> None:
    for board in sample_boards(count, seed):
        hcp = cshogi_hcp(board)
        pos = _native.position_from_hcp(hcp)
        assert pos == Position.from_sfen(board.sfen())
        assert pos.ply == 1
        assert _native.encode_hcp(pos) == hcp


def test_positions_are_written_and_read_as_cshogi_does():
    check_round_trips(10_000, seed=2)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_many_positions_are_written_and_read_as_cshogi_does(record_property: Callable[[str, object], None]):
    count = 300_000
    check_round_trips(count, seed=3)
    record_property("positions", count)


def test_a_missing_king_has_no_code():
    pos = Position.from_sfen("4k4/9/9/9/9/9/9/9/9 b 2G 1", allow_missing_king=True)
    with pytest.raises(InvalidPackedError, match="a king is missing"):
        _native.encode_hcp(pos)


def packed_bits(*fields: tuple[int, int]) -> bytes:
    """An hcp from (value, bits) fields, zeros after them."""
    value = shift = 0
    for field, bits in fields:
        value |= field << shift
        shift += bits
    return value.to_bytes(32, "little")


@pytest.mark.parametrize(
    ("hcp", "reason"),
    [
        (bytes(32), "both kings on one square"),
        (b"\xff" * 32, "a king is not on the board"),
        (packed_bits((0, 1), (44, 7), (36, 7)), "not the 40 pieces"),  # zeros read as pawns in Black's hand
        (packed_bits((0, 1), (44, 7), (36, 7), (2**241 - 1, 241)), "more than 256 bits"),  # rooks all over the board
        (packed_bits((0, 1), (44, 7), (36, 7), (0, 79), (0b110, 3)), "no such code"),
        (packed_bits((0, 1), (44, 7), (36, 7), (0, 79), (0b00001, 5)), "not in order"),  # a lance, then pawns
        (bytes.fromhex(START_HCP)[:31] + b"\x3c", "not the 40 pieces"),  # a gold for the last lance
    ],
)
def test_what_is_wrong_is_said(hcp: bytes, reason: str):
    with pytest.raises(InvalidPackedError, match=reason):
        _native.position_from_hcp(hcp)
    assert read_both_ways(hcp) is None


def test_what_the_rules_forbid_is_said():
    in_check = Position.from_sfen("4k4/9/9/9/9/9/9/4R4/4K4 w - 1")
    hcp = bytearray(_native.encode_hcp(in_check))
    hcp[0] ^= 1  # now Black is to move
    with pytest.raises(InvalidPackedError, match="White's king is attacked"):
        _native.position_from_hcp(bytes(hcp))
    assert read_both_ways(bytes(hcp)) is None


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_wrong_size_is_rejected(size: int):
    with pytest.raises(InvalidPackedError, match=f"32 bytes, not {size}"):
        _native.position_from_hcp(bytes(size))


@given(st.binary(min_size=32, max_size=32))
def test_any_bytes_are_a_position_or_an_error(hcp: bytes):
    pos = read_both_ways(hcp)
    assert pos is None or _native.encode_hcp(pos) == hcp


@given(st.sampled_from(VALID), st.lists(st.integers(0, 255), min_size=1, max_size=6))
def test_a_changed_code_is_a_position_or_an_error(valid: bytes, flips: list[int]):
    hcp = bytearray(valid)
    for bit in flips:
        hcp[bit // 8] ^= 1 << bit % 8
    pos = read_both_ways(bytes(hcp))
    assert pos is None or _native.encode_hcp(pos) == bytes(hcp)


def moved_codes(count: int, seed: int) -> int:
    """Codes whose pieces or kings were moved, which often break a rule of the game; returns how many were accepted."""
    rng = random.Random(seed)
    accepted = 0
    for valid in islice((_native.encode_hcp(pos) for pos in scattered_positions(seed)), count):
        value = int.from_bytes(valid, "little")
        header, body = value & (1 << 15) - 1, value >> 15
        shift = rng.randrange(1, 9)  # what was a run of empty squares moves to the front: pieces move to other squares
        kings = rng.sample(range(81), 2)
        header = rng.choice([header ^ 1, header & 1 | kings[0] << 1 | kings[1] << 8])
        moved = body if body & ((1 << shift) - 1) else body >> shift
        pos = read_both_ways((header | moved << 15).to_bytes(32, "little"))
        accepted += pos is not None
    return accepted


def test_both_ways_of_reading_agree_on_what_the_rules_forbid():
    assert 100 < moved_codes(1_000, seed=7) < 900
