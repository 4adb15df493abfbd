"""What the benchmarks of the repository print, called in this process."""

import contextlib
import io
import json
import os
import runpy
import sys
from collections.abc import Generator
from typing import Any

import pytest
from places import BENCHMARKS


def figures_of(name: str, *words: object) -> dict[str, Any]:
    """The figures of ``python benchmarks/NAME --json WORDS``."""
    with _as_it_was(), contextlib.redirect_stdout(io.StringIO()) as printed:
        sys.argv = [str(BENCHMARKS / name), "--json", *map(str, words)]
        sys.path.insert(0, str(BENCHMARKS))
        runpy.run_path(sys.argv[0], run_name="__main__")
    return json.loads(printed.getvalue())


@contextlib.contextmanager
def _as_it_was() -> Generator[None]:
    """Take back what a program may change for its process: argv, path, environment and processors."""
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", sys.argv)
        patch.setattr(sys, "path", list(sys.path))
        before = dict(os.environ)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            if processors is not None:
                os.sched_setaffinity(0, processors)
