"""The settings of a tuning run.

The fields are the keys of the TOML file, for example:

    games = 4000
    clock = "nodes=100"
    openings = "balanced.sfen"

    [engine]
    name = "own"
    command = ["fukayomi-usi"]

    [parameter.C_init]
    low = 88
    high = 200
    c_end = 8

    [parameter.FPU]
    choices = ["loss", "parent", "half", "win"]
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from fukayomi.arena.game.rules import Count, EngineSettings, OpeningOrder, Positive, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, SettingsFile, in_folder, plain, toml_text
from fukayomi.tuning.parameters import Dimension, Parameter, Tuner
from fukayomi.tuning.samplers import Sampler
from fukayomi.tuning.spsa import Spsa, SpsaSettings
from fukayomi.usi.options import Kind, Option, OptionError, fitting

MOST_BATCH = 500
"""Most proposals of a round."""


class TuneError(InvalidValueError):
    """Settings, folder or engine do not fit. The message says what to do."""


class Method(StrEnum):
    """How values are found."""

    SPSA = "spsa"
    """Each pair of games is played between two engines whose parameters all differ, and moves the values."""
    ADAM = "adam"
    """SPSA with steps scaled as Adam's."""
    TPE = "tpe"
    """Optuna's tree-structured Parzen estimator: trials against the start."""
    CMA_ES = "cma-es"
    """Optuna's CMA-ES."""

    @property
    def is_spsa(self) -> bool:
        """True without Optuna."""
        return self in (Method.SPSA, Method.ADAM)


class TuneSettings(Settings):
    """A tuning run. The same settings and engines that do not leave their moves to chance give the same values."""

    ERROR: ClassVar = TuneError

    engine: EngineSettings
    """The engine, which plays itself with different options."""
    parameters: Annotated[dict[str, Parameter], Field(min_length=1, alias="parameter")]
    """The options that are tuned, by name."""
    games: Annotated[int, Field(ge=2, le=1_000_000)]
    """Games in total. SPSA's steps depend on it, so it cannot change."""
    clock: TimeControl
    """Time control, as of a match: nodes=100; movetime=100ms; main=10s,increment=100ms; depth=4."""
    method: Method = Method.SPSA
    """How values are found: spsa, as fishtest and OpenBench run it; adam, SPSA with steps scaled as Adam's; tpe or
    cma-es, samplers of Optuna."""
    pairs: Positive | None = None
    """Pairs of games of a proposal; None: 1 for spsa and adam, 20 for tpe and cma-es."""
    batch: Annotated[int, Field(ge=1, le=MOST_BATCH)] = 8
    """Proposals of a round, all from the values before it. Games of a round are played at once."""
    openings: Annotated[Path | None, FromFile(in_folder)] = None
    """File of openings, a line in SFEN or of USI moves each; an opening is played twice with colours swapped. None: the
    start position."""
    opening_plies: Count | None = None
    """Cut openings at this ply; None: use them whole."""
    opening_order: OpeningOrder = OpeningOrder.RANDOM
    """Order of the openings: as in the file, or shuffled."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed of proposals and openings."""
    rules: Rules = Rules()
    spsa: SpsaSettings = SpsaSettings()
    """Gains of spsa and adam."""
    concurrency: Positive = 1
    """Games played at once."""
    cores_per_game: Count = 0
    """Processor cores pinned to each game; 0: no pinning."""
    restart: bool = True
    """Restart an engine that died or hung, and leave that pair of games out; otherwise the run ends there."""
    log: bool = False
    """Keep all USI lines, one file per game."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        if not self.engine.command:
            raise InvalidValueError("the engine is a USI program: give a command")
        if self.games % (2 * self.pairs_each):
            raise InvalidValueError(
                f"games are a multiple of {2 * self.pairs_each}, as each proposal plays so many; not {self.games}"
            )
        if self.method is Method.CMA_ES and len(self.parameters) < 2:
            raise InvalidValueError("cma-es needs two parameters or more")
        names = [name.lower() for name in self.parameters]
        if twice := [name for name in self.parameters if names.count(name.lower()) > 1]:
            raise InvalidValueError(f"parameter {twice[0]} is there twice")
        return self

    @property
    def pairs_each(self) -> int:
        """Pairs of games of a proposal."""
        return self.pairs or (1 if self.method.is_spsa else 20)

    @property
    def proposals(self) -> int:
        """Proposals of the whole run."""
        return self.games // (2 * self.pairs_each)

    @property
    def rounds(self) -> int:
        """Rounds of the whole run."""
        return -(-self.proposals // self.batch)

    def in_round(self, number: int) -> int:
        """Proposals of a round, from 1."""
        return min(self.batch, self.proposals - (number - 1) * self.batch)

    def dimensions(self) -> list[Dimension]:
        """The lines of the parameters, in order. The starts must be known."""
        return [each.dimension(self.games // 2) for each in self.parameters.values()]

    def tuner(self) -> Tuner:
        """What proposes values, at its beginning."""
        dimensions = self.dimensions()
        if self.method is Method.TPE:
            return Sampler(dimensions, "tpe", seed=self.seed)
        if self.method is Method.CMA_ES:
            return Sampler(dimensions, "cma-es", seed=self.seed)
        pairs, is_adam = self.games // 2, self.method is Method.ADAM
        return Spsa(dimensions, pairs, self.spsa, seed=self.seed, adam=is_adam, pairs_each=self.pairs_each)

    def options(self, points: "tuple[int, ...]") -> dict[str, str]:
        """The options of the engine at a point."""
        tuned = {name: each.text(point) for (name, each), point in zip(self.parameters.items(), points, strict=True)}
        names = {name.lower() for name in tuned}
        return {name: text for name, text in self.engine.options.items() if name.lower() not in names} | tuned

    def text(self) -> str:
        """The settings as TOML."""
        return toml_text(plain(self))


# Each round knows its openings by what is in them.
TUNE_FILE = SettingsFile(
    TuneSettings,
    "tune.toml",
    "nothing is tuned here",
    frozenset({"concurrency", "cores_per_game", "restart", "log", "openings"}),
)
"""The settings in a run's folder, and which of them may change from run to run."""


