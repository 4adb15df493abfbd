"""``fukayomi book search``: a book from our own search."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.book.search.settings import BookSearchSettings
from fukayomi.cli.common.errors import INTERRUPTED, exit_at_sigterm
from fukayomi.cli.common.options import AsJson, Model, check_target, given_options, options_of
from fukayomi.cli.common.progress import StageBars, rate_column
from fukayomi.cli.common.text import json_text, printable
from fukayomi.cli.engine.given_positions import position_at, records_of
from fukayomi.settings import build
from fukayomi.shogi import Position
from fukayomi.tabular import counted


@options_of(BookSearchSettings, "nodes", "moves", "least_visits", "positions", "loss", "decided")
class SearchOptions:
    """How positions are searched, which moves the book has, and where it grows."""

    refresh: Annotated[bool, typer.Option("--refresh")] = False
    """Search what an older network has found again, or a search with fewer nodes."""
    along: Annotated[int | None, typer.Option(min=0, metavar="N", show_default="the last position")] = None
    """Of games and lines: all positions up to ply N."""
    model: Model = None
    at_once: Annotated[
        int | None, typer.Option(min=1, max=4096, show_default="as many as fill the network's batches")
    ] = None
    """Most positions that are searched at once. 1: without a cache, so that the same run finds the same again."""
    evaluator: Annotated[str, typer.Option(hidden=True)] = ""
    """Search without a network, for tests: hash or uniform."""
    as_json: AsJson = False


def search(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="BOOK.db", help="Book to make, or to go on with.")],
    options: SearchOptions,
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POSITION|FILE...",
            help="Positions (SFEN, USI), lists of them, game records.",
            show_default="the start of a game",
        ),
    ] = None,
) -> None:
    """Make an opening book (定跡) by searching positions: those of a list, or grown along good moves.

    \b
    fukayomi book search -o user_book1.db --positions 10000 --nodes 1000
    fukayomi book search openings.sfen -o user_book1.db
    fukayomi book search games.csa --along 30 -o user_book1.db
    fukayomi book search -o user_book1.db --model newer.onnx --refresh

    Counts are visits, scores those of the search, depths the plies of the expected lines. A growing book takes the
    position next to which a line of good moves loses least win rate; each ply of the line counts as one per cent.

    A comment of each position names the network and the nodes. Run the same command again after Ctrl-C or a kill: it
    goes on where it was. With a newer network, what the book has stays, unless --refresh searches it again; positions
    of games or by hand, which have no such comment, always stay. fukayomi book convert makes a .bin of the book.
    """
    from fukayomi.book import search_book
    from fukayomi.cli.engine.analysis_run import open_network
    from fukayomi.engine.service.book import ServiceBookSearcher
    from fukayomi.engine.service.service import AnalysisService

    exit_at_sigterm()
    check_target(out)
    without = ("along", "model", "at_once", "evaluator", "as_json")
    settings = build(BookSearchSettings, given_options(options, *without))
    positions = list(_positions(given or ["startpos"], options.along))
    with ExitStack() as stack:
        network = stack.enter_context(open_network(options.model, options.evaluator, caches=options.at_once != 1))
        service = stack.enter_context(AnalysisService(network, at_once=options.at_once))
        listener = stack.enter_context(StageBars(rate_column("positions")))
        try:
            found = search_book(out, positions, ServiceBookSearcher(service), settings=settings, listener=listener)
        except KeyboardInterrupt:
            typer.echo(
                f"Stopped: {printable(str(out))} has what was found. Run the same command again to go on.", err=True
            )
            raise typer.Exit(INTERRUPTED) from None
    if options.as_json:
        document = {"file": str(out), "positions": len(found.book), "moves": found.book.move_count}
        document |= {"wanted": found.wanted, "searched": found.searched, "kept": found.kept, "older": found.older}
        typer.echo(json_text(document | {"start_moves": found.rows()}))
        return
    typer.echo(
        f"{printable(str(out))}: {counted(len(found.book), 'position')} with {counted(found.book.move_count, 'move')}, "
        f"{found.searched:,} searched now, {found.kept:,} there before"
    )
    if found.older:
        typer.echo(
            f"{counted(found.older, 'position')} by an older network or with fewer nodes: --refresh searches again"
        )
    if settings.positions is not None and found.wanted < settings.positions:
        typer.echo(f"good moves lead to {counted(found.wanted, 'position')} only: give a higher --loss or --decided")
    if found.rows():
        typer.echo(f"\n{found}")


def _positions(given: Sequence[str], along: int | None) -> Iterator[Position]:
    """The positions of the arguments.

    Raises:
        ValueError: A text is not a position, or a record is damaged; the message names the place.
        OSError: A file cannot be read.
    """
    for source in given:
        for record in records_of(source):
            if along is None:
                yield position_at(record, None)
                continue
            position = position_at(record, 0)
            yield position.copy()
            for played in record.moves:
                position.push(played.move)
                if position.ply > along + 1:
                    break
                yield position.copy()
