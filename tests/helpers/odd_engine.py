"""The engine with an evaluator that misbehaves.

python odd_engine.py {slow SECONDS | slow-start SECONDS | failing BATCHES}
"""

import os
import sys
import time

from odd_evaluators import Failing, Slow

from fukayomi.engine.settings import UsiSettings
from fukayomi.engine.usi.session import UsiSession


def load(_: UsiSettings) -> list[Slow]:
    kind, number = sys.argv[1:]
    if kind == "slow-start":
        time.sleep(float(number))
        return [Slow(0.001, 4)]
    return [Slow(float(number), 4) if kind == "slow" else Failing(int(number), 4)]


if __name__ == "__main__":
    code = UsiSession(sys.stdin.buffer, sys.stdout.buffer, load).run()
    os._exit(code)
