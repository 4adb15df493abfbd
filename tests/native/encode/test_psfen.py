"""Packed sfen, psv's moves and book keys: byte for byte what cshogi writes."""

import random
from collections.abc import Callable

import cshogi
import numpy as np
import pytest
from encode_samples import HANDICAPS, START, cshogi_hcp, sample_boards
from hypothesis import given
from hypothesis import strategies as st

from fukayomi import _native
from fukayomi.shogi import InvalidMoveError, InvalidPackedError, Move, Position

START_PSFEN = "58a451220ceb67227e9653221caf447824c22b119e53221ceb6f223e9651220c"


def cshogi_psfen(board: cshogi.Board) -> bytes:
    array = np.zeros(1, cshogi.PackedSfen)
    board.to_psfen(array)
    return array.tobytes()


def rows(packed: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(packed), np.uint8).reshape(-1, 32)


def check_against_cshogi(count: int, seed: int) -> None:
    hcps, psfens, keys, moves, psv_moves = [], [], [], [], []
    rng = random.Random(seed)
    for board in sample_boards(count, seed):
        hcps.append(cshogi_hcp(board))
        psfens.append(cshogi_psfen(board))
        keys.append(board.book_key())
        if legal := list(board.legal_moves):
            move = rng.choice(legal)
            moves.append(cshogi.move16(move))
            psv_moves.append(cshogi.move16_to_psv(cshogi.move16(move)))
    ours = np.empty((len(hcps), 32), np.uint8)
    _native.hcps_to_psfens(rows(hcps), ours)
    assert np.array_equal(ours, rows(psfens))
    _native.psfens_to_hcps(rows(psfens), ours)
    assert np.array_equal(ours, rows(hcps))
    our_keys = np.empty(len(keys), np.uint64)
    _native.book_keys(rows(hcps), our_keys)
    assert our_keys.tolist() == keys
    ours16 = np.empty(len(moves), np.uint16)
    _native.moves_to_psv(np.array(moves, np.uint16), ours16)
    assert ours16.tolist() == psv_moves
    _native.moves_from_psv(np.array(psv_moves, np.uint16), ours16)
    assert ours16.tolist() == moves


def test_positions_moves_and_keys_are_those_of_cshogi():
    check_against_cshogi(5_000, seed=11)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_many_positions_moves_and_keys_are_those_of_cshogi(record_property: Callable[[str, object], None]):
    check_against_cshogi(50_000, seed=12)
    record_property("positions", 50_000)


@pytest.mark.parametrize("sfen", HANDICAPS.values(), ids=HANDICAPS.keys())
def test_handicaps_are_written_as_cshogi_does(sfen: str):
    pos = Position.from_sfen(sfen)
    psfen = _native.encode_psfen(pos)
    assert psfen == cshogi_psfen(cshogi.Board(sfen))
    assert _native.position_from_psfen(psfen) == pos


def test_known_codes():
    assert _native.encode_psfen(Position()).hex() == START_PSFEN
    assert _native.book_key(Position()) == 17203344753176706581
    assert _native.book_key(Position.from_sfen(START.replace(" b ", " w "))) == 15067796644933545101
    psv = np.empty(3, np.uint16)
    _native.moves_to_psv(np.array([Move.from_usi(m).raw for m in ("R*5b", "8h2b+", "7g7f")], np.uint16), psv)
    assert [hex(bits) for bits in psv] == ["0x4325", "0xa30a", "0x1e3b"]


def test_hands_may_come_in_any_order(shared_data):
    """Of a side's hand, YaneuraOu's writers have the pawns first, others last."""
    record = (shared_data / "training-fixtures" / "psv_to_hcpe3_sample.psv").read_bytes()[9 * 40 : 9 * 40 + 32]
    pos = _native.position_from_psfen(record)
    assert pos.sfen() == "ln5nl/2rs1kgs1/3ppg1p1/2p3p1p/p4p3/1PPPP2PP/P2SKSNR1/1B7/LN3G2L w B2Pgp 1"
    assert _native.encode_psfen(pos) == cshogi_psfen(cshogi.Board(pos.sfen())) != record


