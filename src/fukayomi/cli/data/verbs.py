"""``fukayomi data split``, ``sample``, ``shuffle``, ``merge``, ``filter`` and ``fix-eval``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.data.verb_command import InputFiles, Out, Seed, SourceFormat, run_verb
from fukayomi.data.conditions import FilterConditions
from fukayomi.data.formats.kinds import SHUFFLE_MEMORY, SPLIT_RUN, Unit


@dataclass(frozen=True)
class SplitOptions:
    """Options of ``fukayomi data split``."""

    shares: Annotated[str | None, typer.Option(show_default="equal")] = None
    """Share of each part, in proportion: 90,10."""
    every: Annotated[int | None, typer.Option(min=2, metavar="N")] = None
    """Instead of shares: hold out one game, or run of rows, in N, in the second part."""
    by: Unit = Unit.GAME
    """What stays together: games, equal ones too, or all rows of a position."""
    run: Annotated[int, typer.Option(min=1)] = SPLIT_RUN
    """Consecutive rows that count as a game; 1 if the rows were shuffled."""
    seed: Seed = 0
    source: SourceFormat = None
    as_json: AsJson = False


def split(
    inputs: InputFiles,
    outs: Annotated[list[Path], typer.Option("--out", "-o", help="File to write; give one per part.")],
    options: SplitOptions,
) -> None:
    """Split files into parts, by game.

    \b
    fukayomi data split games.hcpe3 -o train.hcpe3 -o test.hcpe3 --shares 95,5
    fukayomi data split rows.psv -o a.psv -o b.psv --by position

    Items are assigned at random, so the sizes meet the shares approximately. Games (hcpe3, records) are assigned by
    their moves: equal games go to the same part, whatever else is read. hcpe and psv do not say where a game ends:
    runs of rows stay together, so that in files that were not shuffled only the games at the ends of a run are cut. To
    have no position in both parts, split the games before they are converted, or split by position.

    After a kill or Ctrl-C, run the same command again to resume; the output is identical. Until it is complete, the
    work is in .NAME.work and .NAME.part beside the first part.
    """

    from fukayomi.data.verbs import split as split_data

    if options.every is not None and options.shares is not None:
        raise typer.BadParameter("give either --shares or --every", param_hint="--every")
    shares = None if options.shares is None else _shares(options.shares, len(outs))
    run_verb(
        inputs,
        options.source,
        lambda found, listener: split_data(
            found, outs, shares=shares, every=options.every, by=options.by, run=options.run, seed=options.seed,
            listener=listener,
        ),
        as_json=options.as_json,
    )  # fmt: skip


def _shares(text: str, parts: int) -> tuple[float, ...]:
    try:
        found = tuple(float(share) for share in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a list of numbers like 90,10", param_hint="--shares") from None
    if len(found) != parts or not all(0 < share < float("inf") for share in found):
        raise typer.BadParameter(f"{text!r}: give a number above 0 for each of {parts} parts", param_hint="--shares")
    return found


@dataclass(frozen=True)
class SampleOptions:
    """Options of ``fukayomi data sample``."""

    positions: Annotated[bool, typer.Option("--positions")] = False
    """Draw searched positions of hcpe3 games, written as hcpe."""
    seed: Seed = 0
    source: SourceFormat = None
    as_json: AsJson = False


def sample(
    inputs: InputFiles,
    out: Out,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Number of items to draw.")],
    options: SampleOptions,
) -> None:
    """Draw rows or games at random.

    \b
    fukayomi data sample rows.hcpe -o some.hcpe -n 100000
    fukayomi data sample games.hcpe3 -o some.hcpe -n 100000 --positions

    Draws exactly this number without replacement, all if there are fewer, and keeps the order of the input. All
    samples are equally likely. Games are counted first, so they are read twice. After a kill or Ctrl-C, run the same
    command again to resume; the output is identical.
    """
    from fukayomi.data.verbs import sample as sample_data

    run_verb(
        inputs,
        options.source,
        lambda found, listener: sample_data(
            found, out, count, positions=options.positions, seed=options.seed, listener=listener
        ),
        as_json=options.as_json,
    )


@dataclass(frozen=True)
class ShuffleOptions:
    """Options of ``fukayomi data shuffle``."""

    seed: Seed = 0
    memory: Annotated[float, typer.Option(min=0.001, metavar="GIB")] = SHUFFLE_MEMORY / 2**30
    """Memory to use, approximately."""
    scratch: Annotated[Path | None, typer.Option(show_default="beside --out")] = None
    """Folder for the work, up to 1.3 times as large as the input."""
    source: SourceFormat = None
    as_json: AsJson = False


def shuffle(inputs: InputFiles, out: Out, options: ShuffleOptions) -> None:
    """Put rows or games in random order, at any size.

    \b
    fukayomi data shuffle 2024.hcpe 2025.hcpe -o shuffled.hcpe --memory 4

    All orders are equally likely. The output depends only on the seed and the inputs in their order, not on the
    memory. The first pass writes the items to bucket files, the second sorts one bucket after the other. After a kill
    or Ctrl-C, run the same command again to resume; the output is identical.
    """
    from fukayomi.data.verbs import shuffle as shuffle_data

    run_verb(
        inputs,
        options.source,
        lambda found, listener: shuffle_data(
            found, out, seed=options.seed, memory=int(options.memory * 2**30), scratch=options.scratch,
            listener=listener,
        ),
        as_json=options.as_json,
    )  # fmt: skip


@dataclass(frozen=True)
class MergeOptions:
    """Options of ``fukayomi data merge``."""

    unique_games: Annotated[bool, typer.Option("--unique-games")] = False
    """Keep the first of games with the same start and moves."""
    source: SourceFormat = None
    as_json: AsJson = False


def merge(inputs: InputFiles, out: Out, options: MergeOptions) -> None:
    """Join files of one format, one after the other.

    \b
    fukayomi data merge selfplay-*.hcpe3 -o selfplay.hcpe3 --unique-games

    Checks rows for invalid results and moves, and replays games. --unique-games takes about 100 bytes of memory per
    game; use fukayomi data uniq to remove duplicate rows. After a kill or Ctrl-C, run the same command again to
    resume; the output is identical.
    """
    from fukayomi.data.verbs import merge as merge_data

    run_verb(
        inputs,
        options.source,
        lambda found, listener: merge_data(found, out, unique_games=options.unique_games, listener=listener),
        as_json=options.as_json,
    )


@options_of(
    FilterConditions, "results", "min_eval", "max_eval", "mates", "min_ply", "max_ply", "min_plies", "min_rating",
    opponents="--opponent",
)  # fmt: skip
class FilterOptions:
    """Options of ``fukayomi data filter``."""

    source: SourceFormat = None
    as_json: AsJson = False


def filter_files(inputs: InputFiles, out: Out, options: FilterOptions) -> None:
    """Keep the items that meet all conditions.

    \b
    fukayomi data filter rows.hcpe -o calm.hcpe --max-eval 3000 --no-mates
    fukayomi data filter games.hcpe3 -o middle.hcpe3 --min-ply 25 --min-plies 50
    fukayomi data filter floodgate.zip -o strong.csa --min-rating 3800

    Conditions by format:

    \b
    hcpe:     results, evaluations, mates
    psv:      results, evaluations, mates, plies
    hcpe3:    all but ratings
    records:  results, --min-plies, --min-rating

    A game cannot lose moves: moves that do not meet the conditions lose their candidates, so that they are not trained
    on, and a game without candidates is dropped. After a kill or Ctrl-C, run the same command again to resume; the
    output is identical.
    """
    from fukayomi.data.verbs import filter

    conditions = FilterConditions(**given_options(options, "source", "as_json"))
    run_verb(
        inputs,
        options.source,
        lambda found, listener: filter(found, out, conditions, listener=listener),
        as_json=options.as_json,
    )


@dataclass(frozen=True)
class FixEvalOptions:
    """Options of ``fukayomi data fix-eval``."""

    scale: Annotated[float | None, typer.Option(metavar="CP", show_default="fitted to the results")] = None
    """Scale of the inputs in centipawns."""
    source: SourceFormat = None
    as_json: AsJson = False


def fix_eval(inputs: InputFiles, out: Out, options: FixEvalOptions) -> None:
    """Rescale evaluations to dlshogi's scale (hcpe, hcpe3, psv).

    \b
    fukayomi data fix-eval engine.hcpe -o fixed.hcpe

    Finds the a for which 1 / (1 + exp(-eval / a)) is closest to the results, without mates, and multiplies evaluations
    by 756.0865 / a; mates do not change. Prints the mean error of the win rates that the evaluations stand for, before
    and after. After a kill or Ctrl-C, run the same command again to resume; the output is identical.
    """
    from fukayomi.data.verbs import fix_eval as fix_evals

    run_verb(
        inputs,
        options.source,
        lambda found, listener: fix_evals(found, out, scale=options.scale, listener=listener),
        as_json=options.as_json,
    )
