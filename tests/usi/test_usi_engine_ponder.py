"""Games in which the engine ponders: with and without the expected answer, random moves, a book, an early stop."""

import random

import pytest
from engine_talk import Start, never_answers
from patience import PATIENCE_S, one_of_several
from places import SAMPLES

from fukayomi.shogi import Position
from fukayomi.usi.text import BestMove, Go

LIMITS = Go(nodes=60)
OPTIONS: dict[str, dict[str, str]] = {
    "plain": {},
    "random": {"Random_Ply": "300", "Random_Cutoff": "1000", "Random_Seed": "2"},
    "book": {"USI_OwnBook": "true", "Book_File": str(SAMPLES / "book.db")},
    "early stop": {"Early_Stop_Nodes": "true", "Const_Playout": "100"},
}


def push(position: Position, answer: BestMove | None) -> str | None:
    """Play the answer; returns the move to ponder on, which is legal."""
    assert answer is not None
    position.push_usi(answer.move)
    if answer.ponder is not None:
        after = position.copy()
        after.push_usi(answer.ponder)
    return answer.ponder


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_game_with_ponderhits_and_misses(start: Start, options: dict[str, str]) -> None:
    client = start(USI_Ponder="true", Resign_Threshold="0", **options)
    choose = random.Random(5)
    position = Position()
    client.position()
    expected = push(position, client.go(LIMITS, PATIENCE_S).bestmove)
    hits = 0
    for turn in range(10):
        if expected is not None:  # a random move with one visit has no answer
            client.position(None, [*(move.usi() for move in position.moves), expected])
            client.start_go(Go(ponder=True, nodes=60))
        if expected is not None and turn % 2:
            position.push_usi(expected)
            client.ponderhit()
            expected = push(position, client.wait_answer(PATIENCE_S).bestmove)
            hits += 1
        else:
            if expected is not None:
                client.stop()
                push(Position.from_usi(f"{position.usi()} {expected}"), client.wait_answer(PATIENCE_S).bestmove)
            position.push(choose.choice(position.legal_moves))
            client.position(None, [move.usi() for move in position.moves])
            expected = push(position, client.go(LIMITS, PATIENCE_S).bestmove)
    assert hits > 0


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_game_with_stochastic_ponder(start: Start, options: dict[str, str]) -> None:
    client = start(USI_Ponder="true", Stochastic_Ponder="true", Resign_Threshold="0", **options)
    choose = random.Random(5)
    position = Position()
    for turn in range(4):
        client.position(None, [move.usi() for move in position.moves])
        assert push(position, client.go(LIMITS, PATIENCE_S).bestmove) is None
        if turn == 0:
            never_answers(client, 0.1)
        position.push(choose.choice(position.legal_moves))


def test_what_stochastic_ponder_finds_is_kept(start: Start) -> None:
    client = start(USI_Ponder="true", Stochastic_Ponder="true", DebugMessage="true", fresh=True)

    def depth_after_pondering() -> int:
        client.new_game()
        client.position()
        answer = client.go(Go(nodes=50), PATIENCE_S).bestmove
        never_answers(client, 0.5)
        assert answer is not None
        position = Position.from_usi(f"startpos moves {answer.move}")
        client.position(None, (answer.move, position.legal_moves[0].usi()))
        info = client.go(Go(nodes=1), PATIENCE_S).best_info
        assert info is not None
        return info.depth or 0

    found = one_of_several(depth_after_pondering, lambda depth: depth > 2)
    assert found > 2, "one node alone gives one move"
