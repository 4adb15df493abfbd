"""A sparse network in integers, defined slowly: number by number as native/sparse/network.hpp says."""

import math

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import SPARSE_ROWS, sparse_kept_rows
from fukayomi.files.sparse_network import SparseFile

PLACES = np.full(SPARSE_ROWS, -1)
"""By row: its place in the file, or -1."""
PLACES[sparse_kept_rows()] = np.arange(len(sparse_kept_rows()))
F = np.float32


def wrapped(number: int) -> int:
    return (number + 2**15) % 2**16 - 2**15


def numbers(sums: list[int], tops: list[int]) -> list[int]:
    half = len(sums) // 2
    found: list[int] = []
    for a, b, top_a, top_b in zip(sums[:half], sums[half:], tops[:half], tops[half:], strict=True):
        x, y = min(max(a, 0), top_a) * 64, min(max(b, 0), top_b) * 32
        factor = math.floor(127 * 2**20 / (top_a * top_b) + 0.5)
        found.append(((x * y // 2**16) * factor // 2**14 + 1) // 2)
    return found


def evaluate(
    file: SparseFile, rows: list[int], labels: list[int], groups: list[list[int]]
) -> tuple[NDArray[np.float32], float]:
    """The logits of the moves, and the win probability."""
    arrays, policy = file.arrays(), file.widths.policy
    places = [place for row in rows if (place := int(PLACES[row])) >= 0]
    table = arrays["table"][places].astype(np.int64)
    sums = [wrapped(int(x)) for x in arrays["bias"] + table.sum(axis=0)]
    tops = arrays["tops"].tolist()
    scales = arrays["scales"]

    of_policy = np.array(numbers(sums[:policy], tops[:policy]))
    logits: list[np.float32] = []
    for label, eight in zip(labels, groups, strict=True):
        bias = int(arrays["label_bias"][label]) + sum(int(arrays["group_bias"][row]) for row in eight)
        of_label = int(of_policy @ arrays["label_table"][label].astype(np.int64))
        of_groups = sum(
            int(of_policy[: file.widths.shared] @ arrays["group_table"][row].astype(np.int64)) for row in eight
        )
        logits.append(F(F(bias) * scales[1] + F(of_label) * arrays["label_scales"][label]) + F(of_groups) * scales[0])

    of_value = np.array(numbers(sums[policy:], tops[policy:]))
    hidden1: list[np.float32] = []
    for o in range(file.widths.hidden):
        first = int(of_value @ arrays["value_layer1"][o].astype(np.int64))
        hidden1.append(max(F(0), arrays["value_bias1"][o] + F(first) * arrays["value_scales1"][o]))
    logit = scales[3]
    for o in range(file.widths.hidden):
        second: np.float32 = arrays["value_bias2"][o]
        for i, x in enumerate(hidden1):
            second += x * arrays["value_layer2"][o, i]
        logit += max(F(0), second) * arrays["value_layer3"][o]
    logit += F(sum(int(arrays["value_rows"][place]) for place in places)) * scales[2]
    return np.array(logits, F), 1 / (1 + math.exp(-float(logit)))