def fitted(settings: TuneSettings, declared: Mapping[str, Option]) -> TuneSettings:
    """The settings with the starts that the engine's options give, and its spelling of their names.

    Args:
        settings: The settings.
        declared: The options that the engine declares, by name.

    Raises:
        TuneError: It does not declare an option, or the option does not take all values of the parameter.
    """
    given = {name.lower(): text for name, text in settings.engine.options.items()}
    found: dict[str, dict[str, Any]] = {}
    for name, parameter in settings.parameters.items():
        option = next((each for each in declared.values() if each.name.lower() == name.lower()), None)
        default = given.get(name.lower(), "" if option is None else option.default)
        if option is None:
            try:
                fitting(declared, name, default)
            except OptionError as error:
                if not settings.engine.undeclared_options:
                    raise TuneError(f"parameter {name}: engine {settings.engine.name} {error}") from error
        else:
            _check_range(name, parameter, option)
        start = default if parameter.start is None else parameter.start
        found[name if option is None else option.name] = plain(parameter) | {"start": _start(name, parameter, start)}
    try:
        return settings.changed(parameters=found)
    except TuneError as error:
        raise TuneError(f"engine {settings.engine.name}: {error}. Give a start, or another range") from error


def _check_range(name: str, parameter: Parameter, option: Option) -> None:
    """Refuse a range beyond the engine's."""
    if not parameter.choices and option.kind is not Kind.SPIN and option.kind is not Kind.STRING:
        raise TuneError(f"parameter {name}: it is a {option.kind}, whose values are no numbers. Give its choices")
    if option.kind is Kind.BUTTON:
        raise TuneError(f"parameter {name}: it is a button, which has no values")
    texts = parameter.choices or (str(parameter.low), str(parameter.high))
    for text in texts:
        try:
            option.value(text)
        except OptionError as error:
            raise TuneError(f"parameter {name}: {error}") from error


def _start(name: str, parameter: Parameter, start: int | str) -> int | str:
    """The start as the parameter has it."""
    if parameter.choices:
        return next((choice for choice in parameter.choices if choice.lower() == str(start).lower()), start)
    try:
        return int(start)
    except ValueError:
        raise TuneError(f"parameter {name}: its default {start!r} is no number. Give a start") from None
