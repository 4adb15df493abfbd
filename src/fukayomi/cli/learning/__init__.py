"""Commands that train and export networks."""
