"""A small real run, which the tests of the loop share."""

from pathlib import Path

import learn_run
import pytest

from fukayomi.loop import LoopListener, learn


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed; tests only read it."""
    folder = tmp_path_factory.mktemp("learn") / "run"
    assert learn_run.run(folder).finished
    return folder


@pytest.fixture(scope="session")
def past_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a league of its earlier networks and reanalysis; tests only read it."""
    folder = tmp_path_factory.mktemp("past") / "run"
    assert learn_run.run(folder, **learn_run.PAST).finished
    return folder


@pytest.fixture(scope="session")
def int8_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that computes in int8; tests only read it."""
    folder = tmp_path_factory.mktemp("int8") / "run"
    assert learn_run.run(folder, **learn_run.INT8).finished
    return folder


@pytest.fixture(scope="session")
def sparse_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a sparse network; tests only read it."""
    folder = tmp_path_factory.mktemp("sparse") / "run"
    assert learn_run.run(folder, **learn_run.SPARSE).finished
    return folder


class Stopping(LoopListener):
    """Ctrl-C when the second generation is about to train."""

    def step_started(self, generation: int, step: str) -> None:
        if (generation, step) == (2, "train"):
            raise KeyboardInterrupt


@pytest.fixture(scope="session")
def untrained_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run without matches that was stopped before its second training; tests go on with copies."""
    folder = tmp_path_factory.mktemp("untrained") / "run"
    assert not learn(learn_run.small(**learn_run.QUICK), folder, listener=Stopping()).finished
    return folder
