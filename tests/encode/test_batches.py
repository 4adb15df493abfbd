"""Batched decoding against cshogi: the planes, labels and targets of positions from random games."""

import random

import cshogi
import numpy as np
import pytest
from cshogi.dlshogi import make_input_features, make_move_label

from fukayomi import _native

SAMPLE = 500


@pytest.fixture(scope="module")
def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Records uint8 [N, 38] of random games, and cshogi's features1, features2 and labels of them."""
    rng = random.Random(1)
    records = np.zeros(SAMPLE, cshogi.HuffmanCodedPosAndEval)
    features1 = np.zeros((SAMPLE, 62, 9, 9), np.float32)
    features2 = np.zeros((SAMPLE, 57, 9, 9), np.float32)
    labels = np.zeros(SAMPLE, np.uint16)
    board = cshogi.Board()
    for i in range(SAMPLE):
        if board.is_game_over() or rng.random() < 0.005:
            board.reset()
        move = rng.choice(list(board.legal_moves))
        board.to_hcp(records[i : i + 1]["hcp"])
        records[i]["bestMove16"] = np.uint16(cshogi.move16(move)).astype(np.int16)
        make_input_features(board, features1[i], features2[i])
        labels[i] = make_move_label(move, board.turn)
        board.push(move)
    return records.view(np.uint8).reshape(SAMPLE, 38), features1, features2, labels


def test_records_decode_as_cshogi_does(sample):
    records, features1, features2, labels = sample
    planes1, planes2 = np.zeros((SAMPLE, 628), np.uint8), np.zeros((SAMPLE, 8), np.uint8)
    got_labels, results = np.zeros(SAMPLE, np.uint16), np.zeros(SAMPLE, np.float32)
    values = np.zeros(SAMPLE, np.float32)
    _native.decode_hcpe(records, planes1, planes2, got_labels, results, values)
    got1, got2 = np.zeros_like(features1), np.zeros_like(features2)
    _native.unpack_planes(planes1, planes2, got1, got2)
    assert np.array_equal(got1, features1)
    assert np.array_equal(got2, features2)
    assert np.array_equal(got_labels, labels)
    assert (results == 0.5).all()
    assert (values == 0.5).all()
