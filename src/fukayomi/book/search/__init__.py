"""Books from searches: positions of a list, or grown from starts along good moves."""
