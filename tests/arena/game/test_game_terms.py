"""How engines are told of the rules: by the options that they declare, and that the user leaves alone."""

import pytest

from fukayomi.arena.game.rules import Declaration, GameTerms, Rules, tell
from fukayomi.engine.settings import usi_options
from fukayomi.usi.options import Option

YANEURAOU = [
    "option name EnteringKingRule type combo default CSARule27 var NoEnteringKing var CSARule24 var CSARule24H "
    "var CSARule27 var CSARule27H var TryRule",
    "option name MaxMovesToDraw type spin default 0 min 0 max 100000",
    "option name USI_Ponder type check default false",
]
OLD = [
    "option name enteringkingrule type combo default CSARule27 var CSARule27 var NoEnteringKing",
    "option name Draw_Ply type spin default 0 min 0 max 200",
]


def declared(lines: list[str]) -> dict[str, Option]:
    return {option.name: option for option in map(Option.from_text, lines)}


def terms(first_ply: int = 1, *, ponder: bool = False, **rules: object) -> GameTerms:
    return GameTerms.of(Rules.model_validate(rules), ponder=ponder, first_ply=first_ply)


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("27", "CSARule27"), ("24", "CSARule24"), ("27H", "CSARule27H"), ("24H", "CSARule24H"), ("try", "TryRule"),
        ("none", "NoEnteringKing"),
    ],
)  # fmt: skip
def test_each_rule_has_its_name(rule: str, name: str) -> None:
    told = tell(declared(YANEURAOU), {}, terms(declaration=rule, max_plies=256))
    assert told.options == {"EnteringKingRule": name, "MaxMovesToDraw": "256"}
    assert told.warnings == ()
    ours = tell({option.name: option for option in usi_options().declared}, {}, terms(declaration=rule, max_plies=256))
    assert ours.options == {"EnteringKingRule": name, "Draw_Ply": "256"}
    assert set(Declaration) == set(map(Declaration, ("27", "24", "27H", "24H", "try", "none")))


def test_the_limit_counts_from_the_number_of_the_start() -> None:
    assert tell(declared(YANEURAOU), {}, terms(31, max_plies=256)).options["MaxMovesToDraw"] == "286"


def test_what_the_user_sets_stays_and_is_warned_of_if_it_differs() -> None:
    given = {"maxmovestodraw": "320", "EnteringKingRule": "csarule24"}
    told = tell(declared(YANEURAOU), given, terms(declaration="24", max_plies=256))
    assert told.options == {}
    assert told.warnings == ("MaxMovesToDraw is 320, as was asked for, but games are drawn after ply 256",)


def test_what_an_engine_cannot_be_told_is_warned_of() -> None:
    told = tell(declared(OLD), {}, terms(declaration="24", max_plies=256))
    assert told.options == {}
    rule, limit = told.warnings
    assert rule.startswith(
        "it cannot be told that the rule for declarations is 24 (CSARule24): enteringkingrule takes one"
    )
    assert limit.startswith("it cannot be told that games are drawn after ply 256: Draw_Ply takes 0 to 200, not 256")
    nothing = tell({}, {}, terms(declaration="none", max_plies=256))
    assert [warning.partition(": ")[2] for warning in nothing.warnings] == [
        "it has no option EnteringKingRule", "it has no option MaxMovesToDraw or Draw_Ply",
    ]  # fmt: skip


def test_defaults_that_nobody_chose_are_told_without_warnings() -> None:
    assert tell(declared(YANEURAOU), {}, terms()).options == {"EnteringKingRule": "CSARule27", "MaxMovesToDraw": "320"}
    assert tell({}, {}, terms()).warnings == ()
    assert tell({}, {}, terms(declaration="27")).warnings == ()


def test_ponder_is_told_whether_it_is_declared_or_not() -> None:
    assert tell({}, {}, terms(ponder=True)).options == {"USI_Ponder": "true"}
    assert tell(declared(YANEURAOU), {"usi_ponder": "false"}, terms(ponder=True)).options.get("USI_Ponder") is None
    assert "USI_Ponder" not in tell(declared(YANEURAOU), {}, terms()).options
