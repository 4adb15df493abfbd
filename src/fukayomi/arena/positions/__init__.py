"""Balanced positions to begin matches from (互角局面集)."""
