"""Positions to test with, and what cshogi and rsshogi say about them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import cshogi
from rsshogi.core import Board as RsBoard

from fukayomi.shogi import BLACK, Color, Move, PieceType, Position

MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
HANDICAPS = {
    "even": "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "lance": "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "bishop": "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook": "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook and lance": "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "two pieces": "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "four pieces": "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "six pieces": "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "eight pieces": "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "ten pieces": "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "king and three pawns": "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w 3p 1",
}


def raw_moves(pos: Position) -> list[int]:
    return sorted(move.raw for move in pos.legal_moves)


def cshogi_moves(sfen: str) -> list[int]:
    return sorted(move & 0xFFFF for move in cshogi.Board(sfen).legal_moves)


def rsshogi_moves(sfen: str) -> list[int]:
    return sorted(int(move.to_apery()) for move in RsBoard(sfen).legal_moves())


def pawn_drop_square(pos: Position) -> int | None:
    """Where the side to move could drop a checking pawn, if only pawn-drop mate (打ち歩詰め) may forbid it."""
    us = pos.turn
    king = pos.king_square(us.opponent)
    if king is None or PieceType.PAWN not in pos.hand(us) or pos.is_check():
        return None
    if king % 9 == (8 if us == BLACK else 0):
        return None
    square = king + (1 if us == BLACK else -1)
    on_file = [pos.piece_on(s) for s in range(king // 9 * 9, king // 9 * 9 + 9)]
    nifu = any(piece is not None and piece.type == PieceType.PAWN and piece.color == us for piece in on_file)
    return None if nifu or pos.piece_on(square) is not None else square


def random_positions(seed: int, checks: float = 0.3) -> Iterator[Position]:
    """The positions of endless random games; with probability `checks` a checking move is preferred, if there is one.

    The same object is yielded again and again, so that its past is there: take a copy to keep one.
    """
    rng = random.Random(seed)
    starts = [*HANDICAPS.values(), MATSURI]
    while True:
        pos = Position.from_sfen(rng.choice(starts))
        for _ in range(rng.randrange(20, 320)):
            yield pos
            moves = pos.legal_moves
            if not moves:
                break
            if rng.random() < checks:
                moves = [move for move in moves if pos.gives_check(move)] or moves
            pos.push(rng.choice(moves))


def useful_raw_moves(pos: Position) -> list[int]:
    """What the search's generator must return, from the list of all legal moves and the words of its contract."""
    legal = set(raw_moves(pos))
    second_rank = 1 if pos.turn == BLACK else 7

    def is_needless(move: Move) -> bool:
        if move.is_drop or move.is_promotion or (move.raw | 1 << 14) not in legal:
            return False
        assert move.from_square is not None
        piece = pos.piece_on(move.from_square)
        assert piece is not None
        if piece.type == PieceType.LANCE:
            return move.to_square % 9 == second_rank
        return piece.type in (PieceType.PAWN, PieceType.BISHOP, PieceType.ROOK)

    return sorted(move.raw for move in pos.legal_moves if not is_needless(move))


@dataclass
class Setup:
    """A position under construction."""

    board: dict[int, str] = field(default_factory=dict)  # square -> piece as SFEN writes it
    hands: dict[str, int] = field(default_factory=dict)  # letter -> count
    turn: Color = BLACK

    def sfen(self) -> str:
        ranks: list[str] = []
        for rank in range(9):
            text = "".join(self.board.get(file * 9 + rank, ".") for file in reversed(range(9)))
            for gap in range(9, 0, -1):
                text = text.replace("." * gap, str(gap))
            ranks.append(text)
        hands = "".join((str(count) if count > 1 else "") + letter for letter, count in self.hands.items() if count)
        return f"{'/'.join(ranks)} {'b' if self.turn == BLACK else 'w'} {hands or '-'} 1"

    def flipped(self) -> "Setup":
        """The same position with the sides exchanged and the board turned."""
        board = {80 - square: piece.swapcase() for square, piece in self.board.items()}
        return Setup(board, {letter.swapcase(): n for letter, n in self.hands.items()}, self.turn.opponent)
