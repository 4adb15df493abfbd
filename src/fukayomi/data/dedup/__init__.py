"""Deduplicate and average positions, at any size.

Rows are spread over bucket files by a hash of their position, and each bucket is reduced on its own; the output is in
the order of the hash. Memory holds one bucket at a time. A run that was killed goes on where it was.
"""
