"""Formats of training data: a module for each, and a table of what the package knows about them (`table`)."""
