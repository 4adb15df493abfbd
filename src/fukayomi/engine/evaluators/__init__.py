"""Evaluators: what turns batches of positions into policies and values."""

from fukayomi.errors import FukayomiError


class EvaluatorError(FukayomiError, RuntimeError):
    """An evaluator that cannot be loaded, or whose answers cannot be used; the message says why, and what helps."""


EvaluatorError.__module__ = "fukayomi"
