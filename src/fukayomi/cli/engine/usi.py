"""``fukayomi usi``, also installed as ``fukayomi-usi``: the USI engine on standard input and output."""

import contextlib
import os
import sys


def main() -> None:
    """Play through USI until quit: register this program in a shogi GUI."""
    from fukayomi.engine.usi_engine import UsiEngine

    code = 0
    with contextlib.suppress(KeyboardInterrupt):
        code = UsiEngine(sys.stdin.buffer, sys.stdout.buffer).run()
    # Other threads may be waiting for input or for a batch. Quit means now, and they hold nothing that needs an end.
    os._exit(code)
