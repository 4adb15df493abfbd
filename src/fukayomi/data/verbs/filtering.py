"""``fukayomi data filter``: keep the items that meet all conditions."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import MATE_CP
from fukayomi.data.conditions import FilterConditions
from fukayomi.data.convert.blocks import Inputs, VerbError
from fukayomi.data.formats.hcp import white_to_move
from fukayomi.data.formats.hcpe import RESULT_BITS
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.table import refusal
from fukayomi.data.jobs.inputs import Files, opened
from fukayomi.data.jobs.summary import Summary
from fukayomi.data.verbs.job import finish, stream_blocks, verb_job
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi.record import Record


def filter(inputs: Files, out: Path | str, conditions: FilterConditions, *, listener: Listener = SILENT) -> Summary:
    """Write the items that meet all conditions.

    A game cannot lose moves: moves that do not meet the conditions lose their candidates, so that they are not trained
    on, and a game without candidates is dropped. After a kill the same call resumes the work and writes the same
    bytes.

        filter("rows.hcpe", "calm.hcpe", FilterConditions(max_eval=3000, mates=False))

    Args:
        inputs: hcpe, psv, hcpe3 or records, all of one format.
        out: The file to write.
        conditions: What to keep.
        listener: Hears of the progress.

    Raises:
        VerbError: The files do not hold what a condition needs, or no condition is given.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    _check(inputs, conditions)
    with verb_job("filter", inputs, [out], conditions.model_dump(mode="json"), listener=listener) as job:
        for block in stream_blocks(job, inputs, "filtering"):
            content = block.content
            if isinstance(content, Games):
                kept = _filter_games(content, conditions)
                job.outputs[0].append(kept.write() if len(kept) else b"", len(kept))
            else:
                is_records = isinstance(content, list)
                good = _good_records(content, conditions) if is_records else _good_rows(content, conditions)
                job.outputs[0].append(block.take(good), int(good.sum()))
        return finish(job)


def _filter_games(games: Games, conditions: FilterConditions) -> Games:
    """The games that meet the conditions; moves that do not meet them lose their candidates."""
    good = _is_in(games.results & RESULT_BITS, conditions.results) & _is_in(games.opponents, conditions.opponents)
    if conditions.min_plies is not None:
        good &= np.diff(games.plies.astype(np.int64)) >= conditions.min_plies
    if conditions.drops_positions:
        moves = _good_evals(games.evals, conditions) & _good_plies(games.ply_in_game() + 1, conditions)
        games = games.with_candidates(moves)
        left = np.bincount(games.game_of_ply()[games.candidate_counts() > 0], minlength=len(games))
        good &= left > 0
    return games.select(good)


def _good_rows(rows: NDArray[np.void], conditions: FilterConditions) -> NDArray[np.bool_]:
    if rows.dtype == PSV:
        results = _results_of_psv(rows) if conditions.results else rows["game_result"].astype(np.uint8)
        good = _good_plies(rows["gamePly"].astype(np.int64), conditions) & _good_evals(rows["score"], conditions)
    else:
        results = rows["gameResult"] & RESULT_BITS
        good = _good_evals(rows["eval"], conditions)
    return good & _is_in(results, conditions.results)


def _results_of_psv(rows: NDArray[np.void]) -> NDArray[np.uint8]:
    # The first bit is the side to move, in a packed sfen as in an hcp.
    black_won = (rows["game_result"] == 1) != white_to_move(rows["sfen"])
    return np.where(rows["game_result"] == 0, 0, np.where(black_won, 1, 2)).astype(np.uint8)


def _good_records(records: list[Record], conditions: FilterConditions) -> NDArray[np.bool_]:
    return np.array([_is_good(record, conditions) for record in records], np.bool_)


def _is_good(record: Record, conditions: FilterConditions) -> bool:
    if conditions.results and record.result not in conditions.results:
        return False
    if conditions.min_plies is not None and len(record) < conditions.min_plies:
        return False
    ratings = (record.black_rating, record.white_rating)
    least = conditions.min_rating
    return least is None or all(rating is not None and rating >= least for rating in ratings)


def _good_evals(evals: NDArray[np.int16], conditions: FilterConditions) -> NDArray[np.bool_]:
    sizes = np.abs(evals.astype(np.int32))
    good = np.ones(len(evals), np.bool_)
    if conditions.min_eval is not None:
        good &= sizes >= conditions.min_eval
    if conditions.max_eval is not None:
        good &= sizes <= conditions.max_eval
    return good if conditions.mates else good & (sizes < MATE_CP)


def _good_plies(plies: NDArray[np.int64], conditions: FilterConditions) -> NDArray[np.bool_]:
    good = np.ones(len(plies), np.bool_)
    if conditions.min_ply is not None:
        good &= plies >= conditions.min_ply
    return good if conditions.max_ply is None else good & (plies <= conditions.max_ply)


def _is_in(values: NDArray[np.integer], wanted: Collection[int]) -> NDArray[np.bool_]:
    return np.isin(values, list(wanted)) if wanted else np.ones(len(values), np.bool_)


def _check(inputs: Inputs, conditions: FilterConditions) -> None:
    given = conditions.given()
    if not given:
        raise VerbError("give at least one condition, such as --max-eval 3000")
    allowed = {
        DataFormat.HCPE: {"results", "min_eval", "max_eval", "mates"},
        DataFormat.PSV: {"results", "min_eval", "max_eval", "mates", "min_ply", "max_ply"},
        DataFormat.HCPE3: set(FilterConditions.model_fields) - {"min_rating"},
        DataFormat.RECORDS: {"results", "min_plies", "min_rating"},
    }
    if inputs.kind not in allowed:
        raise VerbError(refusal(inputs.paths[0], inputs.kind, "hcpe, hcpe2, psv, hcpe3 and records"))
    if refused := sorted(given - allowed[inputs.kind]):
        raise VerbError(
            f"{inputs.kind} files do not hold what {', '.join(refused)} needs; use files of a format that does"
        )
