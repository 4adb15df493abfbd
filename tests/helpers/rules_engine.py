"""A USI engine that declares what it is told to, and plays at random: ``rules_engine.py OPTION...``.

Each OPTION is an ``option`` line without the first two words; those after ``--later`` are declared when the option that
stands there has been set. ``--wins`` answers
``bestmove win`` to every ``go``.
"""

import random
import sys

from fukayomi._native import Position


def main() -> None:
    words = sys.argv[1:]
    wins = "--wins" in words
    words = [word for word in words if word != "--wins"]
    cut = words.index("--later") if "--later" in words else len(words)
    first, trigger, later = words[:cut], "".join(words[cut + 1 : cut + 2]), words[cut + 2 :]
    position = ""
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "usi":
            print("id name Rules")
            for option in first:
                print(f"option name {option}")
            print("usiok")
        elif command == "setoption" and trigger and rest.split()[1] == trigger:
            for option in later:
                print(f"option name {option}")
        elif command == "isready":
            print("readyok")
        elif command == "position":
            position = rest
        elif command == "go":
            move = "win" if wins else random.choice(Position.from_usi(position).legal_moves).usi()
            print(f"bestmove {move}")
        elif command == "quit":
            return
        sys.stdout.flush()


main()
