"""Batches: the targets of hcpe records, gathered logits, replayed games, and what is said of bad arrays and records."""

import math
import threading

import cshogi
import numpy as np
import pytest
from cshogi.dlshogi import make_move_label
from encode_samples import START, random_boards

from fukayomi import _native
from fukayomi.shogi import IllegalMoveError, InvalidPackedError, Move, Position

SAMPLE = 2_000


def decode(records: np.ndarray) -> tuple[np.ndarray, ...]:
    """planes1, planes2, labels, results, values of records (cshogi's dtype)."""
    n = len(records)
    out = (np.zeros((n, 628), np.uint8), np.zeros((n, 8), np.uint8), np.zeros(n, np.uint16))
    out += (np.zeros(n, np.float32), np.zeros(n, np.float32))
    _native.decode_hcpe(records.view(np.uint8).reshape(n, 38), *out)
    return out


@pytest.fixture(scope="module")
def sample() -> tuple[np.ndarray, list[int], list[int]]:
    """Records of random games, the side to move of each (0 Black), and cshogi's label of each best move."""
    rng = np.random.default_rng(31)
    records = np.zeros(SAMPLE, cshogi.HuffmanCodedPosAndEval)
    turns, labels = [], []
    boards = (board for board in random_boards(31) if list(board.legal_moves))
    for record, board in zip(records, boards, strict=False):
        hcp = np.zeros(1, cshogi.HuffmanCodedPos)
        board.to_hcp(hcp)
        record["hcp"] = hcp["hcp"][0]
        move = rng.choice(list(board.legal_moves))
        record["bestMove16"] = np.uint16(cshogi.move16(move)).astype(np.int16)
        turns.append(board.turn)
        labels.append(make_move_label(move, board.turn))
    records["eval"] = rng.integers(-32768, 32768, SAMPLE)
    records["gameResult"] = rng.integers(0, 3, SAMPLE)
    return records, turns, labels


def test_targets_of_records(sample):
    records, turns, labels = sample
    planes1, planes2, got_labels, results, values = decode(records)
    hcps = np.ascontiguousarray(records["hcp"])
    expected1, expected2 = np.zeros_like(planes1), np.zeros_like(planes2)
    _native.decode_hcp(hcps, expected1, expected2)
    assert np.array_equal(planes1, expected1)
    assert np.array_equal(planes2, expected2)
    assert got_labels.tolist() == labels
    points = {0: (0.5, 0.5), 1: (1.0, 0.0), 2: (0.0, 1.0)}  # of Black and White
    assert results.tolist() == [points[int(r)][t] for r, t in zip(records["gameResult"], turns, strict=True)]
    expected_values = [1 / (1 + math.exp(-int(e) / 756.0864962951762)) for e in records["eval"]]
    assert np.allclose(values, expected_values, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("hcp", 0, "both kings on one square"),
        ("gameResult", 3, "the result 3 is not"),
        ("gameResult", -1, "the result 255 is not"),
        ("bestMove16", 1 << 7 | 1, "is no move"),  # from a square to itself
        ("bestMove16", -1, "is no move"),
        ("bestMove16", 127, "is no move"),
        ("bestMove16", 88 << 7, "is no move"),  # a king is dropped
        ("bestMove16", 81 << 7 | 1 << 14, "is no move"),  # a promoted pawn is dropped
        ("bestMove16", 2 << 7 | 40, "is no move"),  # 1c to 5e lies on no line
        ("bestMove16", Move.from_usi("3c3d").raw, "'?3c3d'? is not possible"),  # not the mover's piece
        ("bestMove16", Move.from_usi("5e5d").raw, "is not possible"),  # from an empty square
        ("bestMove16", Move.from_usi("9i9g").raw, "is not possible"),  # onto an own piece
        ("bestMove16", Move.from_usi("P*5e").raw, "is not possible"),  # nothing in hand
    ],
)
def test_a_bad_record_is_named(field: str, value: int, reason: str):
    records = np.zeros(3, cshogi.HuffmanCodedPosAndEval)
    records["hcp"] = np.frombuffer(_native.encode_hcp(Position()), np.uint8)
    records["bestMove16"] = Move.from_usi("7g7f").raw
    decode(records)
    records[1:2][field] = value
    with pytest.raises(InvalidPackedError, match=f"^record 1: .*{reason}"):
        decode(records)


def test_a_drop_onto_a_piece_is_rejected():
    records = np.zeros(1, cshogi.HuffmanCodedPosAndEval)
    pos = Position.from_sfen("4k4/9/9/9/9/9/9/4G4/4K4 w g 1")
    records["hcp"] = np.frombuffer(_native.encode_hcp(pos), np.uint8)
    for usi in ("G*5h", "G*5a"):
        records["bestMove16"] = Move.from_usi(usi).raw
        with pytest.raises(InvalidPackedError, match=r"record 0: .* is not possible"):
            decode(records)
    records["bestMove16"] = Move.from_usi("G*5b").raw
    assert decode(records)[2][0] == 26 * 81 + 80 - Move.from_usi("G*5b").to_square


