"""Chunks: files of self-play games, each with a sidecar that says where it comes from.

| file | content |
|---|---|
| `NAME-000001.hcpe3` | the games |
| `NAME-000001.weights.npy` | weight of each position with targets, float32 [N], unless all are 1 |
| `NAME-000001.json` | the sidecar, a `ChunkInfo` |
| `NAME-000001_opp.hcpe3`, ... | the same for the games that have an opponent, if they have files of their own |

Each file is flushed and renamed, the sidecar last: a chunk without a sidecar does not exist. A chunk never changes.

    >>> import tempfile
    >>> details = ChunkDetails(
    ...     games=1, positions=0, plies=0, worker="w1", sequence=1, first_game=0, seed=7, network="0" * 64,
    ...     build="0.1", settings={"playouts": 800},
    ... )
    >>> info = write_chunk(Path(tempfile.mkdtemp()) / "w1-000001.hcpe3", bytes(36), details)
    >>> info.bytes, info.weights
    (36, None)
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from fukayomi import _native
from fukayomi.data.formats.format import DataFileError, Place
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import Game, Games, Hcpe3Error, read_hcpe3, scan_hcpe3
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input, require_file
from fukayomi.learning.layers import decode_weights, encode_weights, require_weights, weights_of
from fukayomi.settings.problems import first_problem
from fukayomi.shogi import Color, Move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

VERSION = 1
"""Version of the sidecar that is written, and the newest that is read."""
SUFFIX = ".hcpe3"
LARGEST_SIDECAR = 1 << 20
"""Bytes."""
LARGEST_CHUNK = 256 << 20
"""Bytes."""

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_MOST_SEED = (1 << 64) - 1
Part = Literal["all", "without_opponents", "with_opponents"]
"""Part of the games of its numbers that a chunk has."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256 in lower-case hexadecimal digits."""
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
Name = Annotated[str, Field(pattern=_NAME)]
"""Letters, digits, dots, underscores and hyphens: part of a file name on every system."""


class ChunkError(DataFileError):
    """A chunk or its sidecar is damaged; the message names the file and what is wrong."""

    __module__ = "fukayomi.selfplay"


class _Model(BaseModel):
    """Fields that a later version of the same number adds are skipped."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class ResultCounts(_Model):
    """Counts of the games of a chunk: by result, and by reason."""

    black_wins: Count = 0
    white_wins: Count = 0
    draws: Count = 0
    mates: Count = 0
    """Mated, or a mate was found."""
    resignations: Count = 0
    repetitions: Count = 0
    """Draws, and wins by the opponent's perpetual check."""
    declarations: Count = 0
    max_plies: Count = 0

    def by_reason(self) -> dict[str, int]:
        """Games by how they ended."""
        return {
            "mate": self.mates, "resignation": self.resignations, "repetition": self.repetitions,
            "declaration": self.declarations, "max_plies": self.max_plies,
        }  # fmt: skip


class WeightsFile(_Model):
    """Weights of the positions with targets, in the order of the file: float32 [N] as .npy."""

    file: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]{1,200}$")]
    """Its name, in the folder of the chunk."""
    sha256: Sha256


class ChunkDetails(_Model):
    """Details that the worker gives about a chunk."""

    games: Count
    positions: Count
    """Moves with candidates, which are training positions."""
    plies: Count
    """Moves of all games."""
    worker: Name
    """Name of the worker; tripwires compare workers, and one can be excluded."""
    sequence: Count
    """Number of the chunk among those of its worker and seed, from 1."""
    first_game: Count
    """Number of its first game among those of its worker and seed."""
    numbers: Count = 0
    """Game numbers that it covers from there on, with those of games that were not kept; 0: as many as games."""
    part: Part = "all"
    """Part of the games of these numbers; a chunk of those without opponents has one beside it, if there are any
    others."""
    seed: Annotated[int, Field(ge=0, le=_MOST_SEED)]
    network: Sha256
    """SHA-256 of the file of the newest network that played."""
    build: Annotated[str, Field(min_length=1, max_length=200)]
    """Writer of the chunk: version of fukayomi, and the build of its native core (`fukayomi.selfplay.store.build`)."""
    device: Annotated[str, Field(max_length=200)] = ""
    """Device of the network when the chunk was written, as `Network` takes it; empty: unknown."""
    precision: Annotated[str, Field(max_length=200)] = ""
    """Precision of the network; empty: unknown."""
    settings: Mapping[str, JsonValue]
    """Settings of the self-play, all of them."""
    results: ResultCounts = ResultCounts()
    opponents: dict[Annotated[str, Field(max_length=64)], tuple[Count, Count, Count]] = {}
    """Wins, draws and losses of the network against each opponent of the league, games that were not kept included."""
    wrong_resignations: tuple[Count, Count] = (0, 0)
    """Games played out after a side would have resigned, and how many of them it did not lose."""


