"""Commands that play outside."""
