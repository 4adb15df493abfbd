"""Backends: the libraries that run networks. `backend.py` has the list."""
