"""The positions to label, from files of any format, and the games that they become.

Games (records, hcpe3) stay whole: their moves, results and opponents are kept, and the labels replace evaluations and
candidates. Everything else (rows, averages, positions alone) becomes games of one move each, the best one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.convert.blocks import Block, Inputs, read_blocks
from fukayomi.data.formats.games import PlayedGame, Targets, make_games, read_played, useful_ending
from fukayomi.data.formats.hcp import HCP, white_to_move
from fukayomi.data.formats.hcpe import Rows, without_flags
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.table import as_rows, games_of_rows
from fukayomi.data.jobs.job import Files, opened
from fukayomi.data.records.reading import Dropped, Skipped
from fukayomi.learning.labelling.labels import LabelColumns
from fukayomi.learning.labelling.settings import LabelError, Plies
from fukayomi.shogi import Move, Position, ShogiError
from fukayomi.shogi.record import Record, Result, Termination

TAKEN = (
    DataFormat.HCP, DataFormat.SFEN, DataFormat.HCPE, DataFormat.PSV, DataFormat.PLAIN, DataFormat.AVERAGES,
    DataFormat.HCPE3, DataFormat.RECORDS,
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some of the positions."""

    games: Games
    """Games with P moves; of single positions the moves are still missing."""
    chosen: NDArray[np.bool_]
    """True where the position before the move is labelled: bool [P]."""
    is_whole: bool
    """True if the games keep their moves."""
    pasts: tuple[Position, ...] = ()
    """The single positions with the moves that led to them, where these are known."""
    without_result: int = 0
    """Positions whose results are not known; they count as draws."""

    def __len__(self) -> int:
        """Number of positions to label."""
        return int(self.chosen.sum())

    def positions(self, begin: int = 0) -> Iterator[Position]:
        """The positions to label, with the moves that led to them, from number `begin` on."""
        if self.pasts:
            yield from self.pasts[begin:]
        elif not self.is_whole:
            yield from (_native.position_from_hcp(hcp.tobytes()) for hcp in self.games.hcps[begin:])
        else:
            plies = self.games.plies.astype(np.int64)
            done = np.concatenate([[0], np.cumsum(self.chosen)])[plies[1:]]
            for game in range(int(np.searchsorted(done, begin, side="right")), len(self.games)):
                before = int(done[game - 1]) if game else 0
                for number, position in enumerate(self._of_game(game)):
                    if before + number >= begin:
                        yield position

    def _of_game(self, index: int) -> Iterator[Position]:
        game = self.games[index]
        chosen = self.chosen[int(self.games.plies[index]) :]
        position = _native.position_from_hcp(game.start)
        for ply, raw in enumerate(game.moves.tolist()):
            if chosen[ply]:
                yield position.copy()
            position.push(Move.from_raw(raw))

    def labelled(self, labels: LabelColumns) -> Games:
        """The games with the labels of the chosen positions; what is left without any candidate is dropped.

        A best move that mates makes its side the winner: a game of one move ends there.
        """
        games = self.games
        counts = np.zeros(len(games.moves), np.int64)
        counts[self.chosen] = labels.counts
        evals, moves, results = games.evals.copy(), games.moves, games.results
        evals[self.chosen] = np.where(labels.counts > 0, labels.evals, evals[self.chosen])
        if not self.is_whole:
            moves, results = labels.moves, _with_mates(games, labels.moves)
        found = replace(
            games,
            results=results,
            moves=moves,
            evals=evals,
            candidates=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
            candidate_moves=labels.candidate_moves,
            candidate_visits=labels.candidate_visits,
        )
        return found.select(np.bincount(games.game_of_ply(), counts, len(games)) > 0)


def open_positions(files: Files, plies: Plies) -> Inputs:
    """Open the inputs.

    Raises:
        LabelError: `plies` needs records.
        ValueError: They have different formats, or one that holds no positions.
        OSError: A file cannot be read.
    """
    inputs = opened(files, TAKEN)
    if plies is Plies.LAST and inputs.kind is not DataFormat.RECORDS:
        raise LabelError(
            f"{inputs.paths[0]} holds {inputs.format.contents}; only records have a last position. Without --plies "
            "last each position is labelled"
        )
    return replace(inputs, as_rows=True) if inputs.kind is DataFormat.AVERAGES else inputs