@given(st.binary(min_size=32, max_size=32))
def test_any_bytes_are_a_position_or_an_error(psfen: bytes):
    try:
        pos = _native.position_from_psfen(psfen)
    except InvalidPackedError:
        return
    assert _native.position_from_psfen(_native.encode_psfen(pos)) == pos


def test_any_bits_are_a_move_or_an_error():
    out, back = np.empty(1, np.uint16), np.empty(1, np.uint16)
    with pytest.raises(InvalidMoveError, match="record 0: the 16 bits 81 are not a move of the psv format"):
        _native.moves_from_psv(np.array([81], np.uint16), out)
    _native.moves_from_psv(np.array([0], np.uint16), out)
    assert out[0] == 0  # no move
    for bits in range(1, 1 << 16):
        try:
            _native.moves_from_psv(np.array([bits], np.uint16), out)
        except InvalidMoveError:
            continue
        Move.from_raw(int(out[0]))
        _native.moves_to_psv(out, back)
        assert back[0] == bits


def test_a_bad_record_is_named_by_its_index():
    out = np.empty((2, 32), np.uint8)
    with pytest.raises(InvalidPackedError, match="record 1: psfen 00"):
        _native.psfens_to_hcps(rows([bytes.fromhex(START_PSFEN), bytes(32)]), out)
    with pytest.raises(InvalidPackedError, match="record 1: hcp 00"):
        _native.hcps_to_psfens(rows([_native.encode_hcp(Position()), bytes(32)]), out)
    with pytest.raises(ValueError, match="number of rows: 2 and 1"):
        _native.psfens_to_hcps(rows([bytes(32), bytes(32)]), out[:1])


def test_bad_records_are_found():
    start = _native.encode_hcp(Position())
    hcps = rows([start, start, bytes(32), start, start])
    moves = np.array([Move.from_usi("7g7f").raw, Move.from_usi("7g7e").raw, 1, 0, 0xFFFF], np.uint16)
    found = dict(_native.find_bad_records(hcps, moves))
    assert sorted(found) == [1, 2, 3, 4]
    assert "the pawn cannot reach 7e" in found[1]
    assert "both kings" in found[2]
    assert "65535" in found[4]
    assert [index for index, _ in _native.find_bad_records(hcps, None)] == [2]
    psfens = rows([bytes.fromhex(START_PSFEN), bytes(32), bytes.fromhex(START_PSFEN)])
    found = dict(_native.find_bad_records(psfens, np.array([0x1E3B, 0x1E3B, 0x4081], np.uint16), psv=True))
    assert sorted(found) == [1, 2]
    assert "psfen" in found[1]
    assert "no pawn in hand" in found[2]


def fuzz_rows(count: int, seed: int) -> int:
    """Rows with changed bits, in one batch: the good ones survive both codes. Returns how many were good."""
    random_bits = np.random.default_rng(seed)
    good = rows([cshogi_hcp(board) for board in sample_boards(500, seed)])
    hcps = good[random_bits.integers(0, len(good), count)]
    for _ in range(3):
        at = random_bits.integers(0, 256, count)
        change = random_bits.random(count) < 0.6
        hcps[np.arange(count), at >> 3] ^= np.where(change, 1 << (at & 7), 0).astype(np.uint8)
    moves = random_bits.integers(0, 1 << 16, count).astype(np.uint16)
    bad = [index for index, _ in _native.find_bad_records(hcps, None)]
    assert len(_native.find_bad_records(hcps, moves)) >= len(bad)
    assert len(_native.find_bad_records(hcps, moves, psv=True)) > 0
    survivors = np.delete(hcps, bad, axis=0)
    psfens, back = np.empty_like(survivors), np.empty_like(survivors)
    _native.hcps_to_psfens(survivors, psfens)
    _native.psfens_to_hcps(psfens, back)
    assert np.array_equal(back, survivors)
    return len(survivors)


def test_changed_rows_are_good_or_named():
    assert fuzz_rows(10_000, seed=21) > 500


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_changed_rows_are_good_or_named(record_property: Callable[[str, object], None]):
    record_property("inputs", 500_000)
    record_property("good", fuzz_rows(500_000, seed=22))
