"""``fukayomi data convert`` and ``check``: from any format of training data to any other, and what is wrong."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson, choice
from fukayomi.cli.common.problems import print_problems
from fukayomi.cli.common.progress import progress_bar
from fukayomi.cli.common.text import json_text

if TYPE_CHECKING:
    from fukayomi.data.check.findings import Report
    from fukayomi.data.convert.streams import Tally

Inputs = Annotated[
    list[Path],
    typer.Argument(metavar="IN...", help="Files and folders; of records, also zip and tar archives, .gz, .bz2, .xz."),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write; its suffix says the format.")]
SourceFormat = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="Of all inputs: hcp hcpe hcpe2 hcpe3 psv plain avg sfen records.",
        show_default="by content",
    ),
]
TargetFormat = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="hcp hcpe hcpe2 hcpe3 psv plain cache sfen csa usi kif ki2 jkf.",
        show_default="by the suffix of --out",
    ),
]
OneHot = Annotated[
    bool,
    typer.Option("--one-hot", help="Of records, every move counts, also without a score, and visits do not."),
]
RandomPlies = Annotated[
    int,
    typer.Option(
        min=0,
        help="Of records with visits: up to the last move among so many that did not have the most "
        "visits, none counts. AobaZero: 30.",
    ),
]
UnfinishedAsDraws = Annotated[
    bool, typer.Option("--unfinished-as-draws", help="Of records without an end, as USI lines are.")
]


def convert(
    inputs: Inputs,
    out: Out,
    source: SourceFormat = None,
    to: TargetFormat = None,
    one_hot: OneHot = False,
    random_plies: RandomPlies = 0,
    unfinished_as_draws: UnfinishedAsDraws = False,
    as_json: AsJson = False,
) -> None:
    """Convert training data and game records from any format to any other.

    \b
    games:      hcpe3; records: CSA (AobaZero's with visits), KIF, KI2, JKF,
                USI lines
    rows:       hcpe, hcpe2, psv, plain (psv as text),
                avg (averaged positions, only read)
    positions:  hcp, sfen

    A game gives a row for each move that has candidates, and a position for each move; a row is also a game of one
    move. A move of a record has candidates if the record has a score or visits for it; visits without an evaluation
    (AobaZero before November 2020) and --one-hot get the result for one: 30000 won, -30000 lost, 0 drawn. A row of avg
    has the evaluation that means its mean value, the most visited move, and the most frequent result; a cache,
    dlshogi's averages, is made of one avg. Records that cannot be used are left out and named; damage in other formats
    is an error (fukayomi data check --good writes what is good). The file appears only when it is whole. KIF, KI2 and
    JKF have one game a file: for more, let --out be a folder.

    \b
      fukayomi data convert games.zip -o games.hcpe3
      fukayomi data convert games.hcpe3 -o games.psv
      fukayomi data convert openings.sfen -o openings.hcp
    """
    from fukayomi.data.convert.convert import NothingConvertedError, convert_data
    from fukayomi.data.convert.detect import DataFormat
    from fukayomi.data.convert.writers import Target, target_of
    from fukayomi.data.records.games import Targets

    if any(out.absolute() == path.absolute() for path in inputs):
        raise typer.BadParameter(f"{out} is also an input", param_hint="--out")
    failure = ""
    written = 0
    try:
        target = choice(Target, to, "--to") if to is not None else target_of(out)
        kind = choice(DataFormat, source, "--from") if source is not None else None
        with _over_bytes(inputs) as advance:
            tally, written = convert_data(
                inputs, out, target, kind, Targets(one_hot, random_plies, unfinished_as_draws), advance
            )
    except NothingConvertedError as error:
        tally, failure = error.tally, str(error)
    except KeyboardInterrupt:
        fail("stopped; nothing was written, start again for all of it", INTERRUPTED)
    except (ValueError, OSError) as error:
        fail(str(error))
    _print_tally(tally, out, written, as_json=as_json)
    if failure:
        fail(failure)


def _print_tally(tally: "Tally", out: Path, written: int, *, as_json: bool) -> None:
    if as_json:
        found = {
            "file": str(out), "written": written, "games": tally.games, "positions": tally.positions,
            "dropped": {str(reason): count for reason, count in tally.dropped.items()}, "problems": tally.problems,
        }  # fmt: skip
        typer.echo(json_text(found))
        return
    print_problems(tally.problems)
    for reason, count in tally.dropped.most_common():
        typer.echo(f"left out, {str(reason).replace('_', ' ')}: {count:,}")
    games = f"{tally.games:,} games, " if tally.games else ""
    typer.echo(f"read {games}{tally.positions:,} positions; wrote {written:,} records to {out}")


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="hcp, hcpe, hcpe2, hcpe3, psv, avg, caches; records, folders and archives of them."
        ),
    ],
    good: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what has no error there, in the same format; records as hcpe3."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Of all files.", show_default="by content")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with files of training data and game records, and where.

    Every game is replayed and every position decoded: moves and candidates must be legal, visits must be there, the
    result must be what mate, repetition, declaration and the maximum of plies make it. What is damaged is named, and
    the rest goes on. The exit code is 1 if there is an error. A move that was played but is no candidate, a duplicate,
    a game that broke off and the like are remarks, which are no errors.

    Records and moves are numbered from 0, lines of records from 1. Duplicates are looked for among the first 134
    million rows (with 2 GiB of memory) and 17 million games (1.5 GiB); of any number, fukayomi data uniq removes them.

    \b
      fukayomi data check train.hcpe3 --good whole.hcpe3
      fukayomi data check games.zip games/ --good whole.hcpe3
    """
    from fukayomi.data.check.check import check_data
    from fukayomi.data.convert.detect import DataFormat

    if good is not None and any(good.absolute() == file.absolute() for file in files):
        raise typer.BadParameter("the good part needs a file of its own", param_hint="--good")
    try:
        kind = choice(DataFormat, source, "--from") if source is not None else None
        with _over_bytes(files) as advance:
            report = check_data(files, good, kind, advance)
    except KeyboardInterrupt:
        fail("stopped; nothing was written", INTERRUPTED)
    except (ValueError, OSError) as error:
        fail(str(error))
    _print_report(report, good, as_json=as_json)
    if report.errors:
        raise typer.Exit(1)


def _print_report(report: "Report", good: Path | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text(report.as_json() | ({"good_file": str(good)} if good else {})))
        return
    for level in ("error", "remark"):
        print_problems([str(finding) for finding in report.findings if finding.level == level], word=f"{level}:")
    moves = f" with {report.moves:,} moves" if report.moves else ""
    typer.echo(
        f"{report.records:,} records{moves}: {report.good:,} good, {report.errors:,} errors, "
        f"{report.remarks:,} remarks, {report.duplicates:,} duplicates"
    )
    if report.not_compared:
        typer.echo(
            f"duplicates were not looked for among {report.not_compared:,} records, which came when enough were "
            "remembered (fukayomi data uniq removes equal rows of any number)"
        )
    if good is not None:
        typer.echo(f"wrote the {report.good:,} good ones to {good}")


@contextmanager
def _over_bytes(inputs: list[Path]) -> Generator[Callable[[int], None]]:
    """A bar over the bytes of the inputs; gives what counts them."""
    from rich.progress import DownloadColumn, TransferSpeedColumn

    from fukayomi.data.records.sources import find_files

    total = sum(file.stat().st_size for file in find_files(inputs))
    with progress_bar(total, DownloadColumn(), TransferSpeedColumn()) as bar:
        yield bar.advance
