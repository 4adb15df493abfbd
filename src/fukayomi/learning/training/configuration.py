"""Runs as TOML: read from a file and presets, checked, and saved beside the weights.

train = ["selfplay.hcpe3*2", "floodgate.hcpe"]
test = ["test.hcpe"]

[network]
blocks = 20
channels = 256

[training]
preset = "dlshogi-large"
steps = 100_000

[targets]
temperature = 1.0
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast, get_type_hints

import tomli_w
from pydantic import TypeAdapter, ValidationError

from fukayomi._native import EVAL_SCALE
from fukayomi.engine.settings import is_network_name
from fukayomi.files.settings import read_toml
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.settings import (
    CHECKPOINT_INTERVAL,
    EVAL_INTERVAL,
    PRESET_TARGETS,
    PRESETS,
    TEMPERATURE,
    TEST_POSITIONS,
    TrainingError,
    TrainingSettings,
)
from fukayomi.listener import SILENT, Listener
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.sparse_config import FAMILY, AnyConfig, SparseConfig, config_from_name


@dataclass(frozen=True)
class TargetSettings:
    """How visits and evaluations become training targets; arguments of `Dataset`."""

    temperature: float = TEMPERATURE
    """Policy weight of a move: visits^(1/temperature)."""
    eval_scale: float | str = EVAL_SCALE
    """Centipawns in 1 / (1 + exp(-eval / eval_scale)), or "fit"."""
    layer: str | None = None
    """Layer of hcpe3 files to train from; test files keep their own targets."""
    n_step: int = 0
    """In hcpe3, take values from the evaluation so many plies later; test files keep their own."""
    weights: bool = True
    """Whether positions of hcpe3 have the weights in the file beside it; in test files they have none."""


@dataclass(frozen=True)
class RunSettings:
    """Arguments of `train` that do not determine the weights, and the networks that help."""

    initial: str | None = None
    """File of a network from whose weights training begins."""
    teacher: str | None = None
    """File of a network whose policy and value are targets too."""
    device: str = "auto"
    """Where to compute."""
    threads: int | None = None
    """CPU threads; None: the fastest."""
    eval_interval: int = EVAL_INTERVAL
    """Steps between two evaluations."""
    checkpoint_interval: int = CHECKPOINT_INTERVAL
    """Steps between two checkpoints."""
    test_positions: int = TEST_POSITIONS
    """Test positions of an evaluation before the last one."""


WEIGHTS = (1e-6, 1e6)
"""Smallest and largest weight of a file."""
NETWORK_FILES = ("initial", "teacher")
"""Settings of a run that are files of networks."""


@dataclass(frozen=True)
class RunConfiguration:
    """All of a training run but its folder."""

    train: tuple[str, ...]
    """Training files, with weights as in ``games.hcpe3*2``."""
    test: tuple[str, ...] = ()
    """Test files."""
    network: AnyConfig = field(default_factory=NetworkConfig)
    """Shape of the network."""
    training: TrainingSettings = field(default_factory=TrainingSettings)
    """What determines the weights."""
    targets: TargetSettings = field(default_factory=TargetSettings)
    """How the data becomes targets."""
    run: RunSettings = field(default_factory=RunSettings)
    """Everything else."""

    def open(self, files: Sequence[str], listener: Listener = SILENT, *, as_test: bool = False) -> Dataset:
        """Open training or test files.

        Args:
            files: The files, with weights.
            listener: Follows the reading of hcpe3 files.
            as_test: Leave out the layer, n-step values and weights of positions, which are for training.

        Raises:
            LayerError: No file has the layer, or one is not sound.
            TrainingError: A weight is not a positive number.
            DataFileError: A file is missing, damaged or of another format.
        """
        parts = [split_weight(file) for file in files]
        scale = self.targets.eval_scale
        layer, n_step = (None, 0) if as_test else (self.targets.layer, self.targets.n_step)
        return Dataset(
            *(path for path, _ in parts), weights=[weight for _, weight in parts],
            temperature=self.targets.temperature, eval_scale=None if isinstance(scale, str) else scale,
            layer=layer, n_step=n_step, position_weights=self.targets.weights and not as_test, listener=listener,
        )  # fmt: skip

    def odd_file(self) -> str | None:
        """The first file whose name is not UTF-8; None if there is none."""
        names = (*self.train, *self.test, *(getattr(self.run, name) or "" for name in NETWORK_FILES))
        return next((name for name in names if any("\ud800" <= letter <= "\udfff" for letter in name)), None)

    def text(self) -> str:
        """The configuration as TOML, without what is not set; `read_configuration` reads it."""
        tables = {name: _set(asdict(getattr(self, name))) for name in TABLES}
        if isinstance(self.network, SparseConfig):
            tables["network"] = self.network.as_dict()
        return tomli_w.dumps({"train": list(self.train), "test": list(self.test), **tables})


TABLES: dict[str, type[Any]] = {
    "network": NetworkConfig, "training": TrainingSettings, "targets": TargetSettings, "run": RunSettings,
}  # fmt: skip
"""The tables of a file, and what they set; `network` of a residual network."""
RESIDUAL = "residual"
"""Family of the networks whose shape is a `NetworkConfig`."""


def read_configuration(path: Path) -> dict[str, Any]:
    """The plain values of a TOML file; paths in it are relative to its folder.

    Raises:
        TrainingError: The file cannot be read, or is not valid TOML.
    """
    try:
        found = read_toml(path)
    except OSError as error:
        raise TrainingError(f"cannot read the settings in {path}: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise TrainingError(f"{path}: {error}") from error
    for name in ("train", "test"):
        if isinstance(files := found.get(name, []), str):
            files = [files]
        if not isinstance(files, list) or not all(isinstance(file, str) for file in cast("list[Any]", files)):
            raise TrainingError(f'{path}: {name} is a list of files, as {name} = ["games.hcpe"]')
        found[name] = [str(path.parent.absolute() / file) for file in cast("list[str]", files)]
    run: Any = found.get("run")
    if isinstance(run, dict):
        for name in NETWORK_FILES:
            if isinstance(file := cast("dict[str, Any]", run).get(name), str) and not is_network_name(file):
                run[name] = str(path.parent.absolute() / file)
    return found


def build_configuration(*layers: Mapping[str, Any]) -> RunConfiguration:
    """Check plain values and build a configuration; later layers win over earlier ones.

    Args:
        layers: Values as in a file: "train", "test", and tables. A preset or a network that a layer names wins over
            the layers before it, and the layer's other settings win over the preset. Where a layer changes the
            family of the network, what earlier ones say of the optimiser is forgotten.

    Raises:
        TrainingError: A setting is unknown, of the wrong type, or out of range.
        NetworkConfigError: The network cannot be built.
    """
    merged: dict[str, dict[str, Any]] = {name: {} for name in TABLES}
    family: str | None = None
    files: dict[str, Sequence[str]] = {}
    for layer in layers:
        if unknown := sorted(set(layer) - {"train", "test", *TABLES}):
            raise TrainingError(f"{unknown[0]}: unknown; a run has train, test, {', '.join(TABLES)}")
        files |= {name: layer[name] for name in ("train", "test") if layer.get(name)}
        for name in TABLES:
            table = layer.get(name, {})
            if not isinstance(table, Mapping):
                raise TrainingError(f"{name} is a table: [{name}]")
            for settings in _with_preset(name, cast("Mapping[str, Any]", table), layer):
                # Of steps and epochs, the one that is set takes the place of the other.
                for one, other in (("steps", "epochs"), ("epochs", "steps")):
                    if one in settings and other not in settings:
                        merged[name].pop(other, None)
                if name == "network" and (given := settings.pop("family", family)) != family:
                    if family is not None:  # what suits another family says nothing of this one
                        for setting in PRESETS["sparse"]:
                            merged["training"].pop(setting, None)
                    family, merged[name] = given, {}
                merged[name] |= settings
    if family not in (None, FAMILY, RESIDUAL):
        raise TrainingError(f"network, family: {family!r} is neither {FAMILY!r} nor {RESIDUAL!r}")
    kinds: dict[str, type[Any]] = TABLES
    if family == FAMILY:
        kinds = TABLES | {"network": SparseConfig}
        merged["training"] = PRESETS["sparse"] | merged["training"]
    if not files.get("train"):
        raise TrainingError("no training files are given")
    parts: dict[str, Any] = {name: kind(**_checked(name, kind, merged[name])) for name, kind in kinds.items()}
    configuration = RunConfiguration(tuple(files["train"]), tuple(files.get("test", ())), **parts)
    scale = configuration.targets.eval_scale
    if isinstance(scale, str) and scale != "fit":
        raise TrainingError(f"targets, eval_scale: {scale!r} is neither a number of centipawns nor 'fit'")
    return configuration


def resolved(
    network: AnyConfig, training: TrainingSettings, data: Dataset, test: Dataset | None, run: RunSettings
) -> RunConfiguration:
    """The configuration of a run, from what it was started with; paths are absolute."""
    return RunConfiguration(
        tuple(with_weight(str(path.absolute()), weight) for path, weight in zip(data.paths, data.weights, strict=True)),
        tuple(str(path.absolute()) for path in (test.paths if test else ())),
        network,
        training,
        TargetSettings(
            data.temperature,
            "fit" if data.eval_scale is None else data.eval_scale,
            data.layer,
            data.n_step,
            data.position_weights,
        ),
        replace(run, **{name: _full(file) for name in NETWORK_FILES if (file := getattr(run, name))}),
    )


def _full(network: str) -> str:
    return network if is_network_name(network) else str(Path(network).absolute())


def split_weight(text: str) -> tuple[Path, float]:
    """Path and weight of ``games.hcpe3*2``; the weight is 1 where there is none, or a file has just this name.

    Raises:
        TrainingError: The weight is not a number, or out of range (`WEIGHTS`).
    """
    name, star, number = text.rpartition("*")
    if not star or Path(text).exists():
        return Path(text), 1.0
    try:
        weight = float(number)
    except ValueError:
        weight = 0.0
    least, most = WEIGHTS
    if not least <= weight <= most:
        raise TrainingError(
            f"{text}: {number!r} is not a weight from {least:g} to {most:,.0f}; write FILE*2 to visit a file twice an "
            "epoch"
        )
    return Path(name), weight


def with_weight(name: str, weight: float) -> str:
    """The inverse of `split_weight`.

    >>> with_weight("a.hcpe", 1.0), with_weight("a.hcpe", 2.0), with_weight("a.hcpe", 1 / 3)
    ('a.hcpe', 'a.hcpe*2', 'a.hcpe*0.3333333333333333')
    """
    return name if weight == 1 else f"{name}*{str(weight).removesuffix('.0')}"


def _with_preset(name: str, table: Mapping[str, Any], layer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings that a preset or the name of a network stands for, and the table's own."""
    settings = dict(table)
    if name == "targets":
        training: Any = layer.get("training", {})
        return [PRESET_TARGETS.get(training.get("preset"), {}), settings]
    if name == "network" and (network := settings.pop("name", None)) is not None:
        if not isinstance(network, str):
            raise TrainingError(f'network, name: {network!r} is not a name, such as "resnet10_swish"')
        config = config_from_name(network)
        return [asdict(config) | {"family": FAMILY if isinstance(config, SparseConfig) else RESIDUAL}, settings]
    if name == "training" and (preset := settings.pop("preset", None)) is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            raise TrainingError(f"training, preset: {preset!r} is not one of {', '.join(PRESETS)}")
        return [PRESETS[preset], settings]
    return [settings]


def _checked(table: str, kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a table, each of its field's type."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name not in names:
            raise TrainingError(f"{table}, {name}: unknown setting; there are {', '.join(names)}")
        try:
            given = tuple(cast("list[Any]", value)) if isinstance(value, list) else value  # TOML has no tuples
            found[name] = TypeAdapter[Any](hints[name]).validate_python(given, strict=True)
        except ValidationError as error:
            raise TrainingError(f"{table}, {name}: {error.errors()[0]['msg']}, not {value!r}") from error
    return found


def _set(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
