"""The files of a match for other programs: CSA and KIF for each game, and one PGN for rating tools.

All are made from the database and can be recreated; each is replaced as a whole.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from fukayomi.arena.results.game import Game
from fukayomi.files.atomic import replace_file
from fukayomi.shogi.formats import csa_moves, write_csa, write_kif
from fukayomi.shogi.formats.notation import japanese_moves
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

GAMES = "games"
PGN = "games.pgn"
LOGS = "logs"

PGN_SHARE = 0.02
"""The PGN is rewritten often enough to take this share of the time, and at the end."""

_PGN_RESULTS = {Result.BLACK_WIN: "1-0", Result.WHITE_WIN: "0-1", Result.DRAW: "1/2-1/2", Result.UNKNOWN: "*"}
# The words that PGN has (its standard, section 9.8.1)
_PGN_TERMINATIONS = {
    Termination.TIME_UP: "time forfeit",
    Termination.ILLEGAL_MOVE: "rules infraction",
    Termination.PROTOCOL: "rules infraction",
    Termination.CRASH: "abandoned",
    Termination.STALL: "abandoned",
    Termination.ADJUDICATION: "adjudication",
    Termination.MAX_PLIES: "adjudication",
}


class MatchFiles:
    """The files in a match's folder."""

    def __init__(self, folder: Path) -> None:
        """Create the folder of the records.

        Raises:
            OSError: The folder cannot be created.
        """
        self.folder = folder
        self.pgn = folder / PGN
        self._pgn_due = 0.0
        (folder / GAMES).mkdir(parents=True, exist_ok=True)

    def paths(self, number: int) -> tuple[Path, Path]:
        """The CSA and the KIF file of a game."""
        stem = self.folder / GAMES / f"{number:06}"
        return stem.with_suffix(".csa"), stem.with_suffix(".kif")

    def missing(self, numbers: Iterable[int]) -> list[int]:
        """The games that lack a file."""
        existing = {path.name for path in (self.folder / GAMES).iterdir()}  # one call instead of two per game
        return [number for number in numbers if not all(path.name in existing for path in self.paths(number))]

    def write_record(self, number: int, record: Record) -> None:
        """Write the CSA and the KIF file of a game.

        Raises:
            OSError: A file cannot be written.
        """
        write_both(record, *self.paths(number))

    def is_pgn_due(self) -> bool:
        """True if enough time has passed to rewrite the PGN."""
        return time.monotonic() >= self._pgn_due

    def write_pgn(self, games: Iterable[Game], event: str = "") -> None:
        """Write the PGN of all games.

        Raises:
            OSError: The file cannot be written.
        """
        start = time.monotonic()
        replace_file(self.pgn, "\n".join(pgn_game(game, event) for game in games).encode())
        end = time.monotonic()
        self._pgn_due = end + (end - start) / PGN_SHARE


def pgn_game(game: Game, event: str = "") -> str:
    """A game in PGN for rating tools: players, colours and result, without the moves.

    PGN's White is 先手: rating tools give the advantage of the first move to White.
    """
    tags = {
        "Event": event or "?",
        "Site": "?",
        "Date": game.date.replace("-", ".") or "????.??.??",
        "Round": game.name,
        "White": game.black,
        "Black": game.white,
        "Result": _PGN_RESULTS[game.result],
        "Termination": _PGN_TERMINATIONS.get(game.termination, "normal"),
        "TerminationDetails": str(game.termination),
    }
    lines = [f'[{name} "{_quoted(value)}"]' for name, value in tags.items()]
    comment = f"shogi: White is who moves first (先手); moves in {GAMES}/{int(game.name):06}.csa"
    return "\n".join((*lines, "", f"{{{comment}}} {tags['Result']}", ""))


def write_both(record: Record, csa: Path, kif: Path) -> None:
    """Write a record whose expected lines are USI moves as CSA and as KIF; each file is complete or not there.

    Raises:
        OSError: A file cannot be written.
    """
    in_csa = _with_lines(record, lambda sfen, moves: " ".join(csa_moves(sfen, moves)))
    in_kif = _with_lines(record, lambda sfen, moves: "".join(japanese_moves(sfen, moves)))
    replace_file(csa, write_csa(in_csa).encode())
    replace_file(kif, write_kif(in_kif).encode())


def _with_lines(record: Record, write: Callable[[str, list[str]], str]) -> Record:
    """The record with the engines' expected lines, which are USI, in the notation of a format."""
    moves: list[RecordedMove] = []
    for position, played in record.replay():
        if played.pv:
            position = position.copy()
            position.push(played.move)
            played = replace(played, pv=write(position.sfen(), played.pv.split()))
        moves.append(played)
    return replace(record, moves=moves)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