def test_no_records_give_no_rows_and_leave_other_arrays_alone():
    decoded = decode(np.zeros(0, cshogi.HuffmanCodedPosAndEval))
    assert [array.shape for array in decoded] == [(0, 628), (0, 8), (0,), (0,), (0,)]
    labels = np.full(1, 7, np.uint16)
    nothing = (np.zeros((0, 628), np.uint8), np.zeros((0, 8), np.uint8), labels, np.zeros(0, np.float32))
    with pytest.raises(ValueError, match="0 and 1"):
        _native.decode_hcpe(np.zeros((0, 38), np.uint8), *nothing, np.zeros(0, np.float32))
    assert labels[0] == 7


def test_wrong_arrays_are_rejected_before_anything_is_written():
    hcps = np.frombuffer(_native.encode_hcp(Position()) * 2, np.uint8).reshape(2, 32)
    planes1, planes2 = np.zeros((2, 628), np.uint8), np.zeros((2, 8), np.uint8)
    with pytest.raises(ValueError, match="2 and 1"):
        _native.decode_hcp(hcps, planes1, planes2[:1])
    read_only = planes1.copy()
    read_only.flags.writeable = False
    wrong = [planes1[:, :627], planes1.astype(np.uint16), np.zeros((2, 1256), np.uint8)[:, ::2], planes1[0], read_only]
    for bad in wrong:
        with pytest.raises(TypeError, match="shape=\\(\\*, 628\\)"):
            _native.decode_hcp(hcps, bad, planes2)
    assert not planes1.any()
    assert not planes2.any()


def test_gathered_logits():
    rng = np.random.default_rng(1)
    policy = rng.normal(size=(3, 2187)).astype(np.float32)
    labels = rng.integers(0, 2187, (3, 593), np.uint16)
    counts = np.array([0, 5, 593], np.uint16)
    logits = np.full((3, 593), -1, np.float32)
    _native.gather_logits(policy, labels, counts, logits)
    for row, count in enumerate(counts):
        assert np.array_equal(logits[row, :count], policy[row, labels[row, :count]])
        assert (logits[row, count:] == -1).all()


def test_labels_and_counts_out_of_range_are_named():
    policy, logits = np.zeros((2, 2187), np.float32), np.zeros((2, 593), np.float32)
    labels, counts = np.zeros((2, 593), np.uint16), np.array([3, 3], np.uint16)
    labels[1, 2] = 2187
    with pytest.raises(ValueError, match="row 1, move 2: the label 2187 is above 2186"):
        _native.gather_logits(policy, labels, counts, logits)
    with pytest.raises(ValueError, match="row 0: the count 594 is above 593"):
        _native.gather_logits(policy, labels, np.array([594, 0], np.uint16), logits)
    labels[1, 2], labels[1, 3] = 0, 65535  # beyond the count nothing is read
    _native.gather_logits(policy, labels, counts, logits)


def test_a_game_replays_to_its_codes():
    pos = Position.from_sfen(START)
    moves, expected = [], [_native.encode_hcp(pos)]
    for move in ("7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"):
        moves.append(pos.push_usi(move).raw)
        expected.append(_native.encode_hcp(pos))
    hcps = _native.encode_game_hcps(Position(), np.array(moves, np.uint16))
    assert hcps.shape == (6, 32)
    assert [row.tobytes() for row in hcps] == expected
    assert _native.encode_game_hcps(pos, np.zeros(0, np.uint16)).tobytes() == expected[-1]


@pytest.mark.parametrize("raw", [Move.from_usi("7g7e").raw, 0, 0xFFFF, 127 << 7, 81 << 7 | 127])
def test_an_illegal_move_of_a_game_is_named(raw: int):
    moves = np.array([Move.from_usi("7g7f").raw, Move.from_usi("3c3d").raw, raw], np.uint16)
    with pytest.raises(IllegalMoveError, match=r"^move 2: "):
        _native.encode_game_hcps(Position(), moves)


def test_batches_run_beside_each_other():
    records = np.zeros(20_000, cshogi.HuffmanCodedPosAndEval)
    records["hcp"] = np.frombuffer(_native.encode_hcp(Position()), np.uint8)
    records["bestMove16"] = Move.from_usi("7g7f").raw
    outputs: list[tuple[np.ndarray, ...]] = []
    threads = [threading.Thread(target=lambda: outputs.append(decode(records))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 4
    assert all((output[2] == 59).all() for output in outputs)
