"""Speed of networks and of the search, and what can run a network."""
