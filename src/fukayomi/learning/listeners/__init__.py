"""Listeners of a training run: the interface, and listeners that write curves."""
