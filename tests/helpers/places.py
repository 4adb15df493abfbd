"""Where tests find what is not beside them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
SAMPLES = ROOT / "tests" / "samples"
RECORDS = SAMPLES / "records"
HELPERS = ROOT / "tests" / "helpers"
"""Modules that tests share; among them USI engines that play at random, fail on purpose, or have a known strength."""
