"""One game between two engines: rules, clocks, openings, players and the referee."""
