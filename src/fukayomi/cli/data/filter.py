"""``fukayomi data filter`` and ``fix-eval``: what is kept, and on which scale its evaluations are."""

from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.data.work import InputFiles, Out, SourceFormat, inputs_of, run_verb, unit_of

if TYPE_CHECKING:
    from fukayomi.shogi.record import Result


def filter_files(
    inputs: InputFiles,
    out: Out,
    results: Annotated[
        str | None, typer.Option(help="Games that ended so: one or several of black,white,draw.", show_default="all")
    ] = None,
    min_eval: Annotated[
        int | None, typer.Option(min=0, help="Positions whose evaluation is so many centipawns from zero at least.")
    ] = None,
    max_eval: Annotated[
        int | None, typer.Option(min=0, help="Positions whose evaluation is so many centipawns from zero at most.")
    ] = None,
    mates: Annotated[bool, typer.Option(help="Keep positions evaluated as a mate (30000 and more).")] = True,
    min_ply: Annotated[int | None, typer.Option(min=1, help="Positions from this move of the game on.")] = None,
    max_ply: Annotated[int | None, typer.Option(min=1, help="Positions up to this move of the game.")] = None,
    min_plies: Annotated[int | None, typer.Option(min=0, help="Games of so many moves at least.")] = None,
    opponent: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=255,
            help="Games with this opponent byte: 0 itself, 1 Black, 2 White was another program. May be given again.",
            show_default="all",
        ),
    ] = None,
    min_rating: Annotated[
        float | None, typer.Option(min=0, help="Records whose players are both rated at least so.")
    ] = None,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Keep what meets all conditions.

    \b
      fukayomi data filter rows.hcpe -o calm.hcpe --max-eval 3000 --no-mates
      fukayomi data filter games.hcpe3 -o middle.hcpe3 --min-ply 25 --min-plies 50
      fukayomi data filter floodgate.zip -o strong.csa --min-rating 3800

    \b
    hcpe:     results, evaluations, mates
    psv:      these and plies
    hcpe3:    all but ratings
    records:  results, --min-plies, --min-rating

    A game cannot lose moves: those that do not meet the conditions lose their candidates, so that nothing is learnt
    from them, and a game that keeps none is dropped. The same command goes on where a kill or Ctrl-C left it, and
    writes the same bytes as if nothing had been.
    """
    from fukayomi.data.verbs import Conditions, filter_data

    conditions = Conditions(
        _results(results), min_eval, max_eval, mates, min_ply, max_ply, min_plies, tuple(sorted(set(opponent or ()))),
        min_rating,
    )  # fmt: skip
    with user_errors():
        found = inputs_of(inputs, source)
    run_verb(lambda listener: filter_data(found, out, conditions, listener), unit_of(found), as_json=as_json)


def _results(text: str | None) -> "tuple[Result, ...]":
    from fukayomi.shogi.record import Result

    names = {"black": Result.BLACK_WIN, "white": Result.WHITE_WIN, "draw": Result.DRAW}
    wanted = text.split(",") if text is not None else []
    if unknown := [name for name in wanted if name not in names]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(names)}", param_hint="--results")
    return tuple(sorted({names[name] for name in wanted}))


def fix_eval(
    inputs: InputFiles,
    out: Out,
    scale: Annotated[
        float | None, typer.Option(help="The scale of the inputs in centipawns.", show_default="fitted to the results")
    ] = None,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Bring evaluations to dlshogi's scale (hcpe, hcpe3, psv).

    \b
      fukayomi data fix-eval engine.hcpe -o fixed.hcpe

    Finds the a with which 1 / (1 + exp(-eval / a)) is nearest to the results, mates left out, and multiplies
    evaluations by 756.0865 / a; mates stay. Says by how much the win rate that an evaluation stands for was wrong
    before and is after, in the mean over positions. The same command goes on where a kill or Ctrl-C left it, and writes
    the same bytes as if nothing had been.
    """
    from fukayomi.data.verbs import fix_eval as fix_evals

    with user_errors():
        found = inputs_of(inputs, source)
    run_verb(lambda listener: fix_evals(found, out, scale, listener), unit_of(found), as_json=as_json)