class ChunkInfo(ChunkDetails):
    """A sidecar: what the worker says, and what identifies the bytes."""

    version: Annotated[int, Field(ge=1)] = VERSION
    sha256: Sha256
    """Of the games. It identifies the chunk."""
    bytes: Count
    settings_sha256: Sha256
    """`settings_sha256` of the settings."""
    weights: WeightsFile | None = None

    def text(self) -> str:
        """The sidecar as JSON, one field a line."""
        return self.model_dump_json(indent=1) + "\n"

    def overlaps(self, first_game: int, numbers: int, part: Part) -> bool:
        """True if it can have games of another chunk of its worker, seed and network."""
        if "all" not in (self.part, part) and self.part != part:
            return False
        return first_game < self.first_game + (self.numbers or self.games) and self.first_game < first_game + numbers


class Chunk(NamedTuple):
    """A chunk that was read: its sidecar, its games, and the weights of its positions (None if all are 1)."""

    info: ChunkInfo
    data: bytes
    weights: NDArray[np.float32] | None


def require_origin(worker: str, seed: int) -> None:
    """Check what makes the games of a worker other than those of others.

    Raises:
        ValueError: Chunks cannot have this name or seed.
    """
    if not re.fullmatch(_NAME, worker):
        raise InvalidValueError(
            f"name {worker!r} cannot begin the names of files; write at most 64 letters, digits, dots, underscores and "
            "hyphens, and a letter or a digit first"
        )
    if not 0 <= seed <= _MOST_SEED:
        raise InvalidValueError(f"seed is {seed}; it must be from 0 to {_MOST_SEED}")


def settings_sha256(settings: Mapping[str, Any]) -> str:
    """A hash of settings that does not depend on the order of their names."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sidecar_of(chunk: Path) -> Path:
    """Path of a chunk's sidecar."""
    return chunk.with_suffix(".json")


def opponents_chunk_of(chunk: Path) -> Path:
    """Path of the games with opponents of a chunk without them."""
    return chunk.with_name(f"{chunk.stem}_opp{chunk.suffix}")


def find_chunks(folder: Path | str) -> list[Path]:
    """The chunks of a folder that have a sidecar, by name."""
    return sorted(path for path in Path(folder).glob(f"*{SUFFIX}") if sidecar_of(path).is_file())


def write_chunk(
    path: Path | str, data: bytes, details: ChunkDetails, weights: NDArray[np.float32] | None = None
) -> ChunkInfo:
    """Write a chunk and its sidecar. Writing the same chunk again does nothing, be it from another device or build.

    Args:
        path: File of the games, ``*.hcpe3``; its folder exists.
        data: The games as hcpe3.
        details: What the sidecar says about them.
        weights: Weight of each position with targets: float32 [`details.positions`]; None if all are 1.

    Raises:
        ChunkError: Another chunk has this name, or the weights do not fit.
        DiskError: The disk is full.
        OSError: A file cannot be written.
    """
    path = Path(path)
    encoded = None if weights is None else _encode_weights(path, weights, details.positions)
    named = None
    if encoded is not None:
        named = WeightsFile(file=weights_of(path).name, sha256=hashlib.sha256(encoded).hexdigest())
    info = ChunkInfo(
        **dict(details),
        sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data),
        settings_sha256=settings_sha256(details.settings),
        weights=named,
    )
    sidecar = sidecar_of(path)
    if sidecar.exists():
        known = read_chunk_info(sidecar)
        computed = {"build": known.build, "device": known.device, "precision": known.precision}
        if known == info.model_copy(update=computed):
            return known
        raise ChunkError(f"{path}: another chunk has this name; a chunk never changes")
    replace_file(path, data)
    if named is not None and encoded is not None:
        replace_file(weights_of(path), encoded)
    replace_file(sidecar, info.text().encode())
    return info


def read_chunk_info(sidecar: Path | str) -> ChunkInfo:
    """Read a sidecar.

    Raises:
        ChunkError: It is not a sidecar, or one of a later version; the message names the field.
        OSError: It cannot be read.
    """
    sidecar = Path(sidecar)
    text = read_input(sidecar, LARGEST_SIDECAR)
    try:
        info = ChunkInfo.model_validate_json(text)
    except ValidationError as error:
        raise ChunkError(f"{sidecar}: not a sidecar of a chunk: {first_problem(error, 'the file')}") from None
    if info.version > VERSION:
        raise ChunkError(f"{sidecar}: version {info.version}; this fukayomi reads versions up to {VERSION}; update it")
    try:
        hashed = settings_sha256(info.settings)
    except ValueError as error:  # NaN, or half a surrogate pair
        raise ChunkError(f"{sidecar}: settings: {error}") from None
    if info.settings_sha256 != hashed:
        raise ChunkError(f"{sidecar}: settings_sha256 is not that of the settings")
    return info


def read_chunk(path: Path | str) -> Chunk:
    """Read a chunk and compare its files with the sidecar. The games are not looked at.

    Raises:
        ChunkError: A file is not the one that the sidecar describes.
        OSError: A file cannot be read.
    """
    path = Path(path)
    info = read_chunk_info(sidecar_of(path))
    data = read_input(path, LARGEST_CHUNK)
    if len(data) != info.bytes:
        raise ChunkError(f"{path}: {len(data)} bytes, but its sidecar says {info.bytes}")
    if hashlib.sha256(data).hexdigest() != info.sha256:
        raise ChunkError(f"{path}: the checksum (SHA-256) is not the sidecar's")
    return Chunk(info, data, None if info.weights is None else _read_weights(path, info.weights, info.positions))


