"""An analysis as plain data: the document that `fukayomi analyse --json` prints."""

from typing import Any

from fukayomi.engine.analysis import Candidate, GameAnalysis, MoveAnalysis, PositionAnalysis, Score, SideSummary
from fukayomi.shogi import BLACK, WHITE, Color


def analysis_document(analysis: GameAnalysis) -> dict[str, Any]:
    """The analysis as dictionaries and lists. Scores are from Black's side; win rates and losses from 0 to 1."""
    return {
        "black": analysis.black,
        "white": analysis.white,
        "event": analysis.event,
        "date": analysis.date,
        "result": analysis.result,
        "engine": analysis.engine,
        "limits": analysis.limits,
        "total_moves": analysis.total_moves,
        "is_complete": analysis.is_complete,
        "sides": {_name(color): _side(analysis.side(color)) for color in (BLACK, WHITE)},
        "mistakes": [move.ply for move in analysis.mistakes()],
        "moves": [_move(move) for move in analysis.moves],
        "positions": [_position(position) for position in analysis.positions],
    }


def _name(color: Color) -> str:
    return "black" if color == BLACK else "white"


def _side(side: SideSummary) -> dict[str, Any]:
    return {
        "moves": side.moves,
        "average_loss": round(side.average_loss, 5),
        "agreement": round(side.agreement, 5),
        "mistakes": {kind.english: count for kind, count in side.mistakes.items()},
    }


def _move(move: MoveAnalysis) -> dict[str, Any]:
    best = move.before.lines[0] if move.before.lines else None
    return {
        "ply": move.ply,
        "color": _name(move.color),
        "move": move.usi,
        "japanese": move.japanese,
        "best": best.usi[0] if best else None,
        "best_japanese": best.japanese[0] if best else None,
        **_score(move.after.score),
        "loss": round(move.loss, 5),
        "loss_cp": move.loss_cp,
        "mistake": move.mistake.english if move.mistake else None,
        "missed_mate": move.has_missed_mate,
        "allowed_mate": move.has_allowed_mate,
        "recorded_cp": move.recorded_cp,
    }


def _position(position: PositionAnalysis) -> dict[str, Any]:
    return {
        "ply": position.ply,
        "sfen": position.sfen,
        **_score(position.score),
        "nodes": position.nodes,
        "lines": [_line(line) for line in position.lines],
    }


def _line(line: Candidate) -> dict[str, Any]:
    return {**_score(line.score), "pv": list(line.usi), "japanese": list(line.japanese)}


def _score(score: Score) -> dict[str, Any]:
    return {"win_rate": round(score.winrate, 5), "cp": score.cp, "mate": score.mate}
