"""Checks of training data."""
