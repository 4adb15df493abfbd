"""The curves of training runs: read, as a table, as pictures and as a page."""
