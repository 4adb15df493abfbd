"""Sparse networks as files in integers: what `native/sparse/network.hpp` computes with.

What counts is the error of sums on positions of games, not that of single weights. A column of the table has steps of
its own: 64 to 1023 of them are 1, where the accumulator is clipped. Few steps hold large weights, many hold small ones
exactly; those are taken that err least where rows are weighted by how often they occur, and that no position of a game
drives out of 16 bits. The bias takes up the mean error. Rows of moves are rounded so that their products with the
policy's numbers stay what they are (`nn/rounding.py`). All groups share one step, and the few largest weights are
clipped. Weights at the nearest step cost a trained network four times as much of its policy loss
(docs/measurements/precision.md).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from fukayomi._native import SPARSE_ROWS, sparse_kept_rows
from fukayomi.files.atomic import replace_file
from fukayomi.files.sparse_network import SparseFile, SparseFileError, SparseWidths, read_sparse_file, sparse_file_bytes
from fukayomi.nn.parameters import ExportError, require_finite
from fukayomi.nn.rounding import rounded_together
from fukayomi.nn.sparse import BLOCK, CONTENTS, SQUARE_ROWS, SQUARES, SparseConfig, SparseNetwork, SparsePositions

NUMBER = 127
"""A number of 1 in a file's network."""
MIN_TOP, MAX_TOP = 64, 1023
_TOPS = np.unique(np.geomspace(MIN_TOP, MAX_TOP, 32).astype(np.int64))
MOST_THREATS, MOST_ZONE_ATTACKERS = 100, 128
"""Rows of these kinds that a position has at most: 1.2 million positions of games and searches had 90 and 120."""
LARGEST_SUM = 2**15 - 1
"""Of an accumulator; beyond it a sum would come out with the other sign."""
_FAR = float(2**40)
"""Beyond every sum that fits."""
_HAND_ROWS, _ZONE_PLACES = 57, 50
_PIECES = [18, 4, 4, 4, 2, 2, 4, 1, 18, 4, 4, 4, 2, 2]  # in a game, of the kinds of each side
_Floats = NDArray[np.float32]
_Doubles = NDArray[np.float64]


def save_sparse(network: SparseNetwork, path: Path | str, positions: SparsePositions) -> None:
    """Write a network in integers; an existing file is replaced once the new one is complete.

    Args:
        network: The network.
        path: The file.
        positions: Some thousand of games, on which the errors of rounding are measured.

    Raises:
        ExportError: A parameter is not finite, or an accumulator too large for 16 bits.
        DiskError: The disk is full.
        OSError: The file cannot be written.
    """
    require_finite(network.state_dict())
    config = network.config
    widths = SparseWidths(**dict(config))
    kept = sparse_kept_rows()
    columns = _Columns(
        _rows(network.table())[kept],
        np.concatenate([_numpy(network.policy_accumulators.bias), _numpy(network.value_accumulators.bias)]),
        np.bincount(positions.rows, minlength=SPARSE_ROWS)[kept] / len(positions),
    )
    tops = columns.within_reach(columns.best_tops(), kept)
    table, bias = columns.in_steps(tops)
    arrays: dict[str, NDArray[Any]] = {"tops": tops.astype(np.uint16), "bias": bias.astype(np.int16), "table": table}
    with torch.no_grad():
        numbers = _numpy(network.policy_accumulators(positions)).astype(np.float64)
    products = numbers.T @ numbers / len(numbers)
    label_table = _rows(network.label_table).astype(np.float64)
    label_steps = np.array([_step(row, np.int8) for row in label_table])
    arrays["label_table"] = rounded_together(label_table, label_steps, products)
    arrays["label_scales"] = (label_steps / NUMBER).astype(np.float32)
    group_step, arrays["group_table"] = _rounded_groups(
        _rows(network.group_table).astype(np.float64),
        products[: config.shared, : config.shared],
        np.bincount(positions.groups.ravel(), minlength=network.group_table.shape[1]),
    )
    biases = [_numpy(network.label_bias), _numpy(network.group_bias)]
    bias_step, in_steps = _scaled(np.concatenate(biases), np.int16)
    arrays["label_bias"], arrays["group_bias"] = np.split(in_steps, [len(biases[0])])
    row_step, arrays["value_rows"] = _scaled(_numpy(network.value_rows[0]).sum(axis=1)[kept], np.int16)
    layer1 = [_scaled(row, np.int16) for row in _numpy(network.value_layer1.weight)]
    arrays["value_layer1"] = np.array([row for _, row in layer1])
    arrays["value_scales1"] = np.array([step / NUMBER for step, _ in layer1], np.float32)
    arrays["value_bias1"] = _numpy(network.value_layer1.bias)
    arrays["value_layer2"] = _numpy(network.value_layer2.weight)
    arrays["value_bias2"] = _numpy(network.value_layer2.bias)
    arrays["value_layer3"] = _numpy(network.value_layer3.weight)[0]
    scales = [group_step / NUMBER, bias_step, row_step, network.value_layer3.bias.item()]
    arrays["scales"] = np.array(scales + [0.0] * (16 - len(scales)), np.float32)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    replace_file(Path(path), bytes(sparse_file_bytes(widths, arrays)))


