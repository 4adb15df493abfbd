"""Optimisation of weights: optimisers, learning rates by step, averages of weights."""
