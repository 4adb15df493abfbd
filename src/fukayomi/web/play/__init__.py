"""Games against the engine: the questions of the page (routes), a game, and what was measured of its strength."""
