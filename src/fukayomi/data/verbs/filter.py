"""``fukayomi data filter``: keep what meets all conditions."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import Block, Inputs, VerbError, select_games, select_moves
from fukayomi.data.convert.detect import DataFormat
from fukayomi.data.convert.refusals import refusal
from fukayomi.data.formats.hcp import white_to_move
from fukayomi.data.formats.hcpe import MATE_EVAL, RESULT_BITS
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.psv import PSV
from fukayomi.data.jobs.work import Listener, Summary, Work, silent
from fukayomi.shogi.record import Record, Result


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is kept; None and an empty tuple ask for nothing."""

    results: tuple[Result, ...] = ()
    """Games with one of these results."""
    min_eval: int | None = None
    """Positions whose evaluation is so far from zero at least; centipawns."""
    max_eval: int | None = None
    """Positions whose evaluation is so far from zero at most."""
    mates: bool = True
    """Whether positions that are evaluated as a mate are kept."""
    min_ply: int | None = None
    """Positions from this move of the game on; the first is 1."""
    max_ply: int | None = None
    """Positions up to this move."""
    min_plies: int | None = None
    """Games of so many moves at least."""
    opponents: tuple[int, ...] = ()
    """Games of hcpe3 with one of these opponents: 0 itself, 1 Black, 2 White was another program."""
    min_rating: float | None = None
    """Records whose players are both rated so at least."""

    def asked(self) -> set[str]:
        """The names of the conditions that are no default."""
        return {name for name, value in asdict(self).items() if value != getattr(_NOTHING, name)}

    @property
    def judges_positions(self) -> bool:
        """Whether single positions are dropped."""
        return bool(self.asked() & {"min_eval", "max_eval", "mates", "min_ply", "max_ply"})


_NOTHING = Conditions()


def filter_data(inputs: Inputs, out: Path, conditions: Conditions, listener: Listener = silent) -> Summary:
    """Write the items that meet all conditions.

    A game cannot lose moves: those that do not meet the conditions lose their candidates, so that nothing is learnt
    from them, and a game whose last candidate is lost is dropped.

    Raises:
        VerbError: The files cannot tell what is asked for.
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    _check(inputs, conditions)
    options = asdict(conditions) | {
        "results": [int(result) for result in conditions.results], "opponents": list(conditions.opponents),
    }  # fmt: skip
    with Work("filter", inputs, [out], options, listener) as work:

        def keep(block: Block) -> None:
            content = block.content
            if isinstance(content, Games):
                kept = filter_games(content, conditions)
                work.outputs[0].append(kept.write() if len(kept) else b"", len(kept))
                return
            good = _good_records(content, conditions) if isinstance(content, list) else _good_rows(content, conditions)
            work.outputs[0].append(block.take(good), int(good.sum()))

        work.stream("filtering", keep)
        return work.finish()


def filter_games(games: Games, conditions: Conditions) -> Games:
    """The games that meet the conditions, without the candidates of moves that do not."""
    good = _is_in(games.results & RESULT_BITS, conditions.results) & _is_in(games.opponents, conditions.opponents)
    if conditions.min_plies is not None:
        good &= np.diff(games.plies.astype(np.int64)) >= conditions.min_plies
    if conditions.judges_positions:
        moves = _good_evals(games.evals, conditions) & _good_plies(games.ply_in_game() + 1, conditions)
        games = select_moves(games, moves)
        left = np.bincount(games.game_of_ply()[games.candidate_counts() > 0], minlength=len(games))
        good &= left > 0
    return select_games(games, good)


def _good_rows(rows: NDArray[np.void], conditions: Conditions) -> NDArray[np.bool_]:
    if rows.dtype == PSV:
        results = _results_of_psv(rows) if conditions.results else rows["game_result"].astype(np.uint8)
        good = _good_plies(rows["gamePly"].astype(np.int64), conditions) & _good_evals(rows["score"], conditions)
    else:
        results = rows["gameResult"] & RESULT_BITS
        good = _good_evals(rows["eval"], conditions)
    return good & _is_in(results, conditions.results)


def _results_of_psv(rows: NDArray[np.void]) -> NDArray[np.uint8]:
    # The side to move is the first bit of a packed sfen as of an hcp.
    black_won = (rows["game_result"] == 1) != white_to_move(rows["sfen"])
    return np.where(rows["game_result"] == 0, 0, np.where(black_won, 1, 2)).astype(np.uint8)


def _good_records(records: list[Record], conditions: Conditions) -> NDArray[np.bool_]:
    return np.array([_is_good(record, conditions) for record in records], np.bool_)


def _is_good(record: Record, conditions: Conditions) -> bool:
    if conditions.results and record.result not in conditions.results:
        return False
    if conditions.min_plies is not None and len(record) < conditions.min_plies:
        return False
    ratings = (record.black_rating, record.white_rating)
    least = conditions.min_rating
    return least is None or all(rating is not None and rating >= least for rating in ratings)


def _good_evals(evals: NDArray[np.int16], conditions: Conditions) -> NDArray[np.bool_]:
    sizes = np.abs(evals.astype(np.int32))
    good = np.ones(len(evals), np.bool_)
    if conditions.min_eval is not None:
        good &= sizes >= conditions.min_eval
    if conditions.max_eval is not None:
        good &= sizes <= conditions.max_eval
    return good if conditions.mates else good & (sizes < MATE_EVAL)


def _good_plies(plies: NDArray[np.int64], conditions: Conditions) -> NDArray[np.bool_]:
    good = np.ones(len(plies), np.bool_)
    if conditions.min_ply is not None:
        good &= plies >= conditions.min_ply
    return good if conditions.max_ply is None else good & (plies <= conditions.max_ply)


def _is_in(values: NDArray[np.integer], wanted: Collection[int]) -> NDArray[np.bool_]:
    return np.isin(values, list(wanted)) if wanted else np.ones(len(values), np.bool_)


def _check(inputs: Inputs, conditions: Conditions) -> None:
    asked = conditions.asked()
    if not asked:
        raise VerbError("no condition is given: everything would stay")
    allowed = {
        DataFormat.HCPE: {"results", "min_eval", "max_eval", "mates"},
        DataFormat.PSV: {"results", "min_eval", "max_eval", "mates", "min_ply", "max_ply"},
        DataFormat.HCPE3: set(asdict(_NOTHING)) - {"min_rating"},
        DataFormat.RECORDS: {"results", "min_plies", "min_rating"},
    }
    if inputs.kind not in allowed:
        raise VerbError(refusal(inputs.paths[0], inputs.kind, "hcpe, hcpe2, psv, hcpe3 and records"))
    if refused := sorted(asked - allowed[inputs.kind]):
        names = ", ".join("--" + name.replace("_", "-") for name in refused)
        raise VerbError(f"{inputs.kind} files do not tell what {names} asks for; convert them to a format that does")
