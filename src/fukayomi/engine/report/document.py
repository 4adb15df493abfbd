"""An analysis as plain data: the document that `fukayomi analyse --json` prints, and ``analysis.json`` in its folder.

The document has everything, so that an analysis can be restored and continued. Reading takes what cannot be computed,
the record, the scores, lines and losses, and makes the rest of the document from it again; a document that differs from
the one made is refused.
"""

import base64
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from fukayomi._native import MATE_CP, MAX_MOVES
from fukayomi.engine.analysis.game_analysis import (
    Candidate,
    GameAnalysis,
    MoveAnalysis,
    PositionAnalysis,
    Score,
    SearchLimits,
    SideSummary,
)
from fukayomi.engine.report.words import printable
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import InputFileError, read_input
from fukayomi.settings.problems import first_problem
from fukayomi.shogi import BLACK, WHITE, Color, Move, Position
from fukayomi.shogi.formats.notation import japanese_moves
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, Variation

DOCUMENT = "analysis.json"
"""Name of the document in the folder of an analysis."""
LARGEST = 64 << 20
"""Bytes of the largest document that is read."""


class AnalysisFileError(InvalidValueError):
    """A document is not an analysis, or is damaged."""

    __module__ = "fukayomi.engine"


# ------------------------------------------------------------------------------------------ writing


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
        "record": _record(analysis.record),
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
        "loss": move.loss,
        "loss_cp": move.loss_cp,
        "mistake": move.mistake.english if move.mistake else None,
        "certain": move.is_certain,
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
        "limits": _fields(position.limits) if position.limits else None,
        "lines": [_line(line) for line in position.lines],
        "played": _line(position.played) if position.played else None,
        "certain": position.is_certain,
    }


def _line(line: Candidate) -> dict[str, Any]:
    return {**_score(line.score), "visits": line.visits, "pv": list(line.usi), "japanese": list(line.japanese)}


def _score(score: Score) -> dict[str, Any]:
    return {"win_rate": score.winrate, "cp": score.cp, "mate": score.mate}


def _record(record: Record) -> dict[str, Any]:
    """All fields of the record, the moves in USI form."""
    return _said(record) | {
        "termination": record.termination.value,
        "result": record.result.name.lower(),
        "moves": [_recorded_move(played) for played in record.moves],
        "variations": [
            _said(variation) | {"moves": [_recorded_move(played) for played in variation.moves]}
            for variation in record.variations
        ],
    }


def _recorded_move(played: RecordedMove) -> dict[str, Any]:
    return _said(played) | {"move": played.move.usi()}


_LATER = ("bookmark", "parent", "ending_word", "ending_comment", "ending_time_ms", "illegal_move_time_ms")


def _said(value: Record | Variation | RecordedMove) -> dict[str, Any]:
    """The fields of a part of a record; those that earlier versions did not write only where they say something."""
    return {name: field for name, field in _fields(value).items() if name not in _LATER or field not in ("", None)}


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


# ------------------------------------------------------------------------------------------ reading

Natural = Annotated[int, Field(ge=0, le=2**63 - 1)]
Share = Annotated[float, Field(ge=0, le=1)]
Centipawns = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Plies = Annotated[int, Field(gt=-(2**31), lt=2**31)]


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Score(_Model):
    win_rate: Share
    cp: int = Field(ge=-MATE_CP, le=MATE_CP)
    mate: Plies | None

    def score(self) -> Score:
        return Score(self.win_rate, self.cp, self.mate)


class _Line(_Score):
    visits: Natural
    pv: list[str] = Field(min_length=1)


class _Limits(_Model):
    nodes: Natural | None
    time_ms: Natural | None
    multipv: int = Field(ge=1, le=MAX_MOVES)


class _Position(_Score):
    ply: Natural
    nodes: Natural
    limits: _Limits | None
    lines: list[_Line]
    played: _Line | None
    certain: bool


class _Judged(_Model):
    ply: Annotated[int, Field(ge=1)]
    loss: Share
    loss_cp: int = Field(ge=0, le=2 * MATE_CP)
    certain: bool
    recorded_cp: Centipawns | None


class _RecordedMove(_Model):
    move: str
    score_cp: Centipawns | None
    mate: Plies | None
    pv: str
    comment: str
    time_ms: Natural | None
    bookmark: str = ""


