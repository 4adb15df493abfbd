"""Boards in CSA: ``P1-KY-KE...``, ``P+00FU``. For writing; the native core reads them."""

from collections import Counter

_PLAIN = {"FU": "P", "KY": "L", "KE": "N", "GI": "S", "KA": "B", "HI": "R", "KI": "G", "OU": "K"}
PROMOTED = {"FU": "TO", "KY": "NY", "KE": "NK", "GI": "NG", "KA": "UM", "HI": "RY"}
SFEN_LETTER = _PLAIN | {promoted: "+" + _PLAIN[plain] for plain, promoted in PROMOTED.items()}
CSA_NAME = {letter: name for name, letter in SFEN_LETTER.items()}
_SFEN_HAND_ORDER = ("HI", "KA", "KI", "GI", "KE", "KY", "FU")


def square_index(text: str) -> int:
    """The number of a CSA square: 77 is (7 - 1) * 9 + (7 - 1)."""
    return (int(text[0]) - 1) * 9 + int(text[1]) - 1


class CsaBoard:
    """A board with the piece names of CSA, and the hands of the first position."""

    def __init__(self) -> None:
        self.squares = [""] * 81
        """``+FU``, ``-KA`` and so on by square; "" is empty."""
        self.hands: dict[str, Counter[str]] = {"+": Counter(), "-": Counter()}
        """Pieces in hand of ``+`` and ``-`` in the first position."""

    @classmethod
    def from_sfen(cls, sfen: str) -> "CsaBoard":
        """The board of a valid SFEN."""
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

    def lines(self) -> list[str]:
        """The ``P`` lines of the position."""
        lines: list[str] = []
        for rank in range(9):
            cells = [self.squares[file * 9 + rank] or " * " for file in range(8, -1, -1)]
            lines.append(f"P{rank + 1}{''.join(cells)}")
        for sign in "+-":
            held = "".join(f"00{piece}" * self.hands[sign][piece] for piece in _SFEN_HAND_ORDER)
            if held:
                lines.append(f"P{sign}{held}")
        return lines
