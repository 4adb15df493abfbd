"""The settings of a learning run: one TOML file with a table for each part of the loop.

    generations = 20
    games = 500

    [network]
    name = "resnet3x48"

    [selfplay]
    playouts = 64

    [window]
    start = 50_000

    [training]
    batch = 256
    lr = 0.02

    [learner]
    samples_per_position = 4

    [gate]
    mode = "binding"

`docs/learn.md` has all settings.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, cast

from pydantic import AfterValidator, Field, model_validator

from fukayomi import __version__
from fukayomi.arena.game.rules import Positive, UsiOptions
from fukayomi.arena.statistics.sprt import Hypotheses, SprtSettings
from fukayomi.engine.settings import network_in_folder
from fukayomi.errors import InvalidValueError
from fukayomi.files.sparse_network import SUFFIX as SPARSE
from fukayomi.learning.reanalysis.settings import NewTargets, ReanalysisSettings, Selection
from fukayomi.learning.settings import TrainingSettings
from fukayomi.learning.training.configuration import LearningSettings, split_weight
from fukayomi.nn.sparse_config import AnyConfig, SparseConfig
from fukayomi.selfplay.league import LeagueNetwork, LeagueRules
from fukayomi.selfplay.settings import SelfplaySettings
from fukayomi.settings import FromFile, Settings, SettingsFile, build, in_folder, plain, read, toml_text


class WindowSettings(Settings):
    """Window of positions that the learner draws from.

    The window grows by a power law, KataGo's (D. Wu, "Accelerating Self-Play Learning in Go", arXiv:1902.10565,
    appendix C): of N positions in all it has the newest ``start * (1 + growth * ((N / start)^exponent - 1) /
    exponent)``, and all of them up to `start`. So the first games, of weak networks, are forgotten soon, and later ones
    live longer and longer.
    """

    start: Annotated[int, Field(ge=1)] = 250_000
    """Positions up to which the window has all there are."""
    growth: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Growth of the window with each position from there on."""
    exponent: Annotated[float, Field(gt=0, le=1)] = 0.75
    """Exponent that slows this growth down; 1: not at all."""


def window_positions(total: int, window: WindowSettings) -> int:
    """Size of the window when there are `total` positions.

    >>> [window_positions(total, WindowSettings()) for total in (1000, 250_000, 1_000_000, 100_000_000)]
    [1000, 250000, 493790, 12042362]
    """
    if total <= window.start:
        return total
    grown = window.start * (1 + window.growth * ((total / window.start) ** window.exponent - 1) / window.exponent)
    return min(total, int(grown))


def newest(sizes: Sequence[int], positions: int) -> int:
    """Index of the first of the newest chunks that have at least so many positions together.

    >>> newest([100, 100, 100, 100], 150)
    2

    Args:
        sizes: Positions of each chunk, from old to new.
        positions: Positions wanted; if all chunks have fewer, the first one is meant.
    """
    index = len(sizes)
    while index > 0 and positions > 0:
        index -= 1
        positions -= sizes[index]
    return index


def first_in_window(sizes: Sequence[int], window: WindowSettings) -> int:
    """Index of the first chunk of the window.

    Args:
        sizes: Positions of each chunk there is, from old to new.
        window: The window.
    """
    return newest(sizes, window_positions(sum(sizes), window))


class Purchase(NamedTuple):
    """Steps that a budget of samples buys, and the rest."""

    steps: int
    """Optimiser steps."""
    rest: float
    """Samples left over for the next generation; fewer than a batch, unless training has not begun."""


