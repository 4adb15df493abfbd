"""``fukayomi book minmax``: a book from the results of games."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.book.minmax.settings import MinmaxSettings
from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.options import AsJson, Model, check_target, given_options, options_of
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text, printable
from fukayomi.learning.labelling.settings import MULTIPV
from fukayomi.listener import Notes, fan_out
from fukayomi.settings import build
from fukayomi.shogi import BLACK, START_SFEN, WHITE, Move, Position
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.book import MinmaxBook
    from fukayomi.book.minmax.reach import Judge
    from fukayomi.engine.network import Network

_NO_SETTINGS = (
    "startsfen", "side", "to_play", "model", "nodes", "engine", "option", "multipv", "workers", "evaluator", "as_json",
)  # fmt: skip
MOST_PLIES = 12
"""Moves of a line that are printed."""


class BookSide(StrEnum):
    """The side whose moves a book has."""

    BLACK = "black"
    WHITE = "white"
    BOTH = "both"


@options_of(
    MinmaxSettings, "th", "black_draw_value", "white_draw_value", "eval_scale", "confidence", "prior_games",
    "candidates",
)  # fmt: skip
class MinmaxOptions:
    """Which games and moves count, what leaves are worth, and the files."""

    startsfen: Annotated[str, typer.Option(metavar="POSITION", show_default="the start of a game")] = START_SFEN
    """Position to which values go back: SFEN, or USI with or without moves."""
    side: BookSide = BookSide.BOTH
    """The side whose moves the book has."""
    uniq: Annotated[bool, typer.Option("--uniq")] = False
    """Count games with the same start, moves and result once."""
    transpositions: Annotated[bool, typer.Option("--transpositions")] = False
    """Also count moves that nobody played, where they lead to a position of other games."""
    to_play: Annotated[Path | None, typer.Option(metavar="FILE", show_default=False)] = None
    """Write the lines that games should be played from: openings of fukayomi match."""
    model: Model = None
    nodes: Annotated[int | None, typer.Option(min=1, show_default="the network alone, without search")] = None
    """Values and candidates by a search with so many nodes: of the network, or of --engine."""
    engine: Annotated[str | None, typer.Option(metavar="COMMAND", show_default=False)] = None
    """A USI engine in place of the network: program and arguments."""
    option: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", show_default=False)] = None
    """A USI option of the engine; repeat for several."""
    multipv: Annotated[int | None, typer.Option(min=1, show_default=f"{MULTIPV}; of the network all moves")] = None
    """Moves among which a search finds candidates."""
    workers: Annotated[int | None, typer.Option(min=1, max=1024, show_default=False)] = None
    """Positions that are searched at once: processes of the engine (1), or trees of the network."""
    evaluator: Annotated[str, typer.Option(hidden=True)] = ""
    """Values without a network, for tests: hash or uniform."""
    as_json: AsJson = False


def minmax(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="GAMES...", help="Folders of matches; records: CSA, KIF and others; folders, zip, tar."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="BOOK", help="Book to write: .db (YaneuraOu) or .bin (Apery).")
    ],
    options: MinmaxOptions,
) -> None:
    """Make an opening book (定跡) from the results of games by min-max.

    \b
    fukayomi book minmax match-folder -o user_book1.db --side black --th 100
    fukayomi book minmax csa -o white.db --side white --th 50 --startsfen "SFEN"
    fukayomi book minmax csa -o user_book1.db --th 20 --confidence 0.95
    fukayomi book minmax csa -o book.db --prior-games 10 --candidates 0.1
    fukayomi book minmax csa -o book.db --prior-games 10 --candidates 0.1 \\
      --engine YaneuraOu --nodes 10000 --to-play openings.sfen

    Positions with --th games or more count, whatever the order of moves that led to them. Those without a move to
    another one are leaves, whose value is the win rate of their games; the side to move takes the best. Positions that
    come again are draws, and perpetual check loses. Games without a result or that ended by a forfeit are left out.

    Scores are centipawns of the side to move, depths plies to the leaf. Counts are 1: YaneuraOu puts moves with higher
    counts first, and BookEvalDiff is the distance from the first, which must be the best. With BookEvalDiff 0, engines
    play the best moves only; BookEvalBlackLimit and BookEvalWhiteLimit leave the book where it is worse.

    Leaves with few games: --confidence and --prior-games make lucky ones worth less. Moves that the players never try:
    --candidates makes leaves of those that the network finds probable, or with --nodes its search, or with --engine the
    MultiPV of a USI engine. --to-play has the lines that may change the choice of a move: those with few games or none.
    """
    from fukayomi.arena.results.sources import read_games
    from fukayomi.book import minmax_book, write_book
    from fukayomi.book.kinds import kind_to_write
    from fukayomi.files.atomic import replace_file

    check_target(out)
    kind_to_write(out)
    if options.to_play is not None:
        check_target(options.to_play, [out])
    settings, start = _settings(options), _start(options.startsfen)
    notes = Notes()
    with ExitStack() as stack:
        judge = stack.enter_context(_judge(options, settings)) if settings.prior_games else None
        listener = fan_out(stack.enter_context(StageBars()), notes)
        found = minmax_book(
            read_games(sources, listener=listener),
            start,
            side={BookSide.BLACK: BLACK, BookSide.WHITE: WHITE}.get(options.side),
            settings=settings,
            judge=judge,
            listener=listener,
        )
    if not found.entries:
        fail(
            f"no move of {found.start_sfen} has {counted(settings.th, 'game')}, and {out} was not written: give more "
            "games, or a lower --th"
        )
    book = found.book()
    lost = write_book(book, out)
    lines = dict.fromkeys(line.line for value in found.sides for line in value.to_play)
    if options.to_play is not None:
        replace_file(options.to_play, "".join(f"{line}\n" for line in lines).encode())
    if options.as_json:
        document = {"file": str(out), "entries": len(book), "moves": book.move_count, **_document(found)}
        typer.echo(json_text(document | {"problems": [*notes.texts, *lost]}))
        return
    typer.echo(
        f"wrote {counted(len(book), 'position')} with {counted(book.move_count, 'move')} to {printable(str(out))}"
    )
    _print(found)
    if options.to_play is not None:
        typer.echo(f"\n{counted(len(lines), 'line')} to play in {printable(str(options.to_play))}")


def _settings(options: MinmaxOptions) -> MinmaxSettings:
    settings = build(MinmaxSettings, given_options(options, *_NO_SETTINGS))
    if not settings.prior_games and (options.nodes is not None or options.engine is not None):
        raise typer.BadParameter(
            "values of searches count by --prior-games, which is 0", param_hint="--nodes / --engine"
        )
    return settings


def _start(text: str) -> Position:
    is_usi = text.split()[:1] in (["position"], ["startpos"], ["sfen"])
    try:
        return Position.from_usi(text) if is_usi else Position.from_sfen(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--startsfen") from error


@contextmanager
def _judge(options: MinmaxOptions, settings: MinmaxSettings) -> "Generator[Judge]":
    """What judges positions: the network alone, its search, or a USI engine."""
    from fukayomi.cli.engine.analysis_run import open_network

    if options.engine is None and options.option:
        raise typer.BadParameter("it is an option of --engine", param_hint="--option")
    if options.nodes is None:
        if options.engine is not None:
            raise typer.BadParameter("an engine needs --nodes", param_hint="--engine")
        if options.multipv is not None or options.workers is not None:
            raise typer.BadParameter("it is for searches: give --nodes", param_hint="--multipv / --workers")
        with open_network(options.model, options.evaluator) as network:
            yield lambda positions: judged(network, positions)
        return
    from fukayomi.learning.labelling.judging import searching_judge
    from fukayomi.learning.labelling.settings import LabelSettings

    how = LabelSettings(nodes=options.nodes, multipv=options.multipv, eval_scale=settings.eval_scale)
    with ExitStack() as stack:
        if options.engine is None:
            engine = stack.enter_context(open_network(options.model, options.evaluator))
        else:
            from fukayomi.cli.arena.match_options import split_option
            from fukayomi.usi.engine import UsiEngine

            texts: list[str] = options.option or []
            given = dict(split_option("--option", text, "=", "KEY=VALUE") for text in texts)
            engine = UsiEngine(options.engine, options=given)
        yield stack.enter_context(searching_judge(engine, how, workers=options.workers))


def judged(network: "Network", positions: Sequence[Position]) -> list[tuple[float, Mapping[Move, float]]]:
    evaluation = network.evaluate(positions)
    return list(zip(evaluation.winrates.tolist(), evaluation.policies, strict=True))


def _document(found: "MinmaxBook") -> dict[str, Any]:
    return {
        "start": found.start_sfen,
        "games": found.games,
        "left_out": found.left_out,
        "repeated": found.repeated,
        "positions": found.positions,
        "leaves": found.leaves,
        "circles": found.circles,
        "sides": [
            {
                "side": value.side.name.lower(),
                "win_rate": value.win_rate,
                "score_cp": value.score_cp,
                "line": [move.usi() for move in value.line],
                "to_play": [asdict(line) for line in value.to_play],
            }
            for value in found.sides
        ],
        "start_moves": found.rows(),
    }


def _print(found: "MinmaxBook") -> None:
    games = [counted(found.games, "game")]
    if found.left_out:
        games.append(f"{found.left_out:,} without a result that counts")
    if found.repeated:
        games.append(f"{found.repeated:,} repeated")
    typer.echo(", ".join(games))
    circles = f", {found.circles:,} in circles" if found.circles else ""
    typer.echo(f"{counted(found.positions, 'position')}, {found.leaves:,} of them leaves{circles}")
    for value in found.sides:
        line = " ".join(move.usi() for move in value.line[:MOST_PLIES])
        dots = " ..." if len(value.line) > MOST_PLIES else ""
        typer.echo(f"{value.side.name.title()}: {value.win_rate:.1%} ({value.score_cp:+} cp) {line}{dots}")
    if found.rows():
        typer.echo(f"\n{found}")
