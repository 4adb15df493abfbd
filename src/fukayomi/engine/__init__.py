"""Think: evaluators, search, clock, the USI engine, game analysis, the embedded network."""
