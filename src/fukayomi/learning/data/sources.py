"""Readers of training data by position number: hcpe, hcpe2 and psv rows, hcpe3 games, and averaged positions (avg).

Rows are memory-mapped. For hcpe3 the native core keeps a position every 16 moves and replays the moves from there, so
any order costs the same and needs no cache file. Opening an hcpe3 file replays all its games, and opening an avg file
compares its checksum: damage is known before training starts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import EVAL_SCALE, NO_POLICY_LABEL, POLICY_LABELS
from fukayomi.data.formats.averages import MOVE, POSITION, check_averages, read_averages
from fukayomi.data.formats.evaluations import EvalTally
from fukayomi.data.formats.format import DataFileError, map_rows
from fukayomi.data.formats.hcpe import HCPE, RESULT_FLAGS, without_flags
from fukayomi.data.formats.psv import psv_to_hcpe
from fukayomi.learning.data.batch import Batch, HeadArrays
from fukayomi.learning.layers import read_weights
from fukayomi.listener import Listener
from fukayomi.nn.config import SHORT_TERM_PLIES
from fukayomi.shogi import Move
from fukayomi.tabular import printable

_RESULT_AT = 36  # in an hcpe record
_INDEXED_BYTES = 4 << 20
_FITTED_ROWS = 1 << 20
_LOWEST_EVAL = -32_768


class FoundPosition(NamedTuple):
    """One position as its file has it."""

    hcp: bytes
    """The position."""
    move: Move | None
    """The move played; None in an averaged position, which has several, and in a row without one."""
    eval_cp: int
    """Evaluation in centipawns, from the side to move."""
    candidates: list[Move]
    """Moves of the policy that may be illegal, because nobody has checked them."""


class Source(ABC):
    """Positions numbered from 0."""

    sizes: list[int]
    """Positions of each file, in order."""

    def __len__(self) -> int:
        """Number of positions."""
        return sum(self.sizes)

    @abstractmethod
    def decode(self, indices: NDArray[np.int64]) -> Batch:
        """The positions with these numbers, in this order.

        Raises:
            DataFileError: A position or move is not valid; the message names the file and the record.
        """

    @abstractmethod
    def find(self, index: int) -> FoundPosition:
        """The position with this number, as its file has it."""

    def heads(self, indices: NDArray[np.int64], results: NDArray[np.float32]) -> HeadArrays:
        """Targets of further heads for the positions with these numbers and results.

        Raises:
            DataFileError: As for `decode`.
        """
        return HeadArrays.unknown(results)


class Rows(Source):
    """hcpe, hcpe2 and psv files. Result flags are dropped: the targets do not depend on them.

    Rows of psv without a move (0) have a value and no policy.
    """

    def __init__(self, files: Sequence[tuple[Path, np.dtype[np.void]]], eval_scale: float | None) -> None:
        """Map files into memory.

        Args:
            files: Paths, each with HCPE or PSV.
            eval_scale: Centipawns; None fits it to the results of each file.

        Raises:
            DataFileError: The size of a file is not a multiple of the record's.
        """
        self._paths = [path for path, _ in files]
        self._types = [dtype for _, dtype in files]
        # Bytes of one row are gathered faster than structures.
        self._rows = [map_rows(path, dtype).view(np.uint8).reshape(-1, dtype.itemsize) for path, dtype in files]
        self._starts = np.cumsum([0] + [len(rows) for rows in self._rows])
        self.sizes = [len(rows) for rows in self._rows]
        self._eval_scale = eval_scale

    def decode(self, indices: NDArray[np.int64]) -> Batch:
        return _name_fault(self._decode, indices, self._place)

    def find(self, index: int) -> FoundPosition:
        self.decode(np.array([index]))  # checks it
        row = self._records(np.array([index])).view(HCPE)[0, 0]
        raw = int(row["bestMove16"])
        move = Move.from_raw(raw) if raw else None
        return FoundPosition(row["hcp"].tobytes(), move, int(row["eval"]), [] if move is None else [move])

    def _decode(self, indices: NDArray[np.int64]) -> Batch:
        out = Batch.empty(len(indices))
        records = self._records(indices)
        scales = self._scales[np.searchsorted(self._starts, indices, side="right") - 1]
        _native.decode_hcpe(records, out.planes1, out.planes2, out.labels, out.results, out.values, scales)
        places = np.arange(len(indices), dtype=np.int32) * POLICY_LABELS + out.labels.astype(np.int32)
        places = places[out.labels != NO_POLICY_LABEL]
        return _with_policy(out, places, np.ones(len(places), np.float32))

    def _records(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        """hcpe: [N, 38]."""
        out = np.empty((len(indices), HCPE.itemsize), np.uint8)
        for rows, dtype, start in zip(self._rows, self._types, self._starts, strict=False):
            mine = (indices >= start) & (indices < start + len(rows))
            if mine.any():
                out[mine] = _to_hcpe(rows[indices[mine] - start], dtype)
        out[:, _RESULT_AT] &= ~np.uint8(RESULT_FLAGS)
        return out

    def _place(self, index: int) -> str:
        file = int(np.searchsorted(self._starts, index, side="right")) - 1
        number = index - int(self._starts[file])
        return f"{self._paths[file]}, record {number} (byte {number * self._types[file].itemsize})"

    @cached_property
    def _scales(self) -> NDArray[np.float64]:
        """[F]: centipawns, for each file."""
        if self._eval_scale is not None:
            return np.full(len(self._rows), self._eval_scale)
        return np.array(list(map(_fit_rows, self._rows, self._types)), np.float64)


def _to_hcpe(rows: NDArray[np.uint8], dtype: np.dtype[np.void]) -> NDArray[np.uint8]:
    """Rows of hcpe or psv, [N, 38] or [N, 40], as hcpe, [N, 38], where move 0 is none of psv."""
    if dtype == HCPE:
        if not np.ascontiguousarray(rows).view(dtype)["bestMove16"].all():
            raise DataFileError("invalid move 0")
        return rows
    return psv_to_hcpe(np.ascontiguousarray(rows).view(dtype)[:, 0]).view(np.uint8).reshape(-1, HCPE.itemsize)


def _fit_rows(rows: NDArray[np.uint8], dtype: np.dtype[np.void]) -> float:
    """The evaluation scale of a file; EVAL_SCALE if none fits."""
    tally = EvalTally()
    for first in range(0, len(rows), _FITTED_ROWS):
        records = np.ascontiguousarray(_to_hcpe(rows[first : first + _FITTED_ROWS], dtype))
        tally.add(without_flags(records.view(HCPE)[:, 0]))
    return tally.fit() or EVAL_SCALE


class Games(Source):
    """hcpe3 files. Moves without candidates, and moves into a repetition within 16 plies, are left out."""

    def __init__(
        self,
        paths: Sequence[Path],
        temperature: float,
        eval_scale: float | None,
        n_step: int,
        weights: Sequence[Sequence[Path]],
        listener: Listener,
    ) -> None:
        """Replay and index all games.

        Args:
            paths: The files.
            temperature: As `Dataset` has it, as the next two.
            eval_scale: Centipawns; None fits it.
            n_step: Plies.
            weights: For each file, files of weights of its positions, which are multiplied.
            listener: Follows the reading.

        Raises:
            DataFileError: A game or a file of weights is damaged, or no move of a file has candidates.
        """
        self.index = _native.GameIndex()
        self._temperature, self._eval_scale, self._n_step = temperature, eval_scale, n_step
        self.sizes = []
        self._outcomes: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # per file: evaluations, their results
        starts = np.cumsum([0, *(path.stat().st_size for path in paths)]).tolist()
        found: list[NDArray[np.float32] | None] = []
        for path, files, start, end in zip(paths, weights, starts, starts[1:], strict=False):
            done, more, before, left_out = start, True, len(self.index), self.index.repetitions
            self.index.add_file(np.memmap(path, np.uint8, mode="r"), printable(str(path)))
            try:
                while more:
                    more = self.index.read_on(_INDEXED_BYTES)
                    done = min(done + _INDEXED_BYTES, end) if more else end
                    listener.progress("reading games", done, starts[-1])
            except ValueError as error:
                raise DataFileError(str(error)) from error
            if len(self.index) == before:
                raise DataFileError(f"{path}: no move has candidates, so there is nothing to train on")
            counts = self.index.eval_counts.astype(np.int64)
            seen = np.flatnonzero(counts.any(axis=1))
            self._outcomes.append((seen + _LOWEST_EVAL, counts[seen]))
            self.sizes.append(len(self.index) - before)
            found.append(self._read_weights(files, before, left_out) if files else None)
        self.weights = _join_weights(found, self.sizes)
        """[N]: the weight of each position in the loss; None if no file has any."""

    def _read_weights(self, files: Sequence[Path], before: int, left_out: int) -> NDArray[np.float32]:
        """The weights of the last file's positions.

        Args:
            files: Files of weights.
            before: Positions of the files before.
            left_out: Positions of the files before that lead into a repetition.
        """
        # Positions that are left out have weights, too: the i-th comes after left[i] positions and i of its kind.
        left = self.index.left_out[left_out:].astype(np.int64) - before
        weights = [read_weights(file, len(self.index) - before + len(left)) for file in files]
        return np.delete(np.multiply.reduce(weights, dtype=np.float32), left + np.arange(len(left)))

    def decode(self, indices: NDArray[np.int64]) -> Batch:
        out = Batch.empty(len(indices))
        arrays = (out.planes1, out.planes2, out.labels, out.results, out.values)
        try:
            policy = self.index.decode(indices, *arrays, self._temperature, self._scales, self._n_step)
        except ValueError as error:
            raise DataFileError(str(error)) from error
        return _with_policy(out, *policy)

    def heads(self, indices: NDArray[np.int64], results: NDArray[np.float32]) -> HeadArrays:
        out, plies = HeadArrays.unknown(results), np.array(SHORT_TERM_PLIES, np.float64)
        try:
            self.index.follow(indices, out.replies, out.plies_left, out.short_term, plies, self._scales)
        except ValueError as error:
            raise DataFileError(str(error)) from error
        return out

    def find(self, index: int) -> FoundPosition:
        try:
            hcp, move, eval_cp = self.index.find(index)
        except ValueError as error:
            raise DataFileError(str(error)) from error
        return FoundPosition(hcp, Move.from_raw(move), eval_cp, [])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[G]: the positions of each game that has some; those of a game follow one another."""
        return np.diff(self.index.game_starts.astype(np.int64), append=len(self))

    def groups(self, block: int) -> NDArray[np.int64]:
        """The first positions of games and, of games with one position that follow one another, of blocks."""
        is_single = self.lengths == 1
        places = np.arange(len(is_single))
        longer = np.maximum.accumulate(np.where(is_single, -1, places))  # the last longer game before
        is_first = ~is_single | ((places - longer - 1) % block == 0)
        return (np.cumsum(self.lengths) - self.lengths)[is_first]

    @cached_property
    def _scales(self) -> NDArray[np.float64]:
        """[F]: centipawns, for each file."""
        if self._eval_scale is not None:
            return np.full(len(self._outcomes), self._eval_scale)
        return np.array([_fit_games(*outcomes) for outcomes in self._outcomes], np.float64)


