"""The moves of a CSA record: columns until they are used as a list."""

import copy
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from places import RECORDS

from fukayomi.shogi import Move
from fukayomi.shogi.formats import read_records, write_csa
from fukayomi.shogi.formats.csa.reader import CsaMoves
from fukayomi.shogi.record import Record, RecordedMove

TEXT = "PI\n+\n'* before\n+7776FU\nT1\n'** 10 -3334FU\n-3334FU\n'* a\n'* b\n+2726FU\nT2.5\n'** -20\n%TORYO\n"
MOVES = [
    RecordedMove(Move.from_usi("7g7f"), 10, None, "-3334FU", "", 1000),
    RecordedMove(Move.from_usi("3c3d"), None, None, "", "a\nb", None),
    RecordedMove(Move.from_usi("2g2f"), -20, None, "", "", 2500),
]


def read() -> Record:
    (record,) = read_records(TEXT.encode())
    return record


def test_they_are_columns_until_somebody_looks() -> None:
    record = read()
    assert isinstance(record.moves, CsaMoves)
    assert (len(record), bool(record.moves)) == (3, True)
    assert record.moves.game is not None
    assert record.moves[1] == MOVES[1]
    assert record.moves.game is None
    assert len(record) == 3


def test_they_are_like_a_list() -> None:
    assert read().moves == MOVES
    assert list.__eq__(MOVES, read().moves) is NotImplemented  # so that Python asks the other side
    assert read().moves == read().moves
    assert read().moves != MOVES[:2]
    assert read().moves != 3
    assert repr(read().moves) == repr(MOVES)
    assert list(reversed(read().moves)) == MOVES[::-1]
    assert read().moves[::2] == MOVES[::2]
    assert read().moves[-1] == MOVES[-1]
    assert MOVES[1] in read().moves
    with pytest.raises(IndexError):
        read().moves[3]


def test_what_is_changed_stays_changed() -> None:
    moves = read().moves
    moves[0].score_cp = 55
    moves.append(copy.copy(MOVES[0]))
    moves.insert(0, MOVES[2])
    moves[2] = MOVES[0]
    del moves[3]
    assert [played.score_cp for played in moves] == [-20, 55, 10, 10]
    moves[1:] = []
    assert moves == MOVES[2:]


def test_copies_are_lists_of_their_own() -> None:
    record = read()
    for twin in (copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert type(twin.moves) is list
        assert twin == record == read()
        twin.moves[0].comment = "changed"
        assert record.moves[0].comment == ""
    assert replace(record, moves=list(record.moves)) == record


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.csa")), ids=lambda path: path.stem)
def test_looking_changes_nothing(path: Path) -> None:
    (unseen,), (seen,) = read_records(path), read_records(path)
    assert list(seen.moves)
    assert seen == unseen
    assert write_csa(seen) == write_csa(read_records(path).__next__())
