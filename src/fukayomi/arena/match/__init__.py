"""Playing a match between USI engines."""
