"""One module for each format of training data."""