def read_batches(inputs: Inputs, plies: Plies, skipped: Skipped, *, check: bool = False) -> Iterator[Batch]:
    """Read the positions of all inputs, in order.

    Args:
        inputs: The files.
        plies: Which positions of games are labelled.
        skipped: Receives the records that cannot be used.
        check: Check the positions of rows, which is necessary once.

    Raises:
        DataFileError: A file is damaged; the message says where.
        OSError: A file cannot be read.
    """
    for block in read_blocks(inputs, skipped=skipped):
        content = block.content
        if isinstance(content, Games):
            yield Batch(content, _chosen(content, plies), is_whole=True)
        elif isinstance(content, list):
            batch = _last_positions if plies is Plies.LAST else _played_games
            yield batch(content, plies, skipped)
        else:
            if check:
                _check(inputs, block, content)
            if content.dtype == HCP:
                yield _single(np.ascontiguousarray(content["hcp"]), np.zeros(len(content), np.uint8))
            else:
                rows = as_rows(content, moveless=True)
                games = games_of_rows(Rows(without_flags(rows.records), rows.plies))
                yield Batch(games, np.ones(len(games), np.bool_), is_whole=False)


def _check(inputs: Inputs, block: Block, rows: NDArray[np.void]) -> None:
    if inputs.rows is not None:
        inputs.rows.raise_first_fault(block.path, block.after.outer - len(block), inputs.rows.faults(rows))


def _single(hcps: NDArray[np.uint8], results: NDArray[np.uint8], pasts: tuple[Position, ...] = ()) -> Batch:
    """Positions (uint8 [N, 32]) as games of one move that is not known yet; without `pasts` no result is known."""
    count = len(hcps)
    nothing = np.zeros(count, np.uint16)
    games = Games(
        Path("positions"), 0, np.zeros(count, np.uint64), hcps, results, np.zeros(count, np.uint8),
        np.arange(count + 1, dtype=np.uint64), hcps, nothing, nothing.astype(np.int16),
        np.zeros(count + 1, np.uint64), nothing[:0], nothing[:0],
    )  # fmt: skip
    return Batch(games, np.ones(count, np.bool_), is_whole=False, pasts=pasts, without_result=count)


def _played_games(records: list[Record], plies: Plies, skipped: Skipped) -> Batch:
    """Whole games. Those that do not say how they ended count as draws."""
    found: list[PlayedGame] = []
    unknown: list[bool] = []
    for record in records:
        played = read_played(record, _UNFINISHED)
        if isinstance(played, Dropped):
            skipped.add(played)
        else:
            found.append(played)
            unknown.append(isinstance(useful_ending(record), Dropped))
    games = make_games(found, _UNFINISHED)
    chosen = _chosen(games, plies)
    without = np.count_nonzero(chosen & np.array(unknown, np.bool_)[games.game_of_ply()])
    return Batch(games, chosen, is_whole=True, without_result=int(without))


def _chosen(games: Games, plies: Plies) -> NDArray[np.bool_]:
    return np.ones(len(games.moves), np.bool_) if plies is Plies.ALL else games.candidate_counts() > 0


def _last_positions(records: list[Record], plies: Plies, skipped: Skipped) -> Batch:
    """The positions after the last moves, with the results of the records, if they are known."""
    del plies
    pasts: list[Position] = []
    hcps: list[bytes] = []
    results: list[int] = []
    unknown = 0
    for record in records:
        position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
        for played in record.moves:
            position.push(played.move)
        try:
            hcps.append(_native.encode_hcp(position))
        except ShogiError:
            skipped.add_problem(f"{record.name}: a king is missing")
            continue
        is_known = record.termination is not Termination.NONE and record.result is not Result.UNKNOWN
        unknown += not is_known
        results.append(int(record.result) if is_known else int(Result.DRAW))
        pasts.append(position)
    packed = np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32)
    return replace(_single(packed, np.array(results, np.uint8), tuple(pasts)), without_result=unknown)


def _with_mates(games: Games, moves: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """The results of games of one move (uint16 [N], 0: none), where those that mate win: uint8 [N]."""
    results = games.results.copy()
    real = np.flatnonzero(moves)
    endings = _native.judge_endings(games.starts[real], np.arange(len(real) + 1, dtype=np.uint64), moves[real])
    mates = real[[ending.is_mated for ending in endings]]
    winners = np.where(white_to_move(games.starts[mates]), int(Result.WHITE_WIN), int(Result.BLACK_WIN))
    results[mates] = winners
    return results


_UNFINISHED = Targets(unfinished_as_draws=True)
