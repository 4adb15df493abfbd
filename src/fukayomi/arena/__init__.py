"""Comparing engines: matches, ratings, and what the games were about."""
