"""Learning runs whose disk is full at some moment: ``unshare -rm full_disk.py MOUNT WHOLE STEP:EVENTS ...``.

MOUNT becomes a small disk in memory that this process alone sees, WHOLE is the undisturbed run. Each case fills the
disk at so many events of a step and makes room again when the run has ended; the run then goes on. Prints a JSON line
for each: what the run said, and what of the finished run differs.
"""

import json
import subprocess
import sys
from pathlib import Path

import learn_run

SIZE_MB = 16


class Filler(learn_run.Killer):
    """Fills the disk, once, instead of killing its process."""

    def __init__(self, events: int, step: str, file: Path) -> None:
        super().__init__(events, step)
        self._file = file

    def strike(self) -> None:
        with self._file.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue


def case(folder: Path, whole: Path, step: str, events: int) -> dict[str, object]:
    filler = folder.parent / "filler"
    said = ""
    try:
        learn_run.learn(learn_run.small(), folder, listener=Filler(events, step, filler))
    except (OSError, ValueError) as error:  # what the command says in a line
        said = str(error)
    was_full = filler.exists()
    filler.unlink(missing_ok=True)
    again = learn_run.run(folder)
    one, other = learn_run.digests(folder), learn_run.digests(whole)
    different = sorted(name for name in {*one, *other} if one.get(name) != other.get(name))
    return {
        "case": f"{step}:{events}",
        "full": was_full,
        "said": said,
        "finished": again.finished,
        "differs": different,
    }


def main() -> None:
    mount, whole = map(Path, sys.argv[1:3])
    for number, (step, events) in enumerate(word.split(":") for word in sys.argv[3:]):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "none", str(mount)], check=True)
        (mount / str(number)).mkdir()
        print(json.dumps(case(mount / str(number) / "run", whole, step, int(events))), flush=True)


if __name__ == "__main__":
    main()
