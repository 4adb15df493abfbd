"""What a card shows, in the order of value and within some minutes: tests, agreement, play, training, self-play.

    python benchmarks/gpu_check.py --minutes 8 --out DIR [--device torch-cuda] [--parts machine play]
        [--train GAMES.hcpe3 ... --test TEST.hcpe3 ... --network resnet10x192_swish] [--json]

| part | what it says |
|---|---|
| machine | cards, driver, libraries; every backend, and what it lacks (nothing is installed or built) |
| tests | the tests that need a GPU (`pytest -m gpu`) |
| agreement | best moves and win rates of each backend and precision beside ONNX Runtime's fp32 |
| play | networks from 10x192 to 40x512 alone and in play (`gpu_play.py`), beside the seeds' figures |
| training | positions a second and share of the card's peak (`training.py`) |
| selfplay | games at 800 playouts a move (`selfplay.py`) |
| devices | searches on one to all GPUs (as `fukayomi bench nps --devices`) |
| train | with --train: a network from packed data, the best of these minutes and of calls before in DIR/network.onnx |

Each part has a fixed share of the minutes, and what parts before it have left over. One that runs out of time is cut,
and what it has not measured is named. DIR gets `gpu_check.json` after every figure, `gpu_check.md`, the same as tables,
and `gpu_check.log`. The same command goes on where it was cut off or killed: what is measured is not measured again;
`train` trains on. Without --device the first backend on a GPU that can run is taken; `--device torch` measures the CPU.
Exits with 1 if something failed.
"""

import argparse
import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import problem_of
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.interruption import Terminations
from fukayomi.nn import NetworkConfig, NetworkConfigError
from gpu_parts import SHAPES, Job, Row
from gpu_tables import page

SHARES = {
    "machine": 6, "tests": 14, "agreement": 8, "play": 36, "training": 16, "selfplay": 12, "devices": 8, "train": 60,
}  # fmt: skip
"""Parts in the order of value, and their shares of the time; of `train` where there is data for it."""
DOCUMENT, PAGE, LOG = "gpu_check.json", "gpu_check.md", "gpu_check.log"
FORMAT = 1
MACHINE_S = 60.0
"""Time that `machine` may take of however few minutes; it needs a few seconds of it, unless all is slow."""
KILL_S = 2.0
"""Time in which a part that is told to end must end."""
SAID_LINES = 3
"""Lines of the log that a failed part shows."""


@dataclass
class Part:
    """A part, as it is in the document."""

    state: str = "not begun"
    """"not begun", "running", "done", "cut" (no time was left) or "failed"."""
    budget_s: float = 0.0
    """Time that it was given by the last call."""
    seconds: float = 0.0
    """Time that all calls took."""
    left_out: tuple[str, ...] = ()
    """Names of what there was no time for, where they are known."""
    problem: str = ""
    """What failed."""
    rows: tuple[Row, ...] = ()
    """The figures."""

    @property
    def by_name(self) -> dict[str, Row]:
        """Rows by name."""
        return {row["name"]: row for row in self.rows}

    def add(self, row: Row) -> None:
        """Add a row, or replace that of the same name."""
        self.rows = tuple((self.by_name | {row["name"]: row}).values())

    @property
    def failures(self) -> list[str]:
        """What could not be measured, and why."""
        return [f"{row['name']}: {row['problem']}" for row in self.rows if "problem" in row]


