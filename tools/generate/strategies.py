"""Write the list of definitions into docs/strategies.md, between two marks.

    python tools/generate/strategies.py

tests/arena/strategy/test_strategy_docs.py fails if the list is out of date.
"""

from pathlib import Path

from fukayomi.arena.strategy.definitions import Definition, Side, describe
from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.arena.strategy.reading import load_definitions

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "strategies.md"
BEGIN, END = "<!-- definitions: written by tools/generate/strategies.py -->", "<!-- end of definitions -->"
TITLES = {
    StrategyKind.STYLE: "Styles",
    StrategyKind.OPENING: "Openings",
    StrategyKind.ATTACK: "Attacks",
    StrategyKind.CASTLE: "Castles",
}


def listing() -> str:
    """The definitions as Markdown."""
    parts: list[str] = []
    for kind, title in TITLES.items():
        parts.append(f"### {title}\n")
        parts += [_entry(one) for one in load_definitions() if one.kind is kind]
    return "\n".join(parts)


def _entry(one: Definition) -> str:
    notes = [one.english]
    if one.side is Side.GAME:
        notes.append("both sides together")
    if one.helper:
        notes.append("used by other definitions, never shown")
    if one.hides:
        notes.append(f"hides {'、'.join(one.hides)}")
    lines = [f"{'or ' if number else ''}{text}" for number, text in enumerate(describe(one))]
    return f"**{one.name}** ({'; '.join(notes)})\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"


def with_listing(document: str) -> str:
    """The document with the current list."""
    before, rest = document.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{listing()}\n{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_listing(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
