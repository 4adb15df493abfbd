"""A USI engine whose strength is known: ``odds_engine.py [even=N] [elo=E] [seed=S] [slow=SECONDS]``.

At ``go nodes N`` it wins with the score that E Elo for each doubling of N beyond `even` give, by resigning its other
games at once; the seed, the nodes and the position decide, so that the same game always has the same result. Without
`even` it is the other player, who resigns at its second move.
"""

import random
import sys
import time
from math import log2

from fukayomi._native import Position


def main() -> None:
    words = dict(word.split("=") for word in sys.argv[1:])
    position = ""
    moves = 0
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "usi":
            print("id name odds\nusiok")
        elif command == "isready":
            print("readyok")
        elif command == "usinewgame":
            moves = 0
        elif command == "position":
            position = rest
        elif command == "go":
            moves += 1
            time.sleep(float(words.get("slow", 0)))
            print(f"bestmove {'resign' if resigns(words, position, int(rest.split()[1]), moves) else move(position)}")
        elif command == "quit":
            return
        sys.stdout.flush()


def resigns(words: dict[str, str], position: str, nodes: int, moves: int) -> bool:
    if "even" not in words:
        return moves == 2
    elo = float(words.get("elo", 100)) * log2(nodes / float(words["even"]))
    chance = random.Random(f"{words.get('seed', 0)} {nodes} {position}").random()
    return moves == 1 and chance > 1 / (1 + 10 ** (-elo / 400))


def move(position: str) -> str:
    return Position.from_usi(position).legal_moves[0].usi()


main()
