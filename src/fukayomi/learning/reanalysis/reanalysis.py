"""`reanalyze`: a layer of new targets for each of some hcpe3 files, each as a resumable job.

A job has four stages. "reading" replays the games, counts their positions and hashes the file. "scoring" compares the
stored targets with the network's policy, where the choice needs that. "searching" makes a label of each chosen position
and appends it to a file of the job. "writing" reads the games again and puts the labels into them.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import __version__
from fukayomi.data.convert.blocks import Inputs, open_inputs
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.jobs.job import Job
from fukayomi.data.records.reading import Skipped
from fukayomi.engine.control import Control, Limits
from fukayomi.engine.evaluation import evaluate_packed, rows_at_once
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.network import Network
from fukayomi.engine.search import Searcher
from fukayomi.files.inputs import file_sha256
from fukayomi.learning.labelling.inputs import Batch, read_batches
from fukayomi.learning.labelling.labellers import Labeller, StoppedError, tree_memory_mb
from fukayomi.learning.labelling.labelling import LABELLING, READING, WRITING, run_searches
from fukayomi.learning.labelling.labels import Label, read_labels
from fukayomi.learning.labelling.settings import Plies
from fukayomi.learning.layers import (
    LayerError,
    LayerInfo,
    encode_weights,
    find_layer,
    is_layer,
    layer_path,
    read_layer_info,
    sidecar_of,
    weights_of,
)
from fukayomi.learning.reanalysis.selection import chances_by_surprise, draw, surprise_of
from fukayomi.learning.reanalysis.settings import ReanalysisError, ReanalysisSettings, Root, Selection
from fukayomi.learning.reanalysis.targets import labels_of_evaluation, renew
from fukayomi.listener import SILENT, Forwarder, Listener
from fukayomi.shogi import Position
from fukayomi.tabular import Tabular, counted

COUNTING, SCORING = "counting", "scoring"
DEFAULT = ReanalysisSettings()


@dataclass(frozen=True, slots=True, repr=False)
class Reanalysis(Tabular):
    """Result of a reanalysis. As a table it has a row for each layer."""

    layer: str
    """Name of the layers."""
    layers: dict[str, LayerInfo]
    """The sidecars, by the paths of the originals; without files none of whose positions were chosen."""
    made: int
    """Layers that were made now; the others were there already."""

    def rows(self) -> Sequence[dict[str, Any]]:
        """The files with the numbers of their positions."""
        names = ("games", "positions", "chosen", "changed", "moved")
        return [{"file": path} | {name: getattr(info, name) for name in names} for path, info in self.layers.items()]


def reanalyze(
    files: Path | str | Sequence[Path | str],
    network: Network | Sequence[Network],
    settings: ReanalysisSettings = DEFAULT,
    *,
    layer: str | None = None,
    workers: int | None = None,
    listener: Listener = SILENT,
) -> Reanalysis:
    """Give positions of hcpe3 games new targets from a newer network, as a layer beside each file.

    The games, their moves and their results stay, and so do the targets of positions that are not chosen and of moves
    without candidates. The layer of a file appears when it is complete; `Dataset(..., layer=...)` reads it. After a
    kill, Ctrl-C or an error the same call resumes the work, and layers that are there already are left alone.

        with Network("new.onnx") as network:
            reanalyze("games.hcpe3", network, ReanalysisSettings(nodes=100), layer="new")
        Dataset("games.hcpe3", layer="new")

    Args:
        files: hcpe3 files, or folders with such files. Layers among them are passed over.
        network: The newer network; or the same one opened several times, each of which searches `workers` positions at
            once.
        settings: How to search, and what is chosen.
        layer: Name of the layer; None: `default_layer`.
        workers: Positions at once, which share the network's batches; None: as many as fill them. With 1, a network
            without a cache (`cache_mb` 0) and with one slot, the same call gives the same bytes.
        listener: Hears of the progress.

    Raises:
        ReanalysisError: There are no games.
        LayerError: A file has a layer of this name that was made in another way.
        DataFileError: A file is damaged or no hcpe3, or none of its moves has candidates.
        ValueError: A file's unfinished work is that of another call.
        EvaluatorError: The network failed.
        OSError: A file cannot be read or written.
    """
    if workers is not None and workers < 1:
        raise ReanalysisError(f"workers must be 1 or more, not {workers}")
    paths = _originals([Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files])
    networks = (network,) if isinstance(network, Network) else tuple(network)
    layer = layer or default_layer(networks[0], settings)
    for one, other in pairwise(sorted(layer_path(path, layer).absolute() for path in paths)):
        if one == other:
            raise LayerError(f"two files would have the same layer {one}")
    quotas = _quotas(paths, settings, listener)
    infos: dict[str, LayerInfo] = {}
    made = 0
    for number, path in enumerate(paths):
        if quotas is not None and quotas[number] == 0:
            continue
        task = _Task(path, layer_path(path, layer), networks, settings, quotas[number] if quotas else None)
        there = task.read_layer()
        made += there is None
        infos[str(path)] = there or _make_layer(task, workers, _listener_of(listener, path, number, len(paths)))
    return Reanalysis(layer, infos, made)


def _originals(files: Sequence[Path]) -> tuple[Path, ...]:
    """The files of games, in order: those given, and those in folders by name. Layers are passed over."""
    originals: list[Path] = []
    for file in files:
        inside = sorted(path for path in file.rglob("*.hcpe3") if path.is_file()) if file.is_dir() else [file]
        if not inside:
            raise ReanalysisError(f"{file}: there is no hcpe3 file in this folder")
        originals += (path for path in inside if not is_layer(path))
    if not originals:
        raise ReanalysisError(f"{files[0]} is a layer itself; name the original games" if files else "no files")
    return open_inputs(originals, taken=(DataFormat.HCPE3,)).paths


def default_layer(network: Network, settings: ReanalysisSettings) -> str:
    """The first digits of the network's hash, and the nodes: ``3fa92b1c-n100``."""
    return f"{(network.sha256 or sha256(network.identity.encode()).hexdigest())[:8]}-n{settings.nodes}"


