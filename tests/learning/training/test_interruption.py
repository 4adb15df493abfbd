"""Stopping between steps, and at once."""

import signal

import pytest

from fukayomi.learning.training import interruption
from fukayomi.learning.training.interruption import StopRequest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_request_that_can_be_repeated_at_once(number: signal.Signals):
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.requested
        signal.raise_signal(number)
        signal.raise_signal(number)  # as torchrun does
        assert stop.requested
    assert signal.getsignal(number) is before


def test_a_second_press_interrupts_and_a_second_sigterm_does_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interruption, "ONE_PRESS", -1.0)
    with StopRequest():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
