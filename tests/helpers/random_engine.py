"""A USI engine that plays at random and fast: ``random_engine.py [WORD ...]``.

slow=SECONDS thinks so long; waits=FILE thinks in its second game and later ones until the file is there; dies=N ends
with code 3 at its Nth go; hangs=N never answers that one; deaths=FILE and times=N: ends at its
first N searches, counted in the file over all processes; seed=N has one move for each position, whatever it played
before; moves=N resigns after so many moves of its own. It tells the processors that it may use.
"""

import os
import random
import sys
import time
from pathlib import Path

from fukayomi._native import Position


def main() -> None:
    words = dict(word.split("=") for word in sys.argv[1:])
    chooser = random.Random()
    position = ""
    searches = moves = games = 0
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "usi":
            print("id name random\noption name Style type string default plain\nusiok")
        elif command == "isready":
            print("readyok")
        elif command == "usinewgame":
            moves = 0
            games += 1
        elif command == "position":
            position = rest
        elif command == "go":
            searches += 1
            moves += 1
            if searches == int(words.get("dies", 0)):
                sys.stderr.write("I am tired\n")
                sys.exit(3)
            if "deaths" in words and count_death(Path(words["deaths"]), int(words["times"])):
                sys.exit(3)
            if searches == int(words.get("hangs", 0)):
                time.sleep(1000)
            time.sleep(float(words.get("slow", 0)))
            while games > 1 and "waits" in words and not Path(words["waits"]).exists():
                time.sleep(0.02)
            if "seed" in words:
                chooser.seed(f"{words['seed']} {position}")
            if moves > int(words.get("moves", 1000)):
                print("bestmove resign", flush=True)
                continue
            move = chooser.choice(Position.from_usi(position).legal_moves).usi()
            if hasattr(os, "sched_getaffinity"):
                print(f"info string processors {sorted(os.sched_getaffinity(0))}")
            print(f"info depth 1 score cp {chooser.randrange(-100, 100)} pv {move}\nbestmove {move}")
        elif command == "quit":
            return
        sys.stdout.flush()


def count_death(file: Path, times: int) -> bool:
    deaths = file.stat().st_size if file.exists() else 0
    if deaths < times:
        file.write_bytes(bytes(deaths + 1))
    return deaths < times


main()
