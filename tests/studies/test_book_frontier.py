"""`studies/book_frontier.py`: both ways of beginning games, at equal games."""

import json
import sys

import book_frontier
import pytest


def test_both_ways_are_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["book_frontier.py", "--trees", "2", "--rounds", "6", "--plies", "3", "--json"])
    book_frontier.main()
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["games"] for row in rows] == [20, 40, 60, 80, 100, 120]
    assert all(row["trunk"] >= 0 and row["frontier"] >= 0 for row in rows)
    assert rows[-1]["gain"] == pytest.approx(rows[-1]["trunk"] - rows[-1]["frontier"])


def test_the_truth_is_min_max_of_the_hidden_chances() -> None:
    tree = book_frontier.Tree(1, 2, 2, 0.3)
    truth = tree.truth()
    best = max(
        min(truth.value(later, end) for _, later, end in truth.children(after, worth))
        for _, after, worth in truth.children("", 0.0)
    )
    assert truth.value("", 0.0) == best
