"""Parameters of USI engines, tuned by games of an engine against itself: SPSA, or samplers of Optuna.

from fukayomi.tuning import TuneSettings, tune

settings = TuneSettings(
    engine={"name": "own", "command": ["fukayomi-usi"]},
    parameter={"C_init": {"low": 88, "high": 200}, "C_fpu_reduction": {"low": 0, "high": 90}},
    games=2000,
    clock="nodes=100",
    openings="balanced.sfen",
)
print(tune(settings, "tuned"))  # a table with a row for each parameter
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.tuning.page import plot_tuning
    from fukayomi.tuning.parameters import Dimension, Estimate, Parameter, Proposal
    from fukayomi.tuning.samplers import Sampler
    from fukayomi.tuning.settings import Method, TuneError, TuneSettings
    from fukayomi.tuning.spsa import Spsa, SpsaSettings
    from fukayomi.tuning.tuning import TuneListener, Tuning, read_tuning, tune

__all__ = [
    "Dimension",
    "Estimate",
    "Method",
    "Parameter",
    "Proposal",
    "Sampler",
    "Spsa",
    "SpsaSettings",
    "TuneError",
    "TuneListener",
    "TuneSettings",
    "Tuning",
    "plot_tuning",
    "read_tuning",
    "tune",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".page": ("plot_tuning",),
        ".parameters": ("Dimension", "Estimate", "Parameter", "Proposal"),
        ".samplers": ("Sampler",),
        ".settings": ("Method", "TuneError", "TuneSettings"),
        ".spsa": ("Spsa", "SpsaSettings"),
        ".tuning": ("TuneListener", "Tuning", "read_tuning", "tune"),
    },
)
