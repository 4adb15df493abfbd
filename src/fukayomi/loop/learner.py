"""The learner: from the newest games to a network, with weights and optimiser carried from generation to generation."""

# pyright: reportUnknownMemberType=false

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import NamedTuple

import torch

from fukayomi.engine.choice import LARGEST_VALUE_ERROR, LEAST_TOP1
from fukayomi.engine.evaluators.backends.network_file import int8_path
from fukayomi.files.atomic import copy_or_link, replace_file
from fukayomi.files.inputs import file_sha256
from fukayomi.interruption import Stopped
from fukayomi.learning.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from fukayomi.learning.curves.readers import read_run
from fukayomi.learning.data.dataset import Dataset, kind_of_data
from fukayomi.learning.devices import choose_device, choose_precision, use_threads
from fukayomi.learning.evaluation import evaluate
from fukayomi.learning.layers import LayerError
from fukayomi.learning.listeners import JsonLinesListener, TrainingListener
from fukayomi.learning.models import export_network, load_network
from fukayomi.learning.optimization import Schedule
from fukayomi.learning.settings import TrainingError
from fukayomi.learning.training.configuration import split_weight
from fukayomi.learning.training.preparation import require_for_sparse, start_from
from fukayomi.learning.training.run_folder import CHECKPOINT_NAME
from fukayomi.learning.training.trainer import Trainer
from fukayomi.learning.training.training import train
from fukayomi.listener import Forwarder, Listener, fan_out
from fukayomi.loop.ingest.manifest import ChunkEntry
from fukayomi.loop.journal import Journal, KeptNetwork, Trained
from fukayomi.loop.reanalysis import layer_hashes, layer_of, restore_layers
from fukayomi.loop.run import Run, RunFolder, check_network, naming
from fukayomi.loop.settings import LoopError, LoopSettings, buy_steps, check_family, first_in_window, newest, suffix_of
from fukayomi.nn.parameters import make_network
from fukayomi.nn.sparse_config import SparseConfig

FEWEST_CALIBRATION_POSITIONS = 64
"""Fewer positions of games do not show what a network meets."""
FRESH_POSITIONS = 4096
"""New positions on which a network is evaluated before it learns from them."""
PLAN_NAME = "plan.json"
"""File in the learner's folder with what it trains on."""
NEVER = 1 << 62
"""Steps between two evaluations: there is one after the last step."""


class TrainingFile(NamedTuple):
    """A file of games that were accepted."""

    path: Path
    positions: int
    """Training positions in it."""
    sha256: str
    """Of the games, as they were accepted."""


def check_learner(run: Run) -> None:
    """See that this machine has the device to train on, and that the files of [learner] are there.

    Training data are not read to their end.

    Raises:
        LoopError: Something is missing; the message names the setting.
    """
    learner = run.settings.learner
    with naming("learner, device"):
        check_family(run.settings.network, "learner", learner.device)
        device = choose_device(learner.device)
    if isinstance(run.settings.network, SparseConfig):
        with naming("training"):
            require_for_sparse(run.settings.training, device)
    for name, network in (("initial", learner.initial), ("teacher", learner.teacher)):
        if network is not None:
            with naming(f"learner, {name}"):
                check_network(network)
    for name, files in (("supervised", learner.supervised), ("test", learner.test)):
        with naming(f"learner, {name}"):
            for file in files:
                kind_of_data(split_weight(file)[0])


class _Progress(Forwarder, TrainingListener):
    """Passes the progress of training on."""

    def note(self, text: str) -> None:
        """Say nothing: what a resumed run changes is no news here."""


def create_network(run: Run) -> KeptNetwork:
    """The first network of a run, and the checkpoint from which the learner goes on.

    Raises:
        LoopError: The network of the initial weights cannot become one of this shape, or it cannot be computed in int8.
        CheckpointError, ParameterFileError: It cannot be read.
        ExportError: The network cannot be stored.
    """
    settings = run.settings
    training = settings.training.changed(steps=1, epochs=None)
    torch.manual_seed(settings.seed)
    network = make_network(settings.network)
    if (initial := settings.learner.initial) is not None:
        try:
            start_from(initial, network)
        except TrainingError as error:
            raise LoopError(f"learner, initial: {error}") from error
    is_sparse = isinstance(settings.network, SparseConfig)
    precision = "off" if is_sparse else choose_precision(training.amp, choose_device(settings.learner.device))
    trainer = Trainer(network.train(), Schedule(training, 1, 1), precision)
    used = {"optimizer": training.optimizer, "threads": settings.learner.threads, "amp": precision}
    save_checkpoint(trainer.checkpoint(0, used), run.folder.learner / CHECKPOINT_NAME)
    return publish(run, 0, [])


