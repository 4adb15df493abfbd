"""The search's signature: what it does is fixed to the last visit, so that no change of it goes unseen.

A change that is meant to alter the search alters these files; any other must not:

    fukayomi bench --signature > tests/native/search/signature.txt
    python tests/native/search/test_search_signature.py  # writes the trees anew

They hold for one gatherer and the hash evaluator, on every platform that adds floats as IEEE 754 says.
"""

from pathlib import Path

import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Position, SearchParams
from fukayomi.engine.measuring.speed import POSITIONS, search_signature

FOLDER = Path(__file__).parent
TREES = {
    "start": ("startpos", 40, 1, 0),
    "drops": (f"sfen {MATSURI}", 60, 8, 0),
    "mate": ("sfen lnS1+R1Bnl/2+N5k/2p3pg1/p1s4P1/5p2p/PPPp1PSb1/4P3P/2GSp4/LN1KG2rL b 4Pg 101", 200, 4, 0),
    "mate-after": ("sfen l5knl/3+R2g2/4ppsp1/pppN2p1p/9/P1PSbP+sPP/1P2K1N2/2+b1G4/LN3G1RL b S2Pg2p 61", 100, 4, 256),
    "repetition": ("startpos moves 2h3h 8b7b 3h2h 7b8b 2h3h 8b7b 3h2h", 60, 4, 0),
}
"""Position, nodes, batch size, root_move_mate_nodes."""


def tree(name: str) -> str:
    """The tree of a small search as text."""
    position, nodes, batch_size, root_move_mate_nodes = TREES[name]
    params = SearchParams()
    params.root_move_mate_nodes = root_move_mate_nodes
    runner = Runner(Position.from_usi(position), params=params, capacity=batch_size)
    runner.run(nodes)
    return runner.search.tree_text()


def test_forty_positions() -> None:
    signature = search_signature()
    assert len(set(POSITIONS)) == len(signature.rows) == 40
    found = [*(row.text() for row in signature.rows), str(signature)]
    assert found == (FOLDER / "signature.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", TREES)
def test_small_trees(name: str) -> None:
    assert tree(name) == (FOLDER / f"tree-{name}.txt").read_text("utf-8")


# position, batch size -> root visits, visits of the best move, its line's beginning
SIGNATURES = [
    (Position().sfen(), 1, (5002, 573, "2h7h 7a6b 6i6h 2c2d")),
    (Position().sfen(), 16, (5003, 735, "2h7h 7a6b 6i6h 2c2d")),
    (MATSURI, 1, (5832, 1106, "P*5h R*3h 2a1c 3h5h")),
    (MATSURI, 16, (6361, 758, "6f4h R*1h S*3a 2g2f")),
]


@pytest.mark.parametrize(("sfen", "batch_size", "expected"), SIGNATURES)
def test_larger_searches(sfen: str, batch_size: int, expected: tuple[int, int, str]) -> None:
    runner = Runner(Position.from_sfen(sfen), capacity=batch_size)
    runner.run(5000)
    best = runner.search.lines(1)[0]
    line = " ".join(move.usi() for move in best.pv[:4])
    assert (runner.search.root_visits, best.visits, line) == expected


if __name__ == "__main__":
    for name in TREES:
        (FOLDER / f"tree-{name}.txt").write_text(tree(name), "utf-8")
