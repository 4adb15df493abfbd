"""Variations (変化) of KIF and KI2: lines that leave the game or each other."""

import re
from collections.abc import Callable, Iterator

from fukayomi.shogi.formats.limits import MOST_VARIATION_PLIES
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.position import Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Variation

BRANCH = re.compile(r"[\s　]*変化[\s　]*[：:][\s　]*([0-9０-９]{1,6})?")
"""The line above a variation; its group is the number of the first move, which may be missing."""

Lines = Iterator[tuple[int, str]]
"""Lines with their numbers."""


def branch_number(found: re.Match[str]) -> int:
    """The number of the first move of a variation; 0, which no move has, if it is missing."""
    return int(found[1] or 0)


class Play:
    """Moves that are played one after another, with their comments."""

    def __init__(self, position: Position, moves: list[RecordedMove], comments: list[str]) -> None:
        self.position = position
        self.moves = moves
        self.comments = comments
        """Of the last move, or before the first one."""

    @property
    def last(self) -> int | None:
        """Target of the last move, for 同."""
        return self.moves[-1].move.to_square if self.moves else None

    def push(self, move: Move, time_ms: int | None = None) -> None:
        """Play a move.

        Raises:
            IllegalMoveError: The move is not legal.
        """
        self.position.push(move)
        self.moves.append(RecordedMove(move, time_ms=time_ms))

    def add_comments(self) -> None:
        """Give the comments that were collected to the last move."""
        if self.comments:
            played = self.moves[-1]
            played.comment = "\n".join(self.comments)
            read_remarks(played.comment, played)
            self.comments = []


def read_variations(
    record: Record, game: Play, first_number: int, branch: int, lines: Lines, play_line: Callable[[Play, str], bool]
) -> None:
    """Read the variations below a game; one that begins at a move leaves the line above it there.

    Args:
        record: Gets the variations.
        game: The game, with all its moves.
        first_number: The number that the record gives its first move.
        branch: Number of the first move of the first variation.
        lines: The lines below that number.
        play_line: Plays the moves of a line; False if the variation ends there.
    """
    path = list(game.moves)
    shared, total = len(path), 0
    number: int | None = branch
    while number is not None:
        ply = number - first_number + 1
        if not 1 <= ply <= len(path) + 1:
            number = _next_branch(lines)
            continue
        while len(path) >= ply:
            path.pop()
            game.position.pop()
        shared = min(shared, len(path))
        comment, number = _read_variation(Play(game.position, path, []), lines, play_line)
        total += len(path) - shared
        if total > MOST_VARIATION_PLIES:
            return
        if len(path) >= ply:
            record.variations.append(Variation(shared + 1, path[shared:], comment))


def _read_variation(play: Play, lines: Lines, play_line: Callable[[Play, str], bool]) -> tuple[str, int | None]:
    """Read the moves of a variation up to its end or the first that is illegal.

    Returns:
        The comment before the first move, and the number of the first move of the next variation.
    """
    begin = len(play.moves)
    comment = ""
    is_over = False
    branch: int | None = None
    for _, line in lines:
        if line.startswith("*"):
            play.comments.append(line[1:])
        elif found := BRANCH.match(line):
            branch = branch_number(found)
            break
        elif is_over or not line.strip() or line[0] in "#&":
            continue
        else:
            comments, play.comments = play.comments, []
            before = len(play.moves)
            if before > begin:
                play.comments = comments
                play.add_comments()
            is_over = not play_line(play, line)
            if before == begin and len(play.moves) > begin:
                comment = "\n".join(comments)
    if len(play.moves) == begin:
        play.comments = []
    play.add_comments()
    return comment, branch


def _next_branch(lines: Lines) -> int | None:
    return next((branch_number(found) for _, line in lines if (found := BRANCH.match(line))), None)
