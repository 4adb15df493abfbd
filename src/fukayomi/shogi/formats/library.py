"""JKF through rsshogi, and writing KI2 and JKF.

Around rsshogi, nulls in JKF are removed; scores in comments are read by `remarks`; and every move is checked by our own
rules. Variations are dropped.
"""

import json
import re
from collections.abc import Callable

from rsshogi.record import MoveEntry, RecordMetadata, SpecialMoveEntry
from rsshogi.record import Record as LibraryRecord

from fukayomi.shogi import Position, ShogiError
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
)

_TERMINATIONS = {
    "RESIGN": Termination.RESIGN,
    "INTERRUPT": Termination.INTERRUPTED,
    "REPETITION_DRAW": Termination.REPETITION,
    "REPETITION_WIN": Termination.PERPETUAL_CHECK,
    "REPETITION_LOSE": Termination.PERPETUAL_CHECK,
    "IMPASSE": Termination.IMPASSE,
    "DRAW": Termination.DRAW,
    "MATE": Termination.MATE,
    "NO_MATE": Termination.NO_MATE,
    "TIMEOUT": Termination.TIME_UP,
    "WIN_BY_ILLEGAL_MOVE": Termination.ILLEGAL_MOVE,
    "LOSE_BY_ILLEGAL_MOVE": Termination.ILLEGAL_MOVE,
    "WIN_BY_DECLARATION": Termination.DECLARATION,
    "MAX_MOVES": Termination.MAX_PLIES,
}
_UNKNOWN_TO_LIBRARY = {
    "引き分け": Termination.DRAW,
    "引分": Termination.DRAW,
    "待った": Termination.TAKEN_BACK,
    "MATTA": Termination.TAKEN_BACK,
    "エラー": Termination.ERROR,
    "ERROR": Termination.ERROR,
    "封じ手": Termination.OTHER,
}


def read_library_record(text: str, name: str) -> Record:
    """Read a record in JKF.

    Raises:
        IllegalMoveInRecordError: A move is illegal.
        RecordError: The record is damaged.
    """
    try:
        found = LibraryRecord.from_jkf_str(json.dumps(json.loads(text, object_pairs_hook=_without_nulls)))
    except RecursionError as error:
        raise RecordError(name, None, "nested too deeply") from error
    except ValueError as error:
        kind = IllegalMoveInRecordError if "illegal move" in str(error) else RecordError
        raise kind(name, None, str(error)) from error
    record = Record(name=name, initial_sfen=found.init_position_sfen, comment=found.initial_comment or "")
    _play_moves(record, found)
    _copy_metadata(record, found.metadata)
    _copy_end(record, found)
    return record


def _without_nulls(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {key: value for key, value in pairs if value is not None}


def _play_moves(record: Record, found: LibraryRecord) -> None:
    try:
        position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)  # mate problems
    except ShogiError as error:
        raise RecordError(record.name, None, f"the first position is impossible: {error}") from error
    record.initial_sfen = position.sfen()  # with the pieces in hand in the usual order
    for ply, entry in enumerate(found.moves, 1):
        usi = entry.move.to_usi()
        try:
            move = position.push_usi(usi)
        except ShogiError as error:
            raise IllegalMoveInRecordError(record.name, None, f"ply {ply}: illegal move {usi!r} ({error})") from error
        played = RecordedMove(move, time_ms=entry.time_ms, comment=entry.comment or "")
        if played.comment:
            read_remarks(played.comment, played)
        record.moves.append(played)


def _copy_metadata(record: Record, metadata: RecordMetadata) -> None:
    record.black_name = metadata.black_player or ""
    record.white_name = metadata.white_player or ""
    record.event = metadata.event or ""
    record.site = metadata.site or ""
    record.start_time = metadata.start_date or ""
    record.end_time = metadata.end_date or ""
    record.time_limit = metadata.time_control.to_spec() if metadata.time_control else ""
    record.headers = dict(metadata.attributes)
    record.opening = record.headers.pop("戦型", "")


def _copy_end(record: Record, found: LibraryRecord) -> None:
    end = found.main_terminal
    if end is None:
        return
    if end.unknown_name is not None:
        if end.unknown_name not in _UNKNOWN_TO_LIBRARY:  # rsshogi takes an unreadable move for the end of the game
            raise RecordError(
                record.name,
                None,
                f"neither a move nor the end of the game: {(end.raw or end.unknown_name)!r}",
            )
        record.termination = _UNKNOWN_TO_LIBRARY[end.unknown_name]
        record.result = Result.DRAW if record.termination is Termination.DRAW else Result.UNKNOWN
        return
    record.termination = _TERMINATIONS.get(end.kind, Termination.OTHER)
    if found.result.is_black_win():
        record.result = Result.BLACK_WIN
    elif found.result.is_white_win():
        record.result = Result.WHITE_WIN
    elif found.result.is_draw():
        record.result = Result.DRAW


