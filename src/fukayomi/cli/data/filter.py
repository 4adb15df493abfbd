"""``fukayomi data filter`` and ``fix-eval``: which items are kept, and on which scale their evaluations are."""

from dataclasses import dataclass
from typing import Annotated

import typer

from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.data.verb_command import InputFiles, Out, SourceFormat, run_verb
from fukayomi.data.conditions import FilterConditions


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

    scale: Annotated[
        float | None,
        typer.Option(metavar="CP", help="Scale of the inputs in centipawns.", show_default="fitted to the results"),
    ] = None
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
