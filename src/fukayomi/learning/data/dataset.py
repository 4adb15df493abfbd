"""`Dataset`: training data in files, as samples, arrays, batches, or a torch dataset."""

import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import EVAL_SCALE, NO_POLICY_LABEL, POLICY_LABELS
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.table import UnknownDataError, detect_data, refusal
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import problem_of
from fukayomi.learning.data.batch import Batch, HeadArrays, Part, epoch_order, prefetch
from fukayomi.learning.data.sources import AveragedPositions, Games, Rows, Source
from fukayomi.learning.layers import LayerError, find_layer, find_layer_weights, is_layer, layers_of, weights_of
from fukayomi.learning.settings import TEMPERATURE, TrainingError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Move, Position
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.learning.data.tensors import TorchDataset
    from fukayomi.nn.config import HeadName

_ROWS = {DataFormat.HCPE: HCPE, DataFormat.HCPE2: HCPE, DataFormat.PSV: PSV}
_KINDS = (*_ROWS, DataFormat.HCPE3, DataFormat.AVERAGES)
MOST_N_STEP = 100
"""Largest number of plies of n-step values."""
MOST_REPEATS = 100
"""Largest number of times that an epoch visits the positions of the files, if it is longer than MOST_VISITS."""
MOST_VISITS = 1 << 28
"""Positions of an epoch that weights may make of any files; their order takes 1 GiB."""


@dataclass(frozen=True)
class Sample:
    """One position with its targets, from the view of the side to move."""

    position: Position
    """The position."""
    move: Move | None
    """The move played; in avg, the move with the most visits; None in a row of psv without a move."""
    eval_cp: int
    """Evaluation in centipawns; 30000 or more is a mate."""
    result: float
    """Result of the game: 1 win, 0.5 draw, 0 loss; the mean in avg."""
    value: float
    """Win probability that the evaluation stands for, 0 to 1."""
    policy: dict[Move, float]
    """Policy target; the weights add up to 1. Empty without a move."""