class _Variation(_Model):
    ply: Annotated[int, Field(ge=1)]
    moves: list[_RecordedMove]
    comment: str
    parent: Natural | None = None
    bookmark: str = ""


class _Record(_Model):
    name: str
    initial_sfen: str
    moves: list[_RecordedMove]
    black_name: str
    white_name: str
    black_rating: float | None
    white_rating: float | None
    event: str
    site: str
    start_time: str
    end_time: str
    time_limit: str
    opening: str
    headers: dict[str, str]
    comment: str
    termination: str
    result: str
    illegal_move: str
    summary: str
    variations: list[_Variation]
    bookmark: str = ""
    ending_word: str = ""
    ending_comment: str = ""
    ending_time_ms: Natural | None = None
    illegal_move_time_ms: Natural | None = None


class _Document(_Model):
    engine: str
    record: _Record
    positions: list[_Position]
    moves: list[_Judged]


def document_text(analysis: GameAnalysis) -> str:
    """The document as JSON, for the file."""
    return json.dumps(analysis_document(analysis), ensure_ascii=False, allow_nan=False) + "\n"


def read_analysis(folder: Path) -> GameAnalysis:
    """The analysis whose document is in a folder.

    Raises:
        AnalysisFileError: The document is damaged or not of an analysis; the message names the file.
        OSError: It cannot be read.
    """
    path = folder / DOCUMENT
    remedy = f"delete all analysis.* files in {folder} to analyse the game anew"
    try:
        data = read_input(path, LARGEST)
    except InputFileError as error:
        raise AnalysisFileError(f"{error}; {remedy}") from error
    try:
        return analysis_from_document(from_json(data, allow_inf_nan=False))
    except ValueError as error:
        raise AnalysisFileError(f"{path} is not an analysis, or damaged: {error}; {remedy}") from error


def analysis_from_document(document: Mapping[str, Any]) -> GameAnalysis:
    """The analysis of which `analysis_document` made the document; further keys are ignored.

    Raises:
        AnalysisFileError: It is damaged, or was not made by `analysis_document`.
    """
    try:
        found = _Document.model_validate(document)
    except ValidationError as error:
        raise AnalysisFileError(first_problem(error)) from error
    try:
        analysis = _restore(found)
    except ValueError as error:  # an illegal move, an impossible position and so on
        raise AnalysisFileError(str(error)) from error
    for name, value in analysis_document(analysis).items():
        if document.get(name) != value:
            raise AnalysisFileError(f"{name} does not agree with the rest")
    return analysis


def _restore(found: _Document) -> GameAnalysis:
    if found.engine != printable(found.engine):
        raise InvalidValueError("engine has characters that cannot be printed")
    record = _restore_record(found.record)
    positions = _restore_positions(found.positions, record)
    if [judged.ply for judged in found.moves] != [ply for ply in positions if ply - 1 in positions]:
        raise InvalidValueError("moves are not those between the positions")
    names = japanese_moves(record.initial_sfen, record.usi_moves())
    moves: list[MoveAnalysis] = []
    for judged in found.moves:
        before, after = positions[judged.ply - 1], positions[judged.ply]
        usi = record.moves[before.ply].move.usi()
        if not before.lines:
            raise InvalidValueError(f"the position before ply {judged.ply} has no lines")
        moves.append(
            MoveAnalysis(
                ply=judged.ply,
                color=before.turn,
                usi=usi,
                japanese=names[before.ply],
                before=before,
                after=after,
                loss=judged.loss,
                loss_cp=judged.loss_cp,
                is_certain=judged.certain,
                recorded_cp=judged.recorded_cp,
            )
        )
    return GameAnalysis(record, found.engine, tuple(positions.values()), tuple(moves))


def _restore_record(found: _Record) -> Record:
    position = Position.from_sfen(found.initial_sfen)
    results = {result.name.lower(): result for result in Result}
    if found.result not in results:
        raise InvalidValueError(f"{found.result!r} is not a result")
    values: dict[str, Any] = dict(found)
    values["termination"] = Termination(found.termination)
    values["result"] = results[found.result]
    values["moves"] = [_restore_move(played, position) for played in found.moves]
    values["variations"] = []
    record = Record(**values)
    _restore_variations(found.variations, record, position)
    return record


