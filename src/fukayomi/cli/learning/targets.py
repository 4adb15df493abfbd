"""What `train` and `eval-model` have in common: what visits and evaluations become."""

import typer

DEFAULT_EVAL_SCALE = "756.0864962951762"
TEMPERATURE_HELP = "Of hcpe3 and avg: a move weighs visits^(1/temperature); 0: the one with the most visits alone."
EVAL_SCALE_HELP = (
    "Of the search value, 1 / (1 + exp(-evaluation / scale)); fit: fitted to the results of each file. avg has its own."
)


def read_eval_scale(text: str) -> float | None:
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
