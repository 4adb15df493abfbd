"""Libraries are imported where no signal arrives."""

import subprocess
import sys
from pathlib import Path

import pytest

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


LIBRARIES = {"cpu": "onnxruntime", "openvino": "openvino"}
WHERE = """
import sys, threading
from importlib.abc import MetaPathFinder

class Watch(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {library!r}:
            print(threading.current_thread() is threading.main_thread(), flush=True)

sys.meta_path.insert(0, Watch())
from fukayomi import Network
Network("<5x64>", device={backend!r}, precision="fp32", threads=1, batch_size=8)
"""


@pytest.mark.parametrize("backend", LIBRARIES)
def test_a_backend_loads_its_library_where_no_signal_arrives(backend: str) -> None:
    program = WHERE.format(backend=backend, library=LIBRARIES[backend])
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[-1:], done.stderr) == (
        0,
        ["False"],
        "",
    )  # before, it is only looked for


def test_a_library_that_is_not_there_is_left_to_its_import_statement() -> None:
    load_library("fukayomi_has_no_such_library")
    assert "fukayomi_has_no_such_library" not in sys.modules
