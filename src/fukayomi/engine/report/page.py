"""The web page of an analysis: one HTML document without external files, which any browser opens from disk."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from fukayomi.engine.analysis.game_analysis import (
    Candidate,
    GameAnalysis,
    Mistake,
    MoveAnalysis,
    Score,
    SearchLimits,
    SideSummary,
)
from fukayomi.engine.report.document import embedded
from fukayomi.engine.report.rendering import render
from fukayomi.engine.report.shapes import GraphShapes
from fukayomi.engine.report.words import Words, ending, evaluation, lost, search_limits, verdict
from fukayomi.shogi import BLACK, WHITE, Position
from fukayomi.shogi.formats.notation import english_moves, japanese_moves
from fukayomi.shogi.svg import piece_symbols

REPLAYED_PLIES = 10
"""Moves of a line that can be played through."""


def replay(analysis: GameAnalysis) -> list[dict[str, Any]]:
    """One entry for each ply of the record, analysed or not; 0 is the position before the first move.

    The script of the page reads them: the position, the move, its verdict and the candidates.

    A text is a string, or a list with its Japanese and its English form where these differ. The moves of a line and
    their names are separated by spaces.
    """
    record = analysis.record
    usis = record.usi_moves()
    names = zip(japanese_moves(record.initial_sfen, usis), english_moves(record.initial_sfen, usis), strict=True)
    names_of = [list(each) for each in names]
    positions = {position.ply: position for position in analysis.positions}
    moves = {move.ply: move for move in analysis.moves}
    entries: list[dict[str, Any]] = []
    for ply, sfen in enumerate(_sfens(analysis)):
        entry: dict[str, Any] = {"sfen": sfen}
        if ply:
            entry |= {"usi": usis[ply - 1], "name": names_of[ply - 1]}
        if ply in positions:
            entry |= _score(positions[ply].score) | {"lines": [_line(line, sfen) for line in positions[ply].lines]}
            if ply + 1 in moves and not any(line.usi[0] == usis[ply] for line in positions[ply].lines):
                entry["played"] = _line(_played(moves[ply + 1]), sfen)
        if ply in moves and moves[ply].mistake is not None:
            entry["verdict"] = _verdict(moves[ply])
        entries.append(entry)
    return entries


def marks_of(move: MoveAnalysis) -> list[Words]:
    """Further faults of a move: a missed mate, a mate allowed."""
    marks: list[Words] = []
    if move.has_missed_mate:
        marks.append(("詰み逃し", "missed mate"))
    if move.has_allowed_mate:
        marks.append(("頓死", "walks into mate"))
    return marks


def name_of(move: MoveAnalysis) -> Words:
    """A move that was played."""
    return move.japanese, english_moves(move.before.sfen, [move.usi])[0]


def best_of(move: MoveAnalysis) -> Words:
    """The move that was best."""
    return move.best.japanese[0], english_moves(move.before.sfen, move.best.usi[:1])[0]


def line_of(move: MoveAnalysis, first: int = 0) -> Words:
    """The best line from a move on; a word joiner keeps the line break from separating the parts of a move."""
    english = english_moves(move.before.sfen, move.best.usi[:LINE_PLIES])
    return (
        " ".join(name[0] + "\u2060" + name[1:] for name in move.best.japanese[first:LINE_PLIES]),
        " ".join(name.replace("-", "-\u2060") for name in english[first:]),
    )


def _sfens(analysis: GameAnalysis) -> list[str]:
    """Board, side to move and hands of each ply."""
    position = Position.from_sfen(analysis.record.initial_sfen, allow_missing_king=True)
    sfens = [position.sfen()]
    for played in analysis.record.moves:
        position.push(played.move)
        sfens.append(position.sfen())
    return [" ".join(sfen.split()[:3]) for sfen in sfens]


def _line(line: Candidate, sfen: str) -> dict[str, Any]:
    usi = line.usi[:REPLAYED_PLIES]
    return _score(line.score) | {
        "visits": line.visits,
        "usi": " ".join(usi),
        "names": [" ".join(line.japanese[:REPLAYED_PLIES]), " ".join(english_moves(sfen, usi))],
    }


def _played(move: MoveAnalysis) -> Candidate:
    """The move of the game as a candidate: its score as it was judged, and the line of whichever search has one."""
    found = move.before.played
    if found is not None and found.score == move.reached:
        return found
    reply = move.after.lines[0] if move.after.lines else None
    usi, japanese = (reply.usi, reply.japanese) if reply else ((), ())
    return Candidate(move.reached, (move.usi, *usi), (move.japanese, *japanese))


def _score(score: Score) -> dict[str, Any]:
    japanese, english = evaluation(score, "ja"), evaluation(score, "en")
    return {
        "winrate": round(100 * score.winrate, 1),
        "evaluation": japanese if japanese == english else [japanese, english],
    }


def _verdict(move: MoveAnalysis) -> dict[str, Any]:
    assert isinstance(move.mistake, Mistake)
    return {
        "kind": move.mistake.english,
        "words": list(verdict(move)),
        "loss": lost(move.loss),
        "marks": [list(mark) for mark in marks_of(move)],
        "best": list(best_of(move)),
    }


CARDS = 9
"""Mistakes listed above the table, which has all of them."""
LINE_PLIES = 9
"""Moves shown of a line in the list of mistakes."""


@dataclass(frozen=True, slots=True)
class Player:
    """Mark, name and figures of one side."""

    mark: str
    name: str
    side: Words
    summary: SideSummary


def analysis_page(analysis: GameAnalysis) -> str:
    """The page as HTML. Text from the record is escaped."""
    from markupsafe import Markup

    sides = analysis.record.side_names
    return render(
        "page",
        "analysis",
        game=analysis,
        ending=ending(analysis.record),
        limits=[search_limits(limits) for limits in _limits(analysis)],
        players=(
            Player("☗", analysis.black, (sides[0], "Black"), analysis.side(BLACK)),
            Player("☖", analysis.white, (sides[1], "White"), analysis.side(WHITE)),
        ),
        sides=sides,
        mistakes=analysis.mistakes(),
        shown=CARDS,
        turning_point=analysis.turning_point(),
        marks_of=marks_of,
        verdict_of=verdict,
        name_of=name_of,
        best_of=best_of,
        line_of=line_of,
        graph=GraphShapes.from_analysis(analysis) if analysis.positions else None,
        replay=replay(analysis),
        document=embedded(analysis),
        pieces=Markup(piece_symbols()),
    )


def _limits(analysis: GameAnalysis) -> list[SearchLimits]:
    """The limits with which positions were searched, the usual one first."""
    counts = Counter(position.limits for position in analysis.positions if position.limits is not None)
    return [limits for limits, _ in counts.most_common()]
