"""Books from the results of games, carried back by min-max."""