class Dataset:
    """Training positions in hcpe, hcpe2, hcpe3, psv and avg files, read in any order without loading the files.

    Positions are numbered in a fixed order: hcpe, hcpe2 and psv rows first, then hcpe3, then avg, the files of a group
    in the order given. In hcpe3, moves without candidates and moves into a repetition within 16 plies are left out.
    Rows of psv whose move is 0 have a value and no policy: only the value is learned from them.

        >>> import tempfile
        >>> from fukayomi.data import write_data
        >>> from fukayomi.data.formats.psv import psv_record
        >>> file = Path(tempfile.mkdtemp(), "games.psv")
        >>> moves = ("7g7f", "2g2f", "5g5f")
        >>> write_data(file, [psv_record(Position().sfen(), move, score_cp=60, ply=1, result=1) for move in moves])
        3
        >>> data = Dataset(file)
        >>> len(data), data[0].move, data[0].eval_cp, data[0].result
        (3, Move.from_usi('7g7f'), 60, 1.0)
        >>> batch = data.arrays([2, 0])
        >>> batch.features()[0].shape, batch.policy().shape, batch.results
        ((2, 62, 9, 9), (2, 2187), array([1., 1.], dtype=float32))
        >>> [len(batch) for batch in data.batches(2)]
        [2, 1]
    """

    def __init__(
        self,
        *paths: str | PathLike[str],
        weights: Sequence[float] | None = None,
        temperature: float = TEMPERATURE,
        eval_scale: float | None = EVAL_SCALE,
        layer: str | None = None,
        n_step: int = 0,
        position_weights: bool = True,
        listener: Listener = SILENT,
    ) -> None:
        """Open files. hcpe3 games are replayed and avg checksums compared, so that damage is found now.

        Args:
            paths: The files; the format is recognised by the content.
            weights: For each file, how often an epoch of training visits its positions: 2 is twice, 0.5 is a half of
                them, another one each time. None: once.
            temperature: In hcpe3 and avg, the policy weight of a move is proportional to visits^(1/temperature); 0
                puts all weight on the move with the most visits.
            eval_scale: Centipawns in 1 / (1 + exp(-eval / eval_scale)); None fits it to the results of each file. avg
                files hold win probabilities, to which it does not apply.
            layer: Name of a layer (`fukayomi reanalyze`): hcpe3 files that have it take their targets from there.
            n_step: In hcpe3, take the value of a position from the evaluation so many plies later, seen by the same
                side, or from the result if the game ends before; 0: from its own. Moves without candidates are
                passed over, and games of one move keep their own evaluations.
            position_weights: Whether positions have the weights of the file beside their games, as ``fukayomi
                selfplay`` and ``fukayomi reanalyze`` write it (``games.weights.npy``); those of a layer multiply them.
            listener: Follows the reading of hcpe3 files.

        Raises:
            LayerError: No file has the layer; or one is damaged, or was made from other games.
            DataFileError: A file is missing, empty, damaged or of another format, or weights do not fit their games;
                the message says where.
            ValueError: There are no paths, or a setting is out of range.
        """
        if not paths:
            raise InvalidValueError("a dataset needs at least one file")
        if not temperature >= 0:
            raise InvalidValueError(f"temperature must be 0 or more, not {temperature}")
        if eval_scale is not None and not 0 < eval_scale < float("inf"):
            raise InvalidValueError(f"eval_scale must be positive, not {eval_scale}")
        if not 0 <= n_step <= MOST_N_STEP:
            raise InvalidValueError(f"n_step must be 0 to {MOST_N_STEP}, not {n_step}")
        weights = [1.0] * len(paths) if weights is None else list(weights)
        if len(weights) != len(paths) or not all(0 < weight < float("inf") for weight in weights):
            raise InvalidValueError(f"each of the {counted(len(paths), 'file')} needs a positive weight, not {weights}")
        # Plain numbers, for checkpoints cannot hold NumPy's.
        temperature, eval_scale = float(temperature), None if eval_scale is None else float(eval_scale)
        n_step = operator.index(n_step)
        self.paths, self.weights = tuple(map(Path, paths)), tuple(map(float, weights))
        self.temperature, self.eval_scale, self.layer, self.n_step = temperature, eval_scale, layer, n_step
        self.position_weights = bool(position_weights)
        kinds = [(path, kind_of_data(path)) for path in self.paths]
        rows = Rows([(path, _ROWS[kind]) for path, kind in kinds if kind in _ROWS], eval_scale)
        averages = [AveragedPositions(path, temperature) for path, kind in kinds if kind is DataFormat.AVERAGES]
        games = [path for path, kind in kinds if kind is DataFormat.HCPE3]
        files = games if layer is None else _layered(games, layer, listener)
        weight_files = [_weight_files(*each) if position_weights else [] for each in zip(games, files, strict=True)]
        self._games = Games(files, temperature, eval_scale, n_step, weight_files, listener)
        if with_weights := sum(map(bool, weight_files)):
            listener.note(f"{with_weights} of {counted(len(games), 'hcpe3 file')} have weights of positions")
        self._sources: tuple[Source, ...] = (rows, self._games, *averages)
        self._starts = np.cumsum([0, *map(len, self._sources)])
        groups = (_ROWS.keys(), (DataFormat.HCPE3,), (DataFormat.AVERAGES,))  # as the positions are numbered
        given = [(path, kind, weight) for (path, kind), weight in zip(kinds, weights, strict=True)]
        ordered = [(path, weight) for group in groups for path, kind, weight in given if kind in group]
        sizes = [size for source in self._sources for size in source.sizes]
        starts = np.cumsum([0, *sizes]).tolist()
        chosen = [None] * len(rows.sizes) + _with_weight(self._games) + [None] * len(averages)
        self._parts = tuple(map(Part, starts, sizes, [weight for _, weight in ordered], chosen))
        self._check_visits(ordered)

    def _check_visits(self, files: Sequence[tuple[Path, float]]) -> None:
        """Raise ValueError if the order of an epoch would fill the memory: it has a number for each visit."""
        visits = [part.size * part.weight for part in self._parts]
        limit = max(MOST_VISITS, MOST_REPEATS * len(self))
        if sum(visits) > limit:
            path, weight = files[visits.index(max(visits))]
            raise InvalidValueError(
                f"{path}*{weight:g}: an epoch would visit {sum(visits):.3g} positions; with weights it may visit at "
                f"most {limit:,}: give a smaller weight"
            )

    def __len__(self) -> int:
        """Number of positions."""
        return int(self._starts[-1])

    def __repr__(self) -> str:
        files = str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"
        return f"<Dataset {files}: {counted(len(self), 'position')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Memory maps would be pickled with their content; a worker process opens the files again.
        return _open, (
            self.paths, self.weights, self.temperature, self.eval_scale, self.layer, self.n_step, self.position_weights
        )  # fmt: skip

    @property
    def epoch_size(self) -> int:
        """Positions of one epoch of training: the number of positions, unless files have weights.

        Positions of weight 0 are not visited.
        """
        return sum(part.visits for part in self._parts)

    @property
    def weightless(self) -> int:
        """Positions of weight 0, which teach nothing."""
        return sum(part.count - part.size for part in self._parts)

    def epoch_order(self, seed: int, epoch: int) -> NDArray[np.unsignedinteger[Any]]:
        """The position numbers of an epoch in their order, [epoch_size]; a function of seed and epoch."""
        return epoch_order(self._parts, seed, epoch)

    @property
    def repetitions(self) -> int:
        """Positions of hcpe3 that are left out because their move leads into a repetition within 16 plies."""
        return self._games.index.repetitions

    @property
    def games(self) -> int:
        """Games of hcpe3 files with several training positions."""
        return int((self._games.lengths > 1).sum())

    def groups(self, block: int) -> NDArray[np.int64]:
        """The positions that belong together: the games of hcpe3 files, and blocks where games cannot be told apart.

        hcpe3 files that were made from rows have a game for each position: these are in blocks too.

        Args:
            block: Positions of a block.

        Returns:
            The number of the first position of each group, [G], ascending.
        """
        parts = [
            start + (self._games.groups(block) if source is self._games else np.arange(0, len(source), block))
            for source, start in zip(self._sources, self._starts, strict=False)
        ]
        return np.concatenate(parts).astype(np.int64)

    @property
    def index_bytes(self) -> int:
        """Memory that the index of hcpe3 files takes."""
        return self._games.index.bytes

    def __getitem__(self, index: int) -> Sample:
        """One position with its targets.

        Raises:
            IndexError: There is no such position.
            DataFileError: Its record is damaged.
        """
        index = range(len(self))[operator.index(index)]
        number = int(self._owners(np.array([index]))[0])
        batch = self.arrays([index])
        record = self._sources[number].find(index - int(self._starts[number]))
        position = _native.position_from_hcp(record.hcp)
        moves = dict(zip(position.legal_labels().tolist(), position.legal_moves, strict=True))
        for move in record.candidates:
            moves.setdefault(_native.policy_label(position.turn, move), move)
        label = int(batch.labels[0])
        most_visited = None if label == NO_POLICY_LABEL else moves[label]
        return Sample(
            position,
            most_visited if record.move is None else record.move,
            record.eval_cp,
            float(batch.results[0]),
            float(batch.values[0]),
            {moves[place]: weight for place, weight in zip(batch.places.tolist(), batch.weights.tolist(), strict=True)},
        )

    @property
    def has_choices(self) -> bool:
        """True if there are policy targets of several moves: visits in hcpe3 or avg, at a temperature above 0."""
        averages = any(isinstance(source, AveragedPositions) and source.has_choices for source in self._sources)
        return self.temperature > 0 and (self._games.index.choices > 0 or averages)

    @property
    def has_following_moves(self) -> bool:
        """True if there are hcpe3 files of whole games, in which it is known how a position went on."""
        return self._games.index.continued > 0

    def arrays(self, indices: Sequence[int] | NDArray[np.integer[Any]], *, heads: bool = False) -> Batch:
        """The positions with these numbers as NumPy arrays, in this order.

        Args:
            indices: Position numbers, [N], each 0 to len - 1.
            heads: Add the targets of further heads, `Batch.heads`.

        Raises:
            IndexError: There is no such position.
            TypeError: The indices are not a list of integers.
            DataFileError: A record is damaged or an hcpe3 file has changed; the message names the file and record.
        """
        given = np.asarray(indices)
        if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
            raise TypeError(
                f"position numbers are a list of integers, not {given.dtype} {list(given.shape)}; "
                "np.flatnonzero makes them of a mask"
            )
        chosen = given.astype(np.int64)
        if len(chosen) == 0:
            empty = Batch.empty(0)
            return replace(empty, heads=HeadArrays.unknown(empty.results)) if heads else empty
        if chosen.min() < 0 or chosen.max() >= len(self):
            raise IndexError(f"positions are numbered 0 to {len(self) - 1}, not {chosen.min()} to {chosen.max()}")
        batch = self._decode(chosen)
        if heads:
            batch = replace(batch, heads=self._head_arrays(chosen, batch.results))
        if (weights := self._position_weights(chosen)) is not None:
            batch = replace(batch, position_weights=weights)
        return batch

    def _position_weights(self, chosen: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """The weights of positions, [N]; None if no file has any."""
        if self._games.weights is None:
            return None
        found, numbers = np.ones(len(chosen), np.float32), chosen - self._starts[self._sources.index(self._games)]
        is_game = (numbers >= 0) & (numbers < len(self._games))
        found[is_game] = self._games.weights[numbers[is_game]]
        return found

    def _head_arrays(self, chosen: NDArray[np.int64], results: NDArray[np.float32]) -> HeadArrays:
        """Targets of further heads for positions with these results."""
        arrays, owners = HeadArrays.unknown(results), self._owners(chosen)
        for owner in map(int, np.unique(owners)):
            rows = np.flatnonzero(owners == owner)
            part = self._sources[owner].heads(chosen[rows] - self._starts[owner], results[rows])
            for name, array in vars(part).items():
                getattr(arrays, name)[rows] = array
        return arrays

    def _decode(self, chosen: NDArray[np.int64]) -> Batch:
        """The positions with these numbers, at least one."""
        owners = self._owners(chosen)
        first = int(owners[0])
        if (owners == first).all():
            return self._sources[first].decode(chosen - self._starts[first])
        batch = Batch.empty(len(chosen))
        places: list[NDArray[np.int32]] = []
        weights: list[NDArray[np.float32]] = []
        for owner in map(int, np.unique(owners)):
            rows = np.flatnonzero(owners == owner)
            part = self._sources[owner].decode(chosen[rows] - self._starts[owner])
            for name in ("planes1", "planes2", "labels", "results", "values"):
                getattr(batch, name)[rows] = getattr(part, name)
            row, label = np.divmod(part.places, POLICY_LABELS)
            places.append((rows[row] * POLICY_LABELS + label).astype(np.int32))
            weights.append(part.weights)
        joined = np.concatenate(places)
        by_row = np.argsort(joined // POLICY_LABELS, kind="stable")
        return Batch(
            batch.planes1, batch.planes2, batch.labels, batch.results, batch.values,
            joined[by_row], np.concatenate(weights)[by_row],
        )  # fmt: skip

    def batches(
        self, size: int, *, shuffle: bool = True, seed: int = 0, epoch: int = 0, drop_last: bool = False
    ) -> Iterator[Batch]:
        """Iterate over all positions once, or shuffled as often as the weights say; a thread decodes ahead.

        Args:
            size: Positions per batch.
            shuffle: Whether to visit the positions in random order.
            seed: Random seed; the same seed and epoch give the same order.
            epoch: Number of the pass; each has an order of its own.
            drop_last: Whether to leave out the last batch if it is not full.

        Raises:
            ValueError: The size is not positive.
            DataFileError: A record is damaged.
        """
        if size < 1:
            raise InvalidValueError(f"a batch has at least 1 position, not {size}")
        order = self.epoch_order(seed, epoch) if shuffle else np.arange(len(self))
        end = len(order) - len(order) % size if drop_last else len(order)
        return prefetch(self.arrays(order[first : first + size]) for first in range(0, end, size))

    def torch(self) -> "TorchDataset":
        """The positions as a map-style dataset for `torch.utils.data.DataLoader`; needs torch."""
        from fukayomi.learning.data.tensors import TorchDataset

        return TorchDataset(self)

    def _owners(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, indices, side="right") - 1


def _open(
    paths: Sequence[Path],
    weights: Sequence[float],
    temperature: float,
    eval_scale: float | None,
    layer: str | None,
    n_step: int,
    position_weights: bool,
) -> Dataset:
    return Dataset(
        *paths, weights=weights, temperature=temperature, eval_scale=eval_scale, layer=layer, n_step=n_step,
        position_weights=position_weights,
    )  # fmt: skip


def _weight_files(original: Path, file: Path) -> list[Path]:
    """The weights of games that are read from the original or from a layer of it."""
    files = [weights_of(original)] if weights_of(original).exists() else []
    of_layer = find_layer_weights(file) if file != original else None
    return files if of_layer is None else [*files, of_layer]


def _with_weight(games: Games) -> list[NDArray[np.uint32] | None]:
    """For each file of games, the numbers of its positions that have a weight above 0; None: all have."""
    if games.weights is None:
        return [None] * len(games.sizes)
    weighted = [np.flatnonzero(part).astype(np.uint32) for part in np.split(games.weights, np.cumsum(games.sizes)[:-1])]
    return [None if len(chosen) == size else chosen for chosen, size in zip(weighted, games.sizes, strict=True)]


def _layered(games: Sequence[Path], layer: str, listener: Listener) -> list[Path]:
    """The files of games to read: the layer where there is one, else the original."""
    for path in games:
        if is_layer(path):
            raise LayerError(f"{path} is a layer itself; name the original, and the layer that counts")
    found = [find_layer(path, layer) for path in games]
    with_layer = sum(path is not None for path in found)
    if with_layer == 0:
        others = sorted({name for path in games for name in layers_of(path)})
        there = f"; there are {', '.join(others)}" if others else ""
        raise LayerError(f"no file has the layer {layer!r}{there} (fukayomi reanalyze makes layers of hcpe3 files)")
    if with_layer < len(games):
        listener.note(f"{with_layer} of {len(games)} hcpe3 files have the layer {layer}; the others keep their targets")
    return [original if path is None else path for original, path in zip(games, found, strict=True)]


DatasetLike: TypeAlias = Dataset | str | PathLike[str] | Sequence[str | PathLike[str]]
"""Positions as functions of `fukayomi.learning` accept them: a dataset, a file of training data, or several files."""


def as_dataset(data: DatasetLike) -> Dataset:
    """The dataset, or one of these files with the usual settings.

    Raises:
        DataFileError, ValueError: As `Dataset`.
    """
    if isinstance(data, Dataset):
        return data
    return Dataset(data) if isinstance(data, str | PathLike) else Dataset(*data)


def kind_of_data(path: Path) -> DataFormat:
    """The format of training data, by its content.

    Raises:
        DataFileError: The file is missing, empty, or of a format that cannot be trained on.
    """
    if (problem := problem_of(path)) is not None:
        raise DataFileError(f"{path}: {problem}")
    if path.stat().st_size == 0:
        raise DataFileError(f"{path}: the file is empty")
    try:
        kind = detect_data(path)
    except UnknownDataError:
        by_name = {f".{kind}": kind for kind in _KINDS}.get(path.suffix.lower())
        if by_name is None:
            raise
        kind = by_name  # opening it says what is wrong
    if kind not in _KINDS:
        raise DataFileError(refusal(path, kind, "hcpe, hcpe2, hcpe3, psv and avg"))
    return kind


def require_targets(heads: "Collection[HeadName]", data: Dataset) -> None:
    """Raise TrainingError if a head has nothing to learn from in any of the files."""
    for name in heads:
        if not has_targets(name, data):
            following = "the moves that follow a position: hcpe3 files of whole games, as fukayomi data convert makes"
            visits = "policies of several moves: hcpe3 or avg files with visits, and a temperature above 0"
            needed = visits if name == "soft-policy" else following
            raise TrainingError(f"the head {name} needs {needed}")


def has_targets(head: "HeadName", data: Dataset) -> bool:
    """True if a head has something to learn from in one of the files."""
    if head == "soft-policy":
        return data.has_choices
    return head == "wdl" or data.has_following_moves
