"""Settings of self-play: those of `fukayomi selfplay`, with dlshogi's names and defaults."""

from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from fukayomi._native import DeclarationRule, SearchParams, SelfplayParams
from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

FpuName = Literal["parent", "half", "loss", "win"]
Rule = Literal["none", "points_24", "points_27", "points_24_handicap", "points_27_handicap", "try"]
RuleName = Literal["puct", "gumbel"]
Share = Annotated[float, Field(ge=0, le=1)]
ParamsT = TypeVar("ParamsT", SelfplayParams, SearchParams)
LEAST_TEMPERATURE = 0.01
MOST_PLIES = 512
"""The longest games that a pool plays."""
LEAVES_AT_ONCE = 4
"""Leaves that a game gives to a batch. With more, games are played one after the other rather than side by side, and so
fewer are lost when the run is stopped; with one, a search is a little better."""
DECIDED = 0.99
"""A game ends where |2 p - 1| of the best move is above this."""


def _none_or_usable(temperature: float) -> float:
    if 0 < temperature < LEAST_TEMPERATURE:
        raise InvalidValueError(f"0, or at least {LEAST_TEMPERATURE}")
    return temperature


class SelfplaySettings(Settings):
    """Everything that a game depends on, besides networks, openings, seed and its number.

    Plies count from a game's first searched move, unless something else is said.

    >>> SelfplaySettings(playouts=400).params(seed=1).playouts
    400
    """

    # The search of a move.
    playouts: Annotated[int, Field(ge=1, le=1_000_000)] = 800
    """Visits of the root's moves."""
    early_stop: bool = True
    """End a search when the best move cannot be overtaken any more."""
    extension: Annotated[float, Field(ge=0, le=100)] = 1.2
    """Ratio of the visits of the best move to those of the second below which a search that has used up its playouts
    gets half as many more, at most twice. With 1.2 a search goes on while the best move leads by less than a fifth; 0:
    no search is extended."""
    reuse: bool = False
    """Keep the subtree of the move played; not with Gumbel, which plans all visits."""
    leaves: Annotated[int, Field(ge=1, le=64)] = 1
    """Maximum number of leaves that a game gives to a batch; with more than one, games depend on batch sizes."""
    c_init: Annotated[float, Field(ge=0, le=100)] = 1.49
    """Exploration below the root."""
    c_base: Annotated[float, Field(ge=1, le=1e9)] = 39470
    """Visits over which exploration grows, below the root."""
    c_init_root: Annotated[float, Field(ge=0, le=100)] = 1.49
    """Exploration at the root."""
    c_base_root: Annotated[float, Field(ge=1, le=1e9)] = 39470
    """Visits over which exploration grows, at the root."""
    fpu: FpuName = "parent"
    """Value of moves without visits below the root: their position's less a reduction, 0.5, a loss, or a win."""
    fpu_reduction: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Reduction where fpu is "parent". (dlshogi's default of 20 is not divided by 100: there every such move is worth
    nothing, as with "loss".)"""
    fpu_root: FpuName = "parent"
    """Value of moves without visits at the root."""
    fpu_reduction_root: Annotated[float, Field(ge=0, le=1)] = 0.2
    """Reduction where fpu_root is "parent"."""
    temperature: Annotated[float, Field(ge=LEAST_TEMPERATURE, le=100)] = 1.66
    """Divisor of the policy's logits; above 1 flattens the policy."""
    temperature_root: Annotated[float, Field(ge=0, le=100), AfterValidator(_none_or_usable)] = 0.0
    """That of the root; 0: 1 with Gumbel, otherwise as temperature. Gumbel's target is made of the divided logits, so a
    divisor above 1 would teach a flatter policy in each generation."""
    root_rule: RuleName = "puct"
    """Distribution of the root's visits: PUCT, or Gumbel with sequential halving for few playouts. With Gumbel there
    is no early stop, extension or noise, and the policy target is the improved policy."""
    root_noise: Annotated[float, Field(ge=0, le=1000)] = 3.0
    """Chance of each root move, in each visit, to have the prior (P + 1) / 2, per mille; visits that it causes are no
    targets."""
    forced_playouts: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Each root move with visits gets at least sqrt(forced_playouts * P * N) of N, and targets are pruned of them;
    KataGo: 2. 0: no such number."""
    gumbel_moves: Annotated[int, Field(ge=1, le=593)] = 16
    """Maximum number of moves that Gumbel samples at the root."""
    gumbel_visits: Annotated[int, Field(ge=1, le=1_000_000)] = 4
    """Playouts that there must be for each of them: 16 playouts sample 4 moves. The paper: 1."""
    gumbel_scale: Annotated[float, Field(ge=0, le=100)] = 1.0
    """Scale of Gumbel's random numbers; 0: nothing is left to chance."""
    gumbel_c_visit: Annotated[float, Field(ge=0, le=1e6)] = 50.0
    """Gumbel's weight of values: (gumbel_c_visit + most visits of a move) * gumbel_c_scale."""
    gumbel_c_scale: Annotated[float, Field(ge=0, le=1000)] = 0.1
    """Factor of that weight. The paper: 1 for board games."""
    root_noise_epsilon: Share = 0.0
    """Share of Dirichlet noise in the root's priors; AlphaZero: 0.25."""
    root_noise_alpha: Annotated[float, Field(ge=0.001, le=1000)] = 0.15
    """Concentration of that noise."""
    leaf_mate_plies: Annotated[int, Field(ge=0, le=3)] = 3
    """Longest mate to look for at each new leaf, plies; 0: none."""
    leaf_mate_nodes: Annotated[int, Field(ge=0, le=10_000)] = 0
    """With leaf_mate_plies 3: positions to search at each new leaf for a longer mate, by df-pn; 0: none."""
    mate_depth: Annotated[int, Field(ge=0, le=1023)] = 0
    """Longest mate to look for at the root by df-pn, plies; 0: none."""
    mate_nodes: Annotated[int, Field(ge=1, le=1_000_000_000)] = 100_000
    """Maximum number of positions of each such search."""
    draw_value_black: Share = 0.5
    """Value of a draw for Black in the search."""
    draw_value_white: Share = 0.5
    """Value of a draw for White in the search."""

    # The choice of a move.
    random: Annotated[int, Field(ge=0, le=512)] = 4
    """Number of moves that are drawn at random in proportion to visits^(1/temperature)."""
    random_temperature: Annotated[float, Field(ge=0, le=1000)] = 10.0
    """Temperature of the first of them; at least 0.1 counts."""
    random_temperature_drop: Annotated[float, Field(ge=0, le=1000)] = 1.0
    """Decrease of the temperature with each move of the same side."""
    random_cutoff: Share = 0.015
    """Only moves whose win rate is at most this much below the best are drawn."""
    random_cutoff_drop: Share = 0.001
    """Decrease of the cutoff with each move of the same side."""
    train_random: bool = False
    """Give targets to positions in which the move was drawn at random, and to those of low_moves."""
    random2: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """After these moves: where the best move has fewer than random2 times the visits of the second, one of the two is
    drawn in proportion to visits; 0: never."""
    low_moves: Share = 0.0
    """After these moves: chance of a move to be drawn evenly from all but the best, however low their values are; only
    of the network that learns. For exploiters."""

    # The end of a game.
    min_move: Annotated[int, Field(ge=0, le=512)] = 10
    """Games with fewer moves are not kept."""
    max_move: Annotated[int, Field(ge=1, le=512)] = 320
    """Moves after which a game is drawn, those of its opening included."""
    out_max_move: bool = False
    """Keep the games that are drawn after max_move moves."""
    threshold: Share = 0.99
    """A game ends by resignation when the win rate of the best move, scaled from -1 (lost) to 1 (won), is above this or
    below its negative; 1: never."""
    play_out: Share = 0.1
    """Share of the games that are played on instead, to count the wrong resignations."""
    declaration_rule: Rule = "points_27"
    """Rule of declaration wins (入玉宣言). Under "try" no mates but those in one are looked for: the king may escape to
    its goal."""

    # What pays with few machines (KataGo's methods).
    cheap: Share = 0.0
    """Share of the moves that are searched with cheap_playouts, without noise and without targets (playout-cap
    randomisation); KataGo: 0.75."""
    cheap_playouts: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Visits of such a search, before extension."""
    soft_playouts: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Visits of each search, before extension, once the threshold is exceeded: the game is then played on to its end,
    and these positions have the weight soft_weight (soft resignation). 0: the game ends by resignation at the
    threshold."""
    soft_weight: Share = 0.1
    """Weight of these positions."""
    surprise: Share = 0.0
    """Share of the weights of a game's positions that follows the divergence of the target from the network's policy
    (policy surprise weighting), which is taken without a temperature; KataGo: 0.5."""
    fork: Share = 0.0
    """Share of the games that begin at a random position of an earlier game, two chunks before, with its moves as
    their first."""

    chunk_games: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    """Games in a chunk."""

    def why_dropped(self, plies: int, *, is_cut: bool) -> str:
        """Reason why a game is not kept, in a few words; empty if it is.

        >>> SelfplaySettings(min_move=10).why_dropped(9, is_cut=False)
        'shorter than min_move (10)'

        Args:
            plies: Its moves.
            is_cut: Whether it was drawn after `max_move` moves.
        """
        if plies < self.min_move:
            return f"shorter than min_move ({self.min_move})"
        if is_cut and not self.out_max_move:
            return f"drawn after max_move ({self.max_move}), without out_max_move"
        return ""

    def params(self, seed: int) -> SelfplayParams:
        """Parameters of the native core for games with this seed."""
        params = self._set(SelfplayParams())
        params.seed = seed
        if self.declaration_rule == "try":
            params.mate_depth = 0
        return params

    def search_params(self) -> SearchParams:
        """Parameters of the trees."""
        params = self._set(SearchParams())
        params.softmax_temperature = self.temperature
        params.softmax_temperature_root = self.temperature_root or (1.0 if self.root_rule == "gumbel" else 0.0)
        params.root_visit_noise = self.root_noise / 1000
        if params.declaration_rule is DeclarationRule.TRY:
            params.leaf_mate_plies, params.leaf_mate_nodes = min(1, self.leaf_mate_plies), 0
        return params

    def _set(self, params: ParamsT) -> ParamsT:
        """Set the parameters that have the name of a setting."""
        for name in type(self).model_fields:
            if hasattr(params, name):
                kind = getattr(params, name).__class__
                value = getattr(self, name)
                setattr(params, name, kind[value.upper()] if isinstance(value, str) else value)
        return params


