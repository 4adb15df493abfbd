"""Options of `train` and `eval-model`: how visits and evaluations become training targets."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi._native import EVAL_SCALE
from fukayomi.cli.common.progress import StageBars
from fukayomi.learning.settings import TEMPERATURE, VAL_LAMBDA

if TYPE_CHECKING:
    from fukayomi.learning.data.dataset import Dataset

Device = Annotated[
    str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, or auto, which is cuda if there is one.")
]
ValLambda = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of the evaluation in the value target; the rest is the game's result."),
]


@dataclass(frozen=True)
class TargetOptions:
    """How visits and evaluations become training targets."""

    PANEL: ClassVar = "Targets"

    val_lambda: ValLambda = VAL_LAMBDA
    temperature: Annotated[
        float,
        typer.Option(
            min=0,
            help="In hcpe3 and avg, weigh a move by visits^(1/temperature); 0 takes the move with the most visits.",
        ),
    ] = TEMPERATURE
    eval_scale: Annotated[
        str,
        typer.Option(
            metavar="CENTIPAWNS|fit",
            help="Scale of the win probability 1 / (1 + exp(-evaluation / scale)); `fit` fits it to the results of "
            "each file. avg files hold win probabilities and ignore it.",
        ),
    ] = str(EVAL_SCALE)

    def open(self, files: list[Path]) -> "Dataset":
        """Open training data with these targets; shows a bar while games are read."""
        from fukayomi.learning.data.dataset import Dataset

        scale = _read_scale(self.eval_scale)
        with StageBars() as listener:
            return Dataset(
                *files, temperature=self.temperature, eval_scale=scale, position_weights=False, listener=listener
            )


def _read_scale(text: str) -> float | None:
    """The scale; None for "fit"."""
    if text == "fit":
        return None
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale < float("inf"):
        raise typer.BadParameter(f"{text!r} is neither a number of centipawns nor 'fit'", param_hint="--eval-scale")
    return scale
