"""psv files (PackedSfenValue): 40 bytes a position, as YaneuraOu and its family of NNUE engines write them.

A record is a position in YaneuraOu's packed sfen, the score in centipawns, the move, the ply and the result; score and
result are the side to move's. The positions' code and the moves' bits differ from hcpe's.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.hcp import white_to_move
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS
from fukayomi.data.formats.rows import DataFileError, RowWriter, map_rows
from fukayomi.shogi import Move, Position, ShogiError

PSV = np.dtype(
    [("sfen", "u1", (32,)), ("score", "<i2"), ("move", "<u2"), ("gamePly", "<u2"), ("game_result", "i1"),
     ("padding", "u1")]
)  # fmt: skip


class PsvError(DataFileError):
    """A file or record that is no psv."""


def read_psv(path: Path | str) -> NDArray[np.void]:
    """The records of a file, memory-mapped and read-only: PSV [N]. Only the size is checked.

    Raises:
        PsvError: The size is no whole number of records.
        OSError: The file cannot be read.
    """
    return map_rows(path, PSV, PsvError)


class PsvWriter(RowWriter):
    """Writes a psv file that appears under its name only when it is whole; a context manager, as AtomicFile says."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, PSV)


def psv_record(sfen: str, move: str, score_cp: int, ply: int, result: int) -> NDArray[np.void]:
    """One record, PSV [1].

    Args:
        sfen: The position; its ply number is not used.
        move: In USI form. Must be legal.
        score_cp: From the side to move.
        ply: The number of the move in its game.
        result: Of the game, from the side to move: 1 won, 0 drawn, -1 lost.

    Raises:
        ShogiError: No SFEN, no move, or no legal one.
        ValueError: A number that the format cannot hold.
    """
    position = Position.from_sfen(sfen)
    played = position.copy().push_usi(move)
    for name, number, low, high in (
        ("score", score_cp, -32768, 32767), ("ply", ply, 0, 65535), ("result", result, -1, 1),
    ):  # fmt: skip
        if not low <= number <= high:
            raise ValueError(f"{name} {number} is not within {low} to {high}")
    record = np.zeros(1, PSV)
    record["sfen"][0] = np.frombuffer(_native.encode_psfen(position), np.uint8)
    record["score"] = score_cp
    record["move"] = _moves_to_psv(np.array([played.raw], np.uint16))
    record["gamePly"] = ply
    record["game_result"] = result
    return record


def psv_to_hcpe(records: NDArray[np.void]) -> NDArray[np.void]:
    """PSV [N] to HCPE [N]; the ply is lost.

    Raises:
        PsvError: A record has a position that the rules do not allow, a move that is none, or a result that is none;
            the message names its index.
    """
    hcpe = np.zeros(len(records), HCPE)
    results = records["game_result"]
    if (bad := np.abs(results.astype(np.int16)) > 1).any():
        index = int(np.argmax(bad))
        raise PsvError(f"record {index}: result {results[index]} is not 1 (won), 0 (drawn) or -1 (lost)")
    sfens = np.ascontiguousarray(records["sfen"])
    hcps, moves = np.empty_like(sfens), np.empty(len(records), np.uint16)
    try:
        _native.psfens_to_hcps(sfens, hcps)
        _native.moves_from_psv(np.ascontiguousarray(records["move"]), moves)
    except ShogiError as error:
        raise PsvError(str(error)) from error
    hcpe["hcp"], hcpe["bestMove16"], hcpe["eval"] = hcps, moves, records["score"]
    black_won = (results == 1) != white_to_move(hcps)
    hcpe["gameResult"] = np.where(results == 0, 0, np.where(black_won, 1, 2))
    return hcpe


def hcpe_to_psv(records: NDArray[np.void], plies: NDArray[np.uint16] | int = 0) -> NDArray[np.void]:
    """HCPE [N], or hcpe2, to PSV [N].

    Args:
        records: Flags of their results are dropped.
        plies: The number of each move in its game, uint16 [N]; 0 where it is not known, as dlshogi's tools write.

    Raises:
        PsvError: A record has a position that the rules do not allow, a move that is none, or a result that is none;
            the message names its index.
    """
    psv = np.zeros(len(records), PSV)
    results = records["gameResult"] & RESULT_BITS
    if (results == RESULT_BITS).any():
        index = int(np.argmax(results == RESULT_BITS))
        raise PsvError(f"record {index}: result {records['gameResult'][index]} is none")
    hcps = np.ascontiguousarray(records["hcp"])
    sfens = np.empty_like(hcps)
    try:
        _native.hcps_to_psfens(hcps, sfens)
        psv["move"] = _moves_to_psv(np.ascontiguousarray(records["bestMove16"], np.uint16))
    except ShogiError as error:
        raise PsvError(str(error)) from error
    psv["sfen"], psv["score"], psv["gamePly"] = sfens, records["eval"], plies
    mover_won = (results == 1) != white_to_move(hcps)
    psv["game_result"] = np.where(results == 0, 0, np.where(mover_won, 1, -1))
    return psv


def _moves_to_psv(moves: NDArray[np.uint16]) -> NDArray[np.uint16]:
    psv = np.empty_like(moves)
    _native.moves_to_psv(moves, psv)
    return psv


def psv_move(bits: int) -> Move:
    """A move from the 16 bits of the psv format.

    Raises:
        ShogiError: They are no move.
    """
    moves = np.empty(1, np.uint16)
    _native.moves_from_psv(np.array([bits], np.uint16), moves)
    return Move.from_raw(int(moves[0]))
