"""Reanalysis in a learning run: stored positions of the window get new targets before the learner draws from them.

The network that generates games searches them. Its targets are a layer beside each chunk (`fukayomi.learning.layers`),
which takes the place of an earlier layer; the chunk itself never changes. Chunks whose targets are of this network
already are left alone: the newest games, and all others as long as no new network passes.

A layer that is lost is made again before the learner needs it, by the network that made it.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.network_file import precision_for
from fukayomi.engine.network import Network
from fukayomi.learning.layers import layer_path, read_layer_info, remove_layer, sidecar_of
from fukayomi.learning.reanalysis.reanalysis import Reanalysis, reanalyze
from fukayomi.learning.reanalysis.settings import Selection
from fukayomi.loop.ingest.manifest import ChunkEntry
from fukayomi.loop.journal import Journal, KeptNetwork, Reanalyzed
from fukayomi.loop.run import Run
from fukayomi.loop.settings import REPRODUCIBLE_DEVICES, GeneratorSettings, LoopError, first_in_window
from fukayomi.tabular import counted

LAYER = "learn"
"""Name of the layers."""
BATCH = 8
"""Positions per batch on a CPU: leaves of one search."""


def reanalyze_window(run: Run, chunks: Sequence[ChunkEntry]) -> Reanalyzed:
    """Search positions of the window again, as the table `reanalysis` says.

    It can be repeated after a kill; on a CPU it then ends with the same bytes.

    Args:
        run: The run, whose settings have the table.
        chunks: All accepted chunks, from old to new.

    Raises:
        LoopError: The file of the network or of a chunk is missing, or another one.
        DataFileError: A layer is damaged.
        EvaluatorError: The network failed.
        KeyboardInterrupt: The user stopped it; what was searched is kept.
    """
    generation, _ = run.journal.next_step
    network = run.journal.networks[-1]
    due = due_chunks(run, chunks)
    files = [run.folder.path / chunk.path for chunk in due]
    for file, chunk in zip(files, due, strict=True):
        run.folder.check_chunk(file, chunk.sha256)
        sidecar = sidecar_of(layer_path(file, LAYER))
        if not sidecar.is_file() or read_layer_info(sidecar).network != network.sha256:
            remove_layer(file, LAYER)
    positions = changed = moved = 0
    if files:
        for info in _make_layers(run, network, files).layers.values():
            positions, changed, moved = positions + info.positions, changed + info.changed, moved + info.moved
    return Reanalyzed(
        generation=generation, network=network.generation, chunks=tuple(chunk.path for chunk in due),
        positions=positions, changed=changed, moved=moved,
    )  # fmt: skip


def due_chunks(run: Run, chunks: Sequence[ChunkEntry]) -> list[ChunkEntry]:
    """The chunks of the window whose positions are searched again: all with targets of an earlier network.

    By age they are the ones with the oldest targets, until they have the share of the window's positions.

    Args:
        run: The run, whose settings have the table `reanalysis`.
        chunks: All accepted chunks, from old to new.
    """
    settings = run.settings.reanalysis
    assert settings
    window = chunks[first_in_window([chunk.positions for chunk in chunks], run.settings.window) :]
    renewed = _renewed(run.journal)
    ages = {chunk.path: renewed.get(chunk.path, chunk.generation) for chunk in window}
    due = [chunk for chunk in window if chunk.positions and ages[chunk.path] < run.journal.networks[-1].generation]
    if settings.select is not Selection.AGE:
        return due
    wanted = settings.share * sum(chunk.positions for chunk in window)
    oldest: list[ChunkEntry] = []
    for chunk in sorted(due, key=lambda chunk: ages[chunk.path]):  # stable: of the same age the first played come first
        if sum(each.positions for each in oldest) >= wanted:
            break
        oldest.append(chunk)
    return oldest


def layer_of(run: Run, files: Sequence[Path]) -> str | None:
    """The layer to learn these chunks from; None if none of them has one."""
    renewed = {run.folder.path / path for path in _renewed(run.journal)}
    return LAYER if renewed.intersection(files) else None


def layer_hashes(files: Sequence[Path]) -> list[str | None]:
    """The SHA-256 of the layer of each chunk, as its sidecar says; None where there is none.

    Raises:
        DataFileError: A sidecar is damaged.
    """
    sidecars = [sidecar_of(layer_path(file, LAYER)) for file in files]
    return [read_layer_info(sidecar).sha256 if sidecar.is_file() else None for sidecar in sidecars]


def restore_layers(run: Run, files: Sequence[Path]) -> None:
    """Make lost layers of chunks again, each by the network that made it; on a CPU they are the same bytes.

    Args:
        run: The run, whose journal says which chunks have layers.
        files: The chunks.

    Raises:
        LoopError: A layer is lost, and so is its network.
        EvaluatorError: A network failed.
        KeyboardInterrupt: The user stopped it; what was searched is kept.
    """
    renewed = {run.folder.path / path: generation for path, generation in _renewed(run.journal).items()}
    lost = [file for file in files if file in renewed and not sidecar_of(layer_path(file, LAYER)).is_file()]
    for network in run.journal.networks:
        mine = [file for file in lost if renewed[file] == network.generation]
        if not mine:
            continue
        first = layer_path(mine[0], LAYER)
        try:
            run.folder.verified(network)
        except LoopError as error:
            raise LoopError(f"{first}: missing, and {error}, or the layer with its sidecar") from error
        run.listener.note(f"{first} is missing: {counted(len(mine), 'layer')} of {network.name} made again")
        for file in mine:
            remove_layer(file, LAYER)
        _make_layers(run, network, mine)


def _renewed(journal: Journal) -> dict[str, int]:
    """The generation of the network that made the layer of each chunk that has one, by the chunk's path in the run."""
    return {path: entry.network for entry in journal.all(Reanalyzed) for path in entry.chunks}


def _make_layers(run: Run, network: KeptNetwork, files: Sequence[Path]) -> Reanalysis:
    """Search chunks with a network. The layer of each is the same whichever others are searched with it."""
    assert run.settings.reanalysis
    machine = run.settings.generator
    plan = run.settings.reanalysis.settings(run.settings.seed + (network.generation << 32))
    with ExitStack() as stack:
        networks = _open(run.folder.verified(network), machine, stack)
        workers = 1 if machine.device in REPRODUCIBLE_DEVICES else None
        return reanalyze(files, networks, plan, layer=LAYER, workers=workers, listener=run.listener)


def _open(file: Path, machine: GeneratorSettings, stack: ExitStack) -> list[Network]:
    """The network: on a CPU once for each search at once, so that no search depends on another one."""
    precision = precision_for(file, machine.precision_on(machine.device))
    if machine.device not in REPRODUCIBLE_DEVICES:
        given = Network(file, device=machine.device, precision=precision, batch_size=machine.batch_size)
        return [stack.enter_context(given)]
    options: dict[str, Any] = {"precision": precision, "threads": 1, "batch_size": BATCH, "cache_mb": 0}
    return [
        stack.enter_context(Network(file, device=machine.device, **options))
        for _ in range(machine.devices or usable_cpus())
    ]
