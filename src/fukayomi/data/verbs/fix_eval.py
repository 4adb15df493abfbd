"""``fukayomi data fix-eval``: bring the evaluations of files to dlshogi's scale."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import Block, Content, Inputs, VerbError, rows_of
from fukayomi.data.convert.detect import DataFormat
from fukayomi.data.convert.refusals import refusal
from fukayomi.data.formats.calibration import calibrate
from fukayomi.data.formats.evalfix import EVAL_SCALE, EvalTally, rescale_evals
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.psv import PSV
from fukayomi.data.jobs.work import Listener, Summary, Work, room_for_copy, silent


def fix_eval(inputs: Inputs, out: Path, scale: float | None = None, listener: Listener = silent) -> Summary:
    """Write the inputs with other evaluations: those that mean on dlshogi's scale what they mean on theirs.

    The summary's `found` has the scale, how many evaluations it was fitted to, and the mean error of the win rates that
    the evaluations stand for, before and after.

    Args:
        inputs: hcpe, hcpe3 or psv.
        out: The file to write.
        scale: The scale of the inputs in centipawns; fitted to the results of all together where it is None.
        listener: Told of the progress.

    Raises:
        VerbError: The files have no evaluations, or no scale can be fitted to them.
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    if inputs.kind not in (DataFormat.HCPE, DataFormat.HCPE3, DataFormat.PSV):
        raise VerbError(refusal(inputs.paths[0], inputs.kind, "hcpe, hcpe2, hcpe3 and psv"))
    if scale is not None and not 0 < scale < float("inf"):
        raise VerbError(f"a scale is above 0, and {scale} is not")
    with Work("fix-eval", inputs, [out], {"scale": scale}, listener, room=room_for_copy(inputs, [out])) as work:
        found = work.memory.get("found") or _measure(work, scale)
        work.memory["found"] = found

        def rescale(block: Block) -> None:
            data = rescaled(block.content, found["scale"])
            work.outputs[0].append(data.write() if isinstance(data, Games) else data.tobytes(), len(block))

        work.stream("rescaling", rescale)
        return work.finish()


def _measure(work: Work, scale: float | None) -> dict[str, float]:
    tally = EvalTally()
    for evaluation, count, half_points in work.memory.get("tally", ()):
        tally.counts[evaluation], tally.half_points[evaluation] = count, half_points

    def remember() -> None:
        seen = np.flatnonzero(tally.counts)
        work.memory["tally"] = np.stack([seen, tally.counts[seen], tally.half_points[seen]], axis=1).tolist()

    work.stream("fitting", lambda block: tally.add(rows_of(block)), remember)
    fitted = scale or tally.fit()
    if fitted is None:
        raise VerbError("no scale fits these evaluations and results; give one with --scale")
    work.memory.pop("tally", None)
    before = calibrate(tally)
    return {
        "scale": fitted, "target_scale": round(EVAL_SCALE, 4), "evals": int(tally.counts.sum()),
        "error_before": round(before.error(EVAL_SCALE), 6), "error_after": round(before.error(fitted), 6),
    }  # fmt: skip


def rescaled(content: Content, scale: float) -> NDArray[np.void] | Games:
    """A block with evaluations on dlshogi's scale.

    Args:
        content: Games, or rows with evaluations.
        scale: Its own, in centipawns.
    """
    if isinstance(content, Games):
        return replace(content, evals=rescale_evals(content.evals, scale))
    assert not isinstance(content, list)
    rows = content.copy()
    name = "score" if rows.dtype == PSV else "eval"
    rows[name] = rescale_evals(np.ascontiguousarray(rows[name]), scale)
    return rows
