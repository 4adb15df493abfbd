"""Training: the loop, and the state of a run."""
