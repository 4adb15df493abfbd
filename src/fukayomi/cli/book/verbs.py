"""``fukayomi book convert``, ``merge`` and ``prune``: books made of books.

``fukayomi book compare`` and ``check``: what is in them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text, print_problems
from fukayomi.shogi import BLACK, WHITE, InvalidSfenError, Position
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.book import Book

Source = Annotated[
    Path, typer.Argument(metavar="BOOK", help="YaneuraOu's .db or .ybb, Apery's book.bin, ShogiGUI's .sbk.")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="BOOK", help="Book to write: .db (YaneuraOu) or .bin (Apery).")
]
Starts = Annotated[
    list[str] | None,
    typer.Option(
        "--start",
        metavar="POSITION",
        help="SFEN or USI position that lines of the book begin from; repeat it for several.",
        show_default="the start of a game",
    ),
]


@dataclass(frozen=True)
class ConvertOptions:
    """Options of ``fukayomi book convert``."""

    start: Starts = None
    as_json: AsJson = False


def convert(source: Source, out: Out, options: ConvertOptions) -> None:
    """Convert an opening book (定跡) into another format, or sort a .db.

    \b
    fukayomi book convert user_book1.db -o book.bin
    fukayomi book convert shogihome.ybb -o user_book1.db
    fukayomi book convert unsorted.db -o sorted.db

    A .db is written in the order that a search on disk needs. A .bin has neither depths nor expected answers, and
    counts up to 65535, and no comments; a .ybb has no counts: each becomes 1.

    A .bin has keys in place of positions: the positions are found along the lines of the book, from the start of a game
    and --start. What is not found is left out of a .db and counted.

    The file appears when it is complete; an engine that has the old one open goes on with it and reads the new one at
    its next game.
    """
    check_target(out)
    book = _read(source, _positions(options.start))
    _write(book, out, as_json=options.as_json)


def merge(
    sources: Annotated[list[Path], typer.Argument(metavar="BOOK...", help="Books of any format, the newest last.")],
    out: Out,
    as_json: AsJson = False,
) -> None:
    """Merge opening books (定跡): all positions and moves, with the counts added.

    \b
    fukayomi book merge old.db new.db -o user_book1.db
    fukayomi book merge user_book1.db games.bin -o user_book1.db

    Of a move that several books have, the deeper score counts; at the same depth, the one of the later book. The book
    to write may be one of those that are read.
    """
    from fukayomi.book import merge_books

    check_target(out)
    _write(merge_books([_read(source) for source in sources]), out, as_json=as_json)


class Side(StrEnum):
    """Side to move."""

    BLACK = "black"
    WHITE = "white"


@dataclass(frozen=True)
class PruneOptions:
    """Options of ``fukayomi book prune``."""

    count: Annotated[int | None, typer.Option(metavar="N", show_default="any")] = None
    """Least count of a move."""
    score: Annotated[int | None, typer.Option(metavar="CP", show_default="any")] = None
    """Least score of a move, in centipawns for the side that plays it; moves without a score stay."""
    ply: Annotated[int | None, typer.Option(min=1, metavar="N", show_default="any")] = None
    """Last ply of a position, as the book has it."""
    side: Annotated[Side | None, typer.Option(show_default="both")] = None
    """Keep the positions with this side to move."""
    as_json: AsJson = False


def prune(source: Source, out: Out, options: PruneOptions) -> None:
    """Keep a part of an opening book (定跡).

    \b
    fukayomi book prune large.db -o small.db --count 2 --ply 40
    fukayomi book prune user_book1.db -o black.db --side black --score -100

    A position that loses all its moves is left out. Positions that only its moves led to stay: fukayomi book check
    names them. Most books say at which ply a position is; those of ShogiHome have 1 everywhere, and a .bin is followed
    from the start of a game.
    """
    from fukayomi.book import prune_book

    if (options.count, options.score, options.ply, options.side) == (None, None, None, None):
        raise typer.BadParameter("give at least one of --count, --score, --ply and --side")
    check_target(out)
    pruned = prune_book(
        _read(source),
        least_count=options.count,
        least_score_cp=options.score,
        last_ply=options.ply,
        side=None if options.side is None else BLACK if options.side is Side.BLACK else WHITE,
    )
    _write(pruned, out, as_json=options.as_json)


def compare(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="A book of any format.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Another one.")],
    as_json: AsJson = False,
) -> None:
    """Compare two opening books (定跡).

    \b
    fukayomi book compare old.db new.db

    Counts what both have, and names the positions whose best moves differ. The best move is the most played, of several
    the one with the best score.
    """
    from fukayomi.book import compare_books

    found = compare_books(_read(first), _read(second))
    if as_json:
        document = {name: value for name, value in asdict(found).items() if name != "differences"}
        typer.echo(json_text(document | {"differences": found.rows()}))
        return
    for path, positions, moves in zip((first, second), found.positions, found.moves, strict=True):
        typer.echo(f"{path}: {counted(positions, 'position')}, {counted(moves, 'move')}")
    typer.echo(f"in both: {counted(found.common_positions, 'position')}, {counted(found.common_moves, 'move')}")
    if found.common_positions:
        share = found.same_best / found.common_positions
        typer.echo(f"same best move: {counted(found.same_best, 'position')} ({share:.1%})")
    if found.score_difference_cp is not None:
        mean = f"{found.score_difference_cp:.1f} cp"
        typer.echo(f"scores of {counted(found.scored_moves, 'move')} differ by {mean} on average")
    if found.differences:
        typer.echo(f"\n{found}")


@dataclass(frozen=True)
class CheckOptions:
    """Options of ``fukayomi book check``."""

    start: Starts = None
    tolerance: Annotated[int, typer.Option(min=0, metavar="CP")] = 100
    """Largest difference between the score of a move and the best one after it that is not named."""
    as_json: AsJson = False


def check(source: Source, options: CheckOptions) -> None:
    """Check an opening book (定跡); exit code 1 if it is damaged.

    \b
    fukayomi book check user_book1.db
    fukayomi book check kgr.db --start "startpos moves 7g7f 8c8d"

    \b
    position  not a position                              damage
    illegal   a move that the rules forbid                damage
    twice     a move that a position has twice            damage
    orphan    a position that no line of the book leads to
    circle    moves of the book that lead back to a position
    score     a score that differs from the best one after the move

    A line may have moves outside the book where an opponent may play them: at any position of the book, and in answer
    to any of its moves. Of a circle the first position is named.
    """
    from fukayomi.book import check_book

    starts = _positions(options.start)
    book = _read(source, starts)
    with StageBars() as listener:
        found = check_book(book, starts=starts, tolerance_cp=options.tolerance, listener=listener)
    if options.as_json:
        document = {"positions": found.positions, "moves": found.moves, "unplaced": len(book.unplaced)}
        document |= {"sound": found.is_sound, "counts": found.counts, "faults": found.rows(), "problems": book.problems}
        typer.echo(json_text(document))
    else:
        typer.echo(f"{counted(found.positions, 'position')}, {counted(found.moves, 'move')}")
        if book.unplaced:
            typer.echo(f"not checked: {counted(len(book.unplaced), 'key')} whose positions are not known; try --start")
        for kind, count in found.counts.items():
            typer.echo(f"{kind}: {count:,}")
        if found.faults:
            typer.echo(f"\n{found}")
    if not found.is_sound or book.is_damaged:
        raise typer.Exit(1)


def _positions(texts: Sequence[str] | None) -> list[Position]:
    try:
        return [_position(text) for text in texts or ()]
    except InvalidSfenError as error:
        raise typer.BadParameter(str(error), param_hint="--start") from error


def _position(text: str) -> Position:
    is_usi = text.split()[:1] in (["position"], ["startpos"], ["sfen"])
    return Position.from_usi(text) if is_usi else Position.from_sfen(text)


def _read(path: Path, starts: Sequence[Position] = ()) -> "Book":
    """Read a book, and print what cannot be read."""
    from fukayomi.book import read_book

    with StageBars() as listener:
        book = read_book(path, starts, listener=listener)
    print_problems(book.problems, book.problem_count)
    return book


def _write(book: "Book", out: Path, *, as_json: bool) -> None:
    from fukayomi.book import write_book
    from fukayomi.book.kinds import BookKind, kind_to_write

    if not book and not book.unplaced:
        fail(f"nothing is left of the book: {out} was not written")
    if not book and kind_to_write(out) is BookKind.DB:
        fail(
            f"the positions of {counted(len(book.unplaced), 'key')} are not known, and there are no others: {out} was "
            "not written; name where the lines begin with fukayomi book convert --start, or write a .bin"
        )
    with StageBars() as listener:
        lost = write_book(book, out, listener=listener)
    print_problems(lost, word="note:")
    if as_json:
        document = {"file": str(out), "positions": len(book), "moves": book.move_count}
        typer.echo(json_text(document | {"unplaced": len(book.unplaced), "problems": [*book.problems, *lost]}))
    else:
        typer.echo(f"wrote {counted(len(book), 'position')} with {counted(book.move_count, 'move')} to {out}")
