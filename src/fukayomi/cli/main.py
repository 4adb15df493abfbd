"""``fukayomi``: the table of commands. Each is a function in a module of its own, imported when it is needed."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from fukayomi import __version__
from fukayomi.cli.common.commands import Commands, add_command, flowing
from fukayomi.cli.common.options import spread_options
from fukayomi.cli.common.streams import guarded_output

# Words of the command, and where its function is. The help has them in this order, and groups of commands last.
_COMMANDS = {
    "analyse": "engine.analyse:analyse",
    "web": "web.web:web",
    "match": "arena.match:match",
    "match calibrate": "arena.calibrate:calibrate",
    "match networks": "arena.match:networks",
    "tune": "arena.tune:tune",
    "mate": "engine.mate:mate",
    "worth": "engine.worth:worth",
    "perft": "engine.mate:perft",
    "serve": "engine.serve:serve",
    "bench": "engine.bench:bench",
    "bench nps": "engine.bench_nps:nps",
    "doctor": "engine.doctor:doctor",
    "tune-opencl": "engine.tune_opencl:tune_opencl",
    "usi": "engine.usi:main",
    "book show": "book.show:show",
    "book minmax": "book.minmax:minmax",
    "book grow": "book.grow:grow",
    "book search": "book.search:search",
    "book convert": "book.verbs:convert",
    "book merge": "book.verbs:merge",
    "book prune": "book.verbs:prune",
    "book compare": "book.verbs:compare",
    "book check": "book.verbs:check",
    "data convert": "data.formats:convert",
    "data check": "data.formats:check",
    "data stats": "data.stats:stats",
    "data print": "data.formats:print_file",
    "data split": "data.verbs:split",
    "data sample": "data.verbs:sample",
    "data shuffle": "data.verbs:shuffle",
    "data merge": "data.verbs:merge",
    "data filter": "data.verbs:filter_files",
    "data fix-eval": "data.verbs:fix_eval",
    "data uniq": "data.uniq:uniq",
    "data average": "data.uniq:average",
    "data csa-to-hcpe": "data.csa_to_hcpe:csa_to_hcpe",
    "positions balanced": "arena.positions:balanced",
    "positions compare": "arena.positions:compare",
    "positions disagree": "arena.disagree:disagree",
    "csa play": "clients.csa:play",
    "csa serve": "clients.csa:serve",
    "lishogi play": "clients.lishogi:play",
    "lishogi upgrade": "clients.lishogi:upgrade",
    "selfplay": "learning.selfplay:selfplay",
    "train": "learning.train:train",
    "learn": "loop.learn:learn",
    "learn status": "loop.learn:status",
    "learn report": "loop.learn:report",
    "learn exclude": "loop.learn:exclude",
    "learn admit": "loop.learn:admit",
    "label": "learning.label:label",
    "leaves": "learning.leaves:leaves",
    "reanalyze": "learning.reanalyze:reanalyze",
    "eval-model": "learning.eval_model:eval_model",
    "plot": "learning.plot:plot",
    "export": "learning.export:export",
    "average-networks": "learning.average_networks:average_networks",
    "rate": "arena.rate:rate",
    "sprt": "arena.sprt:sprt",
    "first-move": "arena.rate:first_move",
    "strategy": "arena.strategy:strategy",
}


def make_app(words: Sequence[str] | None = None) -> typer.Typer:
    """Make the program, with the commands that the words may mean: few of them start sooner than all.

    Args:
        words: Words of the command line, after the name of the program. None: all commands but those below `learn`.
    """
    app = typer.Typer(
        name="fukayomi",
        cls=Commands,
        help="fukayomi (深読み): a deep-learning shogi engine and the tools that make it stronger.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
    )
    groups = {
        "match": typer.Typer(name="match", no_args_is_help=False, subcommand_metavar="[calibrate|networks ...]"),
        "bench": typer.Typer(name="bench", no_args_is_help=False, subcommand_metavar="[nps ...]"),
        "book": typer.Typer(
            name="book",
            help="Opening books (定跡): show, make, convert, merge, check them.",
            no_args_is_help=True,
        ),
        "data": typer.Typer(
            name="data", help="Training data: make it from game records, convert it, check it.", no_args_is_help=True
        ),
        "positions": typer.Typer(
            name="positions",
            help="Positions to begin matches from: balanced ones (互角局面集), and those where engines are wrong.",
            no_args_is_help=True,
        ),
    }
    groups["csa"] = typer.Typer(
        name="csa", help="Games on CSA servers such as floodgate, and a server for friends.", no_args_is_help=True
    )
    groups["lishogi"] = typer.Typer(name="lishogi", help="A bot on lishogi, with any USI engine.", no_args_is_help=True)
    if words and words[0] == "learn" and " ".join(words[:2]) in _COMMANDS:  # `learn` itself takes a file
        groups["learn"] = typer.Typer(name="learn", no_args_is_help=True)
    app.callback()(fukayomi)
    for group in groups.values():
        app.add_typer(group)
    for command, place in _named(words).items():
        module, _, function = place.partition(":")
        run = getattr(import_module(f"fukayomi.cli.{module}"), function)
        group, _, name = command.rpartition(" ")
        if command in groups:
            groups[command].callback(invoke_without_command=True, help=flowing(run))(spread_options(run))
        else:
            add_command(groups[group] if group else app, run, name)
    return app


def _named(words: Sequence[str] | None) -> dict[str, str]:
    """The commands that may be meant: the one named in full, those of a group, or all that stand in no group."""
    if words is None:
        return {command: place for command, place in _COMMANDS.items() if not command.startswith("learn ")}
    first = words[0] if words else ""
    if first == "--version":
        return {}
    if first not in ("match", "bench"):  # they run alone and with a sub-command
        for command in (" ".join(words[:2]), first):
            if command in _COMMANDS:
                return {command: _COMMANDS[command]}
    grouped = {command: place for command, place in _COMMANDS.items() if command.split()[0] == first}
    return grouped or {command: place for command, place in _COMMANDS.items() if " " not in command}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fukayomi {__version__}")
        raise typer.Exit


def fukayomi(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Play, analyse, learn, measure."""


def main() -> None:
    """Entry point of the program."""
    with guarded_output():
        make_app(sys.argv[1:])()
