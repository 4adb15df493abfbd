"""The games of a generation: what generates them, and what the loop knows of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.network_file import precision_for
from fukayomi.engine.network import find_network
from fukayomi.files.inputs import InputFileError, file_sha256
from fukayomi.interruption import Stopped
from fukayomi.listener import Listener
from fukayomi.loop.ingest.deliveries import GAMES, find_deliveries
from fukayomi.loop.ingest.manifest import ChunkEntry, Manifest
from fukayomi.loop.journal import Games, Journal, KeptNetwork, Played
from fukayomi.loop.run import Run, check_device, check_network, naming
from fukayomi.loop.settings import (
    BATCH_DEPENDENT_DEVICES,
    REPRODUCIBLE_DEVICES,
    GeneratorSettings,
    LoopError,
    check_family,
)
from fukayomi.selfplay.chunk import ChunkError, ChunkInfo, ResultCounts, read_chunk_info, sidecar_of
from fukayomi.selfplay.generator import SelfplayResult, generate
from fukayomi.selfplay.league import League, LeagueError, LeagueNetwork, LeagueRules, LeagueSettings
from fukayomi.selfplay.openings import Openings
from fukayomi.selfplay.settings import SelfplaySettings

WORKER = "local"
"""Name of the worker on this machine."""
BATCH = 16
"""Positions per batch on a CPU."""


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
        openings: Openings | None,
        listener: Listener,
    ) -> None:
        """Write the chunks of games `first_game` to `first_game + games - 1`.

        It can be repeated after a kill and then writes the same bytes.

        Args:
            settings: How games are generated.
            network: File of the network that plays.
            out: Folder for the chunks.
            name: Name of the worker.
            seed: Random seed of the run.
            first_game: Number of the first game.
            games: Number of games.
            league: Who plays besides the network; None: nobody.
            openings: Where games begin; None: at the start position.
            listener: Follows the games.

        Raises:
            Stopped: The user stopped it; the games are not complete.
        """
        ...


def local_generator(machine: GeneratorSettings, *given: Any, **named: Any) -> None:
    """A `Generator` that plays in this process.

    Raises:
        LoopError: The league cannot be played.
        Stopped: The user stopped it.
    """
    result = play_here(machine, *given, **named)
    if not result.finished:
        raise Stopped(result.stopped_by)


def play_here(
    machine: GeneratorSettings,
    settings: SelfplaySettings,
    network: Path,
    out: Path,
    *,
    seed: int,
    league: LeagueSettings | None,
    **others: Any,
) -> SelfplayResult:
    """Generate games in this process: `fukayomi.selfplay.generate` as the settings of a run have it.

    Args:
        machine: What plays the games.
        settings: How games are played.
        network: File of the network.
        out: Folder of the chunks.
        seed: Random seed.
        league: Who plays besides; None: nobody.
        others: Further arguments of `generate`.

    Raises:
        LoopError: The league cannot be played.
    """
    is_cpu = machine.device in REPRODUCIBLE_DEVICES
    precision = machine.precision_on(machine.device)
    options: dict[str, Any] = {"device": machine.device, "batch_size": machine.batch_size}
    if is_cpu:
        options |= {"threads": 1, "batch_size": machine.batch_size or BATCH}
    devices = machine.devices or (usable_cpus() if is_cpu else 1)
    try:
        with ExitStack() as stack:
            opponents = league and stack.enter_context(
                League(league, seed, devices=devices, precision=precision, **options)
            )
            return generate(
                settings, network, out, seed=seed, opponents=opponents, devices=devices, parallel=machine.parallel,
                precision=precision_for(network, precision),
                reproducible=machine.device in BATCH_DEPENDENT_DEVICES, **options, **others,
            )  # fmt: skip
    except LeagueError as error:
        raise LoopError(f"league, {error}") from error


def check_generation(run: Run) -> None:
    """See that the openings, the files and the programs of self-play are there, and a device that may run it.

    The device, and the programs of a fleet, may be on other machines.

    Raises:
        LoopError: Something is missing; the message names the setting.
    """
    settings, device = run.settings, run.settings.generator.device
    _ = run.openings
    check_device(settings.network, "generator", device, is_here=False)
    for network in settings.league.networks if settings.league else ():
        with naming(f"league, network, {network.name}, file"):
            check_network(network.file)
            check_family(network.file, "generator", device)
    if settings.league and settings.fleet is None:
        with naming("league"):
            settings.league.check_programs()


def past_networks(run: Run) -> list[KeptNetwork]:
    """The earlier networks that are opponents in the generation that is due, in order."""
    past = run.settings.league.past if run.settings.league else 0
    return run.journal.networks[:-1][-past:] if past else []


def league_settings(run: Run) -> LeagueSettings | None:
    """The league of the generation that is due; None without an opponent, as in a first one that has no engine.

    Raises:
        LoopError: The file of a network is missing, or another one.
        EvaluatorError: That of a network of the settings is missing.
    """
    league = run.settings.league
    if league is None:
        return None
    past = [(network.name, run.folder.verified(network), 1.0) for network in past_networks(run)]
    fixed = [(each.name, find_network(str(each.file)), each.weight) for each in league.networks]
    networks: list[LeagueNetwork] = []
    for name, file, weight in (*past, *fixed):
        wins, draws, losses = run.journal.results_against(name)
        games = wins + draws + losses
        networks.append(LeagueNetwork(name=name, file=file, weight=weight, games=games, wins=wins + draws / 2))
    if not (networks or league.engines):
        return None
    rules: dict[str, Any] = {name: getattr(league, name) for name in LeagueRules.model_fields}
    return LeagueSettings(**rules, networks=tuple(networks))


def recorded_settings(run: Run, league: LeagueSettings | None) -> dict[str, Any]:
    """The settings in the sidecars of the generation that is due.

    Raises:
        LoopError: A network of the league cannot be read.
    """
    values = run.settings.selfplay.model_dump(mode="json")
    if league is not None:
        try:
            values["league"] = league.recorded([file_sha256(network.file) for network in league.networks])
        except OSError as error:
            raise LoopError(f"league, network: {error.filename}: {error.strerror}") from error
    if run.openings is not None:
        values["openings"] = run.openings.settings
    return values


def _read_info(chunk: Path) -> ChunkInfo | None:
    """The sidecar of a chunk; None if it is damaged, as that of a hostile worker may be: ingest will say so."""
    try:
        return read_chunk_info(sidecar_of(chunk))
    except (ChunkError, InputFileError):
        return None


def league_results(chunks: Iterable[ChunkInfo], names: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """Wins, draws and losses against each opponent, of the chunks together; names without games have none."""
    results: dict[str, tuple[int, int, int]] = dict.fromkeys(names, (0, 0, 0))
    for chunk in chunks:
        for name, (wins, draws, losses) in chunk.opponents.items():
            before = results.get(name, (0, 0, 0))
            results[name] = before[0] + wins, before[1] + draws, before[2] + losses
    return results


def accepted_games(journal: Journal, chunks: Iterable[ChunkEntry]) -> Games:
    """Counts of the games that were just played, as far as they are in these accepted chunks."""
    played = journal.last(Played)
    names = {f"{GAMES}/{name}.hcpe3" for name in (played.chunks if played else ())}
    return _counts([chunk for chunk in chunks if chunk.path in names])


def _counts(chunks: Sequence[ChunkInfo | ChunkEntry]) -> Games:
    results = Counter(ResultCounts().model_dump())
    for chunk in chunks:
        results.update(chunk.results.model_dump())
    checked, wrong = (sum(chunk.wrong_resignations[which] for chunk in chunks) for which in (0, 1))
    return Games(
        games=sum(chunk.games for chunk in chunks),
        positions=sum(chunk.positions for chunk in chunks),
        plies=sum(chunk.plies for chunk in chunks),
        results=dict(results),
        wrong_resignations=(checked, wrong),
    )


def accepted_results(run: Run, chunks: Iterable[ChunkEntry]) -> dict[str, tuple[int, int, int]]:
    """Results against the league in the games that were just played, as far as they are in these accepted chunks.

    Raises:
        LoopError: The file of a network is missing, or another one.
        ChunkError, OSError: A sidecar cannot be read any more.
    """
    played, league = run.journal.last(Played), league_settings(run)
    if played is None or league is None:
        return {}
    paths = [run.folder.path / chunk.path for chunk in chunks]
    mine = [path for path in paths if run.folder.chunk_name(path) in played.chunks]
    results = league_results(map(read_chunk_info, map(sidecar_of, mine)), league.names)
    return {name: results[name] for name in league.names}


def _known_chunks(run: Run) -> set[str]:
    """Names of the chunks of earlier generations. Those in quarantine are gone, and their names may come again."""
    folder, manifest = run.folder, Manifest(run.folder.path)
    accepted, gone = (
        {folder.chunk_name(folder.path / each.path) for each in entries}
        for entries in (manifest.accepted.values(), manifest.quarantined.values())
    )
    return accepted | (set(run.journal.chunks) - gone)


def play_generation(run: Run, play: Generator) -> Played:
    """Generate the games of the generation that is due, and count them; ingest is told what they have to be of.

    Raises:
        LoopError: No game was kept, or the league cannot be played.
        KeyboardInterrupt: The user stopped it.
    """
    settings, folder = run.settings, run.folder
    generation, _ = run.journal.next_step
    network, league, manifest = run.journal.networks[-1], league_settings(run), Manifest(folder.path)
    manifest.add_network(network.sha256, network.generation, network.name)
    manifest.add_settings(recorded_settings(run, league))
    folder.games.mkdir(parents=True, exist_ok=True)
    first = (generation - 1) * settings.games
    known = _known_chunks(run)
    play(
        settings.selfplay, folder.verified(network), folder.games, name=WORKER, seed=settings.seed, first_game=first,
        games=settings.games, league=league, openings=run.openings, listener=run.listener,
    )  # fmt: skip
    chunks = {folder.chunk_name(path): path for path in find_deliveries(folder.games)}
    new = {name: path for name, path in chunks.items() if name not in known}
    mine = {name: info for name, path in new.items() if (info := _read_info(path)) is not None}
    if not mine:
        raise LoopError(f"{folder.games}: no games of generation {generation}; all were shorter than selfplay.min_move")
    return Played(
        generation=generation,
        network=network.sha256,
        chunks=tuple(mine),
        opponents=league_results(mine.values(), league.names if league else ()),
        **dict(_counts(list(mine.values()))),
    )
