"""Mate in one: complete and exact, against collections of problems and against trying every move."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from oracles import Setup, random_positions
from test_pawn_drop_mate import random_siege

from fukayomi.shogi import InvalidSfenError, Position


def mates_by_trial(pos: Position) -> set[str]:
    """Every mating move. (The rules allow no mating pawn drop, so none can be among them.)"""
    mates: set[str] = set()
    for move in pos.legal_moves:
        pos.push(move)
        if pos.is_check() and pos.is_mated():
            mates.add(move.usi())
        pos.pop()
    return mates


def check(pos: Position) -> bool:
    """Whether there is a mate in one, after seeing that find_mate_in_one knows."""
    mates = mates_by_trial(pos)
    found = pos.find_mate_in_one()
    assert (found is None) == (not mates), pos
    assert found is None or found.usi() in mates, pos
    return bool(mates)


def read(path: Path) -> list[Position]:
    return [Position.from_sfen(line) for line in path.read_text().splitlines()]


def test_collection_of_mates(shared_data: Path) -> None:
    positions = read(shared_data / "mate" / "mate-1-ply.txt")
    assert len(positions) == 1568
    assert all(check(pos) for pos in positions)


def test_collection_without_mates(shared_data: Path) -> None:
    positions = read(shared_data / "mate" / "no-mate-1-ply.txt")
    assert len(positions) == 1574
    assert not any(check(pos) for pos in positions)


def check_random_games(positions: int, seed: int) -> int:
    return sum(check(pos) for pos in itertools.islice(random_positions(seed), positions))


def sieges(count: int, seed: int) -> list[Position]:
    """White's king among pieces of both sides, and a hand full of pieces: many checks, pins and interpositions."""
    rng = random.Random(seed)
    found: list[Position] = []
    while len(found) < count:
        setup = random_siege(rng)
        on_board = [piece.lstrip("+").upper() for piece in setup.board.values()]
        hand = {letter: 1 for letter in "RBGSNLP" if rng.random() < 0.3 and on_board.count(letter) < 2}
        hand |= {letter.lower(): 1 for letter in "GSNLP" if rng.random() < 0.2 and on_board.count(letter) < 2}
        attackers = Setup(setup.board, hand, setup.turn)
        try:
            found.append(Position.from_sfen((attackers if rng.random() < 0.5 else attackers.flipped()).sfen()))
        except InvalidSfenError:
            continue
    return found


def test_random_games() -> None:
    assert check_random_games(4_000, seed=7) > 50


def test_sieges() -> None:
    assert sum(check(pos) for pos in sieges(3_000, seed=8)) > 300


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_random_games_and_sieges_at_length(record_property: Callable[[str, object], None]) -> None:
    record_property("mates in 100 000 positions of random games", check_random_games(100_000, seed=9))
    record_property("mates in 100 000 sieges", sum(check(pos) for pos in sieges(100_000, seed=10)))


@pytest.mark.parametrize(
    ("sfen", "mates"),
    [
        ("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", {"G*5b"}),
        ("7pk/9/6GSP/9/9/9/9/9/K8 b - 1", {"1c1b", "1c1b+", "2c1b", "2c1b+"}),  # a pawn that moves may mate
        ("7pk/6G2/7S1/9/9/9/9/9/K8 b P 1", set()),  # a pawn that is dropped may not
        ("7lk/7p1/9/9/9/8N/9/9/K7L b - 1", {"1f2d"}),  # discovered check
        ("7lk/7p1/9/9/9/9/9/8K/8L b - 1", {"1h2g", "1h2h", "1h2i"}),  # discovered by the king
        ("6gkg/6p1p/9/9/7N1/9/9/7R1/K8 b - 1", {"2e1c", "2e3c"}),  # double check
        ("k8/9/l+R1+P5/1R7/9/9/9/9/K8 b BNLP 1", {"8c9c"}),  # in check: the checking lance is taken
        ("4k4/9/9/9/9/4G4/3s5/7b1/4K1gr1 w bnl 1", {"3i3h"}),  # White mates
    ],
)
def test_single_positions(sfen: str, mates: set[str]) -> None:
    pos = Position.from_sfen(sfen)
    assert mates_by_trial(pos) == mates
    check(pos)


def test_without_a_king_to_mate() -> None:
    assert Position.from_sfen("9/9/9/9/9/9/9/9/4K4 b G 1", allow_missing_king=True).find_mate_in_one() is None
