"""A worker without Ray: ``python fleet_worker.py STORE NAME SCRATCH``. It plays until it is killed."""

import os
import sys
from pathlib import Path

from fleet_parts import MACHINE

from fukayomi.loop.fleet.store import open_store
from fukayomi.loop.fleet.worker import Worker

if __name__ == "__main__":
    os.nice(10)  # tiny games would take the time of the learner
    Worker(open_store(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), MACHINE, 0.2).run()
