"""``fukayomi match networks``: a match between networks, many games at once."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from fukayomi.arena.match.settings import MatchSettings
from fukayomi.cli.arena.match import report_result, watching
from fukayomi.cli.arena.match_options import Sprt, read_sprt
from fukayomi.cli.common.errors import INTERRUPTED, USAGE, fail
from fukayomi.cli.common.options import AsJson, by_short_name, given_options, options_of
from fukayomi.selfplay.settings import PoolSettings

if TYPE_CHECKING:
    from fukayomi.arena.match.result import MatchResult
    from fukayomi.engine.network import Network
    from fukayomi.shogi import Position

BATCH = 8
"""Positions per batch of a core."""

Files = Annotated[
    list[str], typer.Argument(metavar="NETWORK...", help="Two networks or more: files, or embedded ones by name.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the match: database, records, PGN.")]


@options_of(MatchSettings, "seed", "tournament", panel="Games")
class NetworkGames:
    """The games, and when the match stops."""

    games: Annotated[int, typer.Option(metavar="N", help="Games in total; can be raised later.", min=1)] = 400
    openings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Openings, one SFEN or USI line per line; each is played twice with colours swapped.",
            show_default="1000 balanced openings that come with the package",
        ),
    ] = None
    opening_plies: Annotated[int | None, typer.Option(metavar="PLY", help="Cut openings at this ply.", min=0)] = None
    sprt: Sprt = None


@options_of(PoolSettings, "playouts", "max_plies", "parallel", panel="Search")
class PoolOptions:
    """Options for the games between networks."""


@dataclass(frozen=True)
class NetworkDevices:
    """Devices that run the networks."""

    PANEL: ClassVar = "Network"

    device: Annotated[
        str,
        typer.Option(
            help="Library and device: native (residual and sparse), cpu (all in ONNX), openvino, cuda, tensorrt."
        ),
    ] = "native"
    precision: Annotated[str, typer.Option(help="auto, fp32, fp16, bf16, int16 or int8.")] = "auto"


def networks(
    files: Files,
    out: Out,
    games: NetworkGames,
    pool: PoolOptions,
    devices: NetworkDevices,
    as_json: AsJson = False,
) -> None:
    """Play a match between networks, by the engine's search with a fixed number of playouts.

    \b
      fukayomi match networks new.onnx old.onnx --playouts 100 \\
        --games 1000 --sprt elo0=0,elo1=10 --out new-old

    Many games are played at once and fill the batches together: several times faster than a match of engines, on a GPU
    far more. Each move has a new tree, no side resigns, and nothing is left to chance. A match at equal time, which
    counts in the end, is one of engines: fukayomi match.

    Every finished game is safe on disk; run the same command again to resume, or with more --games to extend the match.
    DIR gets match.db, games/ and games.pgn, for fukayomi rate and fukayomi sprt.
    """
    if len(files) < 2:
        fail("a match needs two networks or more", USAGE)
    result = _play(by_short_name(files, lambda file: file.stem), out, games, pool, devices)
    report_result(result, as_json=as_json)


def _play(
    files: dict[str, str], out: Path, games: NetworkGames, pool: PoolOptions, devices: NetworkDevices
) -> "MatchResult":
    from fukayomi.selfplay import play_networks

    given: dict[str, Any] = {"seed": 0, "playouts": PoolSettings().playouts}
    given |= given_options(games, "opening_plies", "openings", "sprt") | given_options(pool)
    PoolSettings(**{name: value for name, value in given.items() if name in PoolSettings.model_fields})  # checked early
    try:
        with ExitStack() as stack, watching() as listener:
            return play_networks(
                {name: stack.enter_context(_load(file, devices)) for name, file in files.items()},
                openings=_openings(games),
                folder=out,
                sprt=read_sprt(games.sprt),
                reproducible=devices.device == "cpu",
                listener=listener,
                **given,
            )
    except KeyboardInterrupt:  # before there was anything to save, or for the second time
        fail("stopped; run the same command again to resume the match", INTERRUPTED)


def _load(file: str, devices: NetworkDevices) -> "Network":
    """A network on each core, or on a GPU."""
    from fukayomi.engine import Network
    from fukayomi.engine.evaluators.backends.machine import usable_cpus

    on_cores = devices.device in ("native", "cpu")
    return Network(
        [file] * (usable_cpus() if on_cores else 1),
        device=devices.device,
        precision=devices.precision,
        threads=1 if on_cores else 0,
        batch_size=BATCH if on_cores else 0,
        cache_mb=0,
    )


def _openings(games: NetworkGames) -> "Path | list[Position]":
    from fukayomi.arena.game.openings import read_openings
    from fukayomi.loop.settings import OPENINGS

    path = games.openings or OPENINGS
    if games.opening_plies is None:
        return path
    return [opening.position() for opening in read_openings(path, games.opening_plies)]
