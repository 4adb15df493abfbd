"""How fast networks and the search are, and what can run a network."""
