"""The folder of an analysis: the page, the graph, the record with scores in its comments, and the document."""

import copy
from pathlib import Path

from fukayomi.engine.analysis import GameAnalysis, MoveAnalysis
from fukayomi.engine.report.document import DOCUMENT, document_text
from fukayomi.engine.report.graph import graph_png, graph_svg
from fukayomi.engine.report.page import analysis_page
from fukayomi.engine.report.words import evaluation
from fukayomi.files.atomic import replace_file
from fukayomi.shogi.formats import write_kif
from fukayomi.shogi.record import Record, Result, Termination

_KIF_MARKS = str.maketrans("☗☖", "▲△")
"""Programs expect these marks in records."""


def write_report(analysis: GameAnalysis, folder: Path, *, png: bool = False) -> list[Path]:
    """Write ``analysis.html``, ``analysis.svg``, ``analysis.kifu``, if asked for ``analysis.png``, and the document.

    The document comes last: where it has the whole analysis, the other files have it too.

    Returns:
        The paths, the page first.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    contents: dict[str, bytes] = {
        "analysis.html": analysis_page(analysis).encode(),
        "analysis.svg": graph_svg(analysis, "analysis.html").encode(),
        "analysis.kifu": _kif(annotated(analysis)).encode(),
    }
    if png:
        contents["analysis.png"] = graph_png(analysis)
    contents[DOCUMENT] = document_text(analysis).encode()
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for name, content in contents.items():
        paths.append(folder / name)
        replace_file(paths[-1], content)
    return paths


def annotated(analysis: GameAnalysis) -> Record:
    """A copy of the record with scores and lines in its comments, in the form that ShogiHome uses for its analyses."""
    copied = copy.deepcopy(analysis.record)
    copied.black_name, copied.white_name, copied.event = analysis.black, analysis.white, analysis.event
    for move in analysis.moves:
        played = copied.moves[move.ply - 1]
        played.comment = "\n".join(filter(None, (played.comment, *_notes(move))))
        played.score_cp, played.mate, played.pv = move.after.score.cp, None, ""
    return copied


def _kif(record: Record) -> str:
    """The record as KIF, without its ending if KIF cannot express it."""
    try:
        return write_kif(record)
    except ValueError:
        record.termination, record.result = Termination.NONE, Result.UNKNOWN
        return write_kif(record)


def _notes(move: MoveAnalysis) -> list[str]:
    notes: list[str] = []
    if move.mistake is not None:
        before, after = (100 * score.winrate_of(move.color) for score in (move.before.score, move.after.score))
        notes.append(f"【{move.mistake.japanese}】勝率 {before:.0f} → {after:.0f} %、最善は{move.best.japanese[0]}")
        notes.append(f"最善の読み筋 {''.join(move.best.japanese)}（{evaluation(move.before.score)}）")
    notes.append(f"#評価値={move.after.score.cp}")
    if move.after.lines:
        notes.append(f"#読み筋={''.join(move.after.lines[0].japanese)}")
    return [note.translate(_KIF_MARKS) for note in notes]
