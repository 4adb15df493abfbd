"""What every test may need: the shared data, the Debian engines and browser, and honest skips where they are missing.

``FUKAYOMI_REQUIRE_ALL=1``, as CI sets it, turns a skip that names ``../shared`` or a Debian package into a failure.
``FUKAYOMI_SOAK_REPORT=FILE``, as ``make soak`` sets it, writes to FILE the outcome of every test and what it
recorded with ``record_property(name, value)``.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import typer
from patience import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Several tests run at once, each with its own torch, whose networks here are tiny. torch reads it when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent
NEEDED_IN_CI = re.compile(r"\.\./shared|Debian")

# No deadlines, nor limits of time for making examples: what takes long says something of the machine's other work.
hypothesis.settings.register_profile(
    "fukayomi",
    deadline=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("fukayomi")

# What a shell puts in the background has SIGINT ignored, under nohup SIGHUP too, and so have its children; but Ctrl-C
# and the end of a terminal are tested for real.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if os.name == "posix" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _environment_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """What is measured of networks is measured for a moment, and remembered for this run alone, by all of its
    processes; and a wide terminal, so that no message is broken where the path in it happens to end."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as environment:
        environment.setattr("fukayomi.engine.choice.MEASURE_S", 0.005)
        # typer's test runner would convert the program's 70 commands each time, which takes 40 ms.
        environment.setattr("typer.testing._get_command", cache(typer.main.get_command))
        # matplotlib would make its list of fonts again, and say so on stderr where that takes more than five seconds.
        kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "matplotlib"
        if "MPLCONFIGDIR" not in os.environ:
            environment.setenv("MPLCONFIGDIR", str(kept))
        if not list(Path(os.environ["MPLCONFIGDIR"]).glob("fontlist-*.json")):
            subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], capture_output=True, check=False)
        environment.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        environment.setenv("COLUMNS", "300")
        environment.delenv("TERMINAL_WIDTH", raising=False)  # typer keeps it for the whole process
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real games and oracles beside the repository, or a skip that says so."""
    folder = Path(os.environ.get("FUKAYOMI_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs ../shared/data, which is not at {folder}")
    return folder


def find_engine(name: str) -> str:
    """Full path of a Debian USI engine; /usr/games is often not on PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/usr/games")
    if path is None:
        pytest.skip(f"needs the Debian package of {name}")
    return path


@pytest.fixture(scope="session")
def fairy_stockfish() -> str:
    return find_engine("fairy-stockfish")


@pytest.fixture(scope="session")
def gpsusi() -> str:
    return find_engine("gpsusi")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Chromium's program; rather the one without windows, whose pages open twice as fast."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("needs the Debian package chromium-headless-shell")
    return path


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator["Browser"]:
    """Debian's Chromium, one for all tests of a process: playwright can only be started once in a thread."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE_S)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, timeout=3000 * PATIENCE_S)
        yield browser
        browser.close()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests, so that of several processes none has a long one left when the others are done."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a failure of a skip for want of something that CI promises to have."""
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return
    path, line, reason = report.longrepr
    if NEEDED_IN_CI.search(reason):
        report.outcome = "failed"
        report.longrepr = f"{path}:{line}: {reason}; with FUKAYOMI_REQUIRE_ALL=1 this must not be skipped"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if os.environ.get("FUKAYOMI_REQUIRE_ALL") == "1":
        forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if os.environ.get("FUKAYOMI_REQUIRE_ALL") == "1":
        forbid_skip(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the soak report: a line a test, and under it what the test recorded with ``record_property``."""
    target = os.environ.get("FUKAYOMI_SOAK_REPORT")
    if target is None:
        return
    lines: list[str] = []
    for outcome in ("passed", "failed", "error", "skipped"):
        reports = (r for r in terminalreporter.getreports(outcome) if outcome != "passed" or r.when == "call")
        for report in sorted(reports, key=lambda r: r.nodeid):
            lines.append(f"{outcome:8} {report.nodeid}")
            lines += [f"         {name}: {value}" for name, value in getattr(report, "user_properties", [])]
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text("\n".join(lines) + "\n", encoding="utf-8")
