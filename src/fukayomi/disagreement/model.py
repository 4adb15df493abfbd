"""What is found: positions of games, what players think of them, and who was right."""

from enum import StrEnum
from math import exp, log

from pydantic import BaseModel, ConfigDict

from fukayomi.shogi import Position

PHASES = ((40, "opening"), (80, "middle game"))
ENDGAME = "endgame"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Verdict(StrEnum):
    """Who was wrong, after the games that were played on."""

    A_BLIND = "a-blind"
    """The games say what b said."""
    B_BLIND = "b-blind"
    """The games say what a said."""
    UNRESOLVED = "unresolved"
    """The interval of the games does not exclude either."""
    VOLATILE = "volatile"
    """As unresolved, and in most pairs of games one player won from both sides: who plays matters more than the
    position."""
    SHALLOW = "shallow"
    """They agree after longer searches; not played on."""
    UNJUDGED = "unjudged"
    """No games were played on."""


class View(_Model):
    """What a player thinks of a position."""

    player: str
    score_cp: int
    """Centipawns from the side to move."""
    win_rate: float
    """Win rate of the side to move, 0 to 1, by the player's own scale."""
    move: str | None = None
    """Best move in USI; None: it does not say."""


class GamePosition(_Model):
    """A position of a game."""

    game: str
    """Name of the game: file, or member of an archive."""
    game_key: str
    """Hash of the game: players, start and moves."""
    opening: str
    """Hash of the game's position after 24 plies, or its last one."""
    line: str
    """The position in USI, with the moves of the game up to it."""
    ply: int
    """Moves that were played before it."""
    played: str | None
    """Move that was played there; None: none."""
    black_points: float | None
    """Black's result of the game: 1, 0.5 or 0; None: it is not known."""
    a: View | None = None
    b: View | None = None
    """What the players think of it; None: not asked yet."""

    @property
    def phase(self) -> str:
        """Opening (up to ply 40), middle game (up to 80) or endgame."""
        return next((name for ply, name in PHASES if self.ply <= ply), ENDGAME)

    @property
    def gap(self) -> float:
        """Difference of the two win rates in logits, each within ±3, a's less b's; 0 where one is missing."""
        return gap_of((self.a, self.b))

    def position(self) -> Position:
        """The position, with the moves that lead to it."""
        return Position.from_usi(self.line)


class Disagreement(GamePosition):
    """A position that two players judge differently."""

    confirmed_a: View | None = None
    confirmed_b: View | None = None
    """What they think of it after longer searches; None: they were not asked."""
    verdict: Verdict = Verdict.UNJUDGED
    games: int = 0
    """Games that were played on from the position, or after the two moves; games with the same moves count once."""
    score: float | None = None
    """Points per game of the side to move, 0 to 1. Where only moves differ: those after a's move less those after
    b's, -1 to 1."""
    low: float | None = None
    high: float | None = None
    """95 % interval of the score."""
    is_about_moves: bool = False
    """True if the win rates are close and the moves differ: the games were played on after the two moves."""

    @property
    def views(self) -> tuple[View | None, View | None]:
        """What the two think of it after the longest searches."""
        return self.confirmed_a or self.a, self.confirmed_b or self.b

    @property
    def right(self) -> View | None:
        """The view of the player who was right; None: nobody knows."""
        a, b = self.views
        return {Verdict.A_BLIND: b, Verdict.B_BLIND: a}.get(self.verdict)

    @property
    def wrong(self) -> View | None:
        """The view of the player who was wrong; None: nobody knows."""
        a, b = self.views
        return {Verdict.A_BLIND: a, Verdict.B_BLIND: b}.get(self.verdict)


DECIDED = 3.0
"""Logits of a win rate of 95.3 %: beyond it, and below 4.7 %, differences do not count."""
_LARGEST = 20.0


def gap_of(views: tuple[View | None, View | None]) -> float:
    """Difference of two win rates in logits, each within ±3; 0 where one is missing."""
    a, b = views
    return 0.0 if a is None or b is None else logit(a.win_rate) - logit(b.win_rate)


def win_rate_of(score_cp: float, scale_cp: float) -> float:
    """Win rate of a score."""
    return 1 / (1 + exp(-max(-_LARGEST, min(_LARGEST, score_cp / scale_cp))))


def logit(win_rate: float) -> float:
    """A win rate in logits, within ±3."""
    odds = max(1e-9, win_rate) / max(1e-9, 1 - win_rate)
    return max(-DECIDED, min(DECIDED, log(odds)))


def halfway(one: float, other: float) -> float:
    """The win rate half-way between two, in logits."""
    return 1 / (1 + exp(-(logit(one) + logit(other)) / 2))
