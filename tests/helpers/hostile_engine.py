"""A USI engine that plays given moves, and misbehaves as it is told. It imports nothing that takes time.

    python -S -E hostile_engine.py MODE[:NUMBER] MOVES [ANYTHING...]

MOVES are those of the whole game, both sides', by commas; the engine answers ``go`` with the one whose turn it is, and
resigns when there is none. ``7g7f@300`` is a move with a score, ``7g7f@mate-3`` one with a mate. NUMBER says how much,
or at which ``go`` of the game, from 1. ANYTHING marks the process for those who look for it.
"""

import os
import sys
import time

MODE, _, TEXT = sys.argv[1].partition(":")
NUMBER = int(TEXT or 1)
MOVES = sys.argv[2].split(",") if len(sys.argv) > 2 and sys.argv[2] else []


def say(*lines: str) -> None:
    os.write(1, "".join(line + "\n" for line in lines).encode())


def flood(chunk: bytes) -> None:
    while True:
        os.write(1, chunk)


def sleep_for_ever() -> None:
    while True:
        time.sleep(1)


def words(line: str) -> list[str]:
    parts = line.split()
    return parts[parts.index("moves") + 1 :] if "moves" in parts else []


def answer(ply: int) -> None:
    move, _, score = (MOVES[ply] if ply < len(MOVES) else "resign").partition("@")
    if score:
        kind = f"mate {score.removeprefix('mate')}" if score.startswith("mate") else f"cp {score}"
        say(f"info depth 1 score {kind} pv {move} 9a9b zzzz")
    say(f"bestmove {move}")


def go(ply: int, number: int) -> None:
    """Answer; `number` counts the searches of the game."""
    now = number == NUMBER
    if MODE == "crash-go" and now:
        sys.stderr.write("out of memory\n")
        sys.exit(7)
    elif MODE == "abort" and now:
        os.abort()
    elif MODE == "mute-go" and now:
        sleep_for_ever()
    elif MODE == "close-stdout" and now:
        os.close(1)
        sleep_for_ever()
    elif MODE == "slow":
        time.sleep(NUMBER / 1000)
        answer(ply)
    elif MODE == "waits-for-stop" and now:
        while sys.stdin.readline().strip() != "stop":
            pass
        answer(ply)
    elif MODE == "flood-lines" and now:
        flood(b"info depth 1 score cp 1 pv 7g7f\n" * 1000)
    elif MODE == "flood-line" and now:
        flood(b"x" * 65536)
    elif MODE == "flood-bytes" and now:
        flood(bytes(range(256)) * 256)
    elif MODE == "rubbish":
        os.write(
            1,
            bytes(range(1, 256))
            + b"\ninfo score cp\ninfo pv\ninfo score mate x depth\n\n\0\n"
            + b"y" * 200_000
            + b"\n",
        )
        answer(ply)
    elif MODE == "no-newline" and now:
        os.write(1, f"bestmove {MOVES[ply]}".encode())
        sys.exit(0)
    else:
        answer(ply)
        if MODE == "twice":
            answer(ply)
        elif MODE == "twice-later":
            time.sleep(NUMBER / 1000)
            answer(ply)
        elif MODE == "crash-after" and now:
            sys.exit(8)
        elif MODE == "flood-after" and now:
            flood(b"info string idle talk\n" * 1000)
        elif MODE == "chatter-after":
            say(*["info string idle talk"] * 1000)


def hear(line: str) -> bool:
    """Answer a line that is about no search; False at the end."""
    if line == "usi":
        if MODE == "mute-usi":
            say("info string I do not speak USI")
            return True
        if MODE == "flood-usi":
            flood(b"option name x type nonsense\n" * 1000)
        if MODE == "errors":
            sys.stderr.write("noise\n" * 200_000)
        say(
            "id name " + ("\x1b[2J" * 1000 if MODE == "long-name" else "Hostile"),
            "id author nobody",
            "option name Depth type spin default 1 min 1 max 9",
            "option name Clear type button",
            "option name broken type nonsense",
            "usiok",
        )
        if MODE == "crash-usi":
            sys.exit(4)
    elif line == "isready":
        if MODE == "crash-isready":
            sys.exit(5)
        if MODE != "mute-isready":
            say("readyok")
    elif line.startswith("gameover") and MODE == "crash-gameover":
        sys.exit(6)
    return line != "quit" or MODE in ("ignore-quit", "child")


def deaf() -> None:
    """Answer everything that could be asked, and read nothing."""
    say("usiok", "readyok")
    while True:
        time.sleep(0.02)
        say("bestmove 7g7f")


def main() -> None:
    if MODE == "crash-start":
        sys.stderr.write("no model\n")
        sys.exit(3)
    if MODE == "crash-remark":
        say("info string loading", "info string Error: no model")
        sys.exit(3)
    if MODE == "crash-shouting":
        sys.stderr.write("\x1b[31mnoise\x07\n" * 10_000 + "x" * 10_000 + "\n\n  no model\n")
        sys.exit(3)
    if MODE == "deaf":
        deaf()
    if MODE == "child" and os.fork() == 0:
        sleep_for_ever()
    ply = number = 0
    for line in sys.stdin:
        line = line.strip()
        if line.startswith("position"):
            ply = len(words(line))
        elif line == "usinewgame":
            number = 0
        elif line.startswith("go"):
            number += 1
            go(ply, number)
        elif not hear(line):
            return
    if MODE in ("ignore-quit", "child"):
        sleep_for_ever()


main()
