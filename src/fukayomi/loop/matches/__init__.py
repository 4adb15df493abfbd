"""Strength of the networks of a run: the test of the gate, and matches against anchors, rated together."""
