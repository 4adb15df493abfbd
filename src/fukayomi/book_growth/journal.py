"""The journal of a book that grows: its rounds. It has no times: two runs with the same games have the same journal."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from fukayomi.book_growth.settings import GrowthError
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input
from fukayomi.settings.problems import first_problem

JOURNAL_NAME = "journal.jsonl"
LARGEST_JOURNAL = 1 << 30
"""Bytes."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class BookState(_Model):
    """The book of a side after a round."""

    side: str
    """black or white."""
    win_rate: float | None
    """Value of the start for the side, 0 to 1; None: too few games pass through it."""
    score_cp: int | None
    """The same in centipawns."""
    line: tuple[str, ...]
    """The trunk: the best moves of both sides."""
    entries: int
    """Positions of the book."""
    moves: int
    """Their moves."""
    positions: int
    """Positions with enough games that the start leads to."""
    leaves: int
    """Those of them without a move to another one."""
    sha256: str | None
    """SHA-256 of the file; None: there is none yet."""


class Round(_Model):
    """A round: games of all sides, and the books made of all games so far."""

    round: int
    """From 1."""
    games: int
    """Games of all rounds so far that count, of any side."""
    left_out: int
    """Games so far without a result, or that ended by a forfeit."""
    repeated: int
    """Games so far that are the same as earlier ones, and do not count."""
    books: tuple[BookState, ...]


def read_journal(folder: Path) -> list[Round]:
    """The rounds that are done.

    Raises:
        GrowthError: The journal is damaged.
    """
    path = folder / JOURNAL_NAME
    rounds: list[Round] = []
    if not path.is_file():
        return rounds
    for number, line in enumerate(read_input(path, LARGEST_JOURNAL).splitlines(), 1):
        try:
            found = Round.model_validate_json(line)
        except ValidationError as error:
            raise GrowthError(
                f"{path}, line {number}: not a round: {first_problem(error)}. Remove the file: it is made again from "
                "the games"
            ) from error
        if found.round != number:
            raise GrowthError(
                f"{path}, line {number}: round {found.round} instead of round {number}. Remove the file: it is made "
                "again from the games"
            )
        rounds.append(found)
    return rounds


def write_journal(folder: Path, rounds: list[Round]) -> None:
    """Write the rounds that are done.

    Raises:
        OSError: The file cannot be written (DiskError: the disk is full).
    """
    replace_file(folder / JOURNAL_NAME, "".join(each.model_dump_json() + "\n" for each in rounds).encode())