def load_sparse(path: Path | str) -> SparseNetwork:
    """The network of a file, in floats, for training further.

    Rows that the file leaves out are zeros, and the parts of a square's row are in its accumulators' `squares`.

    Raises:
        SparseFileError: The file is missing, damaged, or something else.
    """
    file = read_sparse_file(path)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        network = _network(file)
    for name, parameter in network.named_parameters():
        if not parameter.isfinite().all():
            raise SparseFileError(f"{path}: no sparse network that can be used: {name} is not finite")
    return network


def _network(file: SparseFile) -> SparseNetwork:
    arrays = file.arrays()
    config = SparseConfig(**{name: getattr(file.widths, name) for name in SparseConfig.model_fields})
    network = SparseNetwork(config)
    scales = arrays["scales"]
    kept = sparse_kept_rows()
    table = np.zeros((SPARSE_ROWS, config.policy + config.value), np.float32)
    table[kept] = arrays["table"] / arrays["tops"].astype(np.float32)
    value_rows = np.zeros((1, SPARSE_ROWS, BLOCK), np.float32)
    value_rows[0, kept, 0] = arrays["value_rows"] * scales[2]
    bias = arrays["bias"] / arrays["tops"].astype(np.float32)
    parameters: dict[str, NDArray[Any]] = {
        "policy_accumulators.squares": _blocks(table[:SQUARE_ROWS, : config.policy]),
        "policy_accumulators.others": _blocks(table[SQUARE_ROWS:, : config.policy]),
        "policy_accumulators.bias": bias[: config.policy],
        "value_accumulators.squares": _blocks(table[:SQUARE_ROWS, config.policy :]),
        "value_accumulators.others": _blocks(table[SQUARE_ROWS:, config.policy :]),
        "value_accumulators.bias": bias[config.policy :],
        "label_table": _blocks(arrays["label_table"] * (arrays["label_scales"][:, None] * NUMBER)),
        "label_bias": arrays["label_bias"] * scales[1],
        "group_table": _blocks(arrays["group_table"] * (scales[0] * NUMBER)),
        "group_bias": arrays["group_bias"] * scales[1],
        "value_layer1.weight": arrays["value_layer1"] * (arrays["value_scales1"][:, None] * NUMBER),
        "value_layer1.bias": arrays["value_bias1"],
        "value_layer2.weight": arrays["value_layer2"],
        "value_layer2.bias": arrays["value_bias2"],
        "value_layer3.weight": arrays["value_layer3"][None],
        "value_layer3.bias": scales[3:4],
        "value_rows": value_rows,
    }
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            found = parameters.get(name)
            if found is None:
                parameter.zero_()
            else:
                parameter.copy_(torch.as_tensor(np.array(found, np.float32)).reshape(parameter.shape))
    return network


def _numpy(tensor: torch.Tensor) -> _Floats:
    return cast("_Floats", tensor.detach().cpu().numpy())


def _rows(table: torch.Tensor) -> _Floats:
    """[blocks, rows, BLOCK] as [rows, columns]."""
    return _numpy(table.permute(1, 0, 2).flatten(1))


def _blocks(rows: _Floats) -> _Floats:
    """[rows, columns] as [blocks, rows, BLOCK]."""
    return rows.reshape(len(rows), -1, BLOCK).transpose(1, 0, 2)


