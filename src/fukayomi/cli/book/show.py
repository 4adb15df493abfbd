"""``fukayomi book show``: what an opening book says of a position."""

from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text, print_problems
from fukayomi.cli.engine.given_positions import line_record, position_at
from fukayomi.usi.text import MOVE


def show(
    file: Annotated[Path, typer.Argument(help="YaneuraOu's .db or .ybb, Apery's book.bin, ShogiGUI's .sbk.")],
    position: Annotated[
        list[str] | None,
        typer.Argument(
            help="Moves from the start (7g7f 3c3d), or a position: SFEN, or USI with or without moves.",
            show_default="the start",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the moves that an opening book (定跡) has for a position.

    \b
    fukayomi book show user_book1.db
    fukayomi book show book.bin 7g7f 3c3d
    fukayomi book show book.bin sfen "lnsgkgsnl/9/9/9/9/9/9/9/LNSGKGSNL b - 1"

    The order is that of the book. Scores are in centipawns from the side to move. A position that the book has with the
    colours exchanged is found too.
    """
    from fukayomi.book import BookReader

    words = " ".join(position or ["startpos"]).split()
    if not words:
        raise typer.BadParameter("it is empty: give moves or a position", param_hint="POSITION")
    if MOVE.fullmatch(words[0]):
        words = ["startpos", "moves", *words]
    try:
        here = position_at(line_record(" ".join(words)), None)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="POSITION") from error
    with BookReader.open(file) as opened:
        entry = opened.look_up(here)
    print_problems(entry.problems)
    if as_json:
        typer.echo(json_text({"sfen": here.sfen(), "moves": entry.rows(), "problems": list(entry.problems)}))
    else:
        typer.echo(str(entry) if entry.moves else "the book does not have this position")
