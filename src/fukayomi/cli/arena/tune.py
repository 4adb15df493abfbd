"""``fukayomi tune``: parameters of a USI engine, by games."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fukayomi.cli.arena.match_options import workers
from fukayomi.cli.common.errors import USAGE, exit_at_sigterm, exit_stopped, fail
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.text import printable
from fukayomi.settings import build, read
from fukayomi.tuning.settings import TUNE_FILE, TuneSettings


@options_of(
    TuneSettings, "games", "clock", "method", "pairs", "batch", "opening_plies", "opening_order", "seed", panel="Games"
)
class TuneOptions:
    """What is played."""

    openings: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="1000 balanced openings that come with the package")
    ] = None
    """Openings, one SFEN or USI line per line; each is played twice with colours swapped."""


@options_of(
    TuneSettings, "concurrency", "cores_per_game", "restart", "log", panel="This run (may change from run to run)"
)
class TuneRunOptions:
    """Options that may change from run to run."""

    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", show_default="this machine")] = None
    """Play on a Ray cluster: auto (the one this machine belongs to), HOST:PORT, or ray://HOST:PORT. Plays as many games
    at once as the cluster has CPUs for, unless --concurrency says otherwise; the engine must start here, too."""
    as_json: AsJson = False


def tune(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run; one that was cut off goes on.")],
    games: TuneOptions,
    run: TuneRunOptions,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Engine, parameters and everything else; paths are relative to it."),
    ] = None,
) -> None:
    """Tune options of a USI engine by games against itself.

    \b
    fukayomi tune out --config tune.toml
    fukayomi tune out --concurrency 4
    fukayomi match --config out/confirm.toml --sprt elo0=0,elo1=5 --out check

    FILE.toml names the engine and the options, each with its range:

    \b
    games = 4000
    clock = "nodes=100"
    engine = { name = "own", command = ["fukayomi-usi"] }
    parameter.C_init = { low = 88, high = 200 }
    parameter.FPU = { choices = ["loss", "parent", "half", "win"] }

    With --method spsa each pair of games is played between two engines whose parameters all differ, by distances that
    shrink to c_end (a 20th of the range), and moves all values towards the winner. adam scales these steps; tpe and
    cma-es are samplers of Optuna, whose trials play against the start. Ranges beyond the engine's own are refused;
    pairs in which it crashes or hangs do not count.

    DIR gets tuned.ini (NAME=VALUE), confirm.toml, the match that confirms or rejects it, report.html with the course of
    each parameter, tune.toml with the settings, and rounds/ with a match for each round. A kill costs the games in
    progress: the same command, or fukayomi tune DIR, goes on to the same values.
    """
    from fukayomi.cli.arena.tune_report import TuneProgress, report
    from fukayomi.tuning.tuning import read_tuning
    from fukayomi.tuning.tuning import tune as run_tuning

    settings = _settings(folder, config, games, run)
    exit_at_sigterm()
    try:
        with workers(run.ray) as (start_workers, at_once), TuneProgress() as listener:
            if at_once is not None and run.concurrency is None:
                settings = settings.changed(concurrency=at_once(settings.cores_per_game or 1))
            tuning = run_tuning(settings, folder, listener=listener, start_workers=start_workers)
    except KeyboardInterrupt:
        if not TUNE_FILE.path(folder).is_file():
            typer.echo("stopped before the first game", err=True)
            exit_stopped(None)
        report(read_tuning(folder), as_json=run.as_json)
        typer.echo(f"stopped; run the same command again to go on, or fukayomi tune {printable(str(folder))}", err=True)
        exit_stopped(None)
    report(tuning, as_json=run.as_json)


def _settings(folder: Path, config: Path | None, games: TuneOptions, run: TuneRunOptions) -> TuneSettings:
    """The settings: those of --config, or of the folder, replaced by those on the command line."""
    layers = TUNE_FILE.layers(folder) if config is None else [read(TuneSettings, config)]
    if not layers:
        fail(f"nothing is tuned in {folder} yet: give the engine and its parameters by --config FILE.toml", USAGE)
    (found,) = layers
    for key in ("engine", "parameter"):
        if key not in found:  # no option gives it
            fail(f"{config or folder}: {key} is missing; fukayomi tune --help shows a file", USAGE)
    given: dict[str, Any] = given_options(games, "openings") | given_options(run, "ray", "as_json")
    if games.openings is not None:
        given["openings"] = games.openings.absolute()
    elif "openings" not in found:
        from fukayomi.loop.settings import OPENINGS

        given["openings"] = OPENINGS
    return build(TuneSettings, found, given)
