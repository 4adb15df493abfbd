"""``fukayomi usi``, also installed as ``fukayomi-usi``: the USI engine on standard input and output."""

import contextlib
import os
import sys


def main() -> None:
    """Run the USI engine on standard input and output; a shogi GUI starts it.

    Register the program fukayomi-usi in the GUI: it does the same and needs no arguments. In a terminal, type commands:

    \b
    fukayomi usi
    isready
    position startpos moves 7g7f
    go nodes 800
    quit
    """
    from fukayomi.cli.common.streams import open_streams
    from fukayomi.engine.usi.session import UsiSession
    from fukayomi.tabular import printable  # not by way of cli.common.text, which loads typer

    stdin, stdout = open_streams()
    code = 0
    with contextlib.suppress(KeyboardInterrupt):
        session = UsiSession(stdin.buffer, stdout.buffer)
        code = session.run()
        if session.failure is not None:
            print(f"error: {printable(session.failure)}", file=sys.stderr, flush=True)
    # End at once: other threads may wait for input or for a batch, and hold nothing that must be closed.
    os._exit(code)
