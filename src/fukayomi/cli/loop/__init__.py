"""The command of the learning loop."""