def write_ki2(record: Record) -> str:
    """Write a record as KI2, without times."""
    return _with_kanji_counts(_write(record, LibraryRecord.to_ki2))


def write_jkf(record: Record) -> str:
    """Write a record as JKF (JSON)."""
    return _write(record, LibraryRecord.to_jkf)


def _with_kanji_counts(text: str) -> str:
    """rsshogi writes 12 pawns in hand as 歩12, which it reads as one pawn; GUIs write 歩十二."""
    return re.sub(r"歩1([0-9])", lambda found: "歩十" + "〇一二三四五六七八九"[int(found[1])].replace("〇", ""), text)


_FOUL = ("LOSE_BY_ILLEGAL_MOVE", "BLACK_WIN_BY_ILLEGAL_MOVE", "WHITE_WIN_BY_ILLEGAL_MOVE", "PAUSED")
# Termination: kind of rsshogi, and its result if Black won, White won, or nobody
_ENDS = {
    Termination.RESIGN: ("RESIGN", "BLACK_WIN", "WHITE_WIN", "PAUSED"),
    Termination.MATE: ("MATE", "BLACK_WIN", "WHITE_WIN", "PAUSED"),
    Termination.TIME_UP: ("TIMEOUT", "BLACK_WIN_BY_TIMEOUT", "WHITE_WIN_BY_TIMEOUT", "PAUSED"),
    Termination.DECLARATION: ("WIN_BY_DECLARATION", "BLACK_WIN_BY_DECLARATION", "WHITE_WIN_BY_DECLARATION", "PAUSED"),
    Termination.ILLEGAL_MOVE: _FOUL,
    Termination.PERPETUAL_CHECK: _FOUL,
    Termination.CRASH: _FOUL,
    Termination.STALL: _FOUL,
    Termination.PROTOCOL: _FOUL,
    Termination.REPETITION: ("REPETITION_DRAW", "", "", "DRAW_BY_REPETITION"),
    Termination.IMPASSE: ("IMPASSE", "", "", "DRAW_BY_IMPASSE"),
    Termination.MAX_PLIES: ("MAX_MOVES", "", "", "DRAW_BY_MAX_PLIES"),
    Termination.DRAW: ("DRAW", "", "", "DRAW_BY_ADJUDICATION"),
    Termination.NO_MATE: ("NO_MATE", "", "", "PAUSED"),
}  # fmt: skip


def _write(record: Record, write: Callable[[LibraryRecord], str]) -> str:
    try:
        return write(_to_library(record))
    except ValueError as error:
        raise RecordError(record.name, None, f"the format cannot express this record: {error}") from error


def _to_library(record: Record) -> LibraryRecord:
    entries = [
        MoveEntry(played.move.usi(), time_ms=played.time_ms, comment=_comment_with_score(played) or None)
        for played in record.moves
    ]
    metadata = RecordMetadata(
        event=record.event or None,
        site=record.site or None,
        black_player=record.black_name or None,
        white_player=record.white_name or None,
        start_date=record.start_time or None,
        end_date=record.end_time or None,
    )
    end = _to_library_end(record)
    return LibraryRecord.from_main_line(record.initial_sfen, entries, end, metadata, record.comment or None)


def _comment_with_score(played: RecordedMove) -> str:
    """The comment, with score and PV as ShogiHome writes them unless it has them."""
    said = RecordedMove(played.move)
    read_remarks(played.comment, said)
    notes = [played.comment] if played.comment else []
    if said.score_cp != played.score_cp:
        notes.append(f"*評価値={played.score_cp}")
    if played.pv and said.pv != played.pv:
        notes.append(f"*読み筋={played.pv}")
    return "\n".join(notes)


def _to_library_end(record: Record) -> SpecialMoveEntry | None:
    """The end as these formats express it; an end without a word is a foul, a resignation or a draw."""
    if record.termination is Termination.NONE:
        return None
    black_starts = record.initial_sfen.split()[1] == "b"
    black_to_move = black_starts == (len(record) % 2 == 0)
    mover_wins = (record.result is Result.BLACK_WIN) == black_to_move
    termination = record.termination
    if termination is Termination.ADJUDICATION and record.result is Result.DRAW:
        termination = Termination.DRAW
    elif termination is Termination.ADJUDICATION and not mover_wins:
        termination = Termination.RESIGN
    kind, black_win, white_win, nobody = _ENDS.get(termination, ("INTERRUPT", "", "", "PAUSED"))
    outcome = {Result.BLACK_WIN: black_win, Result.WHITE_WIN: white_win}.get(record.result, "") or nobody
    if kind == "LOSE_BY_ILLEGAL_MOVE" and outcome == nobody:
        kind = "INTERRUPT"
    elif kind == "LOSE_BY_ILLEGAL_MOVE" and mover_wins:
        kind = "WIN_BY_ILLEGAL_MOVE"
    return SpecialMoveEntry(kind, outcome)