def buy_steps(budget: float, batch: int, *, total: int, least: int, most: int | None = None) -> Purchase:
    """The steps that a budget pays for.

    The budget caps how often a position is trained on: each position pays for `samples_per_position` samples once, in
    the first generation that learns from its chunk. So one that is excluded does not pay, until it is admitted; one
    that has paid does not pay again when it is admitted again.

    >>> buy_steps(1000.0, 256, total=5000, least=0)
    Purchase(steps=3, rest=232.0)
    >>> buy_steps(1000.0, 256, total=5000, least=0, most=2)
    Purchase(steps=2, rest=0.0)

    Args:
        budget: Samples.
        batch: Samples of a step.
        total: Positions there are.
        least: Positions there must be before training begins.
        most: Steps of a generation, at most: what is left of a larger budget is dropped. None: no limit.
    """
    if total < max(least, batch):
        return Purchase(0, budget)
    steps = int(budget // batch)
    if most is not None and steps > most:
        return Purchase(most, 0.0)
    return Purchase(steps, budget - steps * batch)


GateMode = Literal["off", "advisory", "binding"]
Undecided = Literal["score", "accept", "reject"]
Precision = Literal["fp32", "int16", "int8"]
PRESETS = Path(__file__).parent / "presets"
OPENINGS = Path(__file__).parent / "openings.sfen"
"""Openings for measuring strength; made by `tools/generate/measuring_openings.py`."""
DEVICES_OF = {"int16": ("native",), "int8": ("cpu", "openvino")}
"""Devices that compute in a precision; fp32 is for all."""
REPRODUCIBLE_DEVICES = ("native", "cpu")
"""Devices on which a game is the same in every run: their results do not depend on what else is computed."""
BATCH_DEPENDENT_DEVICES = ("cpu",)
"""Those of them where results depend on the size of a batch, so that all batches must be full."""
CPU_DEVICES = ("native", "cpu", "openvino")
"""Devices that need no GPU."""


class LoopError(InvalidValueError):
    """A learning run cannot start or go on: bad settings, a folder in use, or damaged files."""

    __module__ = "fukayomi.loop"


def _store_in_folder(store: Any, folder: Path) -> Any:
    """A folder, relative to that of the file, or a URL."""
    return store if isinstance(store, str) and "://" in store else in_folder(store, folder)


def _with_weights(files: tuple[str, ...]) -> tuple[str, ...]:
    for file in files:
        split_weight(file)
    return files


TrainingFiles = Annotated[tuple[str, ...], AfterValidator(_with_weights), FromFile(in_folder)]
"""Files of training data, with weights as in ``games.hcpe3*2``."""


class GeneratorSettings(Settings):
    """Settings of the generator of games: on this machine, or on that of each worker of a fleet."""

    device: str = "native"
    """Device of the network, as DNN_Provider: native (residual and sparse networks), cpu (all in ONNX), openvino, cuda,
    tensorrt, or auto. Only with native and cpu are the games the same in every run."""
    precision: Precision | None = None
    """Precision of residual networks; sparse ones have integers of their own. fp32; or int16 with the device
    native, on x86 CPUs with AVX2; or int8 with the device cpu or openvino. None: int16 where device is native, the CPU
    has AVX2 and there is no fleet; int8 where device is cpu, the CPU has the instructions for it (VNNI) and each
    league.network its int8 file; otherwise fp32. The run keeps it. GPUs choose by themselves."""
    devices: Positive | None = None
    """Number of devices, with a thread each on a CPU; None: all cores of a CPU, or one device."""
    batch_size: Annotated[int, Field(ge=0, le=1024)] = 0
    """Positions per batch; 0: 16 on a CPU, otherwise measured."""
    parallel: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Games at once; 0: 64 for each device."""

    @property
    def is_int8(self) -> bool:
        """True if each network of the run has an int8 file."""
        return self.precision == "int8"

    def precision_on(self, device: str) -> str:
        """Precision of residual networks of the run on a device, as `Network` takes it.

        Of networks that may be sparse, `precision_for` says it.

        >>> machine = GeneratorSettings(precision="int8")
        >>> [machine.precision_on(device) for device in ("native", "cpu", "openvino", "cuda")]
        ['fp32', 'int8', 'int8', 'auto']
        """
        if self.precision is not None and device in DEVICES_OF.get(self.precision, ()):
            return self.precision
        return "fp32" if device in REPRODUCIBLE_DEVICES else "auto"


class OpeningSettings(Settings):
    """Positions where games begin."""

    files: Annotated[tuple[str, ...], FromFile(in_folder)] = ()
    """Files of positions: hcp, or a line in SFEN or USI for each, with relative weights as in "balanced.sfen*2". None:
    the start position. Those of the gate and of the measurements are refused."""


class FleetSettings(Settings):
    """Workers on a Ray cluster that play the games; each runs what [generator] says."""

    ray: str = "auto"
    """The cluster: auto for the one that this machine belongs to, HOST:PORT, or ray://HOST:PORT from outside."""
    workers: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Number of workers; None: as many as the cluster has room for, also when it grows."""
    cpus: Positive = 1
    """CPUs of each worker."""
    gpus: Annotated[float, Field(ge=0, le=64)] | None = None
    """GPUs of each worker, 0.5 for two workers on each; None: 1, or none where generator.device is native, cpu or
    openvino."""
    store: Annotated[str | None, FromFile(_store_in_folder)] = None
    """Folder that all machines see, or URL of fsspec, through which networks and games go; None: the run's folder."""
    poll_s: Annotated[float, Field(ge=0.05, le=86_400)] = 30.0
    """Seconds from one look for a new network or for new games to the next."""
    scratch: str | None = None
    """Folder on each machine for games that are not delivered yet; None: the user's cache."""


class LearnerSettings(Settings):
    """Settings of the learner, which makes a network from the games."""

    samples_per_position: Annotated[float, Field(gt=0, le=1000)] = 4.0
    """Training samples for each new position, at most; KataGo's cap is 4."""
    least_positions: Annotated[int, Field(ge=0)] = 0
    """Positions there must be before training begins."""
    most_steps: Positive | None = None
    """Optimiser steps of a generation, at most, however many games a fleet delivers; None: no limit."""
    initial: Annotated[Path | None, FromFile(network_in_folder)] = None
    """File of the first network's weights: a checkpoint, .safetensors, .npz, .pth, .sparse, or .onnx of
    `fukayomi export`; "embedded": those of <5x64>, which comes with the package; None: random weights. A residual
    network that is smaller than the table network grows to it."""
    teacher: Annotated[Path | None, FromFile(network_in_folder)] = None
    """File of a network whose policy and value are targets too, with the share training.teacher_weight (distillation);
    "embedded": <5x64>, the residual network that comes with the package. None: none."""
    supervised: TrainingFiles = ()
    """Files of training data that are mixed with the games, with relative weights as in "games.hcpe3*2"."""
    supervised_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the samples that are from these files."""
    test: TrainingFiles = ()
    """Test files, on which every new network is evaluated."""
    device: str = "auto"
    """Device to train on: cpu, cuda, cuda:1, or auto, which is cuda if there is one."""
    threads: Positive | None = None
    """CPU threads; None: all. The weights depend on the number."""
    checkpoint_interval: Positive = 1000
    """Steps between two checkpoints; a run that is killed loses at most these."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        if bool(self.supervised) != bool(self.supervised_share):
            raise InvalidValueError("supervised and supervised_share belong together: set both, or none")
        return self


class PlaySettings(Settings):
    """Settings of the games between networks that measure their strength."""

    nodes: Positive = 100
    """Playouts for each move, fewer where the best is clear. Where a USI engine plays too: nodes of each search."""
    games: Annotated[int, Field(ge=2, le=100_000, multiple_of=2)] = 400
    """Games, at most; each opening is played twice, with colours swapped."""
    max_plies: Positive = 256
    """A game is a draw after this many plies."""
    device: str = "native"
    """Device of the networks, as DNN_Provider: native (residual and sparse networks), cpu (all in ONNX), openvino,
    cuda, tensorrt, or auto. Only with native and cpu is each game the same in every run."""
    openings: Annotated[Path | None, FromFile(in_folder)] = None
    """File of openings, which self-play must not use; None: those that come with the package."""

    @property
    def openings_file(self) -> Path:
        """The file of openings."""
        return self.openings or OPENINGS

    @property
    def between_networks(self) -> bool:
        """True if games are between two networks; in those with a USI engine chance may play a part."""
        return True


class RunReanalysisSettings(NewTargets):
    """Stored positions of the window that are searched again by the network that generates games."""

    select: Selection = Selection.RANDOM
    """Positions to choose: "random" or "surprise", in each chunk of the window whose targets are of an earlier network;
    "age": the chunks with the oldest targets."""

    def settings(self, seed: int) -> ReanalysisSettings:
        """Settings of a chunk's reanalysis. By age whole chunks are chosen, so all of their positions are."""
        targets: dict[str, Any] = {name: getattr(self, name) for name in NewTargets.model_fields}
        if self.select is Selection.AGE:
            targets["share"] = 1.0
            return ReanalysisSettings(**targets, seed=seed)
        return ReanalysisSettings(**targets, selection=self.select, seed=seed)


class GateSettings(PlaySettings, Hypotheses):
    """The test that a new network has to pass: a match of pairs against the network that generates games. The
    hypotheses are in normalised Elo."""

    mode: GateMode = "binding"
    """"binding": only a network that passes generates games; "advisory": the match is played and each network generates
    games; "off": no match."""
    elo1: float = 30.0
    """Advantage of the new network under H1; larger than `elo0`."""
    undecided: Undecided = "score"
    """Decision when all games are played and the test is undecided; "score": the network passes with half of the points
    or more."""
    rollback: bool = False
    """Return the learner to the weights of the last network that passed when one fails."""

    @model_validator(mode="after")
    def _is_a_test(self) -> Self:
        _ = self.sprt
        if self.rollback and self.mode != "binding":
            raise InvalidValueError(f'rollback needs mode = "binding", not "{self.mode}"')
        return self

    @property
    def sprt(self) -> SprtSettings:
        """The sequential test."""
        return SprtSettings(**{name: getattr(self, name) for name in Hypotheses.model_fields})


class AnchorSettings(Settings):
    """An opponent of fixed strength: a network or a USI engine."""

    name: Annotated[str, Field(max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")]
    """Its name in the tables."""
    network: Annotated[str | None, FromFile(network_in_folder)] = None
    """A network's file, or "embedded": <5x64>, the residual network that comes with the package."""
    command: str | None = None
    """A USI engine, as a command line."""
    options: UsiOptions = Field(default_factory=dict)
    """USI options of the engine."""
    nodes: Positive | None = None
    """Nodes per move; None: those of the networks."""

    @model_validator(mode="after")
    def _can_play(self) -> Self:
        if (self.network is None) == (self.command is None):
            raise InvalidValueError("an anchor has a network or a command")
        if self.network is not None and self.options:
            raise InvalidValueError("options are for an anchor with a command")
        return self


class StrengthSettings(PlaySettings):
    """Measurements of the networks' strength: each network that passed plays anchors and earlier networks."""

    games: Annotated[int, Field(ge=0, le=100_000, multiple_of=2)] = 100
    """Games against each opponent; 0: no matches."""
    every: Positive = 1
    """Generations from one measurement to the next; the last one always has one."""
    earlier: Annotated[int, Field(ge=0, le=20)] = 2
    """Earlier networks that are opponents, the newest ones."""
    first: bool = False
    """Make the first network an opponent, too; it is soon too weak to tell others apart."""
    anchors: Annotated[tuple[AnchorSettings, ...], Field(alias="anchor")] = ()
    """Opponents besides: tables [[strength.anchor]]."""

    @property
    def between_networks(self) -> bool:
        return bool(self.earlier or self.first or any(anchor.network is not None for anchor in self.anchors))

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [anchor.name for anchor in self.anchors]
        if len(set(names)) < len(names) or any(name.startswith("network-") for name in names):
            raise InvalidValueError(
                f'anchors need different names that do not begin with "network-", not {", ".join(names)}'
            )
        return self


class RunLeagueSettings(LeagueRules):
    """League of a run: a share of the games is against USI engines and earlier networks of the run."""

    past: Annotated[int, Field(ge=0, le=20)] = 0
    """Earlier networks that are opponents, the newest that generated games; those that win more are drawn more
    often."""
    networks: Annotated[tuple[LeagueNetwork, ...], Field(alias="network")] = ()
    """Networks that stay as they are, tables [[league.network]]; with share 1 and the main network alone the run trains
    an exploiter."""

    @property
    def names(self) -> list[str]:
        """Names of the opponents, without the earlier networks."""
        return [opponent.name for opponent in (*self.engines, *self.networks)]

    @model_validator(mode="after")
    def _has_opponents(self) -> Self:
        if not self.past and not self.names:
            raise InvalidValueError(
                "the league has no opponent: set past, or add a table [[league.engine]] or [[league.network]]"
            )
        if any(network.games for network in self.networks):
            raise InvalidValueError(
                "the run counts the games against [[league.network]] itself; leave games and wins out"
            )
        if odd := [name for name in self.names if name.startswith("network-")]:
            raise InvalidValueError(f'opponents need names that do not begin with "network-", not {", ".join(odd)}')
        return self


class LoopSettings(LearningSettings):
    """A learning run. With the same settings and one generator, the run ends with the same bytes."""

    ERROR: ClassVar = LoopError

    generations: Positive = 20
    """Rounds of generating games, training and testing."""
    games: Positive = 1024
    """Games of a generation; those that self-play does not keep included."""
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    """Random seed of everything."""
    selfplay: SelfplaySettings = SelfplaySettings()
    """Settings of the games."""
    openings: OpeningSettings = OpeningSettings()
    """Positions where the games begin."""
    generator: GeneratorSettings = GeneratorSettings()
    """Generator of the games."""
    fleet: FleetSettings | None = None
    """Workers on other machines; None: this process plays."""
    league: RunLeagueSettings | None = None
    """Players besides the network that generates games; None: nobody."""
    window: WindowSettings = WindowSettings()
    """Positions that the learner draws from."""
    reanalysis: RunReanalysisSettings | None = None
    """Positions of the window that are searched again before each training; None: none."""
    learner: LearnerSettings = LearnerSettings()
    """Settings of the learner, which makes a network from the games."""
    gate: GateSettings = GateSettings()
    """The test that a new network has to pass."""
    strength: StrengthSettings = StrengthSettings()
    """Measurements of the networks' strength."""

    @model_validator(mode="after")
    def _chunks_fit(self) -> Self:
        if self.games % self.selfplay.chunk_games:
            raise InvalidValueError(
                f"games is {self.games}, which is not a multiple of selfplay.chunk_games, {self.selfplay.chunk_games}; "
                "a generation has whole chunks"
            )
        return self

    @classmethod
    def over(cls, below: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
        """As `LearningSettings.over`; a layer may have a `preset`, over which its other values win."""
        given = dict(layer)
        if (name := given.pop("preset", None)) is not None:
            if name not in preset_names():
                raise LoopError(f"preset {name!r} does not exist; there are {', '.join(preset_names())}")
            below = cls.over(below, read(cls, PRESETS / f"{name}.toml"))
        training: Any = given.get("training")
        for name, reason in DECIDED.items():
            if isinstance(training, Mapping) and name in training:
                raise LoopError(f"training.{name}: cannot be set here: {reason}")
        return super().over(below, given)

    @model_validator(mode="before")
    @classmethod
    def _decide(cls, values: Any) -> Any:
        """The loop decides when training ends, and has one seed."""
        training: Any = values.get("training", {})
        if not isinstance(training, Mapping):
            return values
        seed = values.get("seed", cls.model_fields["seed"].default)
        decided = {"schedule": "constant", **cast("Mapping[str, Any]", training)}
        return {**values, "training": decided | {"steps": None, "epochs": None, "seed": seed}}

    @model_validator(mode="after")
    def _training_fits(self) -> Self:
        training, usual = self.training, TrainingSettings()
        if training.schedule != "constant":
            raise InvalidValueError(
                f'training.schedule: "{training.schedule}" needs to know the last step, and a learning run has none; '
                'write "constant"'
            )
        if self.targets.layer is not None:
            raise InvalidValueError("targets.layer: a learning run makes its layers itself; add the table [reanalysis]")
        if training.val_lambda_decay:
            raise InvalidValueError("training.val_lambda_decay: a learning run has no epochs; set val_lambda")
        for name in ("teacher_weight", "teacher_temperature"):
            if self.learner.teacher is None and getattr(training, name) != getattr(usual, name):
                raise InvalidValueError(f"training.{name}: there is no teacher; name one in learner.teacher")
        return self

    @property
    def matches(self) -> dict[str, PlaySettings]:
        """The matches that will be played, by the name of their table."""
        played: dict[str, PlaySettings] = {"gate": self.gate} if self.gate.mode != "off" else {}
        return played | ({"strength": self.strength} if self.strength.games else {})

    def plain(self) -> dict[str, Any]:
        """The settings as plain values, without those that are not set."""
        return plain(self, without={"training": {*DECIDED}})

    def text(self) -> str:
        """The settings as TOML, with all defaults; `read_settings` and `build_settings` read it."""
        return toml_text(self.plain(), [f"A learning run of fukayomi {__version__}: fukayomi learn FILE --out FOLDER"])


_STEPS = "the loop trains as many steps as learner.samples_per_position allows"
DECIDED = {"steps": _STEPS, "epochs": _STEPS, "seed": "the run has one seed, at the top of the file"}
"""Settings of training that the loop decides, and why."""


def preset_names() -> list[str]:
    """The presets that come with the package."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def read_settings(path: Path | str) -> dict[str, Any]:
    """The plain values of a TOML file; files that it names are relative to its folder.

    Raises:
        LoopError: The file cannot be read, or is not valid TOML.
    """
    return read(LoopSettings, Path(path))


def build_settings(*layers: Mapping[str, Any]) -> LoopSettings:
    """Check plain values and build the settings; later layers win over earlier ones.

    Args:
        layers: Values as in a file. A layer may have a `preset`, over which its other values win.

    Raises:
        LoopError: A setting is unknown, of the wrong type, or out of range; the message names it.
    """
    return build(LoopSettings, *layers)


RUN_FILE = SettingsFile(
    LoopSettings,
    "run.toml",
    "not the folder of a learning run",
    frozenset(
        {
            "generations", "generator.device", "generator.devices", "generator.parallel", "learner.device",
            "gate.device", "strength.device",
            *(f"fleet.{name}" for name in FleetSettings.model_fields),
        }
    ),
    LoopSettings.plain,
)  # fmt: skip
"""The settings in a run's folder, and which of them may change while it goes on."""


ONNX = ".onnx"
SPARSE_DEVICES = ("native", "auto")
"""Devices that run sparse networks."""
SPARSE_LEARNERS = ("cpu", "auto")
"""Devices that train them."""
AnyNetwork = AnyConfig | Path | str
"""A network by its shape or its file."""


def is_sparse(network: AnyNetwork) -> bool:
    """True if the network is sparse; a file says so by its name."""
    return str(network).endswith(SPARSE) if isinstance(network, Path | str) else isinstance(network, SparseConfig)


def suffix_of(network: AnyNetwork) -> str:
    """Suffix that the name of its file has, or has to have: readers tell the family by it.

    >>> suffix_of(SparseConfig()), suffix_of("a/b.sparse"), suffix_of("model")
    ('.sparse', '.sparse', '.onnx')
    """
    return SPARSE if is_sparse(network) else ONNX


def precision_of(network: AnyNetwork, precision: str) -> str:
    """Precision of a network where residual networks are in this one: a sparse one is integers of 8 bits."""
    return "int8" if is_sparse(network) else precision


def check_family(network: AnyNetwork, table: str, device: str) -> None:
    """See that the device in a table of the settings can be that of a network of this family.

    >>> check_family(SparseConfig(), "gate", "cuda")
    Traceback (most recent call last):
    fukayomi.errors.InvalidValueError: sparse networks need native or auto, not cuda
    """
    allowed = SPARSE_LEARNERS if table == "learner" else SPARSE_DEVICES
    if is_sparse(network) and device not in allowed:
        raise InvalidValueError(f"sparse networks need {' or '.join(allowed)}, not {device}")
