"""The game as the script of the page reads it: for each ply the position, the move, its verdict and the candidates."""

from typing import Any

from fukayomi.engine.analysis.game_analysis import (
    Candidate,
    GameAnalysis,
    Mistake,
    MoveAnalysis,
    PositionAnalysis,
    Score,
)
from fukayomi.engine.report.words import Words, evaluation, lost, verdict
from fukayomi.shogi import Position
from fukayomi.shogi.formats.notation import japanese_moves

LINE_PLIES = 10
"""Moves of a line that can be played through."""


def replay(analysis: GameAnalysis) -> list[dict[str, Any]]:
    """One entry for each ply of the record, analysed or not; 0 is the position before the first move.

    A text is a string, or a list with its Japanese and its English form where these differ. The moves of a line and
    their names are separated by spaces.
    """
    record = analysis.record
    usis = record.usi_moves()
    names = japanese_moves(record.initial_sfen, usis)
    positions = {position.ply: position for position in analysis.positions}
    moves = {move.ply: move for move in analysis.moves}
    entries: list[dict[str, Any]] = []
    for ply, sfen in enumerate(_sfens(analysis)):
        entry: dict[str, Any] = {"sfen": sfen}
        if ply:
            entry |= {"usi": usis[ply - 1], "name": names[ply - 1]}
        if ply in positions:
            entry |= _position(positions[ply])
            if ply + 1 in moves and not any(line.usi[0] == usis[ply] for line in positions[ply].lines):
                entry["played"] = _line(_played(moves[ply + 1]))
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


def _sfens(analysis: GameAnalysis) -> list[str]:
    """Board, side to move and hands of each ply."""
    position = Position.from_sfen(analysis.record.initial_sfen, allow_missing_king=True)
    sfens = [position.sfen()]
    for played in analysis.record.moves:
        position.push(played.move)
        sfens.append(position.sfen())
    return [" ".join(sfen.split()[:3]) for sfen in sfens]


def _position(position: PositionAnalysis) -> dict[str, Any]:
    return _score(position.score) | {"lines": [_line(line) for line in position.lines]}


def _line(line: Candidate) -> dict[str, Any]:
    return _score(line.score) | {
        "visits": line.visits,
        "usi": " ".join(line.usi[:LINE_PLIES]),
        "names": " ".join(line.japanese[:LINE_PLIES]),
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
        "best": move.best.japanese[0],
    }
