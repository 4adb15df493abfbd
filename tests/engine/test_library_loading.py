"""Libraries are imported where no signal arrives."""

import subprocess
import sys
from pathlib import Path

from fukayomi.engine.evaluators.library_calls import load_library

LIBRARY = """
import signal, threading, time
assert threading.current_thread() is not threading.main_thread()
signal.raise_signal(signal.SIGINT)
time.sleep(0.3)
print("loaded", flush=True)
"""
PROGRAM = """
import sys
from fukayomi.engine.evaluators.library_calls import load_library
try:
    load_library("delicate")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


def test_ctrl_c_leaves_an_import_alone_and_ends_the_program_after_it(tmp_path: Path) -> None:
    (tmp_path / "delicate.py").write_text(LIBRARY)
    done = subprocess.run((sys.executable, "-c", PROGRAM), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (130, ["interrupted", "loaded"], "")


def test_a_library_that_is_not_there_is_left_to_its_import_statement() -> None:
    load_library("fukayomi_has_no_such_library")
    assert "fukayomi_has_no_such_library" not in sys.modules
