"""Stopping between steps, and at once."""

import signal
import threading

import pytest

from fukayomi import interruption
from fukayomi.interruption import Presses, Stopped, StopRequest, Terminations, join_threads, start_threads


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_a_request_that_can_be_repeated_at_once(number: signal.Signals):
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.requested
        signal.raise_signal(number)
        signal.raise_signal(number)  # as torchrun does
        assert (stop.requested, stop.signal) == (True, number)
    assert signal.getsignal(number) is before


def test_a_second_press_interrupts_and_a_second_sigterm_does_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interruption, "ONE_PRESS", -1.0)
    with StopRequest():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_first_termination_interrupts_at_once(number: signal.Signals):
    before = signal.getsignal(number)
    with Terminations() as terminations:
        with pytest.raises(Stopped) as stopped:
            signal.raise_signal(number)
        signal.raise_signal(number)  # while something ends
        assert (stopped.value.signal, terminations.signal) == (number, number)
    assert signal.getsignal(number) is before


def test_under_nohup_the_end_of_the_terminal_is_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopRequest() as stop:
            signal.raise_signal(signal.SIGHUP)
        assert not stop.requested
    finally:
        signal.signal(signal.SIGHUP, before)


def test_each_press_takes_the_next_step_and_the_one_after_the_last_interrupts(monkeypatch: pytest.MonkeyPatch):
    before, steps = signal.getsignal(signal.SIGINT), list[int]()
    with Presses(steps.append, 2) as presses:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)  # within a second: the same press
        assert steps == [1]
        monkeypatch.setattr(interruption, "ONE_PRESS", -1.0)
        signal.raise_signal(signal.SIGINT)
        assert steps == [1, 2]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (steps, presses.signal) == ([1, 2], signal.SIGTERM)
    assert signal.getsignal(signal.SIGINT) is before


class _InterruptedThread(threading.Thread):
    """Ctrl-C arrives amid its start, before it runs or when it does."""

    def __init__(self, *, late: bool) -> None:
        super().__init__(daemon=True)
        self._late = late
        self.has_run = threading.Event()

    def start(self) -> None:
        if not self._late:
            signal.raise_signal(signal.SIGINT)
        super().start()
        if self._late:
            signal.raise_signal(signal.SIGINT)

    def run(self) -> None:
        self.has_run.set()


@pytest.mark.parametrize("late", [False, True])
def test_a_signal_that_arrives_as_a_thread_starts_waits_until_it_runs(late: bool) -> None:
    first, second = _InterruptedThread(late=late), _InterruptedThread(late=late)
    with pytest.raises(KeyboardInterrupt):
        start_threads([first, second])
    join_threads([first, second])
    assert first.has_run.is_set()
    assert second.ident is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
