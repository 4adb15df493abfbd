"""Commands that play matches and evaluate their results."""
