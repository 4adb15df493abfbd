"""``fukayomi data filter`` and ``fix-eval``: which items are kept, and on which scale their evaluations are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.options import AsJson
from fukayomi.cli.data.verb_command import InputFiles, Out, SourceFormat, run_verb

if TYPE_CHECKING:
    from fukayomi.shogi.record import Result


@dataclass(frozen=True)
class FilterOptions:
    """Options of ``fukayomi data filter``."""

    results: Annotated[
        str | None, typer.Option(help="Keep games with these results, of black,white,draw.", show_default="all")
    ] = None
    min_eval: Annotated[
        int | None, typer.Option(min=0, metavar="CP", help="Keep positions with |evaluation| >= CP centipawns.")
    ] = None
    max_eval: Annotated[
        int | None, typer.Option(min=0, metavar="CP", help="Keep positions with |evaluation| <= CP centipawns.")
    ] = None
    mates: Annotated[bool, typer.Option(help="Keep positions evaluated as a mate (30000 or more).")] = True
    min_ply: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Keep positions from move N of the game on.")
    ] = None
    max_ply: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Keep positions up to move N of the game.")
    ] = None
    min_plies: Annotated[int | None, typer.Option(min=0, metavar="N", help="Keep games with at least N moves.")] = None
    opponent: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=255,
            show_default="all",
            help="Keep games with this opponent byte: 0 self-play, 1 Black was another program, 2 White was. May be "
            "repeated.",
        ),
    ] = None
    min_rating: Annotated[
        float | None, typer.Option(min=0, metavar="R", help="Keep records with both players rated R or higher.")
    ] = None
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
    from fukayomi.data.verbs import FilterConditions, filter

    conditions = FilterConditions(
        results=_results(options.results),
        min_eval=options.min_eval,
        max_eval=options.max_eval,
        mates=options.mates,
        min_ply=options.min_ply,
        max_ply=options.max_ply,
        min_plies=options.min_plies,
        opponents=tuple(sorted(set(options.opponent or ()))),
        min_rating=options.min_rating,
    )
    run_verb(
        inputs,
        options.source,
        lambda found, listener: filter(found, out, conditions, listener=listener),
        as_json=options.as_json,
    )


def _results(text: str | None) -> "tuple[Result, ...]":
    from fukayomi.shogi.record import Result

    names = {"black": Result.BLACK_WIN, "white": Result.WHITE_WIN, "draw": Result.DRAW}
    wanted = text.split(",") if text is not None else []
    if unknown := [name for name in wanted if name not in names]:
        raise typer.BadParameter(f"{unknown[0]!r} is not one of {', '.join(names)}", param_hint="--results")
    return tuple(sorted({names[name] for name in wanted}))


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
