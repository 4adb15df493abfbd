"""`label_positions`: positions of files, searched and written as hcpe3, as a resumable job.

The job has three stages. "reading" counts and checks the positions, so that damage and the total are known before the
first search. "labelling" searches them and appends each label to a file of the job, in the order of the input; its
place is the number of labels. "writing" reads the positions again and puts the labels beside them.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fukayomi.data.convert.blocks import Inputs, VerbError
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.jobs.job import Files, Job, Summary
from fukayomi.data.records.reading import Skipped
from fukayomi.data.verbs import finish
from fukayomi.engine.network import Network
from fukayomi.learning.labelling.inputs import open_positions, read_batches
from fukayomi.learning.labelling.labellers import Labeller, NetworkLabeller, UsiLabeller, label_in_order
from fukayomi.learning.labelling.labels import Label, read_labels
from fukayomi.learning.labelling.settings import WORKERS, LabelError, LabelSettings, Plies
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Position
from fukayomi.usi.engine import UsiEngine

FAILURES_IN_A_ROW = 8
"""Positions in a row that an engine fails to label before the work stops."""
READING, LABELLING, WRITING = "reading", "labelling", "writing"


def label_positions(
    files: Files,
    out: Path | str,
    engine: UsiEngine | Network,
    settings: LabelSettings,
    *,
    workers: int | None = None,
    again: bool = False,
    listener: Listener = SILENT,
) -> Summary:
    """Search positions and write them as hcpe3: evaluation, best move, and soft policy of each.

    Games (records, hcpe3) stay whole: their moves and results are kept, and the labels replace evaluations and
    candidates; a move whose position gets no label is left without candidates. Any other position becomes a game of one
    move, the best one, with the result that its row has. Positions without a known result count as draws; train on them
    with val_lambda 1.

    The order is that of the input, whatever the number of workers. After a kill, Ctrl-C or an error the same call
    resumes the work; at most the positions in flight are searched again, four for each worker.

        label_positions("games.hcpe3", "labels.hcpe3", UsiEngine("YaneuraOu"), LabelSettings(nodes=1000), workers=2)
        label_positions("games.hcpe3", "labels.hcpe3", Network("<5x64>"), LabelSettings(nodes=800))

    Args:
        files: hcp, SFEN lines, hcpe, hcpe2, psv, plain, avg, hcpe3 or records, all of one format.
        out: The hcpe3 file to write.
        engine: A `UsiEngine`, whose command, options and directory are used in new processes; or a network, which our
            own search asks.
        settings: How to search, and what is labelled.
        workers: Positions at once: processes of a USI engine, 1 if None; trees that share the batches of a network, as
            many as fill them if None.
        again: Label again what is finished, and replace the output.
        listener: Hears of the progress, and of positions that get no label.

    Returns:
        What was read and written; `found` has the number of labels, of positions without one (``unlabelled``), and of
        positions without a known result (``without_result``).

    Raises:
        LabelError: The engine cannot be used, or fails again and again; or the output is finished.
        ValueError: An input is damaged, or the work is that of another call.
        EvaluatorError: The network failed.
        OSError: A file cannot be read or written.
    """
    if workers is not None and workers < 1:
        raise LabelError(f"workers must be 1 or more, not {workers}")
    inputs = open_positions(files, settings.plies)
    replace(inputs, kind=DataFormat.HCPE3, as_rows=False).check_target(Path(out))
    options = {"format": str(inputs.kind), "engine": _description(engine), **settings.model_dump(mode="json")}
    job = Job("label", inputs.paths, [Path(out)], options, spools=["labels"], listener=listener)
    if job.outs[0].exists() and not job.is_begun and not again:
        raise LabelError(
            f"{out} is finished: it exists, and no work on it is left to resume. Label again with --again (in Python, "
            "again=True), or give the output another name"
        )
    with ExitStack() as stack:
        labellers = open_labellers(engine, settings, workers, stack)  # first: an engine that fails begins no job
        stack.enter_context(job)
        _count(job, inputs, settings.plies)
        run_searches(job, partial(_positions, inputs, settings.plies), job.read, labellers)
        _write(job, inputs, settings.plies)
        return finish(job)


def _description(engine: UsiEngine | Network) -> dict[str, Any]:
    """Description of what the labels depend on, for the job: another engine is another job."""
    if isinstance(engine, Network):
        return {"network": engine.identity}
    directory = None if engine.directory is None else str(engine.directory.absolute())
    return {"command": list(engine.command), "options": engine.options, "directory": directory}


def _count(job: Job, inputs: Inputs, plies: Plies) -> None:
    """Read and check everything once."""
    if job.is_done(READING):
        return
    job.skipped, positions, without_result = Skipped(), 0, 0
    for batch in read_batches(inputs, plies, job.skipped, check=True):
        positions += len(batch)
        without_result += batch.without_result
        job.listener.progress(READING, positions, None)
    if positions == 0:
        raise VerbError(_nothing(inputs, job.skipped, plies))
    job.read = positions
    job.found = {"labels": 0, "unlabelled": 0, "without_result": without_result}
    job.reached(READING, None, done=True)


def _nothing(inputs: Inputs, skipped: Skipped, plies: Plies) -> str:
    problem = f" ({skipped.messages[0]})" if skipped.messages else ""
    remedy = ""
    if plies is Plies.SEARCHED and inputs.kind in (DataFormat.RECORDS, DataFormat.HCPE3):
        remedy = ": no move has a score or visits; label all moves (plies all)"
    return f"{inputs.paths[0]}: there is no position to label{problem}{remedy}"


def open_labellers(
    engine: UsiEngine | Network, settings: LabelSettings, workers: int | None, stack: ExitStack
) -> list[Labeller]:
    """The labellers, which the stack closes; the first USI engine is started, to see whether it works."""
    labellers: list[Labeller] = []
    if isinstance(engine, Network):
        if settings.byoyomi_ms is not None:
            raise LabelError("byoyomi is for USI engines: give a network nodes or time")
        count = workers or engine.pool.searches_at_once
        for _ in range(count):
            labellers.append(NetworkLabeller(engine, settings, count))
            stack.callback(labellers[-1].close)
        return labellers
    for number in range(workers or WORKERS):
        labeller = UsiLabeller(engine, settings)
        stack.callback(labeller.close)
        if number == 0:
            labeller.start()
        labellers.append(labeller)
    return labellers


def run_searches(
    job: Job, positions: Callable[[int], Iterator[Position]], total: int, labellers: list[Labeller]
) -> None:
    """The stage LABELLING: search the positions that have no label yet, and append their labels to the first spool.

    Args:
        job: Counts in `found`: "labels", and "unlabelled".
        positions: The positions from a number on.
        total: How many there are in all.
        labellers: They search; if this ends early, they are stopped.
    """
    if job.is_done(LABELLING):
        return
    done: int = job.place(LABELLING) or 0
    failed: list[Label] = []  # kept back until another position has a label: the engine may be broken
    notes: set[str] = set()

    def keep(labels: list[Label]) -> int:
        for label in labels:
            job.spools[0].append(label.to_bytes(), 1)
            job.found["labels" if label.best is not None else "unlabelled"] += 1
        return len(labels)

    def tell(label: Label) -> None:
        for note in label.notes:
            if note not in notes:
                notes.add(note)
                job.listener.note(note)
        if label.problem:
            job.listener.note(f"no label for {label.problem}")

    found = label_in_order(labellers, positions(done))
    try:
        job.listener.progress(LABELLING, done, total)
        for ready in found:
            for label in ready:
                tell(label)
                failed.append(label)
                if not label.problem:
                    done += keep(failed)
                    failed = []
            job.reached(LABELLING, done, now=True)
            job.listener.progress(LABELLING, done, total)
            if len(failed) >= FAILURES_IN_A_ROW:
                last = failed[-1].problem
                raise LabelError(
                    f"the engine failed {len(failed)} times in a row, the last time at {last}\n"
                    f"{done} labels are kept; run the same again to resume"
                )
        done += keep(failed)
    finally:
        found.close()  # stops the searches
    job.reached(LABELLING, done, done=True)


def _positions(inputs: Inputs, plies: Plies, begin: int) -> Iterator[Position]:
    """The positions from number `begin` on."""
    for batch in read_batches(inputs, plies, Skipped()):
        yield from batch.positions(begin)
        begin = max(0, begin - len(batch))


def _write(job: Job, inputs: Inputs, plies: Plies) -> None:
    """Write the games with the labels; a kill makes it begin again."""
    if job.is_done(WRITING):
        return
    written = 0
    with job.spools[0].path.open("rb") as labels:
        for batch in read_batches(inputs, plies, Skipped()):
            games = batch.labelled(read_labels(labels, len(batch)))
            job.outputs[0].append(games.write() if len(games) else b"", len(games))
            written += len(batch)
            job.listener.progress(WRITING, written, job.read)
    job.reached(WRITING, None, done=True)
