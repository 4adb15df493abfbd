"""Variations (変化) of KIF and KI2: lines that leave the game or each other."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from fukayomi.shogi.formats.kif.header import comment_of
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.formats.text import MOST_VARIATION_PLIES
from fukayomi.shogi.position import Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Variation

BRANCH = re.compile(r"[\s　]*変化[\s　]*[：:][\s　]*([0-9０-９]{1,6})?")
"""The line above a variation; its group is the number of the first move, which may be missing."""

Lines = Iterator[tuple[int, str]]
"""Lines with their numbers."""


class Branch(NamedTuple):
    """The line above a variation."""

    number: int
    """Of the first move; 0, which no move has, if it is missing."""
    line: int
    """Number of the line."""

    @classmethod
    def of(cls, found: re.Match[str], line: int) -> "Branch":
        """The line that `BRANCH` matched."""
        return cls(int(found[1] or 0), line)


class Stop(NamedTuple):
    """Reason why a variation ends with a line."""

    said: str
    """The end of the game that the line tells, or what is wrong with it."""
    is_end: bool
    """True if it is the end of a game."""


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
            played.comment = "\n".join([played.comment, *self.comments] if played.comment else self.comments)
            read_remarks(played.comment, played)
            self.comments = []
        if self.bookmarks:
            played.bookmark, self.bookmarks = "\n".join(self.bookmarks), []


PlayLine = Callable[[Play, str], Stop | None]


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
    branch: Branch,
    lines: Lines,
    play_line: PlayLine,
) -> None:
    """Read the variations below a game; one that begins at a move leaves the line above it there.

    Args:
        record: The game; gets the variations, and a note of what is left out.
        position: Position after its last move; left somewhere else.
        first_number: The number that the record gives its first move.
        branch: The line above the first variation.
        lines: The lines below that.
        play_line: Plays the moves of a line; says why the variation ends there, if it does.
    """
    tree = _Tree(record, position)
    following: Branch | None = branch
    while following is not None and tree.steps_left > 0:
        branch, ply = following, following.number - first_number + 1
        if not tree.go_to(ply):
            record.leave_out(branch.line, f"a variation from move {branch.number or '?'}, where no line comes to")
            following = _next_branch(lines)
            continue
        variation, play = Variation(ply), Play(position, tree.path, [])
        stop, following = _read_variation(variation, play, lines, play_line)
        if stop is not None and not stop[1].is_end:
            record.leave_out(stop[0], f"the rest of a variation from move {branch.number}: {stop[1].said}")
        if len(tree.path) >= ply:
            tree.add(variation)
        elif stop is not None and stop[1].is_end:
            reason = f"a variation without moves from move {branch.number}, which is a comment on the move before"
            if record.leave_out(stop[0], reason):
                _comment_on(record, tree.path, [variation.comment, *play.comments])
        elif stop is None:
            record.leave_out(branch.line, f"a variation from move {branch.number} without moves")
    if following is not None:
        record.leave_out(following.line, "all variations from here on: there are too many")


def _comment_on(record: Record, path: list[RecordedMove], comments: list[str]) -> None:
    """Add what is known of a variation without moves to the comment on the last move of the path."""
    place = path[-1] if path else record
    place.comment = "\n".join(filter(None, [place.comment, f"変化：{len(path) + 1}手", *comments]))


def _read_variation(
    variation: Variation, play: Play, lines: Lines, play_line: PlayLine
) -> tuple[tuple[int, Stop] | None, Branch | None]:
    """Read the moves of a variation up to its end or the first that is illegal.

    Returns:
        The line where it stopped before its end and why, and the line above the next variation.
    """
    begin = len(play.moves)
    stop: tuple[int, Stop] | None = None
    branch: Branch | None = None
    for number, line in lines:
        if (comment := comment_of(line)) is not None:
            play.comments.append(comment)
        elif found := BRANCH.match(line):
            branch = Branch.of(found, number)
            break
        elif line.startswith("&"):
            play.bookmarks.append(line[1:])
        elif stop is not None or not line.strip() or line[0] == "#":
            continue
        else:
            if len(play.moves) > begin:
                play.add_comments()
            else:
                variation.comment, play.comments = "\n".join(play.comments), []
                variation.bookmark, play.bookmarks = "\n".join(play.bookmarks), []
            if (stopped := play_line(play, line)) is not None:
                stop = number, stopped
                play.comments += [stopped.said] if stopped.is_end else []
    if len(play.moves) > begin:
        play.add_comments()
    return stop, branch


def _next_branch(lines: Lines) -> Branch | None:
    return next((Branch.of(found, number) for number, line in lines if (found := BRANCH.match(line))), None)
