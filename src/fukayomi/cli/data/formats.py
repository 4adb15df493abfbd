"""``fukayomi data convert``, ``check`` and ``print``: files in other formats, their errors, their content as text."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text, print_copies, print_problems, printable
from fukayomi.data.formats.kinds import DataFormat, Encoding, Target
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.data.check import Report
    from fukayomi.data.convert.convert import Conversion, Plies


Inputs = Annotated[
    list[Path],
    typer.Argument(metavar="IN...", help="Files and folders; for records also zip and tar archives, .gz, .bz2, .xz."),
]
_DIGITS = 9  # of a number of moves
SourceFormat = Annotated[
    DataFormat | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help=f"Format of all inputs: {' '.join(DataFormat)}.",
        show_default="by content",
    ),
]


@dataclass(frozen=True)
class ConvertOptions:
    """Formats, and how records become training positions."""

    source: SourceFormat = None
    to: Annotated[
        Target | None,
        typer.Option(
            metavar="FORMAT", help=f"Format to write: {' '.join(Target)}.", show_default="by the suffix of --out"
        ),
    ] = None
    encoding: Annotated[
        Encoding,
        typer.Option(metavar="NAME", help=f"KIF and KI2: encoding of the files to write: {', '.join(Encoding)}."),
    ] = Encoding.UTF_8
    one_hot: Annotated[bool, typer.Option("--one-hot")] = False
    """Records: take every move as its only candidate, even without a score."""
    random_plies: Annotated[int, typer.Option(min=0, metavar="N")] = 0
    """Records with visits: skip positions up to the last move among the first N that did not have the most visits.
    AobaZero: 30."""
    unfinished_as_draws: Annotated[bool, typer.Option("--unfinished-as-draws")] = False
    """Records: take games without an end, such as USI lines, as drawn."""
    plies: Annotated[str, typer.Option(metavar="last|N|all")] = "all"
    """hcp and sfen: position of each game after its last move, or after N moves; all: those before each move."""


def convert(
    inputs: Inputs,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File to write; its suffix gives the format. Records: or a folder.")
    ],
    options: ConvertOptions,
    as_json: AsJson = False,
) -> None:
    """Convert training data and game records from any format to any other.

    \b
    fukayomi data convert games.zip -o games.hcpe3
    fukayomi data convert games.hcpe3 -o games.psv
    fukayomi data convert balanced.sfen -o start.hcp --plies last
    fukayomi data convert games/ -o kif --to kif --encoding shift_jis

    \b
    games:      hcpe3; records: CSA (AobaZero's with visits), KIF, KI2, JKF,
                USI lines
    rows:       hcpe, hcpe2, psv, plain (psv as text),
                avg (averaged positions, read only)
    positions:  hcp, sfen

    A game gives a row for each move with candidates, and a position for each move; a row is also a game of one move. A
    move of a record has candidates if the record has a score or visits for it. Without an evaluation (AobaZero before
    November 2020, --one-hot) the result stands in: 30000 won, -30000 lost, 0 drawn. A row of avg gets the evaluation of
    the mean value, the most visited move and the most frequent result. A cache, dlshogi's averages, is made of one avg.

    With --plies last, start positions are made of lines of moves: a position for each game, in order, equal ones too.

    Records that cannot be used are skipped and named; damage in other formats is an error (fukayomi data check --good
    writes the rest). The output appears when it is complete. KIF, KI2 and JKF hold one game per file: for more, make
    --out a folder. Its files have the names of the files they were read from. .kifu and .ki2u are KIF and KI2 in UTF-8.
    Characters that Shift_JIS lacks are replaced, and the files named.
    """
    plies = _plies(options.plies)
    from fukayomi.data.convert.convert import NothingConvertedError, convert_data
    from fukayomi.data.formats.games import Targets

    if any(out.absolute() == path.absolute() for path in inputs):
        raise typer.BadParameter(f"{out} is also an input", param_hint="--out")
    failure = ""
    targets = Targets(options.one_hot, options.random_plies, options.unfinished_as_draws)
    try:
        with StageBars() as listener:
            found = convert_data(
                inputs,
                out,
                to=options.to,
                source=options.source,
                targets=targets,
                plies=plies,
                encoding=options.encoding,
                listener=listener,
            )
    except NothingConvertedError as error:
        found, failure = error.conversion, str(error)
    except KeyboardInterrupt:
        fail("stopped; nothing was written", INTERRUPTED)
    _print_conversion(found, out, options.encoding, as_json=as_json, is_written=not failure)
    if failure:
        fail(failure)


def _plies(text: str) -> "Plies":
    if text == "all" or text == "last":
        return text
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return int(text)
    raise typer.BadParameter(f"{printable(repr(text))} is not last, all or a number of moves", param_hint="--plies")


def _print_conversion(found: "Conversion", out: Path, encoding: Encoding, *, as_json: bool, is_written: bool) -> None:
    has_encoding = found.target is not None and found.target.has_encodings
    if as_json:
        document = {
            "file": str(out), "written": found.written, "games": found.games, "positions": found.positions,
            "dropped": {str(reason): count for reason, count in found.dropped.items()}, "problems": found.problems,
            "replaced": found.replaced.total(), "replacements": found.replacements,
        }  # fmt: skip
        document |= {} if found.different is None else {"different": found.different}
        typer.echo(json_text(document | ({"encoding": encoding} if has_encoding else {})))
        return
    from fukayomi.data.records.reading import Drop

    print_problems(found.problems)
    print_problems(found.replacements, word="replaced in")
    for reason, count in found.dropped.most_common():
        if reason is not Drop.COPY:
            what = "too short" if reason is Drop.PLIES else str(reason).replace("_", " ")
            typer.echo(f"skipped, {what}: {count:,}")
    print_copies(found.dropped[Drop.COPY])
    read = [counted(found.games, "game")] if found.games else []
    if not found.games or found.target not in (Target.HCP, Target.SFEN):  # of games all positions are written
        read.append(counted(found.positions, "position"))
    place = f"{out} in {encoding.label}" if has_encoding else f"{out}"
    wrote = f"; wrote {counted(found.written, 'record')} to {place}" if is_written else ""
    if found.different is not None:
        wrote += f" ({found.different:,} different)"
    typer.echo(f"read {', '.join(read)}{wrote}")


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="hcp, hcpe, hcpe2, hcpe3, psv, avg, caches, records; folders and archives of them."
        ),
    ],
    good: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write everything without an error, in the same format; records as hcpe3."),
    ] = None,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Check files of training data and game records, and report errors.

    \b
    fukayomi data check train.hcpe3 --good whole.hcpe3
    fukayomi data check games.zip games/ --good whole.hcpe3

    Every game is replayed and every position decoded. Moves and candidates must be legal, visits must be present, and
    the result must agree with mate, repetition, declaration and the maximum of plies. Damaged parts are reported and
    skipped. The exit code is 1 if there is an error. Remarks are not errors: a move played that is not a candidate, a
    duplicate, a game that was broken off.

    Records and moves are numbered from 0, lines from 1. Duplicates are found among the first 134 million rows (2 GiB of
    memory) and 17 million games (1.5 GiB); fukayomi data uniq removes any number of duplicate rows.
    """
    from fukayomi.data.check import check_data

    if good is not None and any(good.absolute() == file.absolute() for file in files):
        raise typer.BadParameter(f"{good} is also an input", param_hint="--good")
    try:
        with StageBars() as listener:
            report = check_data(files, good=good, source=source, listener=listener)
    except KeyboardInterrupt:
        fail("stopped; nothing was written", INTERRUPTED)
    _print_report(report, good, as_json=as_json)
    if report.errors:
        raise typer.Exit(1)


def _print_report(report: "Report", good: Path | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text(report.as_json() | ({"good_file": str(good)} if good else {})))
        return
    for level, count in (("error", report.errors), ("remark", report.remarks)):
        messages = [str(finding) for finding in report.findings if finding.level == level]
        print_problems(messages, count, word=f"{level}:")
    moves = f" with {counted(report.moves, 'move')}" if report.moves else ""
    typer.echo(
        f"{counted(report.records, 'record')}{moves}: {report.good:,} good, {counted(report.errors, 'error')}, "
        f"{counted(report.remarks, 'remark')}, {counted(report.duplicates, 'duplicate')}"
    )
    if report.not_compared:
        typer.echo(
            f"{counted(report.not_compared, 'later record was', 'later records were')} not compared, to bound memory; "
            "fukayomi data uniq removes any number of duplicate rows"
        )
    if good is not None:
        typer.echo(f"wrote {counted(report.good, 'good record')} to {good}")


_SHOWN = 10


def print_file(
    file: Annotated[Path, typer.Argument(help="hcp, hcpe, hcpe2, hcpe3, psv, avg, a cache, a book, or records.")],
    start: Annotated[int, typer.Option(min=0, help="First row, game or entry, from 0.")] = 0,
    end: Annotated[
        int | None, typer.Option(min=0, help="End of the range, not printed.", show_default="10 after --start")
    ] = None,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Print rows, games, records, averaged positions or a book: a line each, and a line for each move of a game.

    \b
    fukayomi data print rows.hcpe --start 1000 --end 1020
    fukayomi data print games.hcpe3 --end 1000000000 --json | jq .result

    Evaluations are in centipawns from the side to move; candidates are shown with their visits. Averaged positions show
    the mean value and result (0 to 1, for the side to move) and the shares of their moves; a book has keys instead of
    positions. With --json, one object per line; records have their times, the illegal move or the word that ended the
    game, and their variations, too.
    """
    from fukayomi.data.printing import describe
    from fukayomi.data.records.reading import Skipped

    skipped = Skipped()
    try:
        for item in describe(file, start, start + _SHOWN if end is None else end, source, skipped):
            typer.echo(json_text(item) if as_json else as_text(item))
    except KeyboardInterrupt:
        fail("stopped", INTERRUPTED)
    print_problems(skipped.messages, skipped.count)


def as_text(item: dict[str, Any]) -> str:
    """Format a row as a line; a game as a line and one for each move."""
    head = [f"{item['index']}"]
    if "key" in item:
        return "  ".join([*head, *(f"{name} {item[name]}" for name in ("key", "move", "count", "score"))])
    if "shares" in item:
        head += [f"{name} {item[name]}" for name in ("sfen", "count", "eval", "value", "result") if name in item]
        return "  ".join([*head, *(f"{move} {share:.1%}" for move, share in item["shares"].items())])
    if "name" in item:
        ratings = [f" ({rating:.0f})" if rating is not None else "" for rating in item["ratings"]]
        head.append(f"{item['name']}: {item['black']}{ratings[0]} - {item['white']}{ratings[1]}")
    head.append(f"sfen {item['sfen']}")
    if "moves" not in item and "move" in item:
        move = "no move" if item["move"] is None else f"move {item['move']}"
        head.append(f"{move}  eval {item['eval']}")
    if "result" in item:
        head.append(f"result {item['result']}" + "".join(f" {flag}" for flag in item.get("flags", ())))
    head += [f"{name} {item[name]}" for name in ("end", "end_word", "illegal_move", "ply") if item.get(name, "") != ""]
    if item.get("opponent"):
        head.append(f"opponent {item['opponent']}")
    lines = [printable("  ".join(head))]
    for move in item.get("moves", ()):
        evaluation = "" if move["eval"] is None else f"{move['eval']:+}"
        visits = "  ".join(f"{name} {count}" for name, count in move.get("visits", {}).items())
        time_ms = move.get("time_ms")
        time = "" if time_ms is None else f"  {time_ms / 1000:g} s"
        lines.append(f"{move['ply']:5} {move['move']:6}{evaluation:>7}{time}  {visits}".rstrip())
    for variation in item.get("variations", ()):
        lines.append(f"      variation from ply {variation['ply']}: {' '.join(variation['moves'])}")
    return "\n".join(lines)
