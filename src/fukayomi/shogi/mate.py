"""Mates (詰み): the solver of the native core, under the names that users see."""

from fukayomi._native import MateReason, MateResult, MateSolver

for _exported in (MateReason, MateResult, MateSolver):
    _exported.__module__ = "fukayomi"

__all__ = ["MateReason", "MateResult", "MateSolver"]
