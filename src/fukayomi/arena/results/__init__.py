"""Finished games and what they add up to."""
