"""``fukayomi data fix-eval``: rescale the evaluations of files to dlshogi's scale."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import EVAL_SCALE
from fukayomi.data.convert.blocks import Content, Inputs, VerbError, rows_of
from fukayomi.data.formats.evaluations import EvalTally, calibrate, rescale_evals
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.table import refusal
from fukayomi.data.jobs.job import Files, Job, Summary, opened
from fukayomi.data.verbs.job import finish, room_for_copy, stream_blocks, verb_job
from fukayomi.listener import SILENT, Listener


def fix_eval(inputs: Files, out: Path | str, *, scale: float | None = None, listener: Listener = SILENT) -> Summary:
    """Write the inputs with evaluations on dlshogi's scale, where they mean the same win rates as on their own.

    The summary's `found` has the scale, the number of evaluations it was fitted to, and the mean error of the win
    rates that the evaluations stand for, before and after. After a kill the same call resumes the work and writes the
    same bytes.

        fix_eval("engine.hcpe", "fixed.hcpe").found["scale"]

    Args:
        inputs: hcpe, hcpe3 or psv files, all of one format.
        out: The file to write.
        scale: Scale of the inputs in centipawns; None: fitted to the results of all inputs together.
        listener: Hears of the progress.

    Raises:
        VerbError: The files have no evaluations, or no scale can be fitted.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    if inputs.kind not in (DataFormat.HCPE, DataFormat.HCPE3, DataFormat.PSV):
        raise VerbError(refusal(inputs.paths[0], inputs.kind, "hcpe, hcpe2, hcpe3 and psv"))
    if scale is not None and not 0 < scale < float("inf"):
        raise VerbError(f"the scale must be above 0, not {scale}")
    room = room_for_copy(inputs, [out])
    with verb_job("fix-eval", inputs, [out], {"scale": scale}, listener=listener, room=room) as job:
        if not job.found:
            job.found |= _measure(job, inputs, scale)
        for block in stream_blocks(job, inputs, "rescaling"):
            data = _rescaled(block.content, job.found["scale"])
            job.outputs[0].append(data.write() if isinstance(data, Games) else data.tobytes(), len(block))
        return finish(job)


def _measure(job: Job, inputs: Inputs, scale: float | None) -> dict[str, float]:
    tally = EvalTally()
    for evaluation, count, half_points in job.memory.get("tally", ()):
        tally.counts[evaluation], tally.half_points[evaluation] = count, half_points

    def remember() -> None:
        seen = np.flatnonzero(tally.counts)
        job.memory["tally"] = np.stack([seen, tally.counts[seen], tally.half_points[seen]], axis=1).tolist()

    for block in stream_blocks(job, inputs, "fitting", remember):
        tally.add(rows_of(block))
    fitted = scale or tally.fit()
    if fitted is None:
        raise VerbError("no scale fits these evaluations and results; give the scale of the inputs")
    job.memory.pop("tally", None)
    before = calibrate(tally)
    return {
        "scale": fitted, "target_scale": round(EVAL_SCALE, 4), "evals": int(tally.counts.sum()),
        "error_before": round(before.error(EVAL_SCALE), 6), "error_after": round(before.error(fitted), 6),
    }  # fmt: skip


def _rescaled(content: Content, scale: float) -> NDArray[np.void] | Games:
    """A block with evaluations on dlshogi's scale, from those on `scale` (centipawns)."""
    if isinstance(content, Games):
        return replace(content, evals=rescale_evals(content.evals, scale))
    assert not isinstance(content, list)
    rows = content.copy()
    name = "score" if rows.dtype == PSV else "eval"
    rows[name] = rescale_evals(np.ascontiguousarray(rows[name]), scale)
    return rows
