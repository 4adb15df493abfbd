"""Searches for the page: the network behind it, the live analysis, and analyses of whole games."""
