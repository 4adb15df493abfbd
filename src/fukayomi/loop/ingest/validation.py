"""Validation of a chunk: it must be what its sidecar says, and every game one that its settings allow.

All games are decoded and replayed by the rules (`_native.decode_hcpe3`, `_native.check_selfplay`); nothing that the
worker says is believed. A chunk with a fault is rejected as a whole: its worker is broken or hostile, and where one
game is wrong the others deserve no trust.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fukayomi import _native
from fukayomi._native import EndReason, SelfplayRules
from fukayomi.data.formats.hcpe import RESULT_BITS
from fukayomi.files.inputs import InputFileError
from fukayomi.loop.ingest.statistics import ChunkStatistics, statistics_of
from fukayomi.selfplay.chunk import Chunk, ChunkError, ChunkInfo, ResultCounts, read_chunk
from fukayomi.selfplay.settings import Rule
from fukayomi.settings.problems import first_problem
from fukayomi.shogi import DeclarationRule, Position
from fukayomi.tabular import counted

MOST_FAULTS = 100
"""Faults of a chunk that are kept."""
_EXTENDED = 2  # times the playouts: extended twice by a half
_PER_LEAF = 4  # visits beyond the playouts that a leaf of the last batch may bring: proven moves cost no evaluation
_TAUGHT_WEIGHT = 65_535  # sum of a Gumbel policy's weights, each rounded
_KEY_BYTES = 8
_ROUNDING = 1e-3  # of weights that add up
_BEGINNINGS = ("openings", "book")  # names in the settings of what games begin with


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a chunk."""

    file: str
    """Name of the file."""
    game: int | None
    """Number of the game in the file, from 0; None if it is not about a game."""
    ply: int | None
    """Move of the game, from 0; None if it is not about a move."""
    offset: int | None
    """Start of the game in the file, in bytes."""
    reason: str

    def __str__(self) -> str:
        place = self.file
        place += "" if self.game is None else f", game {self.game}"
        place += "" if self.ply is None else f", move {self.ply}"
        place += "" if self.offset is None else f" (offset {self.offset})"
        return f"{place}: {self.reason}"


class RejectedError(ChunkError):
    """A chunk has faults.

    Attributes:
        faults: The first of them.
        info: Its sidecar; None if it cannot be read.
    """

    __module__ = "fukayomi.loop.ingest"

    def __init__(self, faults: list[Fault], info: ChunkInfo | None) -> None:
        self.faults, self.info = faults, info
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}")


@dataclass(frozen=True, slots=True, eq=False)
class ValidChunk:
    """A chunk whose games are all valid by themselves."""

    info: ChunkInfo
    keys: NDArray[np.uint64]
    """Hash of each game's first position and moves: uint64 [games]."""
    results: ResultCounts
    """Results of the games, derived again."""
    statistics: ChunkStatistics


