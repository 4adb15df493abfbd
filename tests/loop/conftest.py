"""A small real run, which the tests of the loop share."""

from pathlib import Path

import learn_run
import pytest


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed; tests only read it."""
    folder = tmp_path_factory.mktemp("learn") / "run"
    assert learn_run.run(folder).finished
    return folder