@dataclass(frozen=True, slots=True)
class _Task:
    """One file, and how its layer is made."""

    path: Path
    out: Path
    networks: tuple[Network, ...]
    """The same one, opened once or several times."""
    settings: ReanalysisSettings
    quota: int | None
    """Number of positions that are chosen, the first ones; None: as the settings say."""

    @property
    def network(self) -> Network:
        """The first of them, which also does all that is no search."""
        return self.networks[0]

    @property
    def inputs(self) -> Inputs:
        return Inputs((self.path,), DataFormat.HCPE3)

    @property
    def network_name(self) -> str:
        """The network in the sidecar."""
        return self.network.sha256 or self.network.identity

    @property
    def outs(self) -> list[Path]:
        weights = [weights_of(self.out)] if self.settings.selection is Selection.SURPRISE else []
        return [self.out, *weights, sidecar_of(self.out)]

    def read_layer(self) -> LayerInfo | None:
        """The sidecar of the layer, if it is there.

        Raises:
            LayerError: It is damaged, or was made in another way.
        """
        if not sidecar_of(self.out).is_file():
            return None
        info = read_layer_info(sidecar_of(self.out))
        wanted = {"network": self.network_name, **self.settings.model_dump(mode="json")}
        before = {"network": info.network, **info.settings}
        different = [name for name in wanted if before.get(name) != wanted[name]]
        if self.quota is not None and info.chosen != self.quota:
            different.append("files")
        if different:
            raise LayerError(
                f"{self.out} was made in another way (different: {', '.join(different)}); choose another name of the "
                "layer, or remove the file and its sidecar"
            )
        if find_layer(self.path, _name_of(self.out)) is None:
            raise LayerError(f"{self.out} was removed while it was read")
        return info


def _name_of(layer_file: Path) -> str:
    return layer_file.name.rpartition(".layer-")[2].removesuffix(".hcpe3")


