"""A USI engine that plays from a book and is never in doubt: ``book_engine.py [WORD ...]``.

Without a book its move depends on the position and the node limit alone: one of the first `width` legal moves (3), in
the order of their text. It resigns after `moves` moves of its own (6) if a hash of the position says so. deaths=FILE
and times=N: ends at its first N searches, counted in the file over all processes. PAUSE_S in the environment: how long
each of its searches takes, in seconds.
"""

import hashlib
import os
import sys
import time
from pathlib import Path

from fukayomi import Position
from fukayomi.book import BookReader


def number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def main() -> None:
    words = dict(word.split("=") for word in sys.argv[1:])
    options: dict[str, str] = {}
    position = Position()
    moves = 0
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "usi":
            print("id name book\noption name USI_OwnBook type check default false")
            print("option name Book_File type string default <empty>")
            print("option name BookMoves type spin default 16 min 0 max 10000\nusiok")
        elif command == "setoption":
            name, _, value = rest.removeprefix("name ").partition(" value ")
            options[name] = value
        elif command == "isready":
            print("readyok")
        elif command == "usinewgame":
            moves = 0
        elif command == "position":
            position = Position.from_usi(rest)
        elif command == "go":
            if "deaths" in words and count_death(Path(words["deaths"]), int(words["times"])):
                sys.exit(3)
            moves += 1
            time.sleep(float(os.environ.get("PAUSE_S", "0")))
            print(f"bestmove {answer(position, rest, options, words, moves)}", flush=True)
        elif command == "quit":
            return
        sys.stdout.flush()


def answer(position: Position, limit: str, options: dict[str, str], words: dict[str, str], moves: int) -> str:
    if options.get("USI_OwnBook") == "true":
        with BookReader.open(Path(options["Book_File"])) as book:
            if found := book.moves(position):
                return found[0].move.usi()
    legal = sorted(move.usi() for move in position.legal_moves)
    if not legal or (moves > int(words.get("moves", 6)) and number(position.sfen()) % 3 == 0):
        return "resign"
    return legal[number(f"{position.sfen()} {limit}") % min(len(legal), int(words.get("width", 3)))]


def count_death(file: Path, times: int) -> bool:
    deaths = file.stat().st_size if file.exists() else 0
    if deaths < times:
        file.write_bytes(bytes(deaths + 1))
    return deaths < times


main()
