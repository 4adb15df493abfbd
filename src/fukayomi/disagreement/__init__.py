"""Positions where engines are wrong: found in games, judged by games that are played on, written as start positions.

from fukayomi.disagreement import DisagreementSettings, find_disagreements

few, many = ({"network": "<5x64>", "clock": f"nodes={nodes}"} for nodes in (50, 1600))
found = find_disagreements(["games"], "found", DisagreementSettings(a=few, b=many))
print(found)  # a table with a row for each verdict
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.disagreement.mining import Disagreements, find_disagreements, read_disagreements
    from fukayomi.disagreement.model import Disagreement, GamePosition, Verdict, View
    from fukayomi.disagreement.settings import DisagreementError, DisagreementSettings, Kind, PlayerSettings, Rule
    from fukayomi.disagreement.solving import Solved, solve

__all__ = [
    "Disagreement",
    "DisagreementError",
    "DisagreementSettings",
    "Disagreements",
    "GamePosition",
    "Kind",
    "PlayerSettings",
    "Rule",
    "Solved",
    "Verdict",
    "View",
    "find_disagreements",
    "read_disagreements",
    "solve",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".mining": ("Disagreements", "find_disagreements", "read_disagreements"),
        ".model": ("Disagreement", "GamePosition", "Verdict", "View"),
        ".solving": ("Solved", "solve"),
        ".settings": ("DisagreementError", "DisagreementSettings", "Kind", "PlayerSettings", "Rule"),
    },
)
