"""From a `go` to its answer: limits, the choice of the move, books, info lines."""
