"""The games of a generation: what generates them, and what the loop knows of them."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.listener import Listener
from fukayomi.loop.folder import RunFolder
from fukayomi.loop.journal import Journal, KeptNetwork, Played
from fukayomi.loop.settings import GeneratorSettings, LoopError, LoopSettings
from fukayomi.selfplay.chunk import find_chunks, read_chunk_info, sidecar_of
from fukayomi.selfplay.generator import SelfplayResult, generate
from fukayomi.selfplay.league import League, LeagueError, LeagueNetwork, LeagueRules, LeagueSettings
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
        league: LeagueSettings | None,
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
            league: Who plays besides the network; None: nobody.
            listener: Follows the games.

        Returns:
            Whether the games are complete; they are not if the user stopped it.
        """
        ...


def local_generator(machine: GeneratorSettings) -> Generator:
    """The pool of games of this process."""
    is_cpu = machine.device == "cpu"
    network_options: dict[str, Any] = {"device": machine.device, "batch_size": machine.batch_size}
    if is_cpu:
        network_options |= {"precision": "fp32", "threads": 1, "batch_size": machine.batch_size or BATCH}
    devices = machine.devices or (usable_cpus() if is_cpu else 1)

    def play(
        settings: SelfplaySettings, network: Path, out: Path, *, name: str, seed: int, first_game: int, games: int,
        league: LeagueSettings | None, listener: Listener,
    ) -> SelfplayResult:  # fmt: skip
        try:
            with nullcontext() if league is None else League(league, seed, **network_options) as opponents:
                return generate(
                    settings, network, out, name=name, seed=seed, first_game=first_game, games=games,
                    opponents=opponents, devices=devices, parallel=machine.parallel, reproducible=is_cpu,
                    listener=listener, **network_options,
                )  # fmt: skip
        except LeagueError as error:
            raise LoopError(f"league, {error}") from error

    return play


def past_networks(settings: LoopSettings, journal: Journal) -> list[KeptNetwork]:
    """The earlier networks that are opponents in the generation that is due, in order."""
    past = settings.league.past if settings.league else 0
    return journal.networks[:-1][-past:] if past else []


def league_settings(settings: LoopSettings, folder: RunFolder, journal: Journal) -> LeagueSettings | None:
    """The league of the generation that is due; None without an opponent, as in a first one that has no engine.

    Raises:
        LoopError: The file of a network is missing, or another one.
    """
    networks: list[LeagueNetwork] = []
    for network in past_networks(settings, journal):
        wins, draws, losses = journal.results_against(network.name)
        networks.append(
            LeagueNetwork(
                name=network.name, file=folder.verified(network), games=wins + draws + losses, wins=wins + draws / 2
            )
        )
    if settings.league is None or not (networks or settings.league.engines):
        return None
    rules: dict[str, Any] = {name: getattr(settings.league, name) for name in LeagueRules.model_fields}
    return LeagueSettings(**rules, networks=tuple(networks))


def recorded_settings(settings: LoopSettings, journal: Journal, league: LeagueSettings | None) -> dict[str, Any]:
    """The settings in the sidecars of the generation that is due."""
    values = settings.selfplay.model_dump(mode="json")
    if league is not None:
        values["league"] = league.recorded([network.sha256 for network in past_networks(settings, journal)])
    return values


def play_generation(
    settings: LoopSettings,
    folder: RunFolder,
    journal: Journal,
    play: Generator,
    league: LeagueSettings | None,
    listener: Listener,
) -> Played:
    """Generate the games of the generation that is due, and count them.

    Raises:
        LoopError: No game was kept, or the league cannot be played.
        KeyboardInterrupt: The user stopped it.
    """
    generation, _ = journal.next_step
    network = journal.networks[-1]
    folder.games.mkdir(parents=True, exist_ok=True)
    first = (generation - 1) * settings.games
    generated = play(
        settings.selfplay, folder.verified(network), folder.games, name=WORKER, seed=settings.seed, first_game=first,
        games=settings.games, league=league, listener=listener,
    )  # fmt: skip
    if not generated.finished:
        raise KeyboardInterrupt
    infos = {path.stem: read_chunk_info(sidecar_of(path)) for path in find_chunks(folder.games)}
    mine = {name: info for name, info in infos.items() if first <= info.first_game < first + settings.games}
    if not mine:
        raise LoopError(f"{folder.games}: no games of generation {generation}; all were shorter than selfplay.min_move")
    results: Counter[str] = Counter()
    opponents: dict[str, tuple[int, int, int]] = dict.fromkeys(league.names if league else (), (0, 0, 0))
    for info in mine.values():
        results.update(info.results.model_dump())
        for name, (wins, draws, losses) in info.opponents.items():
            before = opponents.get(name, (0, 0, 0))
            opponents[name] = before[0] + wins, before[1] + draws, before[2] + losses
    checked, wrong = (sum(info.wrong_resignations[which] for info in mine.values()) for which in (0, 1))
    return Played(
        generation=generation,
        network=network.sha256,
        chunks=tuple(mine),
        games=sum(info.games for info in mine.values()),
        positions=sum(info.positions for info in mine.values()),
        plies=sum(info.plies for info in mine.values()),
        results=dict(results),
        opponents=opponents,
        wrong_resignations=(checked, wrong),
    )
