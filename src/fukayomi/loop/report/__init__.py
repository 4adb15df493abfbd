"""Report of a learning run: its present state, and a page."""
