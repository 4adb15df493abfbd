"""Variations (変化) of KIF and KI2: lines that leave the game or each other."""

import re
from collections.abc import Callable, Iterator

from fukayomi.shogi.formats.kif.header import comment_of
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
        self.bookmarks: list[str] = []
        """The same."""

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
        """Give the comments and bookmarks that were collected to the last move."""
        played = self.moves[-1]
        if self.comments:
            played.comment = "\n".join(self.comments)
            read_remarks(played.comment, played)
            self.comments = []
        if self.bookmarks:
            played.bookmark, self.bookmarks = "\n".join(self.bookmarks), []


class _Tree:
    """The moves that lead to where the reader is, and the variations that they belong to."""

    def __init__(self, record: Record, position: Position) -> None:
        self.record = record
        self.game = list(record.moves)
        self.position = position
        self.path = list(record.moves)
        self.owners: list[int | None] = [None] * len(self.path)
        """Index of the variation that each move of the path belongs to; None: the game."""
        self.steps_left = MOST_VARIATION_PLIES

    def go_to(self, ply: int) -> bool:
        """Go to where a variation begins: on the line read last, or one that it left if that is too short."""
        if ply < 1:
            return False
        while len(self.path) >= ply:
            self._take_back()
        if len(self.path) == ply - 1:
            return True
        line = owner = self.owners[-1] if self.owners else None
        while not self._reaches(line, ply) and line is not None and self.steps_left > 0:
            line = self.record.variations[line].parent
            self.steps_left -= 1
        if not self._reaches(line, ply) or self.steps_left <= 0:
            return False
        while owner != line and owner is not None:
            begin = self.record.variations[owner].ply
            while len(self.path) >= begin:
                self._take_back()
                self.steps_left -= 1
            owner = self.record.variations[owner].parent
        self._go_on(line, ply)
        return True

    def _line(self, index: int | None) -> tuple[int, list[RecordedMove]]:
        """The first ply of a line, and its moves."""
        return (
            (1, self.game)
            if index is None
            else (self.record.variations[index].ply, self.record.variations[index].moves)
        )

    def _reaches(self, index: int | None, ply: int) -> bool:
        first, moves = self._line(index)
        return first + len(moves) >= ply

    def _go_on(self, index: int | None, ply: int) -> None:
        """Play the rest of a line up to a ply."""
        first, moves = self._line(index)
        for played in moves[len(self.path) + 1 - first : ply - first]:
            self.position.push(played.move)
            self.path.append(played)
            self.owners.append(index)
            self.steps_left -= 1

    def _take_back(self) -> None:
        self.path.pop()
        self.owners.pop()
        self.position.pop()

    def add(self, variation: Variation) -> None:
        """Add the moves that were played from where the reader was."""
        variation.parent = self.owners[-1] if self.owners else None
        variation.moves = self.path[variation.ply - 1 :]
        self.owners += [len(self.record.variations)] * len(variation.moves)
        self.steps_left -= len(variation.moves)
        self.record.variations.append(variation)


def read_variations(
    record: Record,
    position: Position,
    first_number: int,
    branch: int,
    lines: Lines,
    play_line: Callable[[Play, str], bool],
) -> None:
    """Read the variations below a game; one that begins at a move leaves the line above it there.

    Args:
        record: The game; gets the variations.
        position: Position after its last move; left somewhere else.
        first_number: The number that the record gives its first move.
        branch: Number of the first move of the first variation.
        lines: The lines below that number.
        play_line: Plays the moves of a line; False if the variation ends there.
    """
    tree = _Tree(record, position)
    number: int | None = branch
    while number is not None and tree.steps_left > 0:
        ply = number - first_number + 1
        if not tree.go_to(ply):
            number = _next_branch(lines)
            continue
        variation = Variation(ply)
        number = _read_variation(variation, Play(position, tree.path, []), lines, play_line)
        if len(tree.path) >= ply:
            tree.add(variation)


def _read_variation(
    variation: Variation, play: Play, lines: Lines, play_line: Callable[[Play, str], bool]
) -> int | None:
    """Read the moves of a variation up to its end or the first that is illegal.

    Returns:
        The number of the first move of the next variation.
    """
    begin = len(play.moves)
    is_over = False
    branch: int | None = None
    for _, line in lines:
        is_begun = len(play.moves) > begin
        if (comment := comment_of(line)) is not None:
            play.comments.append(comment)
        elif found := BRANCH.match(line):
            branch = branch_number(found)
            break
        elif line.startswith("&"):
            play.bookmarks.append(line[1:])
        elif is_over or not line.strip() or line[0] == "#":
            continue
        elif is_begun:
            play.add_comments()
            is_over = not play_line(play, line)
        else:
            variation.comment, play.comments = "\n".join(play.comments), []
            variation.bookmark, play.bookmarks = "\n".join(play.bookmarks), []
            is_over = not play_line(play, line)
    if len(play.moves) > begin:
        play.add_comments()
    return branch


def _next_branch(lines: Lines) -> int | None:
    return next((branch_number(found) for _, line in lines if (found := BRANCH.match(line))), None)
