"""Settings of the search for positions where engines are wrong.

The fields are the keys of the TOML file, for example:

    min_ply = 20
    gap = 1.5

    [a]
    network = "<5x64>"
    clock = "nodes=50"

    [b]
    network = "<5x64>"
    clock = "nodes=1600"
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from fukayomi.arena.game.rules import Positive, UsiOptions, command_of_file
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.engine.settings import network_in_folder
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, SettingsFile, in_folder, plain, toml_text


class DisagreementError(InvalidValueError):
    """Positions cannot be found: settings, folder, games or players do not fit. The message says what to do."""


class Rule(StrEnum):
    """How games give positions."""

    SEARCH = "search"
    """Both players search positions of the games."""
    SCORES = "scores"
    """The scores of the players of the games, calibrated: the gap between a score and the opponent's just before it."""
    MARGIN = "margin"
    """dlshogi's rule for important positions: scores that differ by more than `difference_cp`, until both stand more
    than `margin_cp` on the same side."""
    WINNER = "winner"
    """dlshogi's rule with the winner's view first: the loser's positions while it believed otherwise."""


class Kind(StrEnum):
    """What a disagreement is, where players search."""

    GAP = "gap"
    """Win rates that differ by `gap` or more, in logits."""
    MOVE = "move"
    """Different best moves."""
    BOTH = "both"
    """Both of these."""
    EITHER = "either"
    """Either of these."""


class PlayerSettings(Settings):
    """A player that searches positions and plays on from them: a USI engine, or a network under our search."""

    ERROR: ClassVar = DisagreementError

    command: Annotated[tuple[str, ...], FromFile(command_of_file)] = ()
    """Program and arguments of a USI engine."""
    network: Annotated[str | None, FromFile(network_in_folder)] = None
    """A network in place of an engine: a file, or the name of an embedded one, as <5x64>."""
    clock: TimeControl
    """Limit of each search: nodes=1000, movetime=100ms, or byoyomi=100ms for engines that know neither."""
    options: UsiOptions = Field(default_factory=dict)
    """USI options of an engine."""
    directory: Annotated[Path | None, FromFile(in_folder)] = None
    """Working directory of the engine."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        if bool(self.command) == (self.network is not None):
            raise InvalidValueError("a player is an engine or a network: give one of command and network")
        if self.network is not None and (self.options or self.directory is not None):
            raise InvalidValueError(
                "a network has no options and no directory; to give it some, play with the engine fukayomi-usi and its "
                "option DNN_Model"
            )
        if self.network is not None and self.clock.nodes == (1,):
            raise InvalidValueError("a search by a network that finds a move takes 2 nodes or more: clock is nodes=1")
        if len(self.clock.nodes) != 1 and self.clock.movetime_ms is None and not self.is_by_byoyomi:
            raise InvalidValueError(
                f"clock is nodes=N, movetime=TIME or byoyomi=TIME for a player that searches, not {self.clock.text()}"
            )
        return self

    @property
    def is_by_byoyomi(self) -> bool:
        """True if the limit is byoyomi alone."""
        return bool(self.clock.byoyomi_ms) and not self.clock.main_ms and not self.clock.increment_ms


class DisagreementSettings(Settings):
    """Which positions are found, and how they are judged. With a concurrency of 1 the same settings and games give the
    same files, if the players always say the same: engines that do, and networks except sparse ones, by nodes."""

    ERROR: ClassVar = DisagreementError

    a: PlayerSettings | None = None
    b: PlayerSettings | None = None
    """The players; None where the scores of games are enough."""
    rule: Rule | None = None
    """How games give positions: search, both players search some of them; scores, calibrated scores of the players of
    the games; margin and winner, dlshogi's two rules for scores. None: search if there are players, otherwise
    scores."""
    kind: Kind = Kind.GAP
    """What a disagreement is where players search: gap, of win rates; move, another best move; both; either."""
    gap: Annotated[float, Field(gt=0, lt=6)] = 1.0
    """Least difference of two win rates in logits: 1 lies between 50 % and 73 %, or 82 % and 92.5 %. Win rates above
    95.3 % count as such, and those below 4.7 %."""
    margin_cp: Annotated[int, Field(ge=0)] = 350
    """With rule margin: centipawns that both sides see on the same side when they agree."""
    difference_cp: Annotated[int, Field(ge=1)] | None = None
    """With rules margin and winner: difference of two scores; None: 400 and 500, as dlshogi."""
    min_ply: Annotated[int, Field(ge=0)] = 12
    """First ply of a game that counts."""
    max_ply: Annotated[int, Field(ge=1)] = 160
    """Last ply of a game that counts."""
    per_game: Annotated[int, Field(ge=0)] = 4
    """Most positions of a game: those that are searched, or those with the largest differences of scores. 0: all."""
    per_opening: Annotated[int, Field(ge=0)] = 50
    """Most disagreements from games with the same position after 24 plies, those with the largest gaps. 0: all."""
    confirm: Annotated[int, Field(ge=0)] = 8
    """Factor of the limit with which both players search a disagreement again; 0: do not."""
    most: Annotated[int, Field(ge=0)] = 0
    """Most disagreements that are played on from, those with the largest gaps; the others are left out. 0: all."""
    pairs: Annotated[int, Field(ge=0)] = 8
    """Pairs of games that are played on from each disagreement, with colours swapped; 0: do not judge."""
    max_plies: Positive = 320
    """Those games are drawn after this many plies."""
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.2
    """Share of the games whose positions are held out of the start positions, to measure by them."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed of the choice of positions, and of games that are held out."""
    concurrency: Positive | None = None
    """Searches and games at once. With 1, the same run gives the same result, except with sparse networks and limits of
    time. None: one for each processor core, and of a network as many searches as its batches hold."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        if (self.a is None) != (self.b is None):
            raise InvalidValueError("two players disagree: give a and b, or neither")
        if self.rule is Rule.SEARCH and self.a is None:
            raise InvalidValueError("rule search needs the players a and b")
        if self.min_ply > self.max_ply:
            raise InvalidValueError(f"min_ply must be at most max_ply ({self.max_ply}), not {self.min_ply}")
        if self.max_ply >= self.max_plies:
            raise InvalidValueError(f"max_ply must be less than max_plies ({self.max_plies}), not {self.max_ply}")
        return self

    @property
    def way(self) -> Rule:
        """The rule, also where it was not given."""
        return self.rule or (Rule.SCORES if self.a is None else Rule.SEARCH)

    @property
    def least_difference_cp(self) -> int:
        """Difference of two scores, also where it was not given."""
        return self.difference_cp or (500 if self.way is Rule.WINNER else 400)

    def text(self) -> str:
        """The settings as TOML, without those that have their default."""
        return toml_text(plain(self, changes_only=True))


DISAGREEMENT_FILE = SettingsFile(
    DisagreementSettings, "disagree.toml", "nothing is searched here", frozenset({"concurrency"})
)
"""The settings in a run's folder, and which of them may change from run to run."""
