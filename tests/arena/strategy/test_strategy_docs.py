"""docs/strategies.md lists the definitions of definitions.yaml in words, and results as docs/examples has them."""

import importlib.util
from pathlib import Path

import pytest

from fukayomi.arena.strategy.definitions import describe
from fukayomi.arena.strategy.reading import load_definitions

ROOT = Path(__file__).resolve().parents[3]


def test_the_document_lists_the_definitions_as_they_are() -> None:
    spec = importlib.util.spec_from_file_location("strategies", ROOT / "tools" / "generate" / "strategies.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    document = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
    assert document == tool.with_listing(document), "run python tools/generate/strategies.py"


@pytest.mark.parametrize("example", ["games-engine-openings", "wcsc28-openings", "games-engine-mizar"])
def test_the_document_s_results_are_those_of_the_examples(example: str) -> None:
    """Rounded from the counts, not from a rounding."""
    printed = (ROOT / "docs" / "examples" / "strategy" / f"{example}.txt").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    wanted = ["| " + " | ".join([*row[:2], *(cell.replace("%", " %") for cell in row[2:])]) + " |" for row in rows]
    lines = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8").splitlines()
    start = lines.index(wanted[0])
    table = lines[start : lines.index("", start)]
    assert len(table) >= 10
    assert table == wanted[: len(table)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("美濃囲い", ["king 2h, silver 3h, gold 4i, gold 5h; up to ply 60"]),
        ("筋違い角", ["the move bishop dropped on 4e; up to ply 13"]),
        ("相矢倉", ["Black has 矢倉; White has 矢倉; up to ply 40"]),
        (
            "矢倉穴熊",
            ["king 9i, lance 9h, silver 7g, gold 7h; the side does not have 対抗形 or 相振り飛車; up to ply 100"],
        ),
    ],
    ids=["pieces", "drop", "tags", "excluded"],
)
def test_a_definition_in_words(name: str, words: list[str]) -> None:
    (definition,) = (one for one in load_definitions() if one.name == name)
    assert list(describe(definition)) == words
