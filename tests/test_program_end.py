"""The program ends quietly while other threads are in native code, and after Ctrl-C at any moment."""

import signal
import subprocess
import sys
import time

import pytest
from patience import PATIENCE_S

# A thread that the end of the program does not wait for is in native code nearly all the time.
BEGIN = """
import sys, threading, time
sys.setswitchinterval(1e-6)  # a thread that runs Python code amid a native call would nearly always lose the GIL there
from fukayomi import MateSolver, Network, Position
from fukayomi.engine.evaluators.timing import filled_slot, run_batches

def repeat(work):
    def run():
        while True:
            try:
                work()
            except RuntimeError as error:
                if "interpreter shutdown" not in str(error):
                    raise
                return  # Python 3.12 begins no threads for it any more
            started.set()
    started = threading.Event()
    for _ in range(3):
        threading.Thread(target=run, daemon=True).start()
    started.wait()
    time.sleep(0.05)
"""
WORKS = {
    "perft": "repeat(lambda: Position().perft(2))",
    "mates": "repeat(lambda: MateSolver(1).solve(Position(), nodes=3000))",
    "native": """
network = Network("<5x64>", threads=2, device="native", precision="fp32", batch_size=8)
slots = [filled_slot(network.evaluator, 8, [Position()]) for _ in range(3)]
repeat(lambda: run_batches(network.evaluator, slots, 8, 0.05))
""",
    "sparse": """
network = Network("<sparse>", threads=2, batch_size=8)
slots = [filled_slot(network.evaluator, 8, [Position()]) for _ in range(3)]
repeat(lambda: run_batches(network.evaluator, slots, 8, 0.05))
""",
    "onnxruntime": """
network = Network(threads=1, device="cpu", precision="fp32", batch_size=8)
slots = [filled_slot(network.evaluator, 8, [Position()]) for _ in range(3)]
repeat(lambda: run_batches(network.evaluator, slots, 8, 0.05))
""",
    "search": """
from fukayomi import Engine
engine = Engine(Network("<hash>"))
repeat(lambda: engine.search(Position(), nodes=500))
""",
}

DOCTOR, BENCH = ("doctor", "<5x64>"), ("bench", "--evaluator", "network")
PROGRAM = "from fukayomi.__main__ import main; print('begun', flush=True); main()"


@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.soak)])
@pytest.mark.parametrize("work", WORKS)
def test_the_program_ends_while_threads_are_in_native_code(work: str, times: int) -> None:
    for _ in range(times):
        command = (sys.executable, "-c", BEGIN + WORKS[work])
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert (done.returncode, done.stderr) == (0, "")


WHILE_THE_CORE_LOADS = """
import enum, os, signal
make = enum.EnumType.__call__
def call(*values, **options):
    if str(options.get("module", "")).startswith("fukayomi._native"):
        print("begun", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    return make(*values, **options)
enum.EnumType.__call__ = call
try:
    import fukayomi._native
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a single process")
def test_ctrl_c_while_the_core_is_loaded_ends_the_import() -> None:
    command = (sys.executable, "-c", WHILE_THE_CORE_LOADS)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == {"begun", "interrupted"}


AMID_AN_IMPORT = """
from fukayomi.cli import main as commands
def run():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise {kind}("of Python or a library") from error
commands.main = run
"""


@pytest.mark.parametrize("kind", ["ImportError", "RuntimeError"])
def test_an_import_that_ctrl_c_breaks_off_is_no_error(kind: str) -> None:
    command = (sys.executable, "-c", AMID_AN_IMPORT.format(kind=kind) + PROGRAM)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a single process")
@pytest.mark.parametrize(
    ("words", "number", "moments"),
    [
        (DOCTOR, signal.SIGINT, (0.6,)),
        (DOCTOR, signal.SIGTERM, (1.8,)),
        (BENCH, signal.SIGINT, (1.8,)),
        (BENCH, signal.SIGTERM, (0.6,)),
        *(
            pytest.param(words, number, (0.1, 0.6, 1.2, 1.8, 2.4), marks=pytest.mark.soak)
            for words in (DOCTOR, BENCH)
            for number in (signal.SIGINT, signal.SIGTERM)
        ),
    ],
)
def test_a_signal_ends_measurements_quietly(
    words: tuple[str, ...], number: signal.Signals, moments: tuple[float, ...]
) -> None:
    for seconds in moments:
        process = subprocess.Popen(
            (sys.executable, "-c", PROGRAM, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(seconds)  # no event marks the moment: any will do
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode in ((130,) if number == signal.SIGINT else (143, -signal.SIGTERM))
        assert errors.strip() in ("", "interrupted")
