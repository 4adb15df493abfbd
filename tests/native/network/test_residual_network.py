"""Residual networks in the native core, from arrays: no library beside numpy, so that the sanitizers can watch."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi._native import NetworkRunner, PlaneInput, ResidualNetwork, cpu_instructions, encode_position
from fukayomi.engine.evaluators.protocol import PlaneSlot
from fukayomi.shogi import Position


def small_network(scale: float = 0.1, **changed: object) -> ResidualNetwork:
    """A network of one block with 16 channels, from the arrays that the core takes."""
    random = np.random.default_rng(3)

    def array(*shape: int) -> np.ndarray:
        return (scale * random.normal(size=shape)).astype(np.float32)

    arguments = {
        "activation": "relu", "stem1": array(16, 62, 3, 3), "stem2": array(16, 57), "stem_bias": array(16),
        "tower": array(2, 16, 16, 3, 3), "tower_bias": array(2, 16), "policy": array(27, 16),
        "policy_bias": array(2187), "value": array(4, 16), "value_bias": array(4), "hidden": array(8, 4 * 81),
        "hidden_bias": array(8), "last": array(8), "last_bias": 0.0,
    }  # fmt: skip
    return ResidualNetwork(**(arguments | changed))


COMPUTED = [(precision, each) for precision in ("fp32", "int16") for each in cpu_instructions(precision)]
"""Each precision with the instructions that have it."""
PRECISIONS = sorted({precision for precision, _ in COMPUTED})


def run(network: ResidualNetwork, slot: PlaneSlot, n: int, threads: int = 1) -> bool:
    runner = NetworkRunner(network, threads)
    return runner.run(slot.input, n, slot.logits, slot.values)


def real_slot(rows: int) -> PlaneSlot:
    """A slot with positions of a game and their legal moves."""
    slot, position = PlaneSlot.zeros(rows), Position()
    for row in range(rows):
        slot.input.write(row, position, position.legal_moves)
        position.push(position.legal_moves[7 * row % len(position.legal_moves)])
    return slot


@pytest.mark.parametrize(("precision", "instructions"), COMPUTED)
def test_numbers_that_overflow_are_noticed(precision: str, instructions: str) -> None:
    kind = {"precision": precision, "instructions": instructions}
    assert run(small_network(**kind), real_slot(2), 2)
    slot = real_slot(2)
    assert not run(small_network(1e12, **kind), slot, 2)
    slot.input.counts[:] = 0  # the value alone
    assert not run(small_network(1e12, **kind), slot, 2)


@given(rows=st.integers(1, 40), threads=st.integers(1, 5), precision=st.sampled_from(PRECISIONS))
@settings(max_examples=40, deadline=None)
def test_a_result_depends_on_the_position_alone(rows: int, threads: int, precision: str) -> None:
    network, together = small_network(precision=precision), real_slot(rows)
    assert run(network, together, rows, threads)
    alone = real_slot(rows)
    for row in range(rows):
        arrays = (alone.input.planes1, alone.input.planes2, alone.input.labels, alone.input.counts)
        rows_of = [array[row : row + 1] for array in arrays]
        part = PlaneSlot(PlaneInput(*rows_of), alone.logits[row : row + 1], alone.values[row : row + 1])
        assert run(network, part, 1)
    np.testing.assert_array_equal(together.logits, alone.logits)
    np.testing.assert_array_equal(together.values, alone.values)


@pytest.mark.parametrize("activation", ["relu", "silu"])
@pytest.mark.parametrize(("precision", "instructions"), COMPUTED)
def test_all_instructions_agree(precision: str, instructions: str, activation: str) -> None:
    slots = [real_slot(9), real_slot(9)]
    for slot, name in zip(slots, (instructions, cpu_instructions(precision)[0]), strict=True):
        assert run(small_network(activation=activation, precision=precision, instructions=name), slot, 9)
    np.testing.assert_allclose(slots[0].logits, slots[1].logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slots[0].values, slots[1].values, atol=1e-6)


def test_int16_is_not_for_instructions_that_gain_nothing_from_it() -> None:
    for name in set(cpu_instructions()) - set(cpu_instructions("int16")):
        with pytest.raises(ValueError, match=f"this processor has no {name} for this precision"):
            small_network(precision="int16", instructions=name)
    with pytest.raises(ValueError, match="precision must be fp32 or int16, not int8"):
        cpu_instructions("int8")


@pytest.mark.parametrize("threads", [1, 3])
def test_labels_and_counts_are_checked(threads: int) -> None:
    slot = PlaneSlot.zeros(3)
    slot.input.counts[2], slot.input.labels[2, 1] = 2, 2187
    with pytest.raises(ValueError, match="row 2, move 1: the label 2187 is above 2186"):
        run(small_network(), slot, 3, threads)
    slot.input.counts[2] = 594
    with pytest.raises(ValueError, match="row 2: the count 594 is above 593"):
        run(small_network(), slot, 3, threads)
    slot.input.counts[2] = 0
    assert run(small_network(), slot, 3, threads)
    with pytest.raises(ValueError, match="rows"):
        run(small_network(), slot, 4, threads)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"activation": "tanh"}, "relu or silu"),
        ({"stem2": np.zeros((16, 56), np.float32)}, "57 or 58"),
        ({"stem2": np.zeros((15, 57), np.float32)}, r"stem2 is \[15, 57\]; it must be \[16, 57\]"),
        ({"tower": np.zeros((3, 16, 16, 3, 3), np.float32)}, "two convolutions"),
        ({"tower": np.zeros((2, 16, 15, 3, 3), np.float32)}, "tower is"),
        ({"tower_bias": np.zeros((2, 15), np.float32)}, "tower_bias is"),
        ({"policy": np.zeros((26, 16), np.float32)}, "policy is"),
        ({"policy_bias": np.zeros(2186, np.float32)}, r"policy_bias is \[2186\]; it must be \[2187\]"),
        ({"value": np.zeros((5, 16), np.float32)}, r"value_bias is \[4\]; it must be \[5\]"),
        ({"hidden": np.zeros((0, 324), np.float32)}, "hidden units"),
        ({"last": np.zeros(7, np.float32)}, "last is"),
        ({"policy": np.zeros((16, 27), np.float32)}, "policy is"),
        ({"last_bias": float("nan")}, "last_bias is not finite"),
        ({"instructions": "AVX-1024"}, "has no AVX-1024"),
        ({"precision": "int8"}, "precision must be fp32 or int16, not int8"),
    ],
)
def test_sizes_must_fit(changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_network(**changed)


@pytest.mark.parametrize("threads", [0, 1025])
def test_threads_of_a_runner(threads: int) -> None:
    with pytest.raises(ValueError, match="1 to 1024"):
        NetworkRunner(small_network(), threads)


def sums(network: "dict[str, np.ndarray]", planes: Sequence[np.ndarray]) -> np.ndarray:
    """A 3x3 convolution by plain sums."""
    kernel, board = network["kernel"], np.pad(planes[0], ((0, 0), (1, 1), (1, 1)))
    out = np.zeros((len(kernel), 9, 9))
    for i in range(3):
        for j in range(3):
            out += np.einsum("oc,cxy->oxy", kernel[:, :, i, j], board[:, i : i + 9, j : j + 9])
    return out


ROUNDING = {"fp32": 1e-5, "int16": 5e-3}
"""What a block's output may differ from the plain sum, as a share of the largest."""