def _restore_variations(found: list[_Variation], record: Record, position: Position) -> None:
    """Add the variations to a record, whose last position is given."""
    record.variations = [Variation(line.ply, [], line.comment, line.parent, line.bookmark) for line in found]
    for line, variation in zip(found, record.variations, strict=True):
        if line.parent is None and line.ply > len(record) + 1:
            raise InvalidValueError(f"a variation at ply {line.ply}, after the end of the game")
        variation.moves = [RecordedMove(Move.from_usi(played.move)) for played in line.moves]
    depth = len(record.moves)
    for index, variation in record.variation_order():
        for _ in range(depth - variation.ply + 1):
            position.pop()
        depth = variation.ply - 1 + len(variation.moves)
        variation.moves = [_restore_move(played, position) for played in found[index].moves]


def _restore_move(found: _RecordedMove, position: Position) -> RecordedMove:
    """The move, made in the position."""
    values: dict[str, Any] = dict(found)
    values["move"] = position.push_usi(found.move)
    return RecordedMove(**values)


def _restore_positions(found: list[_Position], record: Record) -> dict[int, PositionAnalysis]:
    """The analysed positions by ply."""
    wanted = {each.ply: each for each in found}
    if list(wanted) != sorted(wanted) or len(wanted) != len(found) or max(wanted, default=0) > len(record):
        raise InvalidValueError("positions are not in order, or not of this game")
    position = Position.from_sfen(record.initial_sfen)
    previous: tuple[str, str] | None = None
    restored: dict[int, PositionAnalysis] = {}
    for ply in range(len(record) + 1):
        sfen = position.sfen()
        if ply in wanted:
            restored[ply] = _restore_position(wanted[ply], sfen, position.turn, previous)
        if ply < len(record):
            move = record.moves[ply].move
            previous = (sfen, move.usi())
            position.push(move)
    return restored


def _restore_position(found: _Position, sfen: str, turn: Color, previous: tuple[str, str] | None) -> PositionAnalysis:
    def restore(line: _Line) -> Candidate:
        return Candidate.named(line.score(), line.pv, sfen, previous, line.visits)

    lines = tuple(restore(line) for line in found.lines)
    played = restore(found.played) if found.played else None
    limits = SearchLimits(**dict(found.limits)) if found.limits else None
    return PositionAnalysis(found.ply, sfen, turn, found.score(), lines, played, found.certain, found.nodes, limits)


ELEMENT = re.compile(rb'<script type="application/zlib" id="analysis">([A-Za-z0-9+/=]*)</script>')
"""As in ``page.html``. A browser does not run what has this type."""


def embedded(analysis: GameAnalysis) -> str:
    """The document as the text of the element.

    A page with the document in it is enough to open the analysis again. The document is compressed: the page is a
    sixth larger instead of nearly twice as large. Letters of Base64 cannot end the element in which they stand,
    whatever a record contains.
    """
    return base64.b64encode(zlib.compress(document_text(analysis).encode(errors="backslashreplace"), 9)).decode()


def extract_document(page: bytes, largest: int = LARGEST) -> dict[str, Any]:
    """The document in a page. Nothing else of the page is looked at; what is in the document is not checked.

    Args:
        page: The page.
        largest: Bytes of the largest document.

    Raises:
        AnalysisFileError: The page has no document, or a damaged one.
    """
    found = ELEMENT.search(page)
    if found is None:
        raise AnalysisFileError(
            "a page without an analysis in it: open the analysis.json of its folder, or analyse the game again"
        )
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(base64.b64decode(found[1]), largest + 1)
        if len(data) > largest:
            raise AnalysisFileError(f"the analysis in the page is larger than {largest >> 20} MiB")
        if not unpacking.eof:
            raise InvalidValueError("it ends too early")
        document = from_json(data, allow_inf_nan=False)
    except AnalysisFileError:
        raise
    except (ValueError, zlib.error) as error:
        raise AnalysisFileError(f"the analysis in the page is damaged: {error}") from error
    if not isinstance(document, dict):
        raise AnalysisFileError("the analysis in the page is damaged: it is no object")
    return document  # pyright: ignore[reportUnknownVariableType]
