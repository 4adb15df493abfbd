"""One thread for torch again after each test: a network that plays sets those of the whole process."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def one_thread_of_torch() -> Iterator[None]:
    yield
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
