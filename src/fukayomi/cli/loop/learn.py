"""``fukayomi learn``: a network makes itself stronger."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import USAGE, exit_stopped, fail
from fukayomi.cli.common.text import json_text, printable
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.loop.settings import LoopSettings


@dataclass(frozen=True)
class LearnOptions:
    """Options for the sources of settings, and for what is printed."""

    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Settings to start from: tiny (2 cores, 15 minutes), cpu, gpu or fleet. Those of a file win.",
        ),
    ] = None
    generations: Annotated[
        int | None, typer.Option(min=1, help="Generations of the whole run; a larger number extends a run.")
    ] = None
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Network of a new run, by its name: resnet5x64_relu, sparse-384x384 (made for CPUs), and others of "
            "`fukayomi train`.",
        ),
    ] = None
    initial: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Network whose weights a new run begins with, instead of random ones."),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object; progress goes to stderr.")
    ] = False


def learn(
    out: Annotated[Path, typer.Option(help="Folder of the run; if it has one already, the run goes on.")],
    options: LearnOptions,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="RUN.toml", help="Settings of the run, for example DIR/run.toml of another."),
    ] = None,
) -> None:
    """Make a network stronger by games against itself: generate games, check them, train, test, and again.

    \b
    fukayomi learn --preset tiny --out run
    fukayomi learn --preset cpu --network sparse-384x384 --out run
    fukayomi learn run.toml --out run
    fukayomi learn --out run --generations 40
    fukayomi learn status run
    fukayomi learn report run
    fukayomi learn exclude run WORKER

    Each generation the newest network that passed plays games against itself; the games are checked and added to the
    window from which the learner draws; the new network plays the old one in a sequential test (gate), and anchors and
    earlier networks to be rated. docs/learn.md has the settings.

    On a CPU that is fast at it (x86 with AVX2) the networks of a new run play in int16; generator.precision = "fp32" in
    RUN.toml is exact, and slower.

    Ctrl-C stops the run, and the same command goes on; so it does after a kill, and with one generator on a CPU the
    networks are the same, to the bit. `learn status DIR` says what runs, how fast, and how strong; `learn report DIR`
    writes a page.
    """
    from fukayomi.cli.loop.learn_progress import LearnProgress
    from fukayomi.loop.steps import learn as run_loop

    settings = _settings(file, options, out)
    with LearnProgress(to_stderr=options.as_json) as listener:
        result = run_loop(settings, out, listener=listener)
    if options.as_json:
        values = {"generations": result.generations, "of": result.of, "network": str(result.network)}
        values["trained"] = result.trained
        typer.echo(json_text({"folder": str(result.folder), "finished": result.finished, **values}))
    elif result.finished and result.trained:
        typer.echo(printable(f"done: {result.network}"))
        typer.echo(printable(f"next: fukayomi learn report {out}"))
    if not result.finished:
        typer.echo(
            printable(f"stopped in generation {result.generations + 1} of {result.of}; run the same command to go on"),
            err=True,
        )
        exit_stopped(result.stopped_by)
    if not result.trained:
        fail(
            f"nothing was learned: {counted(result.of, 'generation')} brought too few positions for a step. Go on with "
            "more of them (--generations); or begin another run with more games, a smaller training.batch, or "
            "smaller learner.least_positions"
        )


def _settings(file: Path | None, options: LearnOptions, out: Path) -> "LoopSettings":
    from fukayomi.loop.folder import SETTINGS_NAME
    from fukayomi.loop.settings import build_settings, preset_names, read_settings

    layers: list[dict[str, Any]] = []
    if options.preset is not None:
        layers.append({"preset": options.preset})
    if file is not None:
        layers.append(read_settings(file))
    if not layers:
        if not (out / SETTINGS_NAME).is_file():
            names = ", ".join(preset_names())
            fail(f"{out} has no run yet: name a file of settings, or a preset (--preset {names})", USAGE)
        layers.append(read_settings(out / SETTINGS_NAME))
    if options.network is not None:
        layers.append({"network": {"name": options.network}})
    if options.initial is not None:
        layers.append({"learner": {"initial": str(options.initial.absolute())}})
    if options.generations is not None:
        layers.append({"generations": options.generations})
    return build_settings(*layers)