def publish(run: Run, generation: int, files: Sequence[TrainingFile]) -> KeptNetwork:
    """Export the network of the learner's checkpoint, in int8 too if the run computes so, and keep the checkpoint.

    It can be repeated after a kill, and then writes the same bytes.

    Args:
        run: The run.
        generation: The generation that trained it.
        files: All accepted games, from old to new; the newest show how large the activations are.

    Raises:
        LoopError: The network cannot be computed in int8.
        ExportError: It cannot be stored.
    """
    settings, folder = run.settings, run.folder
    checkpoint, path = folder.learner / CHECKPOINT_NAME, folder.network(generation, suffix_of(settings.network))
    folder.networks.mkdir(parents=True, exist_ok=True)
    copy_or_link(checkpoint, folder.checkpoint(generation))
    export_network(load_network(checkpoint), path)
    int8 = file_sha256(_quantize(path, files, settings.seed, run.listener)) if settings.generator.is_int8 else None
    steps = load_checkpoint(checkpoint).step
    return KeptNetwork(generation=generation, file=path.name, sha256=file_sha256(path), int8=int8, steps=steps)


def _quantize(network: Path, files: Sequence[TrainingFile], seed: int, listener: Listener) -> Path:
    """Write the int8 file beside a network; without enough games, the network's own show the size of activations."""
    from fukayomi.learning.int8 import CALIBRATION_POSITIONS, COMPARED_POSITIONS, export_int8
    from fukayomi.nn.quantization import QuantizationError

    first = newest([file.positions for file in files], CALIBRATION_POSITIONS + COMPARED_POSITIONS)
    games = [file for file in files[first:] if file.positions]
    if sum(file.positions for file in games) < FEWEST_CALIBRATION_POSITIONS:
        games = []
    try:
        made = export_int8(network, int8_path(network), [file.path for file in games], seed=seed, listener=listener)
    except QuantizationError as error:
        raise LoopError(f'{error}; set precision = "fp32" in [generator]') from error
    top1, value_error = made.agreement.top1, made.agreement.value_error
    if top1 < LEAST_TOP1 or value_error > LARGEST_VALUE_ERROR:
        listener.note(
            f"{made.path.name} agrees badly with fp32: the best move in {top1:.0%} of the positions, win rates that "
            f'differ by {value_error:.3f}; a new run with precision = "fp32" in [generator] is without it'
        )
    return made.path


def train_generation(run: Run, chunks: Sequence[ChunkEntry]) -> Trained:
    """Train on the window as many steps as the new positions pay for.

    A step of training that was cut off goes on from its last checkpoint, or, if its files are others now, begins again.

    Args:
        run: The run.
        chunks: All accepted chunks, from old to new. Those whose positions have not paid for samples yet do now.

    Raises:
        LoopError: A file of the window is damaged, training diverged, the network cannot be computed in int8, or the
            learner's checkpoint is damaged or of another run.
        KeyboardInterrupt: The user stopped it; a checkpoint is saved.
    """
    settings, folder, journal = run.settings, run.folder, run.journal
    generation, _ = journal.next_step
    before, paid = journal.last(Trained), journal.paid
    files = [TrainingFile(folder.path / each.path, each.positions, each.sha256) for each in chunks]
    names = {folder.chunk_name(file.path): file for file in files}
    new = {name: file for name, file in names.items() if name not in paid}
    total = sum(file.positions for file in files)
    budget = before.budget if before else 0.0
    budget += sum(file.positions for file in new.values()) * settings.learner.samples_per_position
    least, most = settings.learner.least_positions, settings.learner.most_steps
    steps, rest = buy_steps(budget, settings.training.batch, total=total, least=least, most=most)
    first = first_in_window([file.positions for file in files], settings.window)
    window = [file for file in files[first:] if file.positions]
    begin = begins_from(journal)
    entry = Trained(
        generation=generation, steps=begin.steps, budget=rest, seen_positions=total, paid=tuple(new),
        window=sum(file.positions for file in window), network=None, fresh=None, test=None, losses=None,
    )  # fmt: skip
    stop = begin.steps + steps
    if not steps:
        _put_back(folder, begin, stop, None)
        return entry
    with use_threads(settings.learner.threads):
        data, plan = _prepare(run, window, stop)
        _put_back(folder, begin, stop, plan)
        fresh = _fresh(run, begin, list(new.values()))
        losses, test = _train(run, data, begin, stop)
    network = publish(run, generation, files)
    _remove_checkpoints(folder, {generation, begin.generation, journal.networks[-1].generation})
    return entry.model_copy(
        update={"steps": network.steps, "network": network, "fresh": fresh, "test": test, "losses": losses}
    )


