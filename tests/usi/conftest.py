"""Engines in processes of their own."""

import sys
from collections.abc import Generator

import pytest
from engine_talk import Start
from patience import PATIENCE_S
from places import HELPERS

from fukayomi.usi.client import UsiClient

ENGINE = (sys.executable, "-m", "fukayomi", "usi")
ODD_ENGINE = (sys.executable, str(HELPERS / "odd_engine.py"))


@pytest.fixture(scope="session")
def engine_command() -> tuple[str, ...]:
    """The program and arguments of the engine."""
    return ENGINE


@pytest.fixture(scope="session")
def common_engine() -> Generator[UsiClient]:
    """One process for all tests that leave it unchanged."""
    with UsiClient(ENGINE, timeout_s=PATIENCE_S) as client:
        client.handshake()
        client.set_option("DNN_Model", "<hash>")  # it must be ready after a test that never used it, too
        yield client


@pytest.fixture
def start(common_engine: UsiClient) -> Generator[Start]:
    """Start an engine and make it ready: ``start(Option="value", ...)``.

    It has a process of its own with ``fresh=True``, with ``ready=False`` (no isready is sent), or with an evaluator
    that misbehaves (``start("slow", "2")``).
    """
    own: list[UsiClient] = []

    def start_engine(*odd: str, ready: bool = True, fresh: bool = False, **options: str) -> UsiClient:
        if odd or fresh or not ready:
            client = UsiClient((*ODD_ENGINE, *odd) if odd else ENGINE, timeout_s=PATIENCE_S)
            own.append(client)
            client.handshake()
        else:
            client = common_engine
            for option in client.options.values():
                client.set_option(option.name, option.default)
        for name, value in {"DNN_Model": "<hash>", **options}.items():
            client.set_option(name, value)
        if ready:
            client.new_game()
            client.wait_ready()
            client.position()
        return client

    yield start_engine
    common_engine.wait_ready()
    for client in own:
        client.close()
