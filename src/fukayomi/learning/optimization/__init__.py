"""How weights change: optimisers, learning rates by step, averages of weights."""