def _rounded(numbers: NDArray[Any], kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    most = np.iinfo(kind).max
    return np.clip(np.rint(numbers), -most, most).astype(kind)


def _step(numbers: NDArray[Any], kind: type[np.signedinteger[Any]]) -> float:
    """The least step with which the integers hold all numbers."""
    return float(np.abs(numbers).max(initial=0)) / np.iinfo(kind).max or 1.0


def _scaled(numbers: NDArray[Any], kind: type[np.signedinteger[Any]]) -> tuple[float, NDArray[Any]]:
    """A step and the numbers in steps."""
    step = _step(numbers, kind)
    return step, _rounded(numbers / step, kind)


def _rounded_groups(table: _Doubles, products: _Doubles, counts: NDArray[np.int64]) -> tuple[float, NDArray[np.int8]]:
    """The step of all groups with which the logits of moves that occur err least, and the table in it."""
    most = _step(table, np.int8)
    best: tuple[float, float, NDArray[np.int8]] | None = None
    for step in most * np.linspace(0.2, 1, 17):
        rounded = rounded_together(table, np.full(len(table), step), products)
        errors = rounded * step - table
        error = float(counts @ ((errors @ products) * errors).sum(axis=1))
        if best is None or error < best[0]:
            best = error, float(step), rounded
    assert best is not None
    return best[1:]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The table in floats."""

    table: _Floats
    """[rows, columns]."""
    bias: _Floats
    """[columns]."""
    frequencies: _Doubles
    """How often a row occurs in a position, [rows]."""

    def best_tops(self) -> NDArray[np.int64]:
        """For each column, the steps with the least sum of squared errors."""
        best: list[int] = []
        weights = (self.frequencies + 1e-4).astype(np.float32)  # what did not occur may do so elsewhere
        for column in range(0, self.table.shape[1], BLOCK):  # a block stays in the cache
            block = np.ascontiguousarray(self.table[:, column : column + BLOCK])
            errors = [
                weights @ np.square(np.clip(np.rint(block * top), -127, 127) / top - block)
                for top in _TOPS.astype(np.float32)
            ]
            best.extend(_TOPS[np.argmin(errors, axis=0)].tolist())
        return np.array(best)

    def in_steps(
        self, tops: NDArray[np.int64], columns: "NDArray[np.int64] | slice" = slice(None)
    ) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """The rows and the bias of columns that have such steps."""
        exact = self.table[:, columns] * tops
        rows = _rounded(exact, np.int8)
        error = self.frequencies @ (rows - exact)
        starts = np.clip(np.rint(self.bias[columns] * tops - error), -_FAR, _FAR)  # as far out of reach as any other
        return rows, starts.astype(np.int64)

    def within_reach(self, tops: NDArray[np.int64], kept: NDArray[np.uint16]) -> NDArray[np.int64]:
        """The steps, fewer for columns whose sums could leave 16 bits.

        Raises:
            ExportError: They could do so with the fewest steps, too.
        """
        tops, columns = tops.copy(), np.arange(len(tops))
        while len(columns):
            rows = np.zeros((SPARSE_ROWS, len(columns)), np.int16)
            rows[kept], starts = self.in_steps(tops[columns], columns)
            reached = np.maximum(largest_sums(rows) + starts, largest_sums(-rows) - starts)
            columns, reached = columns[reached > LARGEST_SUM], reached[reached > LARGEST_SUM]
            if (tops[columns] == MIN_TOP).any():
                worst = int(np.argmax(reached))
                raise ExportError(
                    f"accumulator {columns[worst]} could reach {reached[worst]:,.0f} steps, and 16 bits hold "
                    f"{LARGEST_SUM:,}: its weights or its bias are far beyond the range 0 to 1 in which it counts; "
                    "train with a lower learning rate or with weight decay"
                )
            tops[columns] = _TOPS[np.searchsorted(_TOPS, tops[columns]) - 1]
        return tops


def largest_sums(rows: NDArray[np.int16]) -> NDArray[np.int64]:
    """The most that the rows of a position can add up to in each column, [columns], 0 at least.

    A position has a row for each square at most, one for what stands in each place of a zone, and no more threats and
    attackers in zones than positions of games have; no more threats to a kind of piece by another than there are pieces
    of the first.

    Args:
        rows: The table, [SPARSE_ROWS, columns].
    """
    columns = rows.shape[1]
    of_hands = SQUARE_ROWS + _HAND_ROWS
    of_threats = of_hands + len(_PIECES) ** 2 * 4
    zones = rows[of_threats:].reshape(_ZONE_PLACES, -1, columns)
    threats = np.repeat(rows[of_hands:of_threats], np.repeat(_PIECES * 2, 2 * len(_PIECES)), axis=0)
    found = [
        rows[:SQUARE_ROWS].reshape(-1, SQUARES, columns).max(axis=0),
        rows[SQUARE_ROWS:of_hands],
        _largest(threats, MOST_THREATS),
        zones[:, :CONTENTS].max(axis=1),
        _largest(zones[:, CONTENTS:].reshape(-1, columns), MOST_ZONE_ATTACKERS),
    ]
    return sum((part.clip(0).sum(axis=0, dtype=np.int64) for part in found), np.zeros(columns, np.int64))


def _largest(rows: NDArray[np.int16], count: int) -> NDArray[np.int16]:
    """The largest numbers of each column."""
    return np.partition(rows, len(rows) - count, axis=0)[len(rows) - count :]
