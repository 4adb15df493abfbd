"""Resumable jobs: work that goes on after a kill, with the same bytes as if it had never stopped."""
