"""Settings, openings and played games without any engine."""

import random
from itertools import pairwise
from pathlib import Path

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame
from fukayomi.arena.statistics.move_times import AnswerTime
from fukayomi.shogi import Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination


def settings_of(*names: str, **fields: object) -> MatchSettings:
    engines = [{"name": name, "command": ["engine", name]} for name in names or ("a", "b")]
    return MatchSettings.model_validate({"engine": engines, "games": 4, "clock": "nodes=1", **fields})


def random_moves(seed: int, plies: int) -> Position:
    """A position after random moves."""
    chooser, position = random.Random(seed), Position()
    for _ in range(plies):
        position.push(chooser.choice(position.legal_moves))
    return position


def openings_of(count: int, plies: int = 3) -> list[Opening]:
    return [
        Opening(number, f"some.sfen:{number + 1}", moves=tuple(random_moves(number, plies).moves))
        for number in range(count)
    ]


def play(game: ScheduledGame) -> PlayedGame:
    """A game that nobody thought about; odd ones are won by Black, and each move was expected."""
    plies = 41 if game.number % 2 else 40  # who resigns is to move
    moves = random_moves(game.number, plies + 1).moves
    record = Record(
        moves=[
            RecordedMove(move, score_cp=ply, time_ms=10 * ply, pv=expected.usi())
            for ply, (move, expected) in enumerate(pairwise(moves))
        ],
        black_name=game.black,
        white_name=game.white,
        start_time="2026/01/03 21:37:56",
        end_time="2026/01/03 21:38:00",
        termination=Termination.RESIGN if game.number % 2 else Termination.MAX_PLIES,
        result=Result.BLACK_WIN if game.number % 2 else Result.DRAW,
        comment="two\nlines",
        headers={"MAX_MOVES": "320"},
    )
    movers = (game.black, game.white)
    answers = [AnswerTime(movers[ply % 2], 10.0 * ply, 10 * ply - 3) for ply in range(len(record))]
    return PlayedGame(record, None, answers=tuple(answers))


def write_openings(path: Path, count: int) -> Path:
    lines = [f"startpos moves {' '.join(map(str, opening.moves))}\n" for opening in openings_of(count)]
    path.write_text("".join(lines), encoding="utf-8")
    return path
