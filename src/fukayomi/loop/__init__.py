"""The learning loop: games from workers are checked, stored and learnt from."""
