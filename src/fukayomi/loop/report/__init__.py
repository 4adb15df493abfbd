"""What a learning run has come to: its present state, and a page."""
