"""The game with its analysis in comments and variations, for GUIs: ShogiHome, ShogiGUI, Kifu for Windows.

KIF has variations, and its scores are words in comments; CSA has scores and lines of its own, as floodgate writes them.
"""

import copy
from collections.abc import Sequence

from fukayomi.engine.analysis.game_analysis import GameAnalysis, MoveAnalysis, Score
from fukayomi.engine.report.words import evaluation, percent, verdict
from fukayomi.shogi import Move, Position
from fukayomi.shogi.formats.csa.writer import csa_moves
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.record import Record, RecordedMove, Variation

NOTED_LOSS = 0.01
"""Win rate; where a move loses less, the best line is not worth a variation."""
_KIF_MARKS = str.maketrans("☗☖−", "▲△-")
"""Programs expect these marks in records, and Shift_JIS has no other minus."""


def annotated(analysis: GameAnalysis) -> Record:
    """A copy of the record with the analysis in it, for KIF.

    The comment on a move has its verdict, the best move, and score and line in the form that ShogiHome uses for its
    analyses. Where a move lost something, the best line is a variation.
    """
    record = _copy(analysis)
    for move in analysis.moves:
        _comment(record.moves[move.ply - 1], [*_verdict(move), *_score_and_line(move)])
        if variation := _variation(move):
            record.variations.append(variation)
    return record


def annotated_csa(analysis: GameAnalysis) -> Record:
    """A copy of the record with the analysis in it, for CSA.

    Each move has its score, from Black's side, and the line that was expected after it, in CSA's notation; its comment
    has the verdict and the best move.
    """
    record = _copy(analysis)
    position = Position.from_sfen(record.initial_sfen)
    judged = {move.ply: move for move in analysis.moves}
    for ply, played in enumerate(record.moves, 1):
        position.push(played.move)
        if move := judged.get(ply):
            _comment(played, _verdict(move))
            line = move.after.lines[0].usi if move.after.lines else ()
            played.score_cp = move.after.score.cp
            played.pv = " ".join(csa_moves(position.sfen(), _moves_of(line)))
    return record


def _copy(analysis: GameAnalysis) -> Record:
    record = copy.deepcopy(analysis.record)
    record.black_name, record.white_name, record.event = analysis.black, analysis.white, analysis.event
    return record


def _comment(played: RecordedMove, notes: list[str]) -> None:
    """Add notes to the comment. Score and line of the record itself give way, or writers would add them again."""
    played.comment = "\n".join(filter(None, (played.comment, *notes))).translate(_KIF_MARKS)
    played.score_cp, played.mate, played.pv = None, None, ""
    read_remarks(played.comment, played)


def _verdict(move: MoveAnalysis) -> list[str]:
    notes: list[str] = []
    if move.mistake is not None:
        before, after = (percent(score.winrate_of(move.color)) for score in (move.before.score, move.reached))
        notes.append(f"【{verdict(move)[0]}】勝率 {before} → {after} %、最善は{move.best.japanese[0]}")
    if not move.is_best:
        notes.append(f"最善の読み筋 {''.join(move.best.japanese)}（{evaluation(move.best.score)}）")
    return notes


def _score_and_line(move: MoveAnalysis) -> list[str]:
    line = [f"#読み筋={''.join(move.after.lines[0].japanese)}"] if move.after.lines else []
    return _score_notes(move.after.score) + line


def _score_notes(score: Score) -> list[str]:
    notes = [f"#評価値={score.cp}"]
    if score.mate:
        notes.append(f"#詰み={'先手' if score.mate > 0 else '後手'}勝ち:{abs(score.mate)}手")
    return notes


def _variation(move: MoveAnalysis) -> Variation | None:
    """The best line, if the move played was another one and lost something."""
    if move.is_best or move.loss < NOTED_LOSS:
        return None
    moves = [RecordedMove(Move.from_usi(usi)) for usi in _moves_of(move.best.usi)]
    if not moves:
        return None
    score = move.best.score
    heading = f"最善手（勝率 {percent(score.winrate_of(move.color))} %、評価値 {evaluation(score)}）"
    _comment(moves[0], [heading, *_score_notes(score)])
    return Variation(move.ply, moves)


def _moves_of(line: Sequence[str]) -> list[str]:
    """The moves of a line, which may end with a declaration or a resignation."""
    return [usi for usi in line if usi not in ("win", "resign")]
