"""One thread for torch, as the networks are tiny, and a seed, so that no test depends on those before it."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread_and_a_seed() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
