"""Options of `fukayomi selfplay`. None means: not given, so that the file of --config or the library decides."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from fukayomi.cli.common.options import AsJson, options_of
from fukayomi.selfplay.settings import SelfplaySettings


@dataclass(frozen=True)
class RunOptions:
    """Options for the number of games, their folder, and who makes them."""

    games: Annotated[
        int | None, typer.Option("--games", "-n", help="Games to play, with those in DIR.", min=1, show_default=False)
    ] = None
    positions: Annotated[
        int | None,
        typer.Option(help="Positions with targets to make, instead of --games.", min=1, show_default=False),
    ] = None
    name: Annotated[str, typer.Option(help="Name of the worker; names of its files begin with it.")] = "selfplay"
    seed: Annotated[
        int, typer.Option(help="Random seed; a game depends on it and its number.", min=0, max=2**64 - 1)
    ] = 0
    parallel: Annotated[
        int | None, typer.Option(help="Games at once.", show_default="64 a device, or more for large batches", min=1)
    ] = None
    reproducible: Annotated[
        bool,
        typer.Option(
            "--reproducible", help="Run full batches only, so that games do not depend on which of them meet in one."
        ),
    ] = False
    config: Annotated[
        Path | None, typer.Option(metavar="TOML", help="File with settings; options change them.", show_default=False)
    ] = None
    as_json: AsJson = False


@dataclass(frozen=True)
class DeviceOptions:
    """Devices that run the network."""

    PANEL: ClassVar = "Device"

    devices: Annotated[int, typer.Option(help="Devices that run the network.", min=1, max=8)] = 1
    device: Annotated[str, typer.Option(help="Library and device: native, cpu, openvino, cuda, ...")] = "auto"
    precision: Annotated[str, typer.Option(help="fp32, fp16, bf16, int16 or int8; auto: measured.")] = "auto"
    threads: Annotated[int, typer.Option(help="CPU threads for a batch; 0: measured.", min=0)] = 0
    batch_size: Annotated[int, typer.Option(help="Positions in a batch; 0: measured.", min=0)] = 0
    cache_mb: Annotated[int, typer.Option(help="Memory for evaluations that may come again, MiB; 0: none.", min=0)] = 64


@dataclass(frozen=True)
class OpeningOptions:
    """Options for the positions where games begin."""

    PANEL: ClassVar = "Openings"

    openings: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Positions to begin at, drawn at random: hcp (*.hcp), or a line each, as SFEN or USI moves. 'FILE*2' "
            "gives its positions twice the weight. May be given several times.",
            show_default="the start position",
        ),
    ] = None
    book: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False,
            help="Opening book in place of --openings: a game begins with its moves, drawn with the network's policy.",
        ),
    ] = None  # fmt: skip
    book_plies: Annotated[int, typer.Option(help="Number of these moves at most.", min=1)] = 24
    keep_apart: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Refuse openings, or a book that leads to openings, that share a position with this set.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class LeagueOptions:
    """Options for the players besides the network."""

    PANEL: ClassVar = "League"

    league: Annotated[
        Path | None,
        typer.Option(
            metavar="TOML",
            help="USI engines and earlier networks that play a share of the games; docs/selfplay.md has an example.",
            show_default="nobody",
        ),
    ] = None
    split_opponent: Annotated[
        bool,
        typer.Option(
            "--split-opponent", help="Write games of the league to files of their own, NAME-000001_opp.hcpe3."
        ),
    ] = False


@dataclass(frozen=True)
class ReportOptions:
    """Options for the reports about the run."""

    PANEL: ClassVar = "Reports"

    log_lines: Annotated[
        bool, typer.Option("--log-lines", help="Print dlshogi's log lines even on a terminal, in place of the table.")
    ] = False
    json_lines: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append an object for each game, chunk and state.", show_default=False),
    ] = None
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for TensorBoard's curves.", show_default=False)
    ] = None


@options_of(
    SelfplaySettings, "playouts", "extension", "leaves", "c_init", "c_base", "c_init_root",
    "c_base_root", "fpu", "fpu_reduction", "fpu_root", "fpu_reduction_root", "temperature", "temperature_root",
    "root_rule", "root_noise", "root_noise_epsilon", "root_noise_alpha", "forced_playouts", "gumbel_moves",
    "gumbel_visits", "gumbel_scale", "gumbel_c_visit", "gumbel_c_scale", "leaf_mate_plies", "leaf_mate_nodes",
    "mate_depth", "mate_nodes", "draw_value_black", "draw_value_white", panel="Search"
)  # fmt: skip
class SearchOptions:
    """The search of a move."""


@options_of(
    SelfplaySettings, "random", "random_temperature", "random_temperature_drop", "random_cutoff", "random_cutoff_drop",
    "random2", "low_moves", panel="Choice of moves"
)  # fmt: skip
class MoveOptions:
    """The choice of a move."""


@options_of(
    SelfplaySettings, "min_move", "max_move", "threshold", "play_out", "declaration_rule", "chunk_games", panel="Games"
)
class GameOptions:
    """The end of a game."""


@options_of(
    SelfplaySettings,
    "cheap",
    "cheap_playouts",
    "soft_playouts",
    "soft_weight",
    "surprise",
    "fork",
    panel="For few machines",
)
class SavingOptions:
    """Options that make more of few machines."""


@options_of(SelfplaySettings, "early_stop", "reuse", "train_random", "out_max_move", panel="Switches")
class SwitchOptions:
    """Switches. (Beside them, the names of other options would not fit into 80 columns.)"""
