"""Games against engines that others wrote, through a client that others wrote (cshogi.cli).

What happened is read from two records: what the client printed, and what passed between it and us, with times.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fukayomi.shogi import BLACK, Position
from fukayomi.usi.text import BestMove, GameOver, Go, PonderHit, SetPosition, parse_answer, parse_command

cshogi = pytest.importorskip("cshogi")

# What a line of cshogi.cli says about a game that did not end as games should.
FOUL = re.compile(r"反則|切れ負け|Traceback|Error")
# The tests share their cores with other programs. A move of 300 nodes leaves nearly all of the byoyomi to these; in the
# game that the clock decides, half of the byoyomi is margin.
BYOYOMI_MS = 3000
OURS = "DNN_Model:<hash>,Resign_Threshold:0,Const_Playout:300"
BY_THE_CLOCK = "Byoyomi_Margin:500,Resign_Threshold:0"


@dataclass(frozen=True)
class Move:
    """A ``go`` and its answer."""

    position: Position
    go: Go
    answer: BestMove
    seconds: float


def moves_of(log: Path) -> list[Move]:
    """Read the scribe's record: every go, and that exactly one answer follows it."""
    moves: list[Move] = []
    position, asked, asked_s, start_s = Position(), None, 0.0, 0.0
    for text in log.read_text().splitlines():
        stamp, mark, line = text.split(" ", 2)
        if mark == ">":
            command = parse_command(line)
            if isinstance(command, SetPosition):
                position = Position.from_usi(line.removeprefix("position "))
            elif isinstance(command, Go):
                assert asked is None, f"two questions at once: {line}"
                asked, asked_s, start_s = (position, command), float(stamp), float(stamp)
            elif isinstance(command, PonderHit | GameOver) or line in ("stop", "quit"):
                start_s = float(stamp)
        elif mark == "<" and isinstance(answer := parse_answer(line), BestMove):
            assert asked is not None, f"an answer that nobody asked for: {line}"
            assert not asked[1].ponder or start_s > asked_s, f"an answer while pondering: {line}"
            moves.append(Move(*asked, answer, float(stamp) - start_s))
            asked = None
        elif mark == "=":
            assert line == "exit 0"
            asked = None
    return moves


def allowed_s(move: Move) -> float:
    """What the clock allowed."""
    is_black = move.position.turn == BLACK
    clock = (move.go.btime_ms if is_black else move.go.wtime_ms) or 0
    return (clock + (move.go.byoyomi_ms or 0)) / 1000


def play(
    folder: Path,
    peer: str,
    peer_options: str,
    games: int,
    *arguments: str,
    ours: str = OURS,
    byoyomi_ms: int = BYOYOMI_MS,
    peer_byoyomi_ms: int,
) -> tuple[str, list[Move]]:
    """Play games, colours swapped; return what cshogi.cli printed and our moves."""
    log = folder / "log.txt"
    script = folder / "engine.sh"
    scribe = Path(__file__).with_name("recorded_engine.py")
    # cshogi.cli takes a program without arguments, and starts it in the program's folder.
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "{scribe}" "{log}"\n')
    script.chmod(0o755)
    command = [sys.executable, "-m", "cshogi.cli", str(script), peer, "--games", str(games), "--options1", ours]
    command += ["--options2", peer_options, "--byoyomi", str(byoyomi_ms), str(peer_byoyomi_ms), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + 120 * games, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert f"{games} of {games} games finished" in output
    return output, moves_of(log)


def check(output: str, moves: list[Move], least_moves: int) -> None:
    """No illegal move, no loss on time, no crash."""
    ours_lost_by_foul = [line for line in output.splitlines() if FOUL.search(line)]
    assert not ours_lost_by_foul, output
    assert len(moves) >= least_moves
    for move in moves:
        if move.answer.move not in ("resign", "win"):
            position = move.position.copy()
            position.push_usi(move.answer.move)
            assert cshogi.Board(move.position.sfen()).is_legal(
                cshogi.Board(move.position.sfen()).move_from_usi(move.answer.move)
            )
            if move.answer.ponder is not None:
                position.push_usi(move.answer.ponder)
        else:
            assert move.position.is_mated() or move.answer.move == "win"
    late = [move for move in moves if not move.go.ponder and move.seconds > allowed_s(move)]
    assert not late, late


def test_two_games_against_fairy_stockfish(tmp_path: Path, fairy_stockfish: str) -> None:
    options = "UCI_Variant:shogi,Skill Level:0"
    output, moves = play(tmp_path, fairy_stockfish, options, 2, "--draw", "20", peer_byoyomi_ms=50)
    check(output, moves, 10)


def test_a_game_by_the_clock(tmp_path: Path, fairy_stockfish: str) -> None:
    options = "UCI_Variant:shogi,Skill Level:0"
    clock = {"ours": f"DNN_Model:<hash>,{BY_THE_CLOCK}", "byoyomi_ms": 1000, "peer_byoyomi_ms": 50}
    output, moves = play(tmp_path, fairy_stockfish, options, 1, "--draw", "6", **clock)
    check(output, moves, 3)
    assert min(move.seconds for move in moves) > 0.45, "the byoyomi is used up to the margin"


def test_two_games_that_both_sides_ponder_in(tmp_path: Path, fairy_stockfish: str) -> None:
    options = "UCI_Variant:shogi,Skill Level:0"
    output, moves = play(tmp_path, fairy_stockfish, options, 2, "--draw", "20", "--ponder", peer_byoyomi_ms=50)
    check(output, moves, 10)
    assert any(move.go.ponder for move in moves)


def test_two_games_against_gpsshogi(tmp_path: Path, gpsusi: str) -> None:
    # It takes long to start, so it plays both games in one process, and so do we.
    arguments = ("--draw", "12", "--keep-process")
    output, moves = play(tmp_path, gpsusi, "BookDepth:0,LimitDepth:4", 2, *arguments, peer_byoyomi_ms=1000)
    check(output, moves, 10)


@pytest.mark.soak
@pytest.mark.parametrize("clock", [(), ("--time", "5000"), ("--ponder",)])
def test_ten_games_against_fairy_stockfish(
    tmp_path: Path, fairy_stockfish: str, clock: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    output, moves = play(
        tmp_path,
        fairy_stockfish,
        "UCI_Variant:shogi",
        10,
        *clock,
        ours=f"DNN_Model:<internal>,{BY_THE_CLOCK}",
        byoyomi_ms=1000,
        peer_byoyomi_ms=100,
    )
    check(output, moves, 100)
    record_property("our moves, all legal and in time", len(moves))
    record_property("result", output.splitlines()[-6:])


@pytest.mark.soak
def test_ten_games_against_gpsshogi(
    tmp_path: Path, gpsusi: str, record_property: Callable[[str, object], None]
) -> None:
    clock = {"ours": f"DNN_Model:<internal>,{BY_THE_CLOCK}", "byoyomi_ms": 1000, "peer_byoyomi_ms": 1000}
    output, moves = play(tmp_path, gpsusi, "BookDepth:0,LimitDepth:4", 10, **clock)
    check(output, moves, 100)
    record_property("our moves, all legal and in time", len(moves))
    record_property("result", output.splitlines()[-6:])
