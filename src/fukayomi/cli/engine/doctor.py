"""``fukayomi doctor``: what can run a network on this computer, and which backend is taken."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.options import NETWORK_HELP, AsJson
from fukayomi.cli.common.progress import StageBars, number_table
from fukayomi.cli.common.text import json_text, printable

if TYPE_CHECKING:
    from fukayomi.engine.measuring.doctor import Diagnosis


@dataclass(frozen=True)
class DoctorOptions:
    """The network."""

    network: Annotated[
        Path | None,
        typer.Argument(metavar="NETWORK", help=NETWORK_HELP, show_default="the embedded one for this computer"),
    ] = None
    as_json: AsJson = False


def doctor(options: DoctorOptions) -> None:
    """Say which backends can run a network on this computer, measure them, and say which one is taken and why.

    What is missing is named, with the command that installs it; what cannot run here is untested. Where a GPU does not
    play yet, a line of advice names the package that makes it play. Positions per second are those of CPU time, as if
    no other program were running; on a GPU those by the clock. The choice is remembered, so that the engine starts
    without measuring; after a change of the computer run this again. Exits with 1 if nothing can run the network.

    \b
    fukayomi doctor
    fukayomi doctor network.onnx --json
    """
    from fukayomi.engine.measuring.doctor import diagnose

    with StageBars() as listener:
        diagnosis = diagnose(options.network, listener=listener)
    if options.as_json:
        typer.echo(json_text(diagnosis.as_dict()))
    else:
        print_diagnosis(diagnosis)
    if not diagnosis.is_usable:
        raise typer.Exit(1)


def print_diagnosis(diagnosis: "Diagnosis") -> None:
    """Print the computer, a table of what was measured, what is untested, and the choice."""
    from rich.console import Console

    from fukayomi.engine.measuring.doctor import missing_int8
    from fukayomi.engine.network import embedded_networks
    from fukayomi.tabular import counted

    machine, plan = diagnosis.machine, diagnosis.plan
    _say("CPU", f"{machine.cpu or 'unknown'}: {diagnosis.cpu_class}; {counted(machine.cpus, 'CPU')} usable")
    _say("GPU", ", ".join(machine.gpus) or "none found")
    _say("Libraries", ", ".join(f"{name} {version}" for name, version in diagnosis.libraries.items()))
    _say("Network", diagnosis.network)
    embedded = embedded_networks()
    if Path(diagnosis.network) in embedded.values():
        for name in (name for name, path in embedded.items() if path != Path(diagnosis.network)):
            _say("Embedded", f"another one is {name}: fukayomi doctor '{name}'")
    table = number_table("backend", "precision", "positions/s", "x cpu fp32", "same best move", "value error")
    table.columns[1].justify = "left"
    for row in diagnosis.backends:
        if row.evaluations_per_s is not None:
            table.add_row(
                row.backend,
                row.precision or "",
                f"{row.evaluations_per_s:,.0f}",
                "" if row.ratio is None else f"{row.ratio:.2f}",
                "" if row.top1 is None else f"{row.top1:.1%}",
                "" if row.value_error is None else f"{row.value_error:.4f}",
            )
    table.caption = "positions/s: of CPU time, as if nothing else ran; on a GPU by the clock"
    Console().print(table)
    for row in diagnosis.backends:
        if row.problem:
            _say("Untested", f"{' '.join(filter(None, (row.backend, row.precision)))}: {row.problem}")
    missing = missing_int8(diagnosis)
    if missing is not None:
        _say("Untested", f"int8: {missing}")
    if diagnosis.advice is not None:
        _say("Advice", diagnosis.advice)
    if plan is None:
        _say("Taken", f"nothing can run this network: {diagnosis.reason}")
        return
    _say(
        "Taken",
        f"{plan.backend} {plan.precision}, {counted(plan.threads, 'thread')}, batch {plan.batch_size}, "
        f"{plan.slots} in flight",
    )
    _say("Why", diagnosis.reason or "nothing is clearly faster")


def _say(title: str, text: str) -> None:
    typer.echo(f"{title + ':':<11}{printable(text)}")
