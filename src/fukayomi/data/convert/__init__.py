"""Training data from one format to another."""
