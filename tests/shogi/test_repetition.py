"""Repetition (千日手): the fourth occurrence ends the game, and perpetual check loses."""

import random
from collections import Counter
from collections.abc import Callable

import cshogi
import pytest
from oracles import HANDICAPS, MATSURI
from rsshogi.core import Board as RsBoard

from fukayomi.shogi import Move, Position, Repetition

ROOK_CHECKS = "4k4/R8/9/9/9/9/9/9/4K4 b - 1"
ROOK_CYCLE = ["9b9a", "5a5b", "9a9b", "5b5a"]
STARTS = [ROOK_CHECKS, MATSURI, HANDICAPS["even"], HANDICAPS["ten pieces"]]
STARTS += ["4k4/9/4r4/9/9/4B4/9/1+R1b5/4K4 b - 1", "4k4/9/9/9/9/9/9/9/4K4 b RB2P2Nrb2p2n 1"]


def play(pos: Position, moves: list[str]) -> list[Repetition]:
    answers: list[Repetition] = []
    for move in moves:
        pos.push_usi(move)
        answers.append(pos.repetition())
    return answers


def mirrored(move: str) -> str:
    """The same move with the board turned."""
    turn = {**{str(n): str(10 - n) for n in range(1, 10)}, **dict(zip("abcdefghi", "ihgfedcba", strict=True))}
    return "".join(turn.get(letter, letter) for letter in move)


def test_the_fourth_occurrence_is_a_draw() -> None:
    pos = Position()
    answers = play(pos, ["2h3h", "8b7b", "3h2h", "7b8b"] * 3)
    assert answers == [Repetition.NONE] * 11 + [Repetition.DRAW]
    assert pos.occurrences() == 4
    pos.pop()
    assert pos.repetition() == Repetition.NONE
    assert pos.occurrences() == 3


def test_hands_and_side_to_move_belong_to_the_position() -> None:
    pos = Position.from_sfen("4k4/9/9/9/9/9/9/9/4K4 b Pp 1")
    play(pos, ["P*5e", "P*9d", "5i4i", "5a4a", "4i5i", "4a5a"])
    assert pos.occurrences() == 2
    same_board_other_turn = Position.from_sfen("4k4/9/9/9/9/9/9/9/4K4 w Pp 1")
    assert same_board_other_turn != Position.from_sfen("4k4/9/9/9/9/9/9/9/4K4 b Pp 1")


@pytest.mark.parametrize("checker", ["black", "white"])
def test_perpetual_check_loses(checker: str) -> None:
    cycle = ROOK_CYCLE if checker == "black" else [mirrored(move) for move in ROOK_CYCLE]
    sfen = ROOK_CHECKS if checker == "black" else "4k4/9/9/9/9/9/9/8r/4K4 w - 1"
    pos = Position.from_sfen(sfen)
    assert play(pos, cycle * 3) == [Repetition.NONE] * 11 + [Repetition.LOSE]


@pytest.mark.parametrize("checker", ["black", "white"])
def test_perpetual_check_wins_for_the_checked_side(checker: str) -> None:
    # The game begins one move later: the position that comes back has the checked side to move.
    sfen = "R3k4/9/9/9/9/9/9/9/4K4 w - 1" if checker == "black" else "4k4/9/9/9/9/9/9/9/4K3r b - 1"
    cycle = ROOK_CYCLE[1:] + ROOK_CYCLE[:1]
    pos = Position.from_sfen(sfen)
    answers = play(pos, (cycle if checker == "black" else [mirrored(move) for move in cycle]) * 3)
    assert answers == [Repetition.NONE] * 11 + [Repetition.WIN]


def test_one_quiet_move_in_the_cycles_makes_it_a_draw() -> None:
    pos = Position.from_sfen(ROOK_CHECKS)
    quiet = ["9b9c", "5a4a", "9c9b", "4a5a"]
    assert play(pos, quiet + ROOK_CYCLE * 2)[-1] == Repetition.DRAW


def test_quiet_moves_before_the_first_of_the_four_do_not_help() -> None:
    pos = Position.from_sfen("4k4/9/R8/9/9/9/9/9/4K4 b - 1")
    assert play(pos, ["9c9b", "5a4a", "5i4i", "4a5a", *(ROOK_CYCLE * 3)])[-1] == Repetition.LOSE


