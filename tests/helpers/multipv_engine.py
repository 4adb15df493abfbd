"""A USI engine with MultiPV whose scores are a function of the position: ``multipv_engine.py [WORD ...]``.

slow=SECONDS is the most that it thinks, less for most positions; log=FILE gets a line for each search. What happens at
its Nth search: dies=N, hangs=N, illegal=N, unscored=N; with unless=FILE only as long as the file is missing, which it
then makes, unless it has repeats=1. mates=1: it finds mates in one. only=byoyomi: it dies of any other ``go``.
"""

import os
import sys
import time
import zlib
from pathlib import Path

from fukayomi._native import Position

MATE = 30_000


def scored_lines(position: Position, multipv: int, *, mates: bool = False) -> list[tuple[str, int]]:
    """The best moves with their scores, best first; a mate has the score 30000."""
    sfen = position.sfen().rsplit(" ", 1)[0]  # without the ply, which hcp does not have
    scores = {move.usi(): zlib.crc32(f"{sfen} {move.usi()}".encode()) % 1000 - 500 for move in position.legal_moves}
    mate = position.find_mate_in_one() if mates else None
    if mate is not None:
        scores[mate.usi()] = MATE
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:multipv]


def misbehave(words: dict[str, str], searches: int) -> str:
    """What goes wrong now, if anything."""
    found = [name for name in ("dies", "hangs", "illegal", "unscored") if int(words.get(name, 0)) == searches]
    if not found or ("unless" in words and Path(words["unless"]).exists()):
        return ""
    if "unless" in words and "repeats" not in words:
        Path(words["unless"]).touch()
    return found[0]


def think(words: dict[str, str], position: str, multipv: int, searches: int) -> list[str]:
    board = Position.from_usi(position)
    lines = scored_lines(board, multipv, mates="mates" in words)
    if "log" in words:
        with Path(words["log"]).open("a", encoding="ascii") as file:
            file.write(f"{board.sfen()}\n")
    time.sleep(float(words.get("slow", 0)) * (zlib.crc32(position.encode()) % 8) / 8)
    wrong = misbehave(words, searches)
    if wrong == "dies":
        sys.stderr.write("I am tired\n")
        sys.exit(3)
    if wrong == "hangs":
        time.sleep(1000)
    answer = "9i9a" if wrong == "illegal" else lines[0][0]
    infos = [
        f"info depth 1 multipv {number} score {'mate 1' if score == MATE else f'cp {score}'} pv {move}"
        for number, (move, score) in enumerate(lines, 1)
    ]
    return [*([] if wrong == "unscored" else infos), f"bestmove {answer}"]


def main() -> None:
    words = dict(word.split("=") for word in sys.argv[1:])
    position, multipv, searches = "", 1, 0
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "usi":
            print("id name scores\noption name MultiPV type spin default 1 min 1 max 600\nusiok")
        elif command == "setoption" and rest.startswith("name MultiPV value "):
            multipv = int(rest.rsplit(" ", 1)[1])
        elif command == "isready":
            print("readyok")
        elif command == "position":
            position = rest
        elif command == "go":
            if "only" in words and rest.split()[::2] != ["btime", "wtime", words["only"]]:
                sys.exit(f"unknown option in go {rest}")
            searches += 1
            print("\n".join(think(words, position, multipv, searches)))
        elif command == "quit":
            os._exit(0)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
