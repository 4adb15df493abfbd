"""Commands of the engine: analyse, bench, perft, usi."""