class _Settings(BaseModel):
    """Self-play settings that say something about the games; the names are those of `SelfplaySettings`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    playouts: int = Field(ge=1)
    extension: float = 0.0
    leaves: int = Field(default=1, ge=1)
    root_rule: str = "puct"
    threshold: float = Field(ge=0, le=1)
    min_move: int = Field(default=0, ge=0)
    max_move: int = Field(ge=1)
    declaration_rule: Rule = "points_27"
    play_out: float = 1.0
    soft_playouts: int = 0
    chunk_games: int | None = None


def rules_of(settings: Mapping[str, Any]) -> SelfplayRules:
    """The rules that games with these settings keep.

    Raises:
        ValueError: The settings are not those of self-play.
    """
    known = _Settings.model_validate(dict(settings))
    if known.root_rule.lower() == "gumbel":
        most_visits = _TAUGHT_WEIGHT + _native.MAX_MOVES
    else:
        most_visits = known.playouts * (_EXTENDED if known.extension > 0 else 1) + _PER_LEAF * known.leaves + 1
    return SelfplayRules(
        least_plies=known.min_move, most_plies=known.max_move, resign_threshold=known.threshold,
        most_visits=min(most_visits, (1 << 32) - 1), declaration=DeclarationRule[known.declaration_rule.upper()],
    )  # fmt: skip


def validate_chunk(path: Path) -> ValidChunk:
    """Check everything about a chunk that it can be asked alone.

    Args:
        path: File of its games, with the sidecar beside it.

    Raises:
        RejectedError: It has faults.
        OSError: A file cannot be read.
    """
    try:
        chunk = read_chunk(path)
    except (ChunkError, InputFileError) as error:
        reason = str(error).removeprefix(f"{path.parent}/")
        name, _, rest = reason.partition(": ")
        raise RejectedError([Fault(name, None, None, None, rest)], None) from None
    try:
        rules = rules_of(chunk.info.settings)
    except ValidationError as error:
        reason = f"settings.{first_problem(error)}"
        raise RejectedError([Fault(path.with_suffix(".json").name, None, None, None, reason)], chunk.info) from None
    return _validate(path.name, chunk, rules)


def _validate(name: str, chunk: Chunk, rules: SelfplayRules) -> ValidChunk:
    info = chunk.info
    games = _native.decode_hcpe3(np.frombuffer(chunk.data, np.uint8), True)
    faults: list[Fault] = []
    for offset, _, ply, reason in games.damages[:MOST_FAULTS]:
        game = int(np.searchsorted(games.offsets, offset))
        faults.append(Fault(name, game, ply if ply >= 0 else None, offset, reason))
    if faults:
        raise RejectedError(faults, info)
    check = _native.check_selfplay(games, rules)
    for game, ply, reason in check.faults[:MOST_FAULTS]:
        faults.append(Fault(name, game, ply if ply >= 0 else None, int(games.offsets[game]), reason))
    results = count_results(games.results & RESULT_BITS, check.ends)
    positions = int((np.diff(games.candidates.astype(np.int64)) > 0).sum())
    counted = [
        ("games", info.games, len(games.results)),
        ("plies", info.plies, len(games.moves)),
        ("positions", info.positions, positions),
        ("results", _comparable(info.results), _comparable(results)),
    ]
    for field, said, value in counted:
        if not faults and said != value:
            faults.append(Fault(name, None, None, None, f"the sidecar says {field} {said}, but there are {value}"))
    if not faults and (wrong := _impossible_counts(info) or _wrong_opponents(info, games)):
        faults.append(Fault(name, None, None, None, wrong))
    if not faults:
        faults += _wrong_starts(name, info, games) + _wrong_weights(chunk, games)
    if faults:
        raise RejectedError(faults, info)
    return ValidChunk(info, _keys_of(games), results, statistics_of(games))


def _impossible_counts(info: ChunkInfo) -> str | None:
    """Fault in the counts of a sidecar that are about games that were not kept, too."""
    known = _Settings.model_validate(dict(info.settings))
    numbers, (played_out, wrong) = info.numbers or info.games, info.wrong_resignations
    if numbers < info.games:
        return f"the sidecar says {counted(info.games, 'game')} of {counted(numbers, 'number')}"
    if known.chunk_games is not None and numbers > known.chunk_games:
        return f"the sidecar says {numbers} numbers of games, but a chunk has at most {known.chunk_games} (chunk_games)"
    if not wrong <= played_out <= numbers:
        return (
            f"the sidecar says {counted(wrong, 'wrong resignation')} in {counted(played_out, 'game')} played out, of "
            f"{counted(numbers, 'number')}"
        )
    if played_out and (known.threshold == 1 or not (known.play_out or known.soft_playouts)):
        return f"the sidecar says {counted(played_out, 'game')} played out, but the settings allow none"
    return None


def _wrong_opponents(info: ChunkInfo, games: _native.DecodedGames) -> str | None:
    """Fault in the results that a sidecar claims against opponents; games that were not kept count there."""
    if not info.opponents:
        return None
    results, opponents = games.results & RESULT_BITS, games.opponents
    played = opponents != 0
    draws, losses = int((played & (results == 0)).sum()), int((played & (results == opponents)).sum())
    there = int(played.sum()) - draws - losses, draws, losses
    wins, draws, losses = (sum(each) for each in zip(*info.opponents.values(), strict=True))
    said = wins, draws, losses
    left_out = (info.numbers or info.games) - info.games
    if min(a - b for a, b in zip(said, there, strict=True)) < 0 or sum(said) - sum(there) > left_out:
        return f"the sidecar says {_score(said)} against opponents, but there are {_score(there)}"
    return None


def _wrong_starts(name: str, info: ChunkInfo, games: _native.DecodedGames) -> list[Fault]:
    """Games that begin elsewhere than at the start position, though the settings name nothing to begin with."""
    if not info.settings.keys().isdisjoint(_BEGINNINGS):
        return []
    start = np.frombuffer(_native.encode_hcp(Position()), np.uint8)
    wrong = np.flatnonzero((games.starts != start).any(axis=1))[:MOST_FAULTS].tolist()
    reason = "it does not begin at the start position, and the settings have no openings"
    return [Fault(name, game, None, int(games.offsets[game]), reason) for game in wrong]


def _wrong_weights(chunk: Chunk, games: _native.DecodedGames) -> list[Fault]:
    """Games whose positions weigh more than 1 in the mean: soft resignation takes weight, surprise only moves it."""
    if chunk.weights is None or chunk.info.weights is None:
        return []
    name = chunk.info.weights.file
    has_targets = np.diff(games.candidates.astype(np.int64)) > 0
    lengths = np.diff(games.plies.astype(np.int64))
    owners = np.repeat(np.arange(len(lengths)), lengths)[has_targets]
    sums = np.bincount(owners, chunk.weights, len(lengths))
    counts = np.bincount(owners, minlength=len(lengths))
    heavy = np.flatnonzero(sums > counts * (1 + _ROUNDING))[:MOST_FAULTS].tolist()
    return [
        Fault(
            name, game, None, None,
            f"its {counted(int(counts[game]), 'position')} with targets weigh {sums[game]:.6g}, more than 1 each",
        )
        for game in heavy
    ]  # fmt: skip


def _score(results: tuple[int, int, int]) -> str:
    wins, draws, losses = results
    return f"{counted(wins, 'win')}, {counted(draws, 'draw')} and {counted(losses, 'loss', 'losses')}"


def count_results(results: NDArray[np.integer[Any]], ends: NDArray[np.uint8]) -> ResultCounts:
    """Count games by result and by reason: results without flags [G], and their `EndReason` [G]."""

    def ended(reason: EndReason) -> int:
        return int((ends == int(reason)).sum())

    return ResultCounts(
        draws=int((results == 0).sum()), black_wins=int((results == 1).sum()), white_wins=int((results == 2).sum()),
        mates=ended(EndReason.MATE), resignations=ended(EndReason.RESIGNATION),
        repetitions=ended(EndReason.REPETITION), declarations=ended(EndReason.DECLARATION),
        max_plies=ended(EndReason.MAX_PLIES),
    )  # fmt: skip


def _comparable(results: ResultCounts) -> str:
    """Counts of which both sides know the same: a player may resign with the move that mates."""
    lost = results.mates + results.resignations
    others = (
        f"{counted(results.repetitions, 'repetition')}, {counted(results.declarations, 'declaration')}, "
        f"{results.max_plies} at most plies"
    )
    return (
        f"{counted(results.black_wins, 'win')} of Black, {results.white_wins} of White, "
        f"{counted(results.draws, 'draw')}; {counted(lost, 'mate or resignation', 'mates or resignations')}, {others}"
    )


def _keys_of(games: _native.DecodedGames) -> NDArray[np.uint64]:
    starts, moves = games.starts.tobytes(), games.moves.tobytes()
    plies = games.plies.tolist()
    digests = b"".join(
        hashlib.blake2b(
            starts[32 * game : 32 * game + 32] + moves[2 * begin : 2 * end], digest_size=_KEY_BYTES
        ).digest()
        for game, (begin, end) in enumerate(pairwise(plies))
    )
    return np.frombuffer(digests, "<u8")
