"""Positions to encode, and what cshogi writes for them."""

import random
from collections.abc import Iterator
from itertools import islice

import cshogi
import numpy as np

from fukayomi.shogi import InvalidSfenError, Position

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
HANDICAPS = {
    "lance": "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "bishop": "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook": "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook and lance": "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "two pieces": "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "six pieces": "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "ten pieces": "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "bare king and three pawns": "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w 3p 1",
    "bare kings": "4k4/9/9/9/9/9/9/9/4K4 b - 1",
}
SET = {"P": 18, "L": 4, "N": 4, "S": 4, "G": 4, "B": 2, "R": 2}


def random_boards(seed: int) -> Iterator[cshogi.Board]:
    """The positions of endless random games, a third of them with handicaps; the same object again and again."""
    rng = random.Random(seed)
    while True:
        board = cshogi.Board(rng.choice([START] * (2 * len(HANDICAPS)) + list(HANDICAPS.values())))
        for _ in range(rng.randrange(20, 320)):
            yield board
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))


def _scattered_sfen(rng: random.Random) -> str:
    squares = rng.sample(range(81), 40)
    board = [""] * 81  # by rank, then from file 9 down, as SFEN has it
    board[squares.pop()], board[squares.pop()] = "K", "k"
    hands: dict[str, int] = {}
    spread = rng.random()
    for piece, count in SET.items():
        for _ in range(count):
            text = piece if rng.random() < 0.5 else piece.lower()
            if rng.random() < spread:
                square = squares.pop()
                promotes = piece != "G" and (rng.random() < 0.4 or (piece in "PLN" and not 18 <= square < 63))
                promotes |= piece == "P" and text in board[square % 9 :: 9]
                board[square] = "+" + text if promotes else text
            elif rng.random() < 0.8:
                hands[text] = hands.get(text, 0) + 1
    ranks = []
    for rank in range(9):
        text = "".join(piece or " " for piece in board[rank * 9 : rank * 9 + 9])
        for empties in range(9, 0, -1):
            text = text.replace(" " * empties, str(empties))
        ranks.append(text)
    hand = "".join(f"{n if n > 1 else ''}{p}" for p, n in hands.items()) or "-"
    return f"{'/'.join(ranks)} {rng.choice('bw')} {hand} 1"


def scattered_positions(seed: int) -> Iterator[Position]:
    """Any pieces anywhere, in any hand, or set aside: boards that hardly a game reaches, but the rules allow."""
    rng = random.Random(seed)
    while True:
        try:
            yield Position.from_sfen(_scattered_sfen(rng))
        except InvalidSfenError:  # the side that just moved is in check
            continue


def sample_boards(count: int, seed: int) -> Iterator[cshogi.Board]:
    """`count` boards: four in five from random games, one in five scattered."""
    yield from islice(random_boards(seed), count - count // 5)
    for pos in islice(scattered_positions(seed), count // 5):
        yield cshogi.Board(pos.sfen())


def cshogi_hcp(board: cshogi.Board) -> bytes:
    array = np.zeros(1, cshogi.HuffmanCodedPos)
    board.to_hcp(array)
    return array.tobytes()
