"""``python -m fukayomi`` and ``fukayomi``."""

import sys


def main() -> None:
    """Entry point of the program."""
    if sys.argv[1:] == ["usi"]:  # a GUI waits for the answer to its first line: load nothing of the other commands
        from fukayomi.cli.engine.usi import main as run
    else:
        from fukayomi.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
