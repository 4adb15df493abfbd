"""Terms of a game that a USI engine is told: its rules and pondering, by the names that engines have for them."""

from collections.abc import Mapping
from dataclasses import dataclass

from fukayomi.arena.game.choices import Declaration
from fukayomi.arena.game.rules import Rules
from fukayomi.usi.options import Option, OptionError

KING_RULE = "EnteringKingRule"
"""The option for declarations, YaneuraOu's and ours."""
KING_RULES = {
    Declaration.POINTS_27: "CSARule27",
    Declaration.POINTS_24: "CSARule24",
    Declaration.POINTS_27_HANDICAP: "CSARule27H",
    Declaration.POINTS_24_HANDICAP: "CSARule24H",
    Declaration.TRY: "TryRule",
    Declaration.NONE: "NoEnteringKing",
}
PLY_LIMITS = ("MaxMovesToDraw", "Draw_Ply")
"""The options for the ply after which a game is a draw: YaneuraOu's, and that of Apery, dlshogi and ours."""
PONDER = "USI_Ponder"
"""USI's option for pondering, which GUIs send whether it is declared or not."""
OTHER_PONDER = "Ponder"
"""The same by the name of UCI engines."""


@dataclass(frozen=True, slots=True)
class GameTerms:
    """Terms of a game for which engines have options."""

    declaration: Declaration
    """The rule for a declaration."""
    max_plies: int
    """The game is a draw after this ply, as engines count them: from the number in the SFEN of the start."""
    ponder: bool = False
    """True if the engine thinks in the opponent's time."""
    is_limit_chosen: bool = True
    """True if somebody chose the limit of plies, so that an engine that cannot be told of it is worth a warning."""

    @classmethod
    def of(cls, rules: Rules, *, ponder: bool, first_ply: int = 1) -> "GameTerms":
        """The terms of a game that starts with this ply number."""
        return cls(rules.declaration, rules.max_plies + first_ply - 1, ponder, "max_plies" in rules.model_fields_set)


@dataclass(frozen=True, slots=True)
class Told:
    """Options that tell an engine of the terms, and warnings."""

    options: dict[str, str]
    """Options to set, in order."""
    warnings: tuple[str, ...]
    """Terms that it cannot be told, or has been told otherwise by the user."""


def tell(declared: Mapping[str, Option], given: Mapping[str, str], terms: GameTerms) -> Told:
    """Options that tell an engine of the terms of a game, and warnings.

    Args:
        declared: The options that it declares, by name.
        given: The options that the user sets, which stay as they are.
        terms: The terms.
    """
    own = {name.lower(): text.strip() for name, text in given.items()}
    known = {name.lower(): option for name, option in declared.items()}
    options: dict[str, str] = {}
    warnings: list[str] = []

    def set_or_warn(name: str, text: str, what: str) -> None:
        option = known[name.lower()]
        if name.lower() in own:
            if own[name.lower()].lower() != text.lower():
                warnings.append(f"{option.name} is {own[name.lower()]}, as was asked for, but {what}")
            return
        try:
            option.value(text)
        except OptionError as error:
            warnings.append(f"it cannot be told that {what}: {error}")
        else:
            options[option.name] = text

    rule = f"the rule for declarations is {terms.declaration} ({KING_RULES[terms.declaration]})"
    if KING_RULE.lower() in known:
        set_or_warn(KING_RULE, KING_RULES[terms.declaration], rule)
    elif KING_RULE.lower() not in own and terms.declaration is not Declaration.POINTS_27:
        warnings.append(f"it cannot be told that {rule}: it has no option {KING_RULE}")
    limit = f"games are drawn after ply {terms.max_plies}"
    limits = [name for name in PLY_LIMITS if name.lower() in known]
    for name in limits:
        set_or_warn(name, str(terms.max_plies), limit)
    if not limits and terms.is_limit_chosen and not any(name.lower() in own for name in PLY_LIMITS):
        warnings.append(f"it cannot be told that {limit}: it has no option {' or '.join(PLY_LIMITS)}")
    for name in (PONDER, OTHER_PONDER) if terms.ponder else ():
        if name.lower() not in own and (name.lower() in known or name == PONDER):
            options[known[name.lower()].name if name.lower() in known else name] = "true"
    return Told(options, tuple(warnings))
