"""Matches between the networks of a run, and with anchors: games that depend on the settings and the networks alone."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fukayomi.arena.game.choices import OpeningOrder, Tournament
from fukayomi.arena.match.configuration import build_settings, check_programs, split_command
from fukayomi.arena.match.match import run_match
from fukayomi.arena.match.result import MatchResult
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.engine.engine import Engine
from fukayomi.engine.network import Network
from fukayomi.engine.settings import UsiSettings
from fukayomi.listener import Listener
from fukayomi.loop.settings import OPENINGS, REPRODUCIBLE_DEVICES, LoopError, PlaySettings

BATCH = 8
"""Positions per batch on a CPU."""
MEMORY_MB = 64
"""Memory of a tree, MiB."""
MOST_AT_ONCE = 16
"""Games played at once, at most."""


@dataclass(frozen=True)
class Contestant:
    """A network or a USI engine that plays."""

    name: str
    network: Path | str | None = None
    """An ONNX file, or "embedded"."""
    precision: str | None = None
    """What the network is computed in; None: fp32 on a CPU, elsewhere what is fastest."""
    command: str | None = None
    """A USI engine, as a command line."""
    options: dict[str, str] = field(default_factory=dict[str, str])
    """Its USI options."""
    nodes: int | None = None
    """Nodes per move; None: those of the match."""


def play(
    folder: Path,
    contestants: Sequence[Contestant],
    settings: PlaySettings,
    *,
    games: int,
    seed: int,
    listener: Listener,
) -> MatchResult:
    """Play a match, or go on with it: the first contestant meets the others.

    On a CPU each game is a function of the networks, the settings and the seed, whatever else the machine does.

    Args:
        folder: Folder of the match.
        contestants: Who plays.
        settings: How they play.
        games: Games in all.
        seed: Seed for the order of the openings.
        listener: Follows the match.

    Raises:
        LoopError: A contestant failed.
        ValueError: A network, an engine or the openings cannot be used.
        KeyboardInterrupt: The user stopped the match; the games are saved.
    """
    with ExitStack() as stack:
        workers = [_engines(stack, networks) for networks in [_networks(stack, contestants, settings)] * _workers()]
        match = build_settings(
            {
                "engine": [_settings(each, workers[0], settings) for each in contestants],
                "games": games,
                "clock": f"nodes={settings.nodes}",
                "tournament": Tournament.GAUNTLET,
                "openings": settings.openings or OPENINGS,
                "opening_order": OpeningOrder.RANDOM,
                "seed": seed,
                "rules": {"max_plies": settings.max_plies},
                "concurrency": len(workers),
            }
        )
        check_programs(match, workers[0])
        result = run_match(match, folder, listener=listener, start_workers=partial(LocalWorkers, players=workers))
    if result.is_interrupted:
        raise KeyboardInterrupt
    if result.state.reasons:
        failure = result.state.reasons[0]
        raise LoopError(f"{folder}: {failure.engine} failed: {failure.detail}")
    return result


def _workers() -> int:
    from fukayomi.engine.evaluators.backends.machine import usable_cpus

    return min(MOST_AT_ONCE, usable_cpus())


def _networks(stack: ExitStack, contestants: Sequence[Contestant], settings: PlaySettings) -> dict[str, Network]:
    """The networks, loaded. One batch at a time and no cache: then a search depends on nothing but its position."""
    on_cpu = settings.device in REPRODUCIBLE_DEVICES
    found: dict[str, Network] = {}
    for each in contestants:
        if each.network is not None:
            found[each.name] = stack.enter_context(
                Network(
                    each.network,
                    device=settings.device,
                    precision=each.precision or ("fp32" if on_cpu else "auto"),
                    threads=1 if on_cpu else 0,
                    batch_size=BATCH if on_cpu else 0,
                    cache_mb=0,
                )
            )
    return found


def _engines(stack: ExitStack, networks: dict[str, Network]) -> dict[str, Engine]:
    """Engines for a worker. They look for mates in the tree alone, not in threads beside it."""
    options = UsiSettings(hash_mb=MEMORY_MB, mate_root_plies=0, resign_threshold=10)
    return {name: stack.enter_context(Engine(network, settings=options)) for name, network in networks.items()}


def _settings(each: Contestant, engines: dict[str, Engine], settings: PlaySettings) -> dict[str, object]:
    found: dict[str, object] = {"name": each.name, "clock": f"nodes={each.nodes or settings.nodes}"}
    if each.command is not None:
        return found | {"command": split_command(each.command, Path.cwd()), "options": each.options}
    return found | {"identity": engines[each.name].identity}