def _quotas(paths: Sequence[Path], settings: ReanalysisSettings, listener: Listener) -> list[int] | None:
    """Number of positions of each file to choose by age; None: the choice does not depend on the other files."""
    if settings.selection is not Selection.AGE:
        return None
    sizes: list[int] = []
    for path in paths:
        sizes.append(sum(len(batch) for batch in _read(Inputs((path,), DataFormat.HCPE3))))
        listener.progress(COUNTING, len(sizes), len(paths))
    ends = np.minimum(np.cumsum(sizes), round(settings.share * sum(sizes)))
    return np.diff(ends, prepend=0).tolist()


class _OfFile(Forwarder):
    """Says which of several files a stage belongs to."""

    def __init__(self, listener: Listener, prefix: str) -> None:
        super().__init__(listener)
        self._prefix = prefix

    def progress(self, stage: str, done: int, total: int | None) -> None:
        super().progress(self._prefix + stage, done, total)


def _listener_of(listener: Listener, path: Path, number: int, count: int) -> Listener:
    return listener if count == 1 else _OfFile(listener, f"{path.name} ({number + 1} of {count}): ")


# ------------------------------------------------------------------------------------------------ one file


def _make_layer(task: _Task, workers: int | None, listener: Listener) -> LayerInfo:
    """The layer of one file."""
    settings = task.settings
    network = {"network": task.network.identity, "sha256": task.network_name, "quota": task.quota}
    options = network | settings.model_dump(mode="json")
    with ExitStack() as stack:
        job = stack.enter_context(
            Job("reanalyze", [task.path], task.outs, options, spools=["labels", "surprise"], listener=listener)
        )
        _count(job, task)
        _score(job, task)
        chances = _chances(job, task)
        chosen = _choose(task, chances)
        if settings.nodes == 0:
            _evaluate(job, task, chosen)
        elif not job.is_done(LABELLING):
            count = workers or task.network.pool.searches_at_once
            labellers: list[Labeller] = [
                TeachingLabeller(network, settings, count) for network in task.networks for _ in range(count)
            ]
            for labeller in labellers:
                stack.callback(labeller.close)
            run_searches(job, lambda begin: _positions(task, chosen, begin), int(chosen.sum()), labellers)
        _write(job, task, chosen, chances)
        job.finish()
    return read_layer_info(sidecar_of(task.out))


def _read(inputs: Inputs) -> Iterator[Batch]:
    return read_batches(inputs, Plies.SEARCHED, Skipped())


def _count(job: Job, task: _Task) -> None:
    """Read and check everything once."""
    if job.is_done(READING):
        return
    games = positions = 0
    for batch in _read(task.inputs):
        games += len(batch.games)
        positions += len(batch)
        job.listener.progress(READING, positions, None)
    if positions == 0:
        raise DataFileError(f"{task.path}: no move has candidates, so there is no target to renew")
    job.read = games
    job.memory |= {"positions": positions, "original": file_sha256(task.path)}
    job.found |= {"labels": 0, "unlabelled": 0}
    job.reached(READING, None, done=True)


def _score(job: Job, task: _Task) -> None:
    """Append the surprise of each position to the second spool."""
    if task.settings.selection is not Selection.SURPRISE or job.is_done(SCORING):
        return
    done: int = job.place(SCORING) or 0
    total: int = job.memory["positions"]
    waiting: deque[_Targets] = deque()
    everything = np.ones(total, np.bool_)

    def hcps() -> Iterator[NDArray[np.uint8]]:
        for targets in _target_batches(task, everything, done):
            waiting.append(targets)
            yield targets.hcps

    for evaluation in evaluate_packed(task.network.evaluator, hcps()):
        targets = waiting.popleft()
        surprise = surprise_of(evaluation, targets.counts, targets.moves, targets.visits)
        job.spools[1].append(surprise.astype("<f4").tobytes(), len(surprise))
        done += len(surprise)
        job.reached(SCORING, done)
        job.listener.progress(SCORING, done, total)
    job.reached(SCORING, done, done=True)


