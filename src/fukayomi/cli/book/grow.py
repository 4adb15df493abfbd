"""``fukayomi book grow``: a book by endless matches."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.book_growth.settings import GROW_FILE, GrowSettings
from fukayomi.cli.arena.match_options import EngineOptions, RuleOptions, given_engines, given_rules, workers
from fukayomi.cli.common.errors import USAGE, exit_at_sigterm, exit_stopped, fail
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.text import printable
from fukayomi.engine.settings import is_network_name
from fukayomi.settings import build, merged

if TYPE_CHECKING:
    from fukayomi.book.minmax.reach import Judge

PANEL = "Rounds"


@options_of(
    GrowSettings, "start", "clock", "games", "rounds", "games_from", "spread", "network", panel=PANEL, sides="--side"
)
class RoundOptions:
    """What is played in a round."""

    black_th: Annotated[int | None, typer.Option(metavar="N", show_default="100")] = None
    """Least number of games of a position in Black's book."""
    white_th: Annotated[int | None, typer.Option(metavar="N", show_default="50")] = None
    """Least number of games of a position in White's book."""


@options_of(GrowSettings, "concurrency", "restart", "log", panel="This run (may change from run to run)")
class GrowRunOptions:
    """Options that may change from run to run."""

    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", show_default="this machine")] = None
    """Play on a Ray cluster: auto (the one this machine belongs to), HOST:PORT, or ray://HOST:PORT. Its nodes need DIR
    under the same path."""
    as_json: AsJson = False


def grow(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the books; those of earlier runs grow on.")],
    rounds: RoundOptions,
    engines: EngineOptions,
    rules: RuleOptions,
    run: GrowRunOptions,
) -> None:
    """Grow opening books (定跡) by endless matches with the books so far.

    \b
    fukayomi book grow grown --engine own=fukayomi-usi --clock nodes=1000
    fukayomi book grow grown
    fukayomi book grow grown --rounds 100 --concurrency 8

    In each round, --games games are played with Black's book and as many with White's, side by side; then both books
    are made again by min-max from the results of all games, as by fukayomi book minmax. The engine that has the book's
    side plays its best move; what both try beside it becomes branches. With --games-from frontier half of the games
    begin where results may change the choice at the start.

    Engines get the book by Book_File, or BookDir and BookFile, with BookMoves 256, BookEvalDiff 0 and the limits -200,
    unless --option says otherwise; sides resign at -500 (--resign), and games are drawn after 320 plies (--max-plies).
    Node limits differ from game to game by --spread.

    DIR gets black/user_book1.db and white/user_book1.db, journal.jsonl, report.html with the tree, grow.toml with the
    settings, and rounds/ with a match for each side and round. A kill costs the games in progress: the same command,
    or fukayomi book grow DIR, goes on.
    """
    from fukayomi.book_growth.growth import grow_book, read_growth
    from fukayomi.cli.book.grow_report import GrowProgress, report

    settings = _settings(folder, rounds, engines, rules, run)
    exit_at_sigterm()
    try:
        with ExitStack() as stack:
            start_workers, at_once = stack.enter_context(workers(run.ray))
            judge = stack.enter_context(_judge(settings))
            listener = stack.enter_context(GrowProgress())
            concurrency = settings.concurrency or (at_once and at_once(1))
            growth = grow_book(
                settings, folder, judge=judge, listener=listener, start_workers=start_workers, concurrency=concurrency
            )
    except KeyboardInterrupt:
        if not GROW_FILE.path(folder).is_file():
            typer.echo("stopped before the first game", err=True)
            exit_stopped(None)
        growth = read_growth(folder)
        report(growth, as_json=run.as_json)
        typer.echo(
            f"stopped in round {len(growth.rounds) + 1}; run the same command again to go on, or fukayomi book grow "
            f"{printable(str(folder))}",
            err=True,
        )
        exit_stopped(None)
    report(growth, as_json=run.as_json)


def _settings(
    folder: Path, rounds: RoundOptions, engines: EngineOptions, rules: RuleOptions, run: GrowRunOptions
) -> GrowSettings:
    """The settings: those of the folder, replaced by those of --config, replaced by those on the command line."""
    found = reduce(merged, GROW_FILE.layers(folder, engines.config), {})
    given = given_options(rounds, "black_th", "white_th") | given_options(run, "ray", "as_json")
    if rounds.network is not None:
        is_name = is_network_name(str(rounds.network))
        given["network"] = rounds.network if is_name else rounds.network.absolute()
    for side, th in (("black", rounds.black_th), ("white", rounds.white_th)):
        if th is not None:
            given[side] = {"th": th}
    if conditions := given_rules(rules):
        given["rules"] = conditions
    found["engine"] = given_engines(found.get("engine", []), engines)
    if not found["engine"]:
        fail("no engine is named: --engine NAME=COMMAND, or [[engine]] in --config", USAGE)
    if engines.undeclared_options is not None:
        found["engine"] = [each | {"undeclared_options": engines.undeclared_options} for each in found["engine"]]
    if "clock" not in given and found.get("clock") is None:
        if any(engine.get("clock") is None for engine in found["engine"]):
            fail("clock is missing: give for example --clock nodes=1000", USAGE)
        found["clock"] = found["engine"][0]["clock"]  # nobody plays by it
    return build(GrowSettings, found, given)


@contextmanager
def _judge(settings: GrowSettings) -> "Generator[Judge | None]":
    """The network, if the settings need one."""
    if not settings.needs_network:
        yield None
        return
    from fukayomi.cli.book.minmax import judged
    from fukayomi.cli.engine.analysis_run import open_network

    with open_network(settings.network, "") as network:
        yield lambda positions: judged(network, positions)
