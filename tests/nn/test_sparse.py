"""The sparse network beside plain torch, and its gradients beside autograd's."""

import doctest
import random

import numpy as np
import pytest
import torch
from network_samples import shaken_sparse
from sparse_positions import random_position

from fukayomi._native import MOVE_ROWS, SPARSE_LABELS, SPARSE_ROWS, encode_hcp, sparse_batch
from fukayomi.nn import sparse
from fukayomi.nn.sparse import SparseConfig, SparseNetwork, SparsePositions

CONFIG = SparseConfig(policy=128, value=64, shared=32, hidden=8)


def read(count: int, threads: int = 1) -> tuple[SparsePositions, torch.Tensor]:
    """Positions of random games, with random candidates, and the shares of their visits."""
    source = random.Random(5)
    hcps, offsets, moves, visits = [], [0], [], []
    for n in range(count):
        position = random_position(n)
        hcps.append(np.frombuffer(encode_hcp(position), np.uint8))
        legal = position.legal_moves
        chosen = source.sample(legal, min(3, len(legal)))
        moves += [move.raw for move in chosen]
        visits += [source.randint(1, 100) for _ in chosen]
        offsets.append(len(moves))
    *found, shares = sparse_batch(
        np.array(hcps), np.array(offsets), np.array(moves, np.uint16), np.array(visits, np.uint16), threads
    )
    return SparsePositions(*found), torch.from_numpy(shares)


def plain(network: SparseNetwork, positions: SparsePositions) -> tuple[torch.Tensor, torch.Tensor]:
    """The outputs by plain torch."""
    config = network.config
    table = network.table().permute(1, 0, 2).reshape(SPARSE_ROWS, config.policy + config.value)
    bias = torch.cat([network.policy_accumulators.bias, network.value_accumulators.bias])
    labels = network.label_table.permute(1, 0, 2).reshape(SPARSE_LABELS, config.policy // 2)
    groups = network.group_table.permute(1, 0, 2).reshape(MOVE_ROWS, config.shared)
    skips = network.value_rows[0].sum(dim=1)
    logits, values = [], []
    for n in range(len(positions)):
        rows = positions.rows[positions.row_offsets[n] : positions.row_offsets[n + 1]].astype(np.int64)
        sums = (bias + table[rows].sum(dim=0)).clamp(0, 1)
        first, second = sums[: config.policy].chunk(2)
        hidden = first * second
        moves = slice(positions.move_offsets[n], positions.move_offsets[n + 1])
        label, group = positions.labels[moves].astype(np.int64), positions.groups[moves].astype(np.int64)
        logits.append(
            labels[label] @ hidden + network.label_bias[label]
            + groups[group].sum(dim=1) @ hidden[: config.shared] + network.group_bias[group].sum(dim=1)
        )  # fmt: skip
        first, second = sums[config.policy :].chunk(2)
        inner = torch.relu(network.value_layer1(first * second))
        values.append(network.value_layer3(torch.relu(network.value_layer2(inner))) + skips[rows].sum())
    return torch.cat(logits), torch.cat(values)


def test_outputs_and_gradients() -> None:
    network = shaken_sparse(CONFIG)
    positions, shares = read(20)
    weights = torch.randn(len(positions.labels)) * shares
    found = {}
    for name, outputs in (("native", network(positions)), ("plain", plain(network, positions))):
        network.zero_grad()
        (outputs[0] @ weights + outputs[1].square().sum()).backward()
        gradients = {key: p.grad.clone() for key, p in network.named_parameters() if p.grad is not None}
        found[name] = (*(output.detach() for output in outputs), gradients)
    for native, expected in zip(found["native"][:2], found["plain"][:2], strict=True):
        torch.testing.assert_close(native, expected, rtol=1e-4, atol=1e-5)
    assert found["native"][2].keys() == found["plain"][2].keys() == dict(network.named_parameters()).keys()
    for key, gradient in found["native"][2].items():
        torch.testing.assert_close(gradient, found["plain"][2][key], rtol=1e-3, atol=1e-4, msg=key)


def test_the_number_of_threads_changes_no_bit() -> None:
    results = []
    for threads in (1, 3):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            network = shaken_sparse(CONFIG)
            positions, _ = read(300, threads)
            logits, values = network(positions)
            (logits.square().sum() + values.sum()).backward()
        finally:
            torch.set_num_threads(before)
        assert network.policy_accumulators.squares.grad is not None
        assert network.group_table.grad is not None
        results.append((positions, logits, network.group_table.grad))
    (first, logits, gradient), (second, other_logits, other_gradient) = results
    assert (first.rows == second.rows).all()
    assert (first.groups == second.groups).all()
    assert torch.equal(logits, other_logits)
    assert torch.equal(gradient, other_gradient)


def test_shares_are_those_of_the_visits() -> None:
    positions, shares = read(50)
    for n in range(len(positions)):
        moves = slice(positions.move_offsets[n], positions.move_offsets[n + 1])
        assert float(shares[moves].sum()) == pytest.approx(1.0)
        assert 1 <= int((shares[moves] > 0).sum()) <= 3


def test_the_example() -> None:
    assert doctest.testmod(sparse).failed == 0
