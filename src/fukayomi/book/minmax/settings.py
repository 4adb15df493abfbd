"""What a book by min-max is made of."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fukayomi._native import EVAL_SCALE
from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

Share = Annotated[float, Field(ge=0, le=1)]


class MinmaxSettings(Settings):
    """How the results of games become values, and which moves count. By default as dlshogi's make_book_minmax does."""

    th: Annotated[int, Field(ge=1)] = 100
    """Least number of games of a position: only moves to such positions count."""
    uniq: bool = False
    """Count games with the same start, moves and result once."""
    black_draw_value: Share = 0.4
    """Value of a draw for Black, in a book of Black's moves."""
    white_draw_value: Share = 0.6
    """Value of a draw for White, in a book of White's moves."""
    confidence: Annotated[float, Field(ge=0.5, lt=1)] | None = None
    """Value leaves at the end of the interval that is worse for the book's side, with this confidence, such as 0.95;
    None: at their win rate."""
    prior_games: Annotated[float, Field(ge=0)] = 0.0
    """Mix the network's value into the result of a leaf, with the weight of so many games."""
    candidates: Annotated[float, Field(gt=0, le=1)] | None = None
    """Also count moves with few games or none that have at least this probability by the network: as leaves, to whose
    results the network's value is mixed by `prior_games`; None: none."""
    transpositions: bool = False
    """Also count moves that nobody played, where they lead to a position of other games."""
    eval_scale: Annotated[float, Field(gt=0)] = EVAL_SCALE
    """Scale of the scores: a win rate p is eval_scale * ln(p / (1 - p)) centipawns."""

    @model_validator(mode="after")
    def _candidates_have_values(self) -> Self:
        if self.candidates is not None and not self.prior_games:
            raise InvalidValueError("candidates have the network's value, whose weight prior_games is 0")
        return self

    @property
    def needs_network(self) -> bool:
        """Whether values and probabilities of a network are used."""
        return self.prior_games > 0