def _chances(job: Job, task: _Task) -> NDArray[np.float64]:
    """The chance of each position: float64 [N]."""
    total, share = int(job.memory["positions"]), task.settings.share
    if task.settings.selection is Selection.SURPRISE and job.spools:
        return chances_by_surprise(np.fromfile(job.spools[1].path, "<f4", total), share)
    return np.full(total, share)


def _choose(task: _Task, chances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the positions that are chosen: bool [N]."""
    if task.quota is not None:
        return np.arange(len(chances)) < task.quota
    return draw(chances, task.settings.seed)


def _positions(task: _Task, chosen: NDArray[np.bool_], begin: int) -> Iterator[Position]:
    """The chosen positions, with the moves that led to them, from number `begin` on."""
    for batch in _chosen_batches(task, chosen):
        yield from batch.positions(begin)
        begin = max(0, begin - len(batch))


def _chosen_batches(task: _Task, chosen: NDArray[np.bool_]) -> Iterator[Batch]:
    """The games of the file, with the moves that are chosen."""
    first = 0
    for batch in _read(task.inputs):
        of_moves = batch.chosen.copy()
        of_moves[batch.chosen] = chosen[first : first + len(batch)]
        first += len(batch)
        yield replace(batch, chosen=of_moves)


@dataclass(frozen=True, slots=True, eq=False)
class _Targets:
    """N positions with their policy targets, C candidates in all."""

    hcps: NDArray[np.uint8]
    """uint8 [N, 32]."""
    counts: NDArray[np.int64]
    """int64 [N]."""
    moves: NDArray[np.uint16]
    """uint16 [C]."""
    visits: NDArray[np.uint16]
    """uint16 [C]."""


def _target_batches(task: _Task, chosen: NDArray[np.bool_], begin: int) -> Iterator[_Targets]:
    """The chosen positions from number `begin` on, in whole batches of the network.

    They are the same wherever they begin, as long as that is the beginning of one: what a network says of a
    position may depend on its batch, in the last bit.
    """
    size = rows_at_once(task.network.evaluator)
    rest: list[_Targets] = []
    for batch in _chosen_batches(task, chosen):
        games = batch.games
        taken = batch.chosen.copy()
        taken[np.flatnonzero(taken)[:begin]] = False
        begin = max(0, begin - len(batch))
        counts = games.candidate_counts()
        of_taken = np.repeat(taken, counts)
        moves, visits = games.candidate_moves[of_taken], games.candidate_visits[of_taken]
        rest = [_join([*rest, _Targets(games.hcps[taken], counts[taken], moves, visits)])]
        while len(rest[0].hcps) >= size:
            full, left = _cut(rest[0], size)
            rest = [left]
            yield full
    if rest and len(rest[0].hcps):
        yield rest[0]


def _join(parts: Sequence[_Targets]) -> _Targets:
    names = ("hcps", "counts", "moves", "visits")
    return _Targets(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _cut(targets: _Targets, rows: int) -> tuple[_Targets, _Targets]:
    """The first rows, and the others."""
    end = int(targets.counts[:rows].sum())
    return (
        _Targets(targets.hcps[:rows], targets.counts[:rows], targets.moves[:end], targets.visits[:end]),
        _Targets(targets.hcps[rows:], targets.counts[rows:], targets.moves[end:], targets.visits[end:]),
    )


def _evaluate(job: Job, task: _Task, chosen: NDArray[np.bool_]) -> None:
    """The stage LABELLING without searches."""
    if job.is_done(LABELLING):
        return
    done: int = job.place(LABELLING) or 0
    total = int(chosen.sum())
    hcps = (targets.hcps for targets in _target_batches(task, chosen, done))
    for evaluation in evaluate_packed(task.network.evaluator, hcps):
        labels = labels_of_evaluation(evaluation, task.settings.multipv)
        job.spools[0].append(labels.to_bytes(), len(evaluation))
        job.found["labels"] += len(evaluation)
        done += len(evaluation)
        job.reached(LABELLING, done)
        job.listener.progress(LABELLING, done, total)
    job.reached(LABELLING, done, done=True)


def _write(job: Job, task: _Task, chosen: NDArray[np.bool_], chances: NDArray[np.float64]) -> None:
    """Write the layer and its sidecar; a kill makes it begin again."""
    if job.is_done(WRITING):
        return
    digest, games, changed, moved = sha256(), 0, 0, 0
    with job.spools[0].path.open("rb") as labels:
        for batch in _chosen_batches(task, chosen):
            renewed = renew(batch.games, batch.chosen, read_labels(labels, len(batch)))
            data = renewed.games.write() if len(batch.games) else b""
            digest.update(data)
            job.outputs[0].append(data, len(batch.games))
            games, changed, moved = games + len(batch.games), changed + renewed.changed, moved + renewed.moved
            job.listener.progress(WRITING, games, job.read)
    if file_sha256(task.path) != job.memory["original"]:
        raise LayerError(f"{task.path} was changed while it was reanalysed")
    weights = _weights(task, chosen, chances)
    if weights is not None:
        job.outputs[1].append(weights, len(chances))
    info = LayerInfo(
        original_sha256=job.memory["original"],
        sha256=digest.hexdigest(),
        bytes=job.outputs[0].size,
        games=games,
        positions=len(chances),
        chosen=int(chosen.sum()),
        changed=changed,
        moved=moved,
        network=task.network_name,
        evaluator=task.network.identity,
        build=__version__,
        settings=task.settings.model_dump(mode="json"),
        weights_sha256=None if weights is None else sha256(weights).hexdigest(),
    )
    job.outputs[-1].append(info.text().encode(), 1)
    if kept := info.chosen - changed:
        job.listener.note(f"{task.path}: {counted(kept, 'position')} without a label kept the targets of the original")
    job.reached(WRITING, None, done=True)


def _weights(task: _Task, chosen: NDArray[np.bool_], chances: NDArray[np.float64]) -> bytes | None:
    """The weights as .npy; None if the chances are all the same."""
    if task.settings.selection is not Selection.SURPRISE:
        return None
    return encode_weights(np.where(chosen, 1 / chances, 0))


class TeachingLabeller(Labeller):
    """A tree of our own search, which shares the batches of a network with the trees of the other labellers.

    The targets are those of games against itself (`Search.teaching`).
    """

    def __init__(self, network: Network, settings: ReanalysisSettings, at_once: int) -> None:
        """Create the tree.

        Args:
            network: The network; it stays open.
            settings: How to search.
            at_once: Number of labellers, which share the memory of the network's option USI_Hash.
        """
        self._settings = settings
        params = network.settings.search_params()
        params.root_rule = settings.root.rule
        if settings.root is Root.GUMBEL:
            params.gumbel_moves = settings.gumbel_moves
            params.gumbel_scale = 0.0  # the moves of the greatest priors: nothing is left to chance
            params.softmax_temperature_root = 1.0  # the target is made of the divided logits
        memory_mb = tree_memory_mb(network, settings.nodes, at_once)
        self._searcher = Searcher(network.pool, params, memory_mb=memory_mb, reuse=False, shares_batches=True)
        self._control: Control | None = None
        self._is_stopped = False

    def label(self, position: Position) -> Label:
        """See `Labeller.label`.

        Raises:
            EvaluatorError: The network failed.
        """
        self._control = control = Control(Limits(nodes=self._settings.nodes))
        if self._is_stopped:
            raise StoppedError
        found = self._searcher.search(position, control)
        if self._is_stopped:
            raise StoppedError
        if found.error is not None:
            raise EvaluatorError(f"the network failed: {found.error}") from found.error
        taught = self._searcher.teaching()[: self._settings.multipv]
        return Label(taught[0][0], found.lines[0].cp, tuple(taught)) if taught else Label()

    def stop(self) -> None:
        """See `Labeller.stop`."""
        self._is_stopped = True
        if self._control is not None:
            self._control.stop()

    def close(self) -> None:
        """See `Labeller.close`."""
        self._searcher.close()
