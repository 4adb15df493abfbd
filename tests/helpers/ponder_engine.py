"""A USI engine that plays given moves and ponders: ``ponder_engine.py MODE MOVES [GUESSES]``.

MOVES are those of the whole game, by commas; the engine answers ``go`` with the one whose turn it is, and expects the
next one. GUESSES are what it expects instead, by ply (``1=3c3d,3=4a3b``); ``-`` is nothing. While it ponders it answers
``ponderhit`` and ``stop``, unless MODE says otherwise:

    early       answers at once, as if nobody pondered
    twice       answers at once, and again
    dies        ends at its first ``go ponder``
    deaf-hit    does not answer ``ponderhit``
    deaf-stop   does not answer ``stop``
    flood       writes without end while it ponders
    slow-stop   takes 400 ms to answer ``stop``
    no-move     answers ``stop`` with a bestmove that names no move
    late:MS     thinks this long after ``ponderhit`` and ``go``
"""

import sys
import time

MODE, _, NUMBER = sys.argv[1].partition(":")
MOVES = sys.argv[2].split(",")
GUESSES = dict(word.split("=") for word in sys.argv[3].split(",")) if len(sys.argv) > 3 and sys.argv[3] else {}


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(ply: int) -> None:
    move = MOVES[ply] if ply < len(MOVES) else "resign"
    guess = GUESSES.get(str(ply + 1), MOVES[ply + 1] if ply + 1 < len(MOVES) else "-")
    say(f"info depth 1 score cp 10 time 1 pv {move}")
    say(f"bestmove {move}" if guess == "-" else f"bestmove {move} ponder {guess}")


def think(ply: int) -> None:
    if MODE == "late":
        time.sleep(int(NUMBER) / 1000)
    answer(ply)


def ponder(ply: int) -> bool:
    """Begin to ponder; whether an answer is still to come."""
    if MODE == "dies":
        sys.stderr.write("no board in the head\n")
        sys.exit(9)
    while MODE == "flood":
        say("info depth 1 score cp 1 pv 7g7f")
    if MODE in ("early", "twice"):
        answer(ply)
        if MODE == "twice":
            answer(ply)
        return False
    return True


def stop(ply: int) -> None:
    if MODE == "deaf-stop":
        return
    if MODE == "slow-stop":
        time.sleep(0.4)
    if MODE == "no-move":
        say("bestmove")
    else:
        answer(ply)


def main() -> None:
    ply, is_pondering = 0, False
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "usi":
            say("id name Ponderer\noption name USI_Ponder type check default false\nusiok")
        elif command == "isready":
            say("readyok")
        elif command == "position":
            words = rest.split()
            ply = len(words[words.index("moves") + 1 :]) if "moves" in words else 0
        elif command == "go" and rest.startswith("ponder"):
            is_pondering = ponder(ply)
        elif command == "go":
            think(ply)
        elif command == "ponderhit" and is_pondering:
            is_pondering = False
            if MODE != "deaf-hit":
                think(ply)
        elif command == "stop" and is_pondering:
            is_pondering = False
            stop(ply)
        elif command == "quit":
            return


main()
