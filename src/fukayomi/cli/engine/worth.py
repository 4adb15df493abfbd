"""``fukayomi worth``: what each piece of a position is worth to the network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import USAGE, fail
from fukayomi.cli.common.options import AsJson, Model, check_target
from fukayomi.cli.common.progress import number_table
from fukayomi.cli.common.text import json_text
from fukayomi.cli.engine.given_positions import position_at, records_of
from fukayomi.shogi import Position
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from rich.console import Console

    from fukayomi.engine.worth.worth import PositionWorth
    from fukayomi.engine.worth.worth import View as WorthView

MOST_POSITIONS = 2
"""Positions side by side."""
HEADS = {
    "piece": "piece", "pieces": "pieces", "place": "place", "worth_cp": "worth", "worth_win_rate": "win rate %",
    "relative_cp": "less average", "change_cp": "change", "sum_cp": "one by one", "extra_cp": "difference",
    "first_cp": "first", "second_cp": "second", "difference_cp": "difference",
}  # fmt: skip
"""Heads of the columns of tables."""


@dataclass(frozen=True)
class WorthOptions:
    """The positions, what is drawn of them, and the files."""

    ply: Annotated[list[int] | None, typer.Option(min=0, metavar="N", show_default="after the last")] = None
    """Position after N plies; twice for two side by side."""
    number: Annotated[int | None, typer.Option("--game", metavar="N", min=1, show_default=False)] = None
    """Number of the game in a file with several."""
    together: Annotated[str, typer.Option(metavar="PLACES", show_default=False)] = ""
    """Also combinations of up to 6 pieces: squares, P* for pawns in Black's hand, p* in White's; 4h,3h,P*."""
    view: Annotated[str, typer.Option(metavar="VIEW")] = "worth"
    """What pictures show: worth, relative (less the average of the kind), change (since the last ply)."""
    svg: Annotated[Path | None, typer.Option(metavar="FILE.svg", show_default=False)] = None
    """Write the tinted board as SVG."""
    png: Annotated[Path | None, typer.Option(metavar="FILE.png", show_default=False)] = None
    """Write the tinted board as PNG."""
    flip: Annotated[bool, typer.Option("--flip")] = False
    """Draw White at the bottom."""
    as_json: AsJson = False
    model: Model = None
    evaluator: Annotated[str, typer.Option(hidden=True)] = ""
    """Values without a network, for tests: hash or uniform."""


def worth(
    source: Annotated[
        str, typer.Argument(metavar="POSITION|GAME", help="SFEN or USI position; or a game record: CSA, KIF, KI2, JKF.")
    ],
    options: WorthOptions,
) -> None:
    """Show what each piece is worth: the value of the position less its value without the piece.

    \b
    fukayomi worth game.kif --ply 84 --png board.png
    fukayomi worth game.kif --ply 84 --ply 98 --svg both.svg
    fukayomi worth "startpos moves 7g7f 3c3d" --together 8h,2h

    Values are centipawns for the piece's owner, by the network alone, without search. Pieces of a kind in hand count
    together. A dash: the position without the piece is illegal. Values do not add up; --together tells what several
    pieces are worth at once.
    """
    from fukayomi.cli.engine.analysis_run import open_network
    from fukayomi.engine.worth.worth import VIEWS, View, WorthComparison, piece_worth

    view: View | None = next((view for view in VIEWS if view == options.view), None)
    if view is None:
        raise typer.BadParameter(f"{options.view!r} is not one of {', '.join(VIEWS)}", param_hint="--view")
    for path, suffix in ((options.svg, ".svg"), (options.png, ".png")):
        if path is not None:
            check_target(path)
            if path.suffix.lower() != suffix:
                raise typer.BadParameter(f"the name of {path} must end with {suffix}", param_hint=f"--{suffix[1:]}")
    positions = _positions(source, options)
    places = [place for place in options.together.replace(",", " ").split() if place]
    with open_network(options.model, options.evaluator) as network:
        worths = [piece_worth(position, network, together=places) for position in positions]
    comparison = WorthComparison(*worths) if len(worths) == MOST_POSITIONS else None
    files = _write(worths, view, options)
    if options.as_json:
        differences = [dict(row) for row in comparison.rows()] if comparison else []
        document = {"positions": [each.to_dict() for each in worths], "differences": differences, "files": files}
        typer.echo(json_text(document))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for each in worths:
        _print(each, console)
    if comparison:
        console.print()
        _table(console, "Pieces on the same squares, centipawns", comparison.rows())
    for path in files:
        typer.echo(path)


def _positions(source: str, options: WorthOptions) -> list[Position]:
    """The positions that are asked for.

    Raises:
        ValueError: There is none, or a record is damaged.
    """
    records = list(islice(records_of(source), options.number or 2))
    if options.number is None and len(records) > 1:
        fail(f"{source} has several games: choose one with --game", USAGE)
    if len(records) < (options.number or 1):
        fail(f"no game {options.number or 1} in {source}: it has {len(records)}")
    plies: Sequence[int | None] = options.ply or [None]
    if len(plies) > MOST_POSITIONS:
        fail(f"at most {MOST_POSITIONS} positions stand side by side", USAGE)
    return [position_at(records[-1], ply) for ply in plies]


def _write(worths: "Sequence[PositionWorth]", view: "WorthView", options: WorthOptions) -> list[str]:
    """Write the pictures; returns their paths."""
    from fukayomi.engine.worth.picture import worth_svg
    from fukayomi.files.atomic import replace_file

    if options.svg is None and options.png is None:
        return []
    picture = worth_svg(worths, view, flip=options.flip)
    if options.svg is not None:
        replace_file(options.svg, picture.encode())
    if options.png is not None:
        from fukayomi.engine.worth.raster import svg_png

        replace_file(options.png, svg_png(picture))
    return [str(path) for path in (options.svg, options.png) if path is not None]


def _print(worth: "PositionWorth", console: "Console") -> None:
    """A heading and the tables of one position."""
    score = f"☗ {worth.cp:+d} cp, {100 * worth.winrate:.1f} %"
    _table(console, f"After {counted(worth.position.ply - 1, 'ply', 'plies')}: {score} ({worth.network})", worth.rows())
    if worth.together:
        _table(console, "Together", worth.combinations().rows())


def _table(console: "Console", title: str, rows: "Sequence[Mapping[str, object]]") -> None:

    table = number_table(*(HEADS[name] for name in rows[0]), title=title)
    for row in rows:
        table.add_row(*(_cell(name, value) for name, value in row.items()))
    console.print(table)


def _cell(name: str, value: object) -> str:
    if value is None:
        return "–"
    if name == "worth_win_rate" and isinstance(value, float):
        return f"{100 * value:+.1f}"
    return f"{value:+.0f}" if isinstance(value, int | float) else str(value)