class PoolSettings(Settings):
    """Settings of games between networks in a pool: each move is the best of a search of its own, without chance."""

    playouts: Annotated[int, Field(ge=1)] = 100
    """Visits of the root's moves for each move; fewer where the best cannot be overtaken any more."""
    max_plies: Annotated[int, Field(ge=1, le=MOST_PLIES)] = 256
    """A game is a draw after this many plies, the opening included; at most 512."""
    parallel: Annotated[int, Field(ge=0)] = 0
    """Games at once at most; 0: enough to fill the batches."""
    reproducible: bool = False
    """Run full batches, whatever is in them: for networks whose answers depend on the size of a batch."""

    def params(self) -> SelfplayParams:
        """Parameters of the pool."""
        params = SelfplayParams()
        params.playouts, params.max_move = self.playouts, self.max_plies
        params.early_stop, params.extension, params.reuse = True, 0.0, False
        params.random, params.mate_depth = 0, 0
        params.threshold = 1.0  # a network that is too sure of itself must not end a game
        return params


class LeafError(InvalidValueError):
    """Leaves cannot be made: bad settings, or a folder of another run. The message says what to do."""

    __module__ = "fukayomi.selfplay"


class LeafSettings(Settings):
    """Settings of games that are played on, from which `collect_leaves` takes positions.

    Raises:
        LeafError: A number is out of range.
    """

    ERROR: ClassVar = LeafError

    nodes: Annotated[int, Field(ge=1, le=1_000_000)] = 16
    """Nodes of the search of each move. Leaves of short searches differ more, and teach more."""
    plies: Annotated[int, Field(ge=1, le=512)] = 32
    """Moves of a game at most; it ends earlier where it is over, or decided."""
    temperature: Annotated[float, Field(ge=0, le=1000)] = 1.0
    """A move is drawn in proportion to visits^(1 / temperature); at least 0.1 counts."""
    searched: Annotated[int, Field(ge=0)] = 0
    """Write positions of the search trees with at least this many visits, 2 to `nodes`, with the search's policy
    (visits) and value; 0: all that the network evaluates, with the network's."""

    @model_validator(mode="after")
    def _is_searched(self) -> Self:
        if self.searched and not 2 <= self.searched <= self.nodes:
            raise InvalidValueError(
                f"searched must be from 2 to the nodes of a search, {self.nodes:,}, not {self.searched}"
            )
        return self

    def params(self, seed: int) -> SelfplayParams:
        """Parameters of the native core for games with this seed."""
        params = SelfplayParams()
        params.playouts, params.early_stop, params.extension, params.reuse = self.nodes, False, 0.0, True
        params.leaves = LEAVES_AT_ONCE
        params.random, params.random_temperature, params.random_temperature_drop = 512, self.temperature, 0.0
        params.random_cutoff, params.random_cutoff_drop = 1.0, 0.0
        params.max_move, params.plies = 512, self.plies
        params.threshold, params.play_out = DECIDED, 0.0
        params.keep_leaves, params.keep_nodes, params.seed = not self.searched, self.searched, seed
        return params

    @property
    def most_leaves(self) -> int:
        """Positions of a game at most."""
        return self.plies * (self.nodes + 1)

    @property
    def usual_leaves(self) -> int:
        """About as many as a game has that is not over early."""
        return max(1, self.most_leaves // max(1, self.searched))
