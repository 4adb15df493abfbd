"""Why moves are not legal."""

import pytest

from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.illegal import Fault, fault_of

CHECKED = "4k4/9/9/9/4r4/9/9/8P/4K4 b P 1"


@pytest.mark.parametrize(
    ("sfen", "usi", "fault"),
    [
        (START_SFEN, "7g7f", None),
        (START_SFEN, "7g7e", Fault.WAY),
        (START_SFEN, "8h5e", Fault.WAY),  # over its own pawn
        (START_SFEN, "8h7g", Fault.OWN_PIECE),
        (START_SFEN, "3c3d", Fault.NOT_YOURS),
        (START_SFEN, "5e5d", Fault.NO_PIECE),
        (START_SFEN, "P*5e", Fault.NO_PIECE),
        (START_SFEN, "5i5g", Fault.OWN_PIECE),
        ("4k4/9/P8/9/9/9/9/9/4K4 b P 1", "P*9e", Fault.TWO_PAWNS),
        ("4k4/9/+P8/9/9/9/9/9/4K4 b P 1", "P*9e", None),  # a promoted pawn is none
        ("4k4/9/9/9/9/9/9/9/4K4 b PN 1", "P*9a", Fault.DEAD_END),
        ("4k4/9/9/9/9/9/9/9/4K4 b PN 1", "N*9b", Fault.DEAD_END),
        ("4k4/9/9/9/9/9/9/9/4K4 w p 1", "P*9i", Fault.DEAD_END),
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "P*5a", Fault.OCCUPIED),
        ("4k4/9/N8/9/9/9/9/9/4K4 b - 1", "9c8a", Fault.DEAD_END),
        ("7nk/9/7G1/9/9/9/9/9/4K4 b P 1", "P*1b", Fault.PAWN_MATE),
        (CHECKED, "P*9e", Fault.IN_CHECK),
        (CHECKED, "1h1g", Fault.IN_CHECK),
        (CHECKED, "5i5h", Fault.EXPOSED),
        (CHECKED, "5i5g", Fault.WAY),
        ("4k4/9/9/9/4r4/9/9/4G4/4K4 b - 1", "5h4h", Fault.EXPOSED),
        ("4k4/9/9/9/4r4/9/9/4G3+p/4K4 b - 1", "5h4h", Fault.EXPOSED),
    ],
)
def test_faults(sfen: str, usi: str, fault: Fault | None) -> None:
    assert fault_of(Position.from_sfen(sfen, allow_missing_king=True), Move.from_usi(usi)) is fault


@pytest.mark.parametrize("sfen", [START_SFEN, CHECKED, "7nk/9/7G1/9/9/9/9/9/4K4 b P 1", "9/9/4k4/9/9/9/9/9/9 b 2GP 1"])
def test_every_move_is_legal_or_has_a_fault(sfen: str) -> None:
    position = Position.from_sfen(sfen, allow_missing_king=True)
    squares = [f"{file}{rank}" for file in range(1, 10) for rank in "abcdefghi"]
    legal = {move.usi() for move in position.legal_moves}
    for origin in (*squares, *(f"{letter}*" for letter in "PLNSGBR")):
        for goal in squares:
            if origin != goal:
                fault = fault_of(position, Move.from_usi(origin + goal))
                assert (fault is None) == (origin + goal in legal), origin + goal
