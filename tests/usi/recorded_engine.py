"""The engine behind a scribe: passes lines both ways and writes each with its time: ``recorded_engine.py LOG``."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO


def copy(source: BinaryIO, target: BinaryIO, mark: str, log: BinaryIO) -> None:
    for line in source:
        stamp = time.monotonic()
        # First the log: what the line brings about must not stand above it.
        log.write(f"{stamp:.6f} {mark} {line.decode().strip()}\n".encode())
        log.flush()
        target.write(line)
        target.flush()


def main() -> None:
    with Path(sys.argv[1]).open("ab") as log:
        engine = subprocess.Popen(
            (sys.executable, "-m", "fukayomi", "usi"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert engine.stdin is not None
        assert engine.stdout is not None
        threading.Thread(target=copy, args=(sys.stdin.buffer, engine.stdin, ">", log), daemon=True).start()
        copy(engine.stdout, sys.stdout.buffer, "<", log)
        log.write(f"{time.monotonic():.6f} = exit {engine.wait()}\n".encode())
        log.flush()
        os._exit(0)  # the client may keep our input open


if __name__ == "__main__":
    main()