class Check:
    """The results in a folder.

    Args:
        out: The folder.
        writes: Whether new results are written there.
    """

    def __init__(self, out: Path, *, writes: bool = True) -> None:
        self.out = out
        self._writes = writes
        self.parts: dict[str, Part] = {name: Part() for name in SHARES}
        self.device = ""
        self._begun = datetime.now(UTC).isoformat(timespec="seconds")
        path = out / DOCUMENT
        if path.exists():
            known = json.loads(path.read_text("utf-8"))
            if known.get("format") != FORMAT:
                sys.exit(f"{path} is of another version of this program: choose another folder")
            self.device, self._begun = known["device"], known["begun"]
            for name, part in known["parts"].items():
                self.parts[name] = Part(**part | {key: tuple(part[key]) for key in ("left_out", "rows")})

    def document(self) -> dict[str, Any]:
        """All results."""
        parts = {name: asdict(part) for name, part in self.parts.items()}
        return {"format": FORMAT, "begun": self._begun, "device": self.device, "parts": parts}

    def write(self) -> None:
        """Replace the files, each at once."""
        if not self._writes:
            return
        document = self.document()
        replace_file(self.out / DOCUMENT, (json.dumps(document, indent=1) + "\n").encode())
        replace_file(self.out / PAGE, page(document).encode())

    def refuse_another_computer(self, found: Row) -> None:
        """Exit if the results are of another card, libraries or commit than these."""
        known = self.parts["machine"].by_name.get("machine")
        if known is None:
            return
        for key in ("cards", "libraries", "commit"):
            if known[key] != found[key]:
                sys.exit(
                    f"{self.out} has results with {key} {known[key]}, here are {found[key]}: choose another folder"
                )

    def choose_device(self, wanted: str) -> None:
        """Take the backend that is named, or the first on a GPU that can run; exit if there is none."""
        backends = {each["name"]: each for each in self.parts["machine"].by_name["machine"]["backends"]}
        on_gpu = sorted((name for name in backends if backends[name]["on_gpu"]), key=lambda name: name != "torch-cuda")
        able = [name for name in on_gpu if backends[name]["problem"] is None]
        if not wanted and not able:
            lacking = "\n".join(f"  {name}: {backends[name]['problem']}" for name in on_gpu)
            sys.exit(f"no backend can use a GPU here:\n{lacking}\n--device torch measures the CPU")
        if wanted and wanted not in backends:
            sys.exit(f"--device {wanted}: not one of {', '.join(backends)}")
        if wanted and backends[wanted]["problem"] is not None:
            sys.exit(f"--device {wanted}: {backends[wanted]['problem']}")
        device = wanted or (self.device if self.device in able else able[0])
        if self.device and device != self.device:
            sys.exit(f"{self.out} has results of {self.device}, not of {device}: choose another folder")
        self.device = device


def run_part(check: Check, name: str, job: dict[str, Any], budget_s: float) -> None:
    """Run a part in a process of its own, and write its rows as they come."""
    part = check.parts[name]
    job |= {"device": check.device, "seconds": budget_s, "rows": part.by_name, "parent": os.getpid()}
    before, begin = part.seconds, time.perf_counter()
    part.state, part.budget_s, part.left_out, part.problem = "running", round(budget_s, 1), (), ""
    check.write()
    with (check.out / LOG).open("ab") as log:
        log.write(f"\n== {name}, {budget_s:.0f} s\n".encode())
        log.flush()
        place = log.tell()
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("gpu_parts.py")), name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=os.name == "posix",
        )  # fmt: skip
        try:
            code = _listen(check, part, process, json.dumps(job), begin, budget_s, before)
        except BaseException:  # Ctrl-C, SIGTERM
            part.state = "cut"
            check.write()
            raise
        finally:
            _end(process)
    part.seconds = round(before + time.perf_counter() - begin, 1)
    if code is None:
        part.state, part.problem = "cut", f"its {budget_s:.0f} s ran out"
    elif code != 0:
        said = (check.out / LOG).read_bytes()[place:].decode("utf-8", "replace").strip().splitlines()
        part.state, part.problem = "failed", f"it ended with {code}: {' / '.join(said[-SAID_LINES:])}"
    else:
        part.state = "failed" if part.failures else "cut" if part.left_out else "done"
    check.write()


def _listen(
    check: Check, part: Part, process: "subprocess.Popen[bytes]", job: str, begin: float, budget_s: float, before: float
) -> int | None:
    """Take in the rows of a part; its exit code, None if its time ran out."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:  # it may have died at once; its exit code says so
        pipe.write(job.encode())
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    output = process.stdout

    def read() -> None:
        with output:
            for line in output:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while (left := begin + budget_s - time.perf_counter()) > 0:
        try:
            line = lines.get(timeout=left)
        except queue.Empty:
            break
        if line is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(max(KILL_S, left))
            return None
        row = json.loads(line)
        if "left_out" in row:
            part.left_out = tuple(row["left_out"])
        else:
            part.add(row)
        part.seconds = round(before + time.perf_counter() - begin, 1)
        check.write()
    return None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those that it started."""
    if os.name == "posix":
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(KILL_S)
            except (ProcessLookupError, PermissionError):
                break
            except subprocess.TimeoutExpired:
                continue
    process.kill()
    process.wait()


def budget(left_s: float, name: str, chosen: Sequence[str]) -> float:
    """Seconds of a part: its share of those left, among the parts that are still to come. The first may take half of
    all: it is the first to load the libraries, and without it there are no others."""
    if name == "machine":
        return min(left_s, max(left_s / 2, MACHINE_S))
    return left_s * SHARES[name] / sum(SHARES[other] for other in chosen[chosen.index(name) :])