def begins_from(journal: Journal) -> KeptNetwork:
    """The network whose weights the next training goes on from: the newest one, or what the learner went back to."""
    networks = [journal.start.network, *(each.network for each in journal.all(Trained) if each.network)]
    return next(each for each in reversed(networks) if each.steps == journal.learner_steps)


def roll_back(folder: RunFolder, network: KeptNetwork) -> None:
    """Put the checkpoint of an earlier network back, from which the learner then goes on."""
    copy_or_link(folder.checkpoint(network.generation), folder.learner / CHECKPOINT_NAME)


def _prepare(run: Run, window: Sequence[TrainingFile], stop: int) -> tuple[Dataset, bytes]:
    """Check the chunks of the window, and make lost layers again.

    Returns:
        What to train on, and the content of the file that says so.

    Raises:
        LoopError: A chunk or a layer is damaged, or a lost layer cannot be made again; the message says what to do.
    """
    for file in window:
        run.folder.check_chunk(file.path, file.sha256)
    paths = [file.path for file in window]
    restore_layers(run, paths)
    layer = layer_of(run, paths)
    try:
        layers = layer_hashes(paths) if layer else []
        data = mixed_data(run.settings, window, layer)
    except LayerError as error:
        raise LoopError(f"{error}; once it is removed, the run makes it again") from error
    files = [file.sha256 for file in window]
    plan = {"start": run.journal.learner_steps, "stop": stop, "files": files, "layers": layers}
    return data, json.dumps(plan, indent=1).encode() + b"\n"


def _put_back(folder: RunFolder, begin: KeptNetwork, stop: int, plan: bytes | None) -> None:
    """Make training begin again if it was cut off and had other files than it has now; write down what it has.

    Args:
        folder: Folder of the run.
        begin: The network from which training begins.
        stop: The step to train to.
        plan: What to train on; None: nothing.

    Raises:
        LoopError: A checkpoint is missing or damaged.
    """
    path, kept = folder.learner / CHECKPOINT_NAME, folder.checkpoint(begin.generation)
    file = folder.learner / PLAN_NAME
    written = file.read_bytes() if file.is_file() else None
    network = folder.networks / begin.file
    _require_checkpoint(kept, path, begin.steps, network)
    step = _require_checkpoint(path, kept, begin.steps, network)
    if step > stop or (step > begin.steps and written != plan):
        roll_back(folder, begin)
    if plan is not None:
        replace_file(file, plan)


def _train(
    run: Run, data: Dataset, begin: KeptNetwork, stop: int
) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    """Train to a step; the last losses and the metrics on the test files.

    Args:
        run: The run.
        data: What to train on.
        begin: The network that training began with.
        stop: The step to train to.

    Raises:
        LoopError, KeyboardInterrupt: As `train_generation`.
    """
    settings, folder = run.settings, run.folder
    path = folder.learner / CHECKPOINT_NAME
    step = load_checkpoint(path).step
    if step < begin.steps:
        raise LoopError(f"{path}: a checkpoint of step {step}; the journal expects one of step {begin.steps} to {stop}")
    test = _dataset(settings, settings.learner.test) if settings.learner.test else None
    try:
        result = (
            None
            if step == stop
            else train(  # complete, if the last run was cut off just after it
                settings.network,
                data,
                folder.learner,
                test=test,
                teacher=settings.learner.teacher,
                settings=settings.training.changed(steps=stop, epochs=None),
                device=settings.learner.device,
                threads=settings.learner.threads,
                eval_interval=NEVER,
                checkpoint_interval=settings.learner.checkpoint_interval,
                resume=True,
                listener=fan_out(JsonLinesListener(), _Progress(run.listener)),
            )
        )
    except (TrainingError, CheckpointError) as error:
        raise LoopError(f"{error}; the settings of the run are in {folder.settings_file}") from error
    if result is not None and not result.finished:
        raise Stopped(result.stopped_by)
    return _last_values(folder.learner, "train", stop), _last_values(folder.learner, "test", stop)