def test_the_past_comes_along_in_a_copy() -> None:
    pos = Position()
    play(pos, ["2h3h", "8b7b", "3h2h", "7b8b"] * 3)
    assert pos.copy().repetition() == Repetition.DRAW
    assert Position.from_usi(pos.usi()).repetition() == Repetition.DRAW
    assert Position.from_sfen(pos.sfen()).repetition() == Repetition.NONE


def test_the_search_asks_for_the_first_recurrence() -> None:
    pos = Position()
    play(pos, ["2h3h", "8b7b", "3h2h", "7b8b"])
    assert (pos.repetition(), pos.first_recurrence()) == (Repetition.NONE, Repetition.DRAW)
    assert pos.first_recurrence(window=3) == Repetition.NONE
    assert play(Position.from_sfen(ROOK_CHECKS), ROOK_CYCLE) == [Repetition.NONE] * 4


def test_the_same_board_with_other_hands() -> None:
    pos = Position.from_sfen("4kr3/9/9/9/9/9/9/9/4K4 b P 1")
    play(pos, ["P*4e", "4a4e", "5i5h", "4e4b", "5h5i", "4b4a"])
    assert pos.first_recurrence() == Repetition.INFERIOR  # Black has lost a pawn
    pos = Position.from_sfen("4kr3/9/9/9/9/9/9/4K4/9 w P 1")
    play(pos, ["4a4b", "P*4e", "4b4e", "5h5i", "4e4a", "5i5h"])
    assert pos.first_recurrence() == Repetition.SUPERIOR  # White has won a pawn


def next_move(pos: Position, rng: random.Random) -> Move | None:
    """Mostly back where the side's last move came from, else a check, else anything: repetition is near."""
    played = pos.moves
    if len(played) >= 2 and rng.random() < 0.8:
        last = played[-2]
        if last.from_square is not None and not last.is_promotion:
            back = Move.from_raw(last.from_square | last.to_square << 7)
            if pos.is_legal(back):
                return back
    quiet = [move for move in pos.legal_moves if not move.is_drop and not move.is_promotion]
    checks = [move for move in quiet if pos.gives_check(move)]
    return rng.choice(checks or quiet or pos.legal_moves) if pos.legal_moves else None


def compare_with_rsshogi(games: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(games):
        pos = Position.from_sfen(rng.choice(STARTS))
        board = RsBoard(pos.sfen())
        while len(pos.moves) < 120 and (move := next_move(pos, rng)) is not None:
            pos.push(move)
            board.push_usi(move.usi())
            verdict = pos.repetition()
            state = str(board.repetition_state()).removeprefix("rep_")
            assert verdict.name.lower() == {"superior": "none", "inferior": "none"}.get(state, state), pos.usi()
            if verdict != Repetition.NONE:
                seen[verdict.name] += 1
                break
    return seen


def test_same_verdicts_as_rsshogi() -> None:
    seen = compare_with_rsshogi(800, seed=1)
    assert min(seen[name] for name in ("DRAW", "WIN", "LOSE")) >= 5, seen


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_same_verdicts_as_rsshogi_at_length(record_property: Callable[[str, object], None]) -> None:
    record_property("verdicts in 20 000 games", dict(compare_with_rsshogi(20_000, seed=2)))


CSHOGI_NAMES = {
    cshogi.NOT_REPETITION: "NONE",
    cshogi.REPETITION_DRAW: "DRAW",
    cshogi.REPETITION_WIN: "WIN",
    cshogi.REPETITION_LOSE: "LOSE",
    cshogi.REPETITION_SUPERIOR: "SUPERIOR",
    cshogi.REPETITION_INFERIOR: "INFERIOR",
}


def test_first_recurrence_as_in_cshogi() -> None:
    rng = random.Random(3)
    seen: Counter[str] = Counter()
    for _ in range(1_000):
        pos = Position.from_sfen(rng.choice(STARTS))
        board = cshogi.Board(pos.sfen())
        while len(pos.moves) < 60 and pos.legal_moves:
            move = next_move(pos, rng) if rng.random() < 0.8 else rng.choice(pos.legal_moves)
            assert move is not None
            pos.push(move)
            board.push_usi(move.usi())
            verdict = pos.first_recurrence(window=1000).name
            assert verdict == CSHOGI_NAMES[board.is_draw()], pos.usi()
            if verdict != "NONE":
                seen[verdict] += 1
                break
    assert min(seen[name] for name in ("DRAW", "WIN", "LOSE")) >= 10, seen