def _encode_weights(path: Path, weights: NDArray[np.float32], positions: int) -> bytes:
    try:
        require_weights(path, weights, positions)
    except DataFileError as error:
        raise ChunkError(str(error)) from None
    return encode_weights(weights)


def _read_weights(path: Path, named: WeightsFile, positions: int) -> NDArray[np.float32]:
    file = weights_of(path)
    if named.file != file.name:
        raise ChunkError(f"{sidecar_of(path)}: weights.file is not {file.name}")
    if not file.is_file():
        raise ChunkError(f"{file}: missing, but named by the sidecar")
    data = read_input(file, LARGEST_CHUNK)
    if hashlib.sha256(data).hexdigest() != named.sha256:
        raise ChunkError(f"{file}: the checksum (SHA-256) is not the sidecar's")
    try:
        return decode_weights(file, data, positions)
    except DataFileError as error:
        raise ChunkError(str(error)) from None


class GameLine(NamedTuple):
    """A game of a chunk."""

    place: Place
    """Its offset in the file in bytes, and the number of games before it."""
    result: Result
    termination: Termination
    plies: int
    opponent: Color | None
    """The side of which another player moved; None if one network played both."""


def list_games(chunk: Path) -> list[GameLine]:
    """The games of a chunk, in the order of the file; damaged ones are left out.

        >>> import tempfile
        >>> from fukayomi.selfplay import SelfplaySettings, find_chunks, generate
        >>> out = Path(tempfile.mkdtemp())
        >>> _ = generate(SelfplaySettings(playouts=4, max_move=12, out_max_move=True), "<hash>", out, games=2)
        >>> (chunk,) = find_chunks(out)
        >>> lines = list_games(chunk)
        >>> record = read_game(chunk, lines[1])
        >>> len(lines), record.name, len(record) == lines[1].plies
        (2, 'selfplay-000001 #2', True)

    Raises:
        OSError: It cannot be read.
    """
    require_file(chunk)
    return [line for games in scan_hcpe3(chunk) if not isinstance(games, Hcpe3Error) for line in _lines(games)]


def read_game(chunk: Path, line: GameLine) -> Record:
    """A game of a chunk as a record, with the evaluations of the search as scores.

    Args:
        chunk: The chunk, which has not changed since.
        line: What `list_games` said about the game.

    Raises:
        Hcpe3Error: There is no game at this place.
        OSError: It cannot be read.
    """
    require_file(chunk)
    for games in read_hcpe3(chunk, begin=line.place):
        return _record(games[0], line, f"{chunk.stem} #{line.place[1] + 1}")
    raise Hcpe3Error(chunk, line.place[1], None, line.place[0], 0, "the file ends before this game")


def _lines(games: Games) -> list[GameLine]:
    endings = _native.judge_endings(games.starts, games.plies, games.moves)
    lengths = games.lengths().tolist()
    sides = {1: Color.BLACK, 2: Color.WHITE}
    return [
        GameLine(
            Place(int(games.offsets[index]), games.first + index),
            Result(int(games.results[index]) & RESULT_BITS),
            _termination(int(games.results[index]), is_mated=ending.is_mated),
            lengths[index],
            sides.get(int(games.opponents[index])),
        )
        for index, ending in enumerate(endings)
    ]


def _termination(result_byte: int, *, is_mated: bool) -> Termination:
    """Termination of a game. A game that the file gives no reason for, and that is no mate, was resigned."""
    flags, is_draw = ResultFlag(result_byte & ~RESULT_BITS), result_byte & RESULT_BITS == Result.DRAW
    if flags & ResultFlag.REPETITION:
        return Termination.REPETITION if is_draw else Termination.PERPETUAL_CHECK
    if flags & ResultFlag.DECLARATION:
        return Termination.DECLARATION
    if flags & ResultFlag.MAX_PLIES:
        return Termination.MAX_PLIES
    if is_mated:
        return Termination.MATE
    return Termination.DRAW if is_draw else Termination.RESIGN


def _record(game: Game, line: GameLine, name: str) -> Record:
    start = _native.position_from_hcp(game.start)
    sign = 1 if start.turn == Color.BLACK else -1
    signs = np.where(np.arange(len(game)) % 2 == 0, sign, -sign)
    searched = (np.diff(game.candidates.astype(np.int64)) > 0) | (game.evals != 0)
    scores = (game.evals.astype(int) * signs).tolist()
    moves = [
        RecordedMove(Move.from_raw(int(raw)), score if has_score else None)
        for raw, score, has_score in zip(game.moves, scores, searched, strict=True)
    ]
    return Record(
        name=name, initial_sfen=start.sfen(), moves=moves, termination=line.termination, result=line.result
    )  # fmt: skip
