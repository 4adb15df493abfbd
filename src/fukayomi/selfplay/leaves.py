"""`collect_leaves`: positions that searches asked a network about, or searched themselves, as training data.

A network plays games against itself, with few nodes a move, from given positions or from the start position. Every
position that it evaluates on the way becomes a game of one move in hcpe3, with its policy and its value; or every
position of the trees that has enough visits, with the policy and the value that the search found. The games are
those of `fukayomi selfplay`'s pool (`pool_threads.py`): many at once, which fill batches together. A game depends on
its number, the seed and the settings alone, and its leaves are taken in the order of the games, so that the output does
not depend on threads, batches or kills.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import FinishedGame, KeySet, SelfplayPool
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.records.reading import Skipped
from fukayomi.engine.evaluation import evaluate_packed, rows_at_once
from fukayomi.engine.network import Network
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.files.disk import Room
from fukayomi.files.lock import FolderLock
from fukayomi.interruption import StopRequest
from fukayomi.learning.labelling.inputs import open_positions, read_batches
from fukayomi.learning.labelling.settings import Plies
from fukayomi.learning.reanalysis.targets import labels_of_evaluation
from fukayomi.listener import SILENT, Listener
from fukayomi.selfplay.openings import Openings, OpeningSet, find_mates
from fukayomi.selfplay.pool_threads import BATCHES_A_SLOT, PoolThreads, slots_of
from fukayomi.selfplay.settings import LEAVES_AT_ONCE, LeafError, LeafSettings

DESCRIPTION = ".leaves.json"
_PART = re.compile(r"leaves-([0-9]{8,})-([0-9]{8,})\.hcpe3")


class LeafFolder:
    """The folder of a run, locked until it is closed.

        .leaves.json                      what the leaves depend on; another run is refused
        leaves-00000000-00000041.hcpe3    the leaves of the games 0 to 41 that no earlier part has
        leaves.lock                       one process at a time works here

    A part is complete or not there. The parts together are the same whether or not the run was interrupted; where one
    ends and the next begins may differ.

    Args:
        path: The folder; it is made.
        description: What the leaves depend on, as JSON values.

    Raises:
        LeafError: The folder has leaves of another run, or a part is missing.
        LockedError: Another process works in the folder.
        OSError: It cannot be read or written.
    """

    def __init__(self, path: Path, description: Mapping[str, Any]) -> None:
        self.path = path
        self.parts: list[Path] = []
        """The files, in the order of their games."""
        self.next_game = 0
        """The number of the first game that no part has."""
        path.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(path, "leaves.lock")
        try:
            self._find_parts()
            self._claim(description)
        except BaseException:
            self.close()
            raise

    def _find_parts(self) -> None:
        parts = [(int(match[1]), int(match[2]), path) for path in self.path.iterdir() if (match := _match(path))]
        for first, last, path in sorted(parts):
            if first != self.next_game or last < first:
                raise LeafError(
                    f"{path.parent}: the part with game {self.next_game} is missing before {path.name}; put it back, "
                    "or begin another folder, with another seed"
                )
            self.parts.append(path)
            self.next_game = last + 1

    def _claim(self, description: Mapping[str, Any]) -> None:
        path = self.path / DESCRIPTION
        if not self.parts:
            replace_file(path, json.dumps(description, indent=1).encode())
            return
        try:
            written = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise LeafError(f"{self.path} has leaves, but not {DESCRIPTION}; name another folder") from None
        except ValueError as error:
            raise LeafError(f"{path} is damaged; name another folder") from error
        if written != description:
            different = "everything"
            if isinstance(written, dict):
                known = cast("dict[str, Any]", written)
                keys = dict.fromkeys([*known, *description])
                different = ", ".join(key for key in keys if known.get(key) != description.get(key))
            raise LeafError(
                f"{self.path} has leaves of another run (different: {different}); make the same ones, or name another "
                "folder"
            )

    def add_to(self, keys: KeySet) -> None:
        """Add the positions of all parts to a set.

        Raises:
            LeafError: The set is too small.
            DataFileError: A part has changed since it was written.
            OSError: A part cannot be read.
        """
        for path in self.parts:
            before, data = len(keys), path.read_bytes()
            try:
                kept, _ = keys.add_new(data)
                if not data:
                    raise InvalidValueError("it is empty")
            except ValueError as error:
                raise DataFileError(f"{path} is damaged: {error}; remove it and the parts after it") from error
            if len(kept) != len(data):
                raise DataFileError(
                    f"{path} has positions that come twice, in it or in earlier parts: only {len(keys) - before:,} are "
                    "new; remove it and the parts after it"
                )

    def write(self, end_game: int, data: bytes) -> Path:
        """Write the leaves of the games from `next_game` to before `end_game` as a part.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        path = self.path / f"leaves-{self.next_game:08}-{end_game - 1:08}.hcpe3"
        replace_file(path, data)
        self.parts.append(path)
        self.next_game = end_game
        return path

    def close(self) -> None:
        """End the lock."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _match(path: Path) -> re.Match[str] | None:
    return _PART.fullmatch(path.name)


READING, LEAVES = "reading", "leaves"
PART_POSITIONS = 250_000
"""Positions of a file."""
BYTES_A_LEAF = 130
"""Bytes that a leaf takes in a file, on average, at most: those of `<5x64>` take 103, those of `<sparse>` 126."""
LEAST_SHARE = 1 / 512
"""Moves with a smaller share of the policy are left out, as in `Search.labelled_leaves`."""
MOST_STARTS = 1_000_000
"""Positions that games begin at; of more, so many are drawn."""
FUTILE_GAMES = 200
"""Games in a row without a new leaf after which the run gives up."""
_CACHE_BYTES_A_LEAF = 160  # a little more than an entry takes
_MOST_CACHE_MB = 16  # of a game; for long searches it would take gigabytes
_GAMES_AHEAD = 4
"""So many times the games that are played at once may be over before an earlier one is: these are lost at the end."""
_WAIT_S = 0.25


@dataclass(frozen=True, slots=True)
class Leaves:
    """Result of `collect_leaves`."""

    positions: int
    """Positions in the folder."""
    new: int
    """Those that this run has added."""
    evaluated: int
    """Positions that the network evaluated for them; the others were in the folder already, came twice, or have too few
    visits (`LeafSettings.searched`)."""
    games: int
    """Games that they are from."""
    parts: tuple[Path, ...]
    """The files, in the order of the games."""
    finished: bool
    """True if there are as many as were asked for."""
    seconds: float
    """Duration of this run."""
    stopped_by: int | None = None
    """Number of the signal that stopped it."""


def collect_leaves(
    out: Path | str,
    network: Network,
    positions: int,
    starts: Sequence[Path | str] = (),
    settings: LeafSettings | None = None,
    *,
    begin: Plies = Plies.ALL,
    teacher: Network | None = None,
    seed: int = 0,
    part_positions: int = PART_POSITIONS,
    listener: Listener = SILENT,
) -> Leaves:
    """Play games with short searches and write the positions that the network evaluates, each once.

        collect_leaves("leaves", Network("<sparse>"), 1_000_000, ["games.hcpe3"], teacher=Network("<5x64>"))
        collect_leaves("leaves", Network("small.onnx"), 1_000_000, teacher=Network("large.onnx"))
        collect_leaves("nodes", Network("<sparse>"), 1_000_000, settings=LeafSettings(nodes=4000, searched=64))

    With ``searched`` it writes the positions of the search trees that have so many visits: with the shares of the
    visits as the policy and the mean value of the search, without those that are proven won or lost, or whose value
    comes from a repetition. A position that several searches of a game visited has the labels of the last.

    Each becomes a game of one move, the best one, without a result: the policy as visits that add up to about 65535,
    without moves that have less than 1/512 of it, and the value as an evaluation. Train on them with val_lambda 1.

    The same call goes on after a kill, Ctrl-C or an error, and with more positions after the end. What is lost then are
    the games in play and the leaves that wait for a full part; Ctrl-C and SIGTERM write these.

    Args:
        out: Folder of the parts; it is made.
        network: It plays.
        positions: Positions to have in the folder; there are at least so many, and at most those of one game more.
        starts: Where games begin: files of any format that `label_positions` takes, all of one format. Each game draws
            one position. Without any, games begin at the start position.
        settings: How games are played on.
        begin: Where games of records and hcpe3 are entered: before all moves, before those with a score or visits, or
            after the last one (`Plies`).
        teacher: A network whose policies and values become the labels, in place of those of the network that
            searches. Not with ``settings.searched``.
        seed: Random seed; the same seed, network, settings and starts give the same positions in the same order, with
            networks whose answers do not depend on what else is in a batch (those of our own code).
        part_positions: Positions of a file.
        listener: Hears of the progress.

    Raises:
        LeafError: A number is out of range, a teacher would label searched positions, no game can begin, or the
            folder has another run.
        ValueError: A file of starts, or a part, is damaged.
        EvaluatorError: A network failed.
        LockedError: Another process works in the folder.
        DiskError: There is too little room.
        KeyboardInterrupt: Ctrl-C came twice.
        OSError: A file cannot be read or written.
    """
    settings = settings or LeafSettings()
    for name, number, least in (("positions", positions, 1), ("part_positions", part_positions, 1), ("seed", seed, 0)):
        if not least <= number < 2**63:
            raise LeafError(f"{name} is {number}; it must be from {least} to {2**63 - 1}")
    if settings.searched and teacher is not None:
        raise LeafError(
            f"searched positions (with {settings.searched} visits or more) have the labels of their search: give "
            "either searched or a teacher"
        )
    with StopRequest() as stop:
        openings = Openings([_read_starts(starts, begin, seed, listener)] if starts else [])
        description = {
            "network": network.identity,
            "teacher": None if teacher is None else teacher.identity,
            "seed": seed,
            "starts": openings.settings,
            **settings.model_dump(),
        }
        with LeafFolder(Path(out), description) as folder:
            run = _Run(folder, network, teacher, openings, settings, seed, positions, part_positions, listener)
            try:
                return run.play(stop)
            finally:
                run.close()


def _games_at_once(network: Network) -> int:
    """Number of games that keep its batches full; more would only be begun earlier."""
    rows = sum(evaluator.slots * evaluator.batch_size for evaluator in network.evaluators)
    return max(slots_of(network), BATCHES_A_SLOT * rows // LEAVES_AT_ONCE)


def _read_starts(files: Sequence[Path | str], begin: Plies, seed: int, listener: Listener) -> OpeningSet:
    """The different positions of some files where games can begin.

    Raises:
        LeafError: There are none.
    """
    inputs, skipped = open_positions([Path(file) for file in files], begin), Skipped()
    kept = np.zeros((0, 32), np.uint8)
    waiting: list[NDArray[np.uint8]] = []
    read = size = 0

    def thin() -> NDArray[np.uint8]:
        positions = np.concatenate([kept, *waiting])
        keys, first = np.unique(_native.hash_keys(positions), return_index=True)
        if len(keys) > MOST_STARTS:
            first = first[np.argsort(keys ^ np.uint64(seed * _ODD % 2**64))[:MOST_STARTS]]
        return positions[np.sort(first)]

    for batch in read_batches(inputs, begin, skipped, check=True):
        waiting.append(np.ascontiguousarray(batch.games.hcps[batch.chosen]))
        read, size = read + len(batch), size + len(batch)
        if size >= MOST_STARTS:
            kept, waiting, size = thin(), [], 0
        listener.progress(READING, read, None)
    for problem in skipped.messages:
        listener.note(problem)
    starts = thin()
    if len(starts):
        is_mated = np.zeros(len(starts), np.bool_)
        is_mated[find_mates(starts)] = True
        starts = np.ascontiguousarray(starts[~is_mated])
    if len(starts) == 0:
        reason = f" ({skipped.messages[0]})" if skipped.messages else ""
        raise LeafError(f"{inputs.paths[0]}: there is no position where a game can begin{reason}")
    return OpeningSet("starts", starts)


_ODD = 0x9E3779B97F4A7C15


class _Run:
    """One call of `collect_leaves`."""

    def __init__(
        self,
        folder: LeafFolder,
        network: Network,
        teacher: Network | None,
        openings: Openings,
        settings: LeafSettings,
        seed: int,
        positions: int,
        part_positions: int,
        listener: Listener,
    ) -> None:
        self._folder, self._teacher, self._openings, self._seed = folder, teacher, openings, seed
        self._most_leaves, self._usual_leaves = settings.most_leaves, settings.usual_leaves
        self._positions, self._part_positions = positions, part_positions
        self._listener = listener
        self._began_s = time.monotonic()
        self._keys = self._known_positions()
        self._before = len(self._keys)
        parallel = _games_at_once(network)
        self._most_added = _GAMES_AHEAD * parallel
        cache_mb = min(1 + settings.most_leaves * _CACHE_BYTES_A_LEAF // 2**20, _MOST_CACHE_MB)
        self._pool = SelfplayPool(
            settings.params(seed), network.settings.search_params(), parallel, shares=slots_of(network),
            cache_mb=cache_mb,
        )  # fmt: skip
        self._threads = PoolThreads(self._pool, [network])
        self._added = self._next = folder.next_game
        self._over: dict[int, FinishedGame] = {}  # those that wait for an earlier one
        self._part: list[bytes] = []
        self._in_part = self._evaluated = self._futile = 0

    def _known_positions(self) -> KeySet:
        held = sum(path.stat().st_size for path in self._folder.parts)
        most = self._positions * BYTES_A_LEAF
        if most > held:
            Room(0, most - held, most - held).check(self._folder.path, self._folder.path, "ask for fewer positions")
        try:
            # A folder may have more than are asked for now: each takes 46 bytes or more.
            keys = KeySet(max(self._positions, held // 46) + self._most_leaves)
        except (MemoryError, ValueError) as error:
            raise LeafError(
                f"there is not enough memory to tell {self._positions:,} positions apart, 11 bytes each: ask for "
                "fewer, in several folders with different seeds"
            ) from error
        self._folder.add_to(keys)
        return keys

    def play(self, stop: StopRequest) -> Leaves:
        """Play the games that are missing."""
        self._report()
        if not self._has_enough:
            self._threads.start()
        while not self._has_enough and not stop.requested:
            self._top_up()
            for report in self._threads.reports(_WAIT_S):
                self._over |= {game.index: game for game in report if isinstance(game, FinishedGame)}
            while not self._has_enough and not stop.requested and self._next in self._over:
                self._take(self._over.pop(self._next))
        self._write()
        return Leaves(
            positions=len(self._keys),
            new=len(self._keys) - self._before,
            evaluated=self._evaluated,
            games=self._folder.next_game,
            parts=tuple(self._folder.parts),
            finished=self._has_enough,
            seconds=time.monotonic() - self._began_s,
            stopped_by=stop.signal,
        )

    def close(self) -> None:
        """End the threads; games in play are lost."""
        self._threads.close()

    @property
    def _has_enough(self) -> bool:
        return len(self._keys) >= self._positions

    def _top_up(self) -> None:
        """Queue games: some more than are played at once, but no more than will be needed."""
        needed = -(-(self._positions - len(self._keys)) // self._usual_leaves)
        while self._added - self._next < min(self._most_added, needed):
            self._pool.add(self._added, self._openings.draw(self._seed, self._added))
            self._added += 1

    def _take(self, game: FinishedGame) -> None:
        """Add the leaves of the next game to the part."""
        before = len(self._keys)
        leaves, count = self._keys.add_new(game.kept)
        self._evaluated += game.evaluations
        if self._teacher is not None and count:
            leaves = _taught(leaves, self._teacher)
        self._part.append(leaves)
        self._next += 1
        self._in_part += count
        self._futile = 0 if count else self._futile + 1
        if self._in_part >= self._part_positions:
            self._write()
        self._report()
        if self._futile >= FUTILE_GAMES:
            self._write()
            raise LeafError(
                f"the last {self._futile} games had no position that is not among the {before:,} in the folder: give "
                "more starts, plies or nodes, or a higher temperature"
            )

    def _write(self) -> None:
        if self._next > self._folder.next_game and self._in_part:
            self._folder.write(self._next, b"".join(self._part))
        self._part, self._in_part = [], 0

    def _report(self) -> None:
        self._listener.progress(LEAVES, len(self._keys), self._positions)


def _taught(leaves: bytes, teacher: Network) -> bytes:
    """The same positions with what another network says of them."""
    games = _native.decode_hcpe3(np.frombuffer(leaves, np.uint8), True)
    hcps, size = games.starts, rows_at_once(teacher.evaluator)
    parts = (hcps[begin : begin + size] for begin in range(0, len(hcps), size))
    labels = [labels_of_evaluation(each, None, LEAST_SHARE) for each in evaluate_packed(teacher.evaluator, parts)]
    counts = np.concatenate([each.counts for each in labels])
    return _native.encode_hcpe3(
        hcps, games.results, games.opponents, games.plies, _joined(labels, "moves"), _joined(labels, "evals"),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64), _joined(labels, "candidate_moves"),
        _joined(labels, "candidate_visits"),
    )  # fmt: skip


def _joined(labels: Sequence[Any], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(each, name) for each in labels])
