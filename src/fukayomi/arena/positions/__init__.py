"""Balanced positions (互角局面集) to start matches from, taken from games; and comparisons of two sets of lines."""