def check_all(check: Check, given: argparse.Namespace, begin: float) -> None:
    """Run the parts that are chosen and not done; `machine` always runs."""
    wanted = ("machine", *given.parts)
    chosen = [name for name in SHARES if name in wanted and (name != "train" or given.train)]
    open_parts = [name for name in chosen if name in ("machine", "train") or check.parts[name].state != "done"]
    total = 60 * given.minutes
    for name in chosen:
        nominal = total * SHARES[name] / sum(SHARES[other] for other in open_parts)
        _say(f"{name}: {nominal:.0f} s" if name in open_parts else f"{name}: done before")
    job = asdict(
        Job("", 0, given.seconds, given.shapes, given.positions, given.train, given.test, given.network,
            given.select, str(check.out.absolute()), str(given.work.absolute()), {})
    )  # fmt: skip
    found = Check(check.out, writes=False)
    for name in open_parts:
        target = found if name == "machine" else check
        run_part(target, name, dict(job), budget(total - (time.perf_counter() - begin), name, open_parts))
        if name == "machine":
            _take_machine(check, found, given.device)
        part = check.parts[name]
        lacking = "; ".join(filter(None, [*part.failures, part.problem, *part.left_out]))
        _say(f"{name}: {part.state} after {part.seconds:.0f} s" + (f": {lacking}" if lacking else ""))


def _take_machine(check: Check, found: Check, device: str) -> None:
    """Take what the part `machine` has found, if it is the computer of the other results."""
    part = found.parts["machine"]
    if part.state != "done":
        sys.exit(f"machine: {part.state}: {part.problem}; see {check.out / LOG}")
    check.refuse_another_computer(part.by_name["machine"])
    check.parts["machine"] = part
    check.write()
    check.choose_device(device)


def _positive(text: str) -> float:
    """A number of the command line that is above 0."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"{text} is not a number above 0")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Run the parts, and print where the results are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the results")
    parser.add_argument("--minutes", type=_positive, default=8.0, help="of all parts together")
    parser.add_argument("--parts", nargs="+", default=[*SHARES], choices=[*SHARES], metavar="PART")
    parser.add_argument("--device", default="", metavar="NAME", help="value of DNN_Provider")
    parser.add_argument("--shapes", nargs="+", default=[*SHAPES], metavar="BLOCKSxCHANNELS", help="_lk_tf may follow")
    parser.add_argument("--seconds", type=_positive, default=6.0, help="most of a single measurement")
    parser.add_argument("--positions", type=int, default=4096, help="on which backends are compared")
    parser.add_argument("--select", default="", metavar="EXPRESSION", help="which tests, as pytest's -k")
    parser.add_argument("--train", nargs="+", default=[], metavar="FILE", help="training data, such as hcpe3")
    parser.add_argument("--test", nargs="+", default=[], metavar="FILE", help="test set of the network to train")
    parser.add_argument("--network", default="resnet10x192_swish", help="to train; its file has two bytes a parameter")
    parser.add_argument("--work", type=Path, metavar="DIR", help="folder of the training run (default: OUT/work)")
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")
    given = parser.parse_args()
    if bool(given.train) != bool(given.test):
        parser.error("--train and --test need each other: the best network is the one with the least loss in the test")
    for path in (*given.train, *given.test):
        if (problem := problem_of(path)) is not None:
            parser.error(f"{path}: {problem}")
    try:
        for name in (given.network, *(f"resnet{shape}" for shape in given.shapes)):
            NetworkConfig.from_name(name)
    except NetworkConfigError as error:
        parser.error(str(error))
    begin = time.perf_counter()
    given.work = given.work or given.out / "work"
    given.work.mkdir(parents=True, exist_ok=True)
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        with FolderLock(given.work), Terminations():
            check = Check(given.out)
            check_all(check, given, begin)
    except LockedError:
        parser.error(f"another run writes to {given.out}")
    except KeyboardInterrupt:  # of SIGTERM, too
        _say("stopped; the same command goes on")
        sys.exit(128 + signal.SIGINT)
    except OSError as error:  # the disk is full, perhaps
        sys.exit(f"stopped: {error}; the same command goes on")
    if given.json:
        print(json.dumps(check.document()))
    _say(f"results: {given.out / PAGE}, {given.out / DOCUMENT}")
    if any(check.parts[name].state == "failed" for name in given.parts):
        sys.exit(1)


if __name__ == "__main__":
    main()