def _require_checkpoint(path: Path, other: Path, step: int, network: Path) -> int:
    """The step of a checkpoint that training needs.

    Args:
        path: The checkpoint.
        other: A file that has the same one, or had it. (The learner's and the one of its last network are even one file
            until training saves the next.)
        step: Its step, if it has the same one now.
        network: What was exported from it, with which another run can begin.

    Raises:
        LoopError: It is missing or damaged; the message says what to do.
    """
    try:
        return load_checkpoint(path).step
    except CheckpointError as error:
        try:
            is_copy = load_checkpoint(other).step == step
        except CheckpointError:
            is_copy = False
        begin = f'begin another run with learner.initial = "{network}"'
        remedy = f"copy {other} to it" if is_copy else f"put it back from a copy, or {begin}"
        raise LoopError(f"{error}; {remedy}") from error


def _last_values(folder: Path, kind: str, step: int) -> dict[str, float] | None:
    """The points of the learner's curves at a step, as its log has them; None if there are none."""
    curves = read_run(folder).curves()
    measures = {measure: curve.points() for (its_kind, measure), curve in curves.items() if its_kind == kind}
    return _known({measure: points[step] for measure, points in sorted(measures.items()) if step in points}) or None


def _known(figures: dict[str, float]) -> dict[str, float]:
    """Without those that there are none of: a test set without moves has no figures of the policy."""
    return {name: value for name, value in figures.items() if not isnan(value)}


def mixed_data(settings: LoopSettings, window: Sequence[TrainingFile], layer: str | None = None) -> Dataset:
    """The games of the window, with the targets of a layer, and the supervised files with their share of each epoch."""
    learner = settings.learner
    paths, weights = [file.path for file in window], [1.0] * len(window)
    if learner.supervised:
        parts = [split_weight(file) for file in learner.supervised]
        sizes = [len(_dataset(settings, [str(path)])) for path, _ in parts]
        played = sum(file.positions for file in window)
        share = learner.supervised_share / (1 - learner.supervised_share)
        one = share * played / sum(size * weight for size, (_, weight) in zip(sizes, parts, strict=True))
        paths += [path for path, _ in parts]
        weights += [weight * one for _, weight in parts]
    targets = settings.targets
    return _dataset(settings, paths, weights, layer, targets.n_step, position_weights=targets.weights)


def _dataset(
    settings: LoopSettings,
    files: Sequence[Path | str],
    weights: Sequence[float] | None = None,
    layer: str | None = None,
    n_step: int = 0,
    position_weights: bool = False,
) -> Dataset:
    scale = settings.targets.eval_scale
    return Dataset(
        *(split_weight(str(file))[0] for file in files), weights=weights, temperature=settings.targets.temperature,
        eval_scale=None if isinstance(scale, str) else scale, layer=layer, n_step=n_step,
        position_weights=position_weights,
    )  # fmt: skip


def _fresh(run: Run, network: KeptNetwork, new: Sequence[TrainingFile]) -> dict[str, float] | None:
    """Metrics of a network on games that it has not learnt from."""
    files = [file.path for file in new if file.positions]
    if not files:
        return None
    settings, checkpoint = run.settings, run.folder.checkpoint(network.generation)
    metrics = evaluate(
        checkpoint, _dataset(settings, files), val_lambda=settings.training.val_lambda, sample=FRESH_POSITIONS,
        device=settings.learner.device,
    )  # fmt: skip
    return _known(metrics.as_dict())


def _remove_checkpoints(folder: RunFolder, needed: set[int]) -> None:
    """Remove the checkpoints of networks that nothing goes on from."""
    keep = {folder.checkpoint(generation) for generation in needed}
    for path in folder.networks.glob("network-*.pt"):
        if path not in keep:
            path.unlink()
