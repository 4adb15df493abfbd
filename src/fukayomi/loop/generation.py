"""The games of a generation: what generates them, and what the loop knows of them."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Protocol

from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.listener import Listener
from fukayomi.loop.folder import RunFolder
from fukayomi.loop.journal import Journal, Played
from fukayomi.loop.settings import GeneratorSettings, LoopError, LoopSettings
from fukayomi.selfplay.chunk import find_chunks, read_chunk_info, sidecar_of
from fukayomi.selfplay.generator import generate
from fukayomi.selfplay.settings import SelfplaySettings

WORKER = "local"
"""Name of the worker on this machine."""
BATCH = 16
"""Positions per batch on a CPU."""


class Generated(Protocol):
    """What came of it."""

    @property
    def finished(self) -> bool:
        """Whether all games were played."""
        ...


class Generator(Protocol):
    """Generates games, here or elsewhere."""

    def __call__(
        self,
        settings: SelfplaySettings,
        network: Path,
        out: Path,
        *,
        name: str,
        seed: int,
        first_game: int,
        games: int,
        listener: Listener,
    ) -> Generated:
        """Write the chunks of games `first_game` to `first_game + games - 1`.

        It can be repeated after a kill and then writes the same bytes.

        Args:
            settings: How games are generated.
            network: ONNX file of the network that plays.
            out: Folder for the chunks.
            name: Name of the worker.
            seed: Random seed of the run.
            first_game: Number of the first game.
            games: Number of games.
            listener: Follows the games.

        Returns:
            Whether the games are complete; they are not if the user stopped it.
        """
        ...


def local_generator(settings: GeneratorSettings) -> Generator:
    """The pool of games of this process."""
    if settings.device != "cpu":
        return partial(
            generate, device=settings.device, devices=settings.devices or 1, batch_size=settings.batch_size,
            parallel=settings.parallel,
        )  # fmt: skip
    return partial(
        generate, device="cpu", precision="fp32", threads=1, devices=settings.devices or usable_cpus(),
        batch_size=settings.batch_size or BATCH, parallel=settings.parallel, reproducible=True,
    )  # fmt: skip


def play_generation(
    settings: LoopSettings, folder: RunFolder, journal: Journal, play: Generator, listener: Listener
) -> Played:
    """Generate the games of the generation that is due, and count them.

    Raises:
        LoopError: No game was kept.
        KeyboardInterrupt: The user stopped it.
    """
    generation, _ = journal.next_step
    network = journal.networks[-1]
    folder.games.mkdir(parents=True, exist_ok=True)
    first = (generation - 1) * settings.games
    generated = play(
        settings.selfplay, folder.verified(network), folder.games, name=WORKER, seed=settings.seed, first_game=first,
        games=settings.games, listener=listener,
    )  # fmt: skip
    if not generated.finished:
        raise KeyboardInterrupt
    infos = {path.stem: read_chunk_info(sidecar_of(path)) for path in find_chunks(folder.games)}
    mine = {name: info for name, info in infos.items() if first <= info.first_game < first + settings.games}
    if not mine:
        raise LoopError(f"{folder.games}: no games of generation {generation}; all were shorter than selfplay.min_move")
    results: Counter[str] = Counter()
    for info in mine.values():
        results.update(info.results.model_dump())
    checked, wrong = (sum(info.wrong_resignations[which] for info in mine.values()) for which in (0, 1))
    return Played(
        generation=generation,
        network=network.sha256,
        chunks=tuple(mine),
        games=sum(info.games for info in mine.values()),
        positions=sum(info.positions for info in mine.values()),
        plies=sum(info.plies for info in mine.values()),
        results=dict(results),
        wrong_resignations=(checked, wrong),
    )
