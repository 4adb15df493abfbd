"""psv (PackedSfenValue): 40 bytes a position, as YaneuraOu and the NNUE engines around it write them.

| offset | type | field | meaning |
|---|---|---|---|
| 0 | uint8[32] | sfen | position as packed sfen |
| 32 | int16 | score | centipawns from the side to move |
| 34 | uint16 | move | target, origin << 7, promotion 0x8000; a drop has its piece type << 7 and 0x4000; 0: none |
| 36 | uint16 | gamePly | number of the move in its game; 0 if unknown |
| 38 | int8 | game_result | of the side to move: 1 won, 0 drawn, -1 lost |
| 39 | uint8 | padding | 0 |

Positions and moves are coded differently from hcpe. A row without a move teaches the value alone, as in large pools of
evaluated positions.
"""

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.format import DataFileError, RowFormat
from fukayomi.data.formats.hcp import white_to_move
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS, Rows
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Move, Position, ShogiError

PSV = np.dtype(
    [("sfen", "u1", (32,)), ("score", "<i2"), ("move", "<u2"), ("gamePly", "<u2"), ("game_result", "i1"),
     ("padding", "u1")]
)  # fmt: skip


def _are_results(results: NDArray[np.int8]) -> NDArray[np.bool_]:
    return np.abs(results.astype(np.int16)) <= 1


def _encode(rows: Rows) -> bytes:
    return hcpe_to_psv(rows.records, rows.plies).tobytes()


FORMAT = RowFormat(
    kind=DataFormat.PSV, suffixes=(".psv", ".bin"), contents="rows (psv)", stores="rows",
    used_by="fukayomi data convert makes hcpe of them", dtype=PSV, position="sfen", move="move", result="game_result",
    score="score", is_result=_are_results, psv=True, encoder=_encode,
)  # fmt: skip


def psv_record(sfen: str, move: str | None, score_cp: int, ply: int, result: int) -> NDArray[np.void]:
    """Make one row, PSV [1].

    Args:
        sfen: The position; its ply number is ignored.
        move: A legal move in USI form; None: no move.
        score_cp: Centipawns from the side to move.
        ply: Number of the move in its game.
        result: Result of the game from the side to move: 1 won, 0 drawn, -1 lost.

    Raises:
        ShogiError: The SFEN or the move is invalid, or the move is illegal.
        ValueError: A number does not fit into the format.
    """
    position = Position.from_sfen(sfen)
    raw = 0 if move is None else position.copy().push_usi(move).raw
    for name, number, low, high in (
        ("score", score_cp, -32768, 32767), ("ply", ply, 0, 65535), ("result", result, -1, 1),
    ):  # fmt: skip
        if not low <= number <= high:
            raise InvalidValueError(f"{name} {number} is not within {low} to {high}")
    record = np.zeros(1, PSV)
    record["sfen"][0] = np.frombuffer(_native.encode_psfen(position), np.uint8)
    record["score"] = score_cp
    record["move"] = _moves_to_psv(np.array([raw], np.uint16))
    record["gamePly"] = ply
    record["game_result"] = result
    return record


def psv_to_hcpe(records: NDArray[np.void]) -> NDArray[np.void]:
    """Convert PSV [N] to HCPE [N]; the ply is lost. Rows without a move have bestMove16 0, as no file of hcpe may.

    Raises:
        DataFileError: A row has an impossible position, or an invalid move or result; the message has its index.
    """
    hcpe = np.zeros(len(records), HCPE)
    results = records["game_result"]
    if (bad := ~_are_results(results)).any():
        index = int(np.argmax(bad))
        raise DataFileError(f"record {index}: invalid result {results[index]}")
    sfens = np.ascontiguousarray(records["sfen"])
    hcps, moves = np.empty_like(sfens), np.empty(len(records), np.uint16)
    try:
        _native.psfens_to_hcps(sfens, hcps)
        _native.moves_from_psv(np.ascontiguousarray(records["move"]), moves)
    except ShogiError as error:
        raise DataFileError(str(error)) from error
    hcpe["hcp"], hcpe["bestMove16"], hcpe["eval"] = hcps, moves, records["score"]
    black_won = (results == 1) != white_to_move(hcps)
    hcpe["gameResult"] = np.where(results == 0, 0, np.where(black_won, 1, 2))
    return hcpe


def hcpe_to_psv(records: NDArray[np.void], plies: NDArray[np.uint16] | int = 0) -> NDArray[np.void]:
    """Convert HCPE [N] to PSV [N].

    Args:
        records: Flags of their results are dropped; bestMove16 may be 0, no move.
        plies: Number of each move in its game, uint16 [N]; 0 if it is not known, as dlshogi's tools write.

    Raises:
        DataFileError: A row has an impossible position, or an invalid move or result; the message has its index.
    """
    psv = np.zeros(len(records), PSV)
    results = records["gameResult"] & RESULT_BITS
    if (results == RESULT_BITS).any():
        index = int(np.argmax(results == RESULT_BITS))
        raise DataFileError(f"record {index}: invalid result {records['gameResult'][index]}")
    hcps = np.ascontiguousarray(records["hcp"])
    sfens = np.empty_like(hcps)
    try:
        _native.hcps_to_psfens(hcps, sfens)
        psv["move"] = _moves_to_psv(np.ascontiguousarray(records["bestMove16"], np.uint16))
    except ShogiError as error:
        raise DataFileError(str(error)) from error
    psv["sfen"], psv["score"], psv["gamePly"] = sfens, records["eval"], plies
    mover_won = (results == 1) != white_to_move(hcps)
    psv["game_result"] = np.where(results == 0, 0, np.where(mover_won, 1, -1))
    return psv


def _moves_to_psv(moves: NDArray[np.uint16]) -> NDArray[np.uint16]:
    psv = np.empty_like(moves)
    _native.moves_to_psv(moves, psv)
    return psv


def psv_move(bits: int) -> Move | None:
    """Decode the 16 bits of a move in psv; None for 0, no move.

    Raises:
        ShogiError: They are not a move.
    """
    moves = np.empty(1, np.uint16)
    _native.moves_from_psv(np.array([bits], np.uint16), moves)
    return Move.from_raw(int(moves[0])) if bits else None
