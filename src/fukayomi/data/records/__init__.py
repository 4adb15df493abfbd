"""Game records as a source of training data."""
