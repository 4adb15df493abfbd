"""Evaluators: what turns a batch of positions into policies and values. Nothing here imports numpy until it is used."""


class EvaluatorError(RuntimeError):
    """An evaluator that cannot be made, or whose answers cannot be used. The message says why, and what helps."""