@pytest.mark.parametrize(("precision", "instructions"), COMPUTED)
@pytest.mark.parametrize("kernel", ["random", "one sign", "one channel", "zero"])
def test_a_block_is_the_plain_sum(precision: str, instructions: str, kernel: str) -> None:
    """Winograd's algorithm against sums over the kernel, seen through the policy of one position.

    Kernels of one sign make the largest sums that there can be; with one channel the scale of int16 comes from the
    largest weight.
    """
    random = np.random.default_rng(8)
    tower = (0.3 * random.normal(size=(2, 16, 16, 3, 3))).astype(np.float32)
    if kernel == "one sign":
        tower = np.abs(tower)
    elif kernel == "one channel":
        tower[:, :, 1:] = 0
    elif kernel == "zero":
        tower[:] = 0
    bias = (0.3 * random.normal(size=(2, 16))).astype(np.float32)
    policy = np.eye(27, 16, dtype=np.float32)
    stem1 = (0.3 * random.normal(size=(16, 62, 3, 3))).astype(np.float32)
    network = small_network(
        stem1=stem1, stem2=np.zeros((16, 57), np.float32), stem_bias=np.zeros(16, np.float32), tower=tower,
        tower_bias=bias, policy=policy, policy_bias=np.zeros(2187, np.float32), precision=precision,
        instructions=instructions,
    )  # fmt: skip
    position = Position.from_sfen("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")
    slot = PlaneSlot.zeros(3)
    slot.input.planes1[0], slot.input.planes2[0] = encode_position(position)
    slot.input.planes1[1:], slot.input.planes2[1:] = slot.input.planes1[0], slot.input.planes2[0]
    for row in range(3):  # all 16 channels on every square, in batches of three
        wanted = range(row * 593, min((row + 1) * 593, 16 * 81))
        slot.input.counts[row] = len(wanted)
        slot.input.labels[row, : len(wanted)] = wanted
    assert run(network, slot, 3)
    found = np.concatenate([slot.logits[row, : slot.input.counts[row]] for row in range(3)]).reshape(16, 9, 9)
    planes, _ = position.planes()
    x = np.maximum(sums({"kernel": stem1}, [planes]), 0)
    y = np.maximum(sums({"kernel": tower[0]}, [x]) + bias[0][:, None, None], 0)
    expected = np.maximum(x + sums({"kernel": tower[1]}, [y]) + bias[1][:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING[precision] * expected.max())