def _join_weights(parts: Sequence[NDArray[np.float32] | None], sizes: Sequence[int]) -> NDArray[np.float32] | None:
    """The weights of all files' positions; None if no file has any."""
    if all(weights is None for weights in parts):
        return None
    return np.concatenate(
        [np.ones(size, np.float32) if one is None else one for one, size in zip(parts, sizes, strict=True)]
    )


def _fit_games(evals: NDArray[np.int64], outcomes: NDArray[np.int64]) -> float:
    """As _fit_rows."""
    tally = EvalTally()
    tally.add_outcomes(evals, outcomes)
    return tally.fit() or EVAL_SCALE


class AveragedPositions(Source):
    """One avg file. Its values are win probabilities, which need no scale."""

    def __init__(self, path: Path, temperature: float) -> None:
        """Compare the checksum.

        Raises:
            DataFileError: The file is damaged or has no positions.
        """
        self._path, self._temperature = path, temperature
        check_averages(path)
        self._averages = read_averages(path)
        if len(self._averages) == 0:
            raise DataFileError(f"{path}: no positions")
        self.sizes = [len(self._averages)]

    def decode(self, indices: NDArray[np.int64]) -> Batch:
        return _name_fault(self._decode, indices, lambda index: f"{self._path}, position {index}")

    @property
    def has_choices(self) -> bool:
        """True if there are positions with several moves."""
        return len(self._averages.moves) > len(self)

    def heads(self, indices: NDArray[np.int64], results: NDArray[np.float32]) -> HeadArrays:
        out, positions = HeadArrays.unknown(results), self._averages.take(indices).positions
        seen = positions["draws"].astype(np.float64) + positions["black_wins"] + positions["white_wins"]
        out.draws[:] = positions["draws"] / seen
        return out

    def find(self, index: int) -> FoundPosition:
        one = self._averages.take(np.array([index]))
        moves = [Move.from_raw(int(raw)) for raw in one.moves["move"]]
        return FoundPosition(one.positions["hcp"][0].tobytes(), None, int(one.evals()[0]), moves)

    def _decode(self, indices: NDArray[np.int64]) -> Batch:
        out = Batch.empty(len(indices))
        chosen = self._averages.take(indices)
        policy = _native.decode_averages(
            chosen.positions.view(np.uint8).reshape(-1, POSITION.itemsize),
            chosen.moves.view(np.uint8).reshape(-1, MOVE.itemsize),
            out.planes1, out.planes2, out.labels, out.results, out.values, self._temperature,
        )  # fmt: skip
        return _with_policy(out, *policy)


def _with_policy(batch: Batch, places: NDArray[np.int32], weights: NDArray[np.float32]) -> Batch:
    return Batch(batch.planes1, batch.planes2, batch.labels, batch.results, batch.values, places, weights)


def _name_fault(
    decode: Callable[[NDArray[np.int64]], Batch], indices: NDArray[np.int64], place: Callable[[int], str]
) -> Batch:
    """Decode positions; an error names the place of the first one that cannot be decoded on its own."""
    try:
        return decode(indices)
    except ValueError as error:
        if len(indices) == 1:
            reason = str(error).removeprefix("record 0: ")
            raise DataFileError(f"{place(int(indices[0]))}: {reason}") from error
        for index in indices:
            _name_fault(decode, np.array([index]), place)
        raise
