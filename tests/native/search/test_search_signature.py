"""The search's signature: what it does is fixed to the last visit, so that no change of it goes unseen.

A change that is meant to alter the search alters these files; any other must not:

    fukayomi bench --signature > tests/native/search/signature.txt
    python tests/native/search/test_search_signature.py  # writes the trees anew

They hold for one gatherer and the hash evaluator, on every platform that adds floats as IEEE 754 says.
"""

from pathlib import Path

import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Position
from fukayomi.engine.measuring.signature import POSITIONS, search_signature

FOLDER = Path(__file__).parent
TREES = {
    "start": ("startpos", 40, 1),
    "drops": (f"sfen {MATSURI}", 60, 8),
    "mate": ("sfen l2n4l/1g2n2k1/p1P+B1p2p/4p4/4sNP2/9/PP1PPSp1P/KSp3B2/L4G3 b 2R2GS2Pnl3p 141", 200, 4),
    "repetition": ("startpos moves 2h3h 8b7b 3h2h 7b8b 2h3h 8b7b 3h2h", 60, 4),
}
"""Position, nodes, batch size."""


def tree(name: str) -> str:
    """The tree of a small search as text."""
    position, nodes, batch_size = TREES[name]
    runner = Runner(Position.from_usi(position), capacity=batch_size)
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
    (Position().sfen(), 1, (5002, 519, "2h7h 7a6b 6i6h 1a1b")),
    (Position().sfen(), 16, (5000, 526, "2h7h 7a6b 6i6h 1a1b")),
    (MATSURI, 1, (5429, 706, "S*8h R*4h G*9b 4b5a")),
    (MATSURI, 16, (5620, 825, "P*5h R*1h S*9c 4c3d")),
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
