"""A USI engine that is the better the nearer its option is to 70: ``tunable_engine.py [dies=A|hangs=A ...]``.

    python -S -E tunable_engine.py

It advances its pawns, one after the other, and resigns: the sooner, the farther Aim is from 70, and one move sooner if
Mode is not sharp. So of two the better one wins, and of two equals White, with no chance in it. dies=A ends with code 3
at its first move if Aim is A or more, hangs=A never answers then.
"""

import sys
import time

BEST, MOVES = 70, 9


def main() -> None:
    words = dict(word.split("=") for word in sys.argv[1:])
    options = {"Aim": "50", "Mode": "plain"}
    position: list[str] = []
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "usi":
            print("id name tunable")
            print("option name Aim type spin default 50 min 0 max 100")
            print("option name Mode type combo default plain var dull var plain var sharp")
            print("option name Flag type check default false")
            print("option name Text type string default some")
            print("usiok", flush=True)
        elif command == "isready":
            print("readyok", flush=True)
        elif command == "setoption":
            options[rest[1]] = rest[3] if len(rest) > 3 else ""
        elif command == "position":
            position = rest[2:]
        elif command == "go":
            aim = int(options["Aim"])
            if aim >= int(words.get("dies", 1000)):
                sys.exit(3)
            if aim >= int(words.get("hangs", 1000)):
                time.sleep(1000)
            print(f"bestmove {move(len(position), aim, options['Mode'])}", flush=True)
        elif command == "quit":
            return


def move(ply: int, aim: int, mode: str) -> str:
    """The move after so many plies."""
    number, files = ply // 2, "987654321"
    if number >= max(1, MOVES - abs(aim - BEST) // 6 - (mode != "sharp")):
        return "resign"
    return f"{files[number]}g{files[number]}f" if ply % 2 == 0 else f"{files[number]}c{files[number]}d"


main()
