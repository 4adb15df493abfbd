"""Games for books by min-max."""

import random

from fukayomi.book import position_key
from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

WON = {"b": Result.BLACK_WIN, "w": Result.WHITE_WIN, "d": Result.DRAW}


def game_of(moves: str, result: str, start: str = START_SFEN, ending: Termination = Termination.RESIGN) -> Record:
    return Record(
        initial_sfen=start,
        moves=[RecordedMove(Move.from_usi(move)) for move in moves.split()],
        result=WON[result],
        termination=ending,
    )


def games_of(*lines: str, start: str = START_SFEN) -> list[Record]:
    """Games from text: "7g7f 3c3d: bbwd" are four games with these moves, two won by Black, one by White, one drawn."""
    split = [line.split(":") for line in lines]
    return [game_of(moves, result, start) for moves, results in split for result in results.strip()]


def random_games(seed: int, start: str, count: int, plies: int, width: int) -> list[Record]:
    """Games whose players have a few moves in each position, the same whenever it comes."""
    rng, games = random.Random(seed), list[Record]()
    for _ in range(count):
        position = Position.from_sfen(start)
        for _ in range(plies):
            legal = position.legal_moves
            if not legal:
                break
            some = random.Random(position_key(position)).sample(list(legal), min(width, len(legal)))
            position.push(rng.choice(some))
        result = rng.choice([Result.BLACK_WIN, Result.WHITE_WIN, Result.DRAW])
        moves = [RecordedMove(move) for move in position.moves]
        games.append(Record(initial_sfen=start, moves=moves, result=result, termination=Termination.RESIGN))
    return games
