"""Training positions by number, out of hcpe (hcpe2 too), hcpe3 and avg files, in any order.

Rows of hcpe and avg lie where their number says. For hcpe3 the native core keeps a position every 16 moves and replays
the few moves from there to the one that is asked for; so any order costs the same, and nothing but the file is on the
disk. Every hcpe3 file is read once, when it is opened, and every game in it replayed; of avg the checksum is compared:
so damage is known before training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.convert.detect import DataFormat, UnknownDataError, detect_data
from fukayomi.data.convert.refusals import refusal
from fukayomi.data.formats.averages import MOVE, POSITION, AveragesError, check_averages, read_averages
from fukayomi.data.formats.evalfix import EVAL_SCALE, EvalTally
from fukayomi.data.formats.hcpe import HCPE, ResultFlag, without_flags

RECORD_BYTES = 38
_RESULT_AT = 36  # in a record
_FLAG_BITS = np.uint8(ResultFlag.REPETITION | ResultFlag.DECLARATION | ResultFlag.MAX_PLIES)
PACKED1_BYTES = 628
PACKED2_BYTES = 8
POLICY_LABELS = 2187
_INDEXED_AT_ONCE = 4 << 20  # bytes
_COUNTED_AT_ONCE = 1 << 20  # records
_LOWEST_EVAL = -32_768
_KINDS = (DataFormat.HCPE, DataFormat.HCPE2, DataFormat.HCPE3, DataFormat.AVERAGES)


class TrainingDataError(ValueError):
    """A file of training positions that cannot be used."""


@dataclass(frozen=True)
class TargetSettings:
    """How visits and evaluations become targets.

    Attributes:
        temperature: A candidate weighs visits^(1/temperature); 0: the one with the most visits alone.
        eval_scale: Centipawns in 1 / (1 + exp(-eval / scale)); None: fitted to the results of each file. Files of
            averages have chances of winning, of which the scale is known.
    """

    temperature: float = 1.0
    eval_scale: float | None = EVAL_SCALE

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise TrainingDataError(f"the temperature must be 0 or more, not {self.temperature}")
        if self.eval_scale is not None and not 0 < self.eval_scale < float("inf"):
            raise TrainingDataError(f"the evaluation scale must be positive, not {self.eval_scale}")


DEFAULT_TARGETS = TargetSettings()


@dataclass(frozen=True)
class Decoded:
    """N positions with targets, as Batch has them; the policy has C entries in all."""

    planes1: NDArray[np.uint8]
    planes2: NDArray[np.uint8]
    labels: NDArray[np.uint16]
    results: NDArray[np.float32]
    values: NDArray[np.float32]
    places: NDArray[np.int32]
    """[C]: row * 2187 + label."""
    weights: NDArray[np.float32]
    """[C]; those of a row add up to 1."""

    @classmethod
    def empty(cls, rows: int) -> "Decoded":
        """Room for so many positions."""
        return cls(
            np.empty((rows, PACKED1_BYTES), np.uint8),
            np.empty((rows, PACKED2_BYTES), np.uint8),
            np.empty(rows, np.uint16),
            np.empty(rows, np.float32),
            np.empty(rows, np.float32),
            np.empty(0, np.int32),
            np.empty(0, np.float32),
        )

    def followed_by(self, other: "Decoded") -> "Decoded":
        """Both, one after the other."""
        shifted = other.places + np.int32(len(self.labels) * POLICY_LABELS)
        return Decoded(
            np.concatenate([self.planes1, other.planes1]),
            np.concatenate([self.planes2, other.planes2]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.results, other.results]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.places, shifted]),
            np.concatenate([self.weights, other.weights]),
        )


class PositionFiles:
    """Files read as one array of training positions: all of hcpe first, then all of hcpe3, then each avg."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Open files; hcpe3 and avg files are read and checked.

        Raises:
            TrainingDataError: A file is missing, empty, damaged, or of another format; the message says where.
        """
        self.paths = tuple(paths)
        by_kind: dict[DataFormat, list[Path]] = {kind: [] for kind in _KINDS}
        for path in paths:
            kind = _kind_of(path)
            by_kind[DataFormat.HCPE if kind is DataFormat.HCPE2 else kind].append(path)
        self._games = _GameFiles(by_kind[DataFormat.HCPE3])
        averages = [_AverageFile(path) for path in by_kind[DataFormat.AVERAGES]]
        self._parts = (_RowFiles(by_kind[DataFormat.HCPE]), self._games, *averages)
        self._starts = np.cumsum([0, *map(len, self._parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def repetitions(self) -> int:
        """Positions of hcpe3 that are left out because their move leads into a repetition within 16 plies."""
        return self._games.index.repetitions

    @property
    def index_bytes(self) -> int:
        """Memory that the index of hcpe3 files takes."""
        return self._games.index.bytes

    def decode(self, indices: NDArray[np.int64], targets: TargetSettings = DEFAULT_TARGETS) -> Decoded:
        """The positions of these numbers, in this order, but those of hcpe, hcpe3 and each avg together.

        Raises:
            TrainingDataError: A row holds no legal position or no possible move, or an hcpe3 file was changed.
        """
        owners = np.searchsorted(self._starts, indices, side="right") - 1
        decoded = [
            part.decode(indices[owners == number] - self._starts[number], targets)
            for number, part in enumerate(self._parts)
            if (owners == number).any()
        ]
        return reduce(Decoded.followed_by, decoded) if decoded else Decoded.empty(0)


def _kind_of(path: Path) -> DataFormat:
    """One of _KINDS."""
    if not path.is_file():
        raise TrainingDataError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise TrainingDataError(f"{path}: the file is empty")
    try:
        kind = detect_data(path)
    except UnknownDataError as error:
        by_name = {f".{kind}": kind for kind in _KINDS}.get(path.suffix.lower())
        if by_name is None:
            raise TrainingDataError(str(error)) from error
        kind = by_name  # whose reader says what is wrong
    if kind not in _KINDS:
        raise TrainingDataError(refusal(path, kind, "hcpe, hcpe2, hcpe3 and avg"))
    return kind


class _RowFiles:
    """hcpe and hcpe2 files, memory-mapped; flags of results are left out, as nothing is learnt from them."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._maps = [_map_records(path) for path in paths]
        self._starts = np.cumsum([0] + [len(records) for records in self._maps])
        self._fitted: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return int(self._starts[-1])

    def decode(self, indices: NDArray[np.int64], targets: TargetSettings) -> Decoded:
        out = Decoded.empty(len(indices))
        records = self._records(indices)
        scales = self._scales(targets)[np.searchsorted(self._starts, indices, side="right") - 1]
        try:
            _native.decode_hcpe(records, out.planes1, out.planes2, out.labels, out.results, out.values, scales)
        except ValueError as error:
            raise TrainingDataError(self._locate(indices, records, error)) from error
        places = np.arange(len(indices), dtype=np.int32) * POLICY_LABELS + out.labels.astype(np.int32)
        weights = np.ones(len(indices), np.float32)
        return Decoded(out.planes1, out.planes2, out.labels, out.results, out.values, places, weights)

    def _records(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        out = np.empty((len(indices), RECORD_BYTES), np.uint8)
        for records, start in zip(self._maps, self._starts, strict=False):
            mine = (indices >= start) & (indices < start + len(records))
            out[mine] = records[indices[mine] - start]
        out[:, _RESULT_AT] &= ~_FLAG_BITS
        return out

    def _scales(self, targets: TargetSettings) -> NDArray[np.float64]:
        if targets.eval_scale is not None:
            return np.full(len(self._maps), targets.eval_scale)
        if self._fitted is None:
            self._fitted = np.array([_fit_rows(records) for records in self._maps], np.float64)
        return self._fitted

    def _locate(self, indices: NDArray[np.int64], records: NDArray[np.uint8], error: ValueError) -> str:
        """The message for the first record that does not decode on its own."""
        for row, index in enumerate(map(int, indices)):
            one = Decoded.empty(1)
            try:
                _native.decode_hcpe(
                    records[row : row + 1], one.planes1, one.planes2, one.labels, one.results, one.values
                )
            except ValueError as alone:
                file = int(np.searchsorted(self._starts, index, side="right")) - 1
                number = index - int(self._starts[file])
                return f"{self._paths[file]}, record {number} (byte {number * RECORD_BYTES}): {alone}"
        return f"{self._paths[0]}: {error}"


def _map_records(path: Path) -> NDArray[np.uint8]:
    size = path.stat().st_size
    if size % RECORD_BYTES:
        raise TrainingDataError(
            f"{path}: {size} bytes are no whole number of hcpe records of {RECORD_BYTES} bytes; "
            f"{size % RECORD_BYTES} bytes are left over after record {size // RECORD_BYTES - 1}"
        )
    return np.memmap(path, np.uint8, mode="r").reshape(-1, RECORD_BYTES)


def _fit_rows(records: NDArray[np.uint8]) -> float:
    """The scale of a file's evaluations; EVAL_SCALE where nothing fits."""
    tally = EvalTally()
    for first in range(0, len(records), _COUNTED_AT_ONCE):
        part = np.ascontiguousarray(records[first : first + _COUNTED_AT_ONCE])
        tally.add(without_flags(part.view(HCPE).reshape(-1)))
    return tally.fit() or EVAL_SCALE


class _GameFiles:
    """hcpe3 files, memory-mapped and indexed."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.index = _native.GameIndex()
        self._outcomes: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # evaluations and their results, by file
        self._fitted: NDArray[np.float64] | None = None
        for path in paths:
            before = len(self.index)
            self.index.add_file(np.memmap(path, np.uint8, mode="r"), str(path))
            try:
                while self.index.read_on(_INDEXED_AT_ONCE):
                    pass
            except ValueError as error:
                raise TrainingDataError(str(error)) from error
            if len(self.index) == before:
                raise TrainingDataError(f"{path}: no move has candidates, so there is nothing to train from")
            counts = self.index.eval_counts.astype(np.int64)
            seen = np.flatnonzero(counts.any(axis=1))
            self._outcomes.append((seen + _LOWEST_EVAL, counts[seen]))

    def __len__(self) -> int:
        return len(self.index)

    def decode(self, indices: NDArray[np.int64], targets: TargetSettings) -> Decoded:
        out = Decoded.empty(len(indices))
        scales = self._scales(targets)
        try:
            places, weights = self.index.decode(
                indices, out.planes1, out.planes2, out.labels, out.results, out.values, targets.temperature, scales
            )
        except ValueError as error:
            raise TrainingDataError(str(error)) from error
        return Decoded(out.planes1, out.planes2, out.labels, out.results, out.values, places, weights)

    def _scales(self, targets: TargetSettings) -> NDArray[np.float64]:
        if targets.eval_scale is not None:
            return np.full(len(self._outcomes), targets.eval_scale)
        if self._fitted is None:
            self._fitted = np.array([_fit_games(*outcomes) for outcomes in self._outcomes], np.float64)
        return self._fitted


def _fit_games(evals: NDArray[np.int64], outcomes: NDArray[np.int64]) -> float:
    """As _fit_rows."""
    tally = EvalTally()
    tally.add_outcomes(evals, outcomes)
    return tally.fit() or EVAL_SCALE


class _AverageFile:
    """Averaged positions, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            check_averages(path)
            self._averages = read_averages(path)
        except AveragesError as error:
            raise TrainingDataError(str(error)) from error
        if len(self._averages) == 0:
            raise TrainingDataError(f"{path}: there is no position in it")

    def __len__(self) -> int:
        return len(self._averages)

    def decode(self, indices: NDArray[np.int64], targets: TargetSettings) -> Decoded:
        try:
            return self._decode(indices, targets)
        except ValueError as error:
            if len(indices) == 1:
                reason = str(error).removeprefix("record 0: ")
                raise TrainingDataError(f"{self._path}, position {indices[0]}: {reason}") from error
            for index in indices:
                self.decode(np.array([index]), targets)  # one of them raises
            raise

    def _decode(self, indices: NDArray[np.int64], targets: TargetSettings) -> Decoded:
        out = Decoded.empty(len(indices))
        chosen = self._averages.take(indices)
        places, weights = _native.decode_averages(
            chosen.positions.view(np.uint8).reshape(-1, POSITION.itemsize),
            chosen.moves.view(np.uint8).reshape(-1, MOVE.itemsize),
            out.planes1, out.planes2, out.labels, out.results, out.values, targets.temperature,
        )  # fmt: skip
        return Decoded(out.planes1, out.planes2, out.labels, out.results, out.values, places, weights)
