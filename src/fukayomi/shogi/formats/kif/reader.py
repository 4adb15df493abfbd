"""Reading KIF and KI2: the head, the game and its end, then variations.

Damage in the game is an error that names the line and the move. A damaged variation ends where the damage is; the game
is not touched by it.
"""

from fukayomi.shogi.formats.kif.game import Game, play_line
from fukayomi.shogi.formats.kif.header import begins_moves, read_head
from fukayomi.shogi.formats.kif.variations import BRANCH, read_variations
from fukayomi.shogi.record import Record


def read_kif(text: str, name: str) -> Record:
    """Read a KIF record, with its variations.

    Raises:
        IllegalMoveInRecordError: A move is illegal, and the record does not say that the game ended by a foul.
        RecordError: The record is damaged.
    """
    return _read(text, name, is_ki2=False)


def read_ki2(text: str, name: str) -> Record:
    """Read a KI2 record, with its variations, or moves of any notation below a head of KIF.

    Raises:
        IllegalMoveInRecordError: No legal move fits, and the record does not say that the game ended by a foul.
        RecordError: The record is damaged.
    """
    return _read(text, name, is_ki2=True)


def _read(text: str, name: str, *, is_ki2: bool) -> Record:
    head, lines = read_head(text, name, _ends_head if is_ki2 else begins_moves)
    game = Game(head.record(), head, is_ki2=is_ki2)
    branch = game.read(lines)
    if branch is not None:
        read_variations(game.record, game.play.position, game.first_number, branch, lines, play_line)
    return game.record


def _ends_head(line: str) -> bool:
    """True if the game begins with this line; a variation may be all there is, for KI2 has no line above the moves."""
    return begins_moves(line) or BRANCH.match(line) is not None
