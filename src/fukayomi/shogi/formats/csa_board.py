"""Boards as CSA writes them: ``PI``, ``P1-KY-KE...``, ``P+77FU00AL``; pieces by two letters."""

from collections import Counter

# CSA's name, the SFEN letter, how many a full set has.
_PIECES = (
    ("FU", "P", 18), ("KY", "L", 4), ("KE", "N", 4), ("GI", "S", 4), ("KA", "B", 2), ("HI", "R", 2), ("KI", "G", 4),
    ("OU", "K", 2),
)  # fmt: skip
UNPROMOTED = {"TO": "FU", "NY": "KY", "NK": "KE", "NG": "GI", "UM": "KA", "RY": "HI"}
PROMOTED = {plain: promoted for promoted, plain in UNPROMOTED.items()}
SFEN_LETTER = {name: letter for name, letter, _ in _PIECES} | {
    promoted: "+" + letter for promoted, plain in UNPROMOTED.items() for name, letter, _ in _PIECES if name == plain
}
CSA_NAME = {letter: name for name, letter in SFEN_LETTER.items()}
FULL_SET = {name: count for name, _, count in _PIECES}
_SFEN_HAND_ORDER = ("HI", "KA", "KI", "GI", "KE", "KY", "FU")
SIGNS = "+-"


def square_index(text: str) -> int:
    """The number of a CSA square: ``77`` is (7-1)*9 + (7-1).

    Raises:
        ValueError: It is no square.
    """
    if len(text) != 2 or text[0] not in "123456789" or text[1] not in "123456789":
        raise ValueError(f"{text!r} is no square")
    return (int(text[0]) - 1) * 9 + int(text[1]) - 1


def square_text(index: int) -> str:
    """A square as CSA writes it."""
    return f"{index // 9 + 1}{index % 9 + 1}"


class CsaBoard:
    """The board and the hands that a CSA record sets up, and the board as its moves change it.

    Attributes:
        squares: [81] ``+FU``, ``-KA`` ... or "" where the square is empty; by (file - 1) * 9 + (rank - 1).
        hands: The pieces set into the hands of ``+`` and ``-``; moves do not change it.
    """

    def __init__(self) -> None:
        self.squares = [""] * 81
        self.hands: dict[str, Counter[str]] = {"+": Counter(), "-": Counter()}

    @classmethod
    def even(cls) -> "CsaBoard":
        """The start position of an even game."""
        return cls.from_sfen("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1")

    @classmethod
    def from_sfen(cls, sfen: str) -> "CsaBoard":
        """The board of a valid SFEN (the rules' own, already checked)."""
        board = cls()
        rows, _, hands, *_ = sfen.split()
        for rank, row in enumerate(rows.split("/")):
            file, prefix = 8, ""
            for letter in row:
                if letter.isdigit():
                    file -= int(letter)
                elif letter == "+":
                    prefix = "+"
                else:
                    sign = "+" if letter.isupper() else "-"
                    board.squares[file * 9 + rank] = sign + CSA_NAME[prefix + letter.upper()]
                    file, prefix = file - 1, ""
        count = ""
        for letter in hands.replace("-", ""):
            if letter.isdigit():
                count += letter
            else:
                board.hands["+" if letter.isupper() else "-"][CSA_NAME[letter.upper()]] += int(count or 1)
                count = ""
        return board

    def set_up(self, statement: str) -> None:
        """Read one ``P`` statement.

        Raises:
            ValueError: It is none.
        """
        kind = statement[1:2]
        if kind == "I":
            self._set_even(statement[2:])
        elif kind in SIGNS and kind:
            self._put_pieces(kind, statement[2:])
        elif kind in "123456789" and kind:
            self._set_row(int(kind) - 1, statement[2:])
        else:
            raise ValueError("no such way to set up a board")

    def _set_even(self, removed: str) -> None:
        self.squares = CsaBoard.even().squares
        for square, piece in _pairs(removed):
            index = square_index(square)
            if self.squares[index][1:] != piece:
                raise ValueError(f"there is no {piece} on {square} to take away")
            self.squares[index] = ""

    def _set_row(self, rank: int, row: str) -> None:
        for file in range(9):
            cell = row[file * 3 : file * 3 + 3].rstrip()
            index = (8 - file) * 9 + rank
            if cell in ("", "*", " *"):
                self.squares[index] = ""
            elif cell[0] in SIGNS and cell[1:] in SFEN_LETTER:
                self.squares[index] = cell
            else:
                raise ValueError(f"{cell!r} is neither a piece nor an empty square")
        if row[27:].strip():
            raise ValueError("a row has more than nine squares")

    def _put_pieces(self, sign: str, pieces: str) -> None:
        for square, piece in _pairs(pieces):
            if square == "00" and piece == "AL":
                self._give_the_rest(sign)
            elif square == "00":
                if piece not in FULL_SET or piece == "OU":
                    raise ValueError(f"{piece!r} is no piece for a hand")
                self.hands[sign][piece] += 1
            elif piece in SFEN_LETTER:
                self.squares[square_index(square)] = sign + piece
            else:
                raise ValueError(f"{piece!r} is no piece")

    def _give_the_rest(self, sign: str) -> None:
        used = Counter(UNPROMOTED.get(piece[1:], piece[1:]) for piece in self.squares if piece)
        used += self.hands["+"] + self.hands["-"]
        for piece, total in FULL_SET.items():
            if piece != "OU":
                self.hands[sign][piece] += max(0, total - used[piece])

    def sfen(self, turn: str) -> str:
        """The position before the first move as SFEN, whether the rules allow it or not; ``turn`` is ``+`` or ``-``."""
        rows: list[str] = []
        for rank in range(9):
            row, empty = "", 0
            for file in range(8, -1, -1):
                piece = self.squares[file * 9 + rank]
                if not piece:
                    empty += 1
                    continue
                letter = SFEN_LETTER[piece[1:]]
                row += (str(empty) if empty else "") + (letter if piece[0] == "+" else letter.lower())
                empty = 0
            rows.append(row + (str(empty) if empty else ""))
        hands = ""
        for sign in SIGNS:
            for piece in _SFEN_HAND_ORDER:
                if count := self.hands[sign][piece]:
                    letter = SFEN_LETTER[piece]
                    hands += (str(count) if count > 1 else "") + (letter if sign == "+" else letter.lower())
        return f"{'/'.join(rows)} {'b' if turn == '+' else 'w'} {hands or '-'} 1"

    def lines(self) -> list[str]:
        """The ``P`` lines that set it up."""
        lines: list[str] = []
        for rank in range(9):
            cells = [self.squares[file * 9 + rank] or " * " for file in range(8, -1, -1)]
            lines.append(f"P{rank + 1}{''.join(cells)}")
        for sign in SIGNS:
            held = "".join(f"00{piece}" * self.hands[sign][piece] for piece in _SFEN_HAND_ORDER)
            if held:
                lines.append(f"P{sign}{held}")
        return lines


def _pairs(text: str) -> list[tuple[str, str]]:
    text = text.strip()
    if len(text) % 4:
        raise ValueError(f"{text!r} is no list of squares and pieces")
    return [(text[i : i + 2], text[i + 2 : i + 4]) for i in range(0, len(text), 4)]
