"""The search's signature: what it does is fixed to the last visit, so that no change of it goes unseen.

A change that is meant to alter the search alters these numbers; any other must not. They hold for one gatherer and the
hash evaluator, on every platform that adds floats as IEEE 754 says.
"""

import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Position

# position, batch size -> root visits, visits of the best move, its line's beginning
SIGNATURES = [
    (Position().sfen(), 1, (5002, 519, "2h7h 7a6b 6i6h 1a1b")),
    (Position().sfen(), 16, (5000, 526, "2h7h 7a6b 6i6h 1a1b")),
    (MATSURI, 1, (5429, 706, "S*8h R*4h G*9b 4b5a")),
    (MATSURI, 16, (5620, 825, "P*5h R*1h S*9c 4c3d")),
]


@pytest.mark.parametrize(("sfen", "batch_size", "expected"), SIGNATURES)
def test_the_signature(sfen: str, batch_size: int, expected: tuple[int, int, str]) -> None:
    runner = Runner(Position.from_sfen(sfen), capacity=batch_size)
    runner.run(5000)
    best = runner.search.lines(1)[0]
    line = " ".join(move.usi() for move in best.pv[:4])
    assert (runner.search.root_visits, best.visits, line) == expected


def test_two_searches_are_alike() -> None:
    seen = set()
    for _ in range(2):
        runner = Runner(Position.from_sfen(MATSURI), capacity=32)
        runner.run(3000)
        seen.add(tuple((line.move.usi(), line.visits, line.winrate) for line in runner.search.lines(600)))
    assert len(seen) == 1
