"""The bars that show what a listener hears."""

import pytest

from fukayomi.cli.common.progress import StageBars


def work(bars: StageBars) -> None:
    bars.progress("reading", 0, 4)
    bars.progress("reading", 2, 4)
    bars.show(rate="17/s")
    bars.note("one file was \x1b skipped")
    bars.progress("counting", 10, None)
    bars.progress("writing", 0, 0)


def test_a_terminal_shows_stages_fields_and_notes(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with StageBars("{task.fields[rate]}", rate="") as bars:
        work(bars)
        bars.progress("reading", 2, 4)
    shown = capfd.readouterr()
    assert shown.out == ""
    for text in ("reading", "50%", "17/s", "skipped", "writing"):
        assert text in shown.err
    assert "\x1b skipped" not in shown.err


def test_a_file_gets_notes_alone(capfd) -> None:
    with StageBars("{task.fields[rate]}", rate="") as bars:
        work(bars)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err == "one file was ? skipped\n"
