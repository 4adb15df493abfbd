"""``fukayomi match networks``: a match between networks, many games at once."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi.arena.game import choices
from fukayomi.arena.game.choices import Tournament
from fukayomi.cli.arena.match import report_result, watching
from fukayomi.cli.arena.match_options import SPRT_FIELDS
from fukayomi.cli.common.errors import INTERRUPTED, USAGE, fail
from fukayomi.cli.common.options import AsJson, by_short_name

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


@dataclass(frozen=True)
class NetworkGames:
    """The games, and when the match stops."""

    PANEL: ClassVar = "Games"

    games: Annotated[int, typer.Option(metavar="N", help="Games in total; can be raised later.", min=1)] = 400
    playouts: Annotated[
        int, typer.Option(help="Visits of the root's moves for each move; fewer where the best is clear.", min=1)
    ] = 100
    openings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Openings, one SFEN or USI line per line; each is played twice with colours swapped.",
            show_default="1000 balanced openings that come with the package",
        ),
    ] = None
    opening_plies: Annotated[int | None, typer.Option(metavar="PLY", help="Cut openings at this ply.", min=0)] = None
    seed: Annotated[int, typer.Option(help="Seed for shuffling the openings.", min=0)] = choices.SEED
    max_plies: Annotated[int, typer.Option(help="Draw after this many plies, the opening included.", min=1)] = 256
    tournament: Annotated[
        Tournament, typer.Option(help="Every network meets every other, or the first one meets all others.")
    ] = Tournament.ROUND_ROBIN
    sprt: Annotated[
        str | None,
        typer.Option(
            metavar="elo0=0,elo1=5",
            help="Stop when this sequential test of two networks decides; also alpha=, beta=, "
            "model=normalized|logistic.",
        ),
    ] = None


@dataclass(frozen=True)
class NetworkDevices:
    """What runs the networks."""

    PANEL: ClassVar = "Network"

    device: Annotated[
        str,
        typer.Option(
            help="Library and device: native (residual and sparse), cpu (all in ONNX), openvino, cuda, tensorrt."
        ),
    ] = "native"
    precision: Annotated[str, typer.Option(help="auto, fp32, fp16, bf16, int16 or int8.")] = "auto"
    parallel: Annotated[int, typer.Option(help="Games at once.", show_default="enough to fill the batches", min=0)] = 0


def networks(files: Files, out: Out, games: NetworkGames, devices: NetworkDevices, as_json: AsJson = False) -> None:
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
    result = _play(by_short_name(files, lambda file: file.stem), out, games, devices)
    report_result(result, as_json=as_json)


def _play(files: dict[str, str], out: Path, games: NetworkGames, devices: NetworkDevices) -> "MatchResult":
    from fukayomi.arena.match.configuration import parse_fields
    from fukayomi.selfplay import play_networks

    try:
        with ExitStack() as stack, watching() as listener:
            return play_networks(
                {name: stack.enter_context(_load(file, devices)) for name, file in files.items()},
                games=games.games,
                playouts=games.playouts,
                openings=_openings(games),
                folder=out,
                sprt=None if games.sprt is None else parse_fields(games.sprt, "elo1", SPRT_FIELDS),
                seed=games.seed,
                tournament=games.tournament,
                max_plies=games.max_plies,
                parallel=devices.parallel,
                reproducible=devices.device == "cpu",
                listener=listener,
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
