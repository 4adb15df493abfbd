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
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BeforeValidator, PlainValidator, field_serializer, model_validator

from fukayomi.engine.settings import is_network_name
from fukayomi.errors import InvalidValueError
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.settings import (
    PRESET_TARGETS,
    PRESETS,
    RunSettings,
    TargetSettings,
    TrainingError,
    TrainingSettings,
)
from fukayomi.listener import SILENT, Listener
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.sparse_config import FAMILY, AnyConfig, SparseConfig, config_from_name
from fukayomi.settings import FromFile, Settings, in_folder, merged, plain, toml_text
from fukayomi.settings.problems import unknown

WEIGHTS = (1e-6, 1e6)
"""Smallest and largest weight of a file."""
NETWORK_FILES = ("initial", "teacher")
"""Settings of a run that are files of networks."""
FAMILIES: dict[str, type[AnyConfig]] = {"residual": NetworkConfig, FAMILY: SparseConfig}
"""Shapes of networks by family, the key `family` of a table."""


def _listed(files: Any) -> Any:
    return (files,) if isinstance(files, str) else files


def _network(table: Any) -> AnyConfig:
    """The shape that a table of settings describes."""
    if not isinstance(table, Mapping):
        if isinstance(table, NetworkConfig | SparseConfig):
            return table
        raise InvalidValueError("this is a table: [network]")
    given = dict(cast("Mapping[str, Any]", table))
    family = given.pop("family", "residual")
    if not isinstance(family, str) or family not in FAMILIES:
        raise InvalidValueError(f"family {family!r} is not one of {', '.join(FAMILIES)}")
    if odd := [name for name in given if name not in FAMILIES[family].model_fields]:
        raise InvalidValueError(f"{odd[0]}: {unknown(odd[0], list(FAMILIES[family].model_fields))}")
    return FAMILIES[family].model_validate(given)


class LearningSettings(Settings):
    """The tables that runs of `train` and learning runs have. Sparse networks have the preset "sparse" unasked."""

    network: Annotated[AnyConfig, PlainValidator(_network)] = NetworkConfig()
    """Shape of the network, of either family."""
    training: TrainingSettings = TrainingSettings()
    """Settings that determine the weights."""
    targets: TargetSettings = TargetSettings()
    """Settings that turn the data into targets."""

    @classmethod
    def over(cls, below: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
        """As `Settings.over`. A preset or a network that a layer names wins over the layers before it, and the layer's
        other settings win over the preset. Where a layer changes the family of the network, what earlier ones say of
        the optimiser is forgotten.
        """
        network, training = (_table(layer, name) for name in ("network", "training"))
        if (preset := training.pop("preset", None)) is not None:
            if not isinstance(preset, str) or preset not in PRESETS:
                raise cls.ERROR(f"training.preset: {preset!r} is not one of {', '.join(PRESETS)}")
            named = {"training": _with_one_end(PRESETS[preset]), "targets": PRESET_TARGETS.get(preset, {})}
            below = merged(below, named)
        if (name := network.pop("name", None)) is not None:
            if not isinstance(name, str):
                raise cls.ERROR(f'network.name: {name!r} is not a name, such as "resnet10_swish"')
            network = {"family": "residual", **config_from_name(name).as_dict(), **network}
        before = _table(below, "network").get("family", "residual") if "network" in below else None
        if network.get("family", before) != before:
            if before is not None:  # what suits another family says nothing of this one
                given = _table(below, "training").items()
                kept = {key: value for key, value in given if key not in PRESETS["sparse"]}
                below = {**below, "training": kept}
            below = {**below, "network": {}}
        changed = {"network": network, "training": _with_one_end(training)}
        changed = {name: table for name, table in changed.items() if isinstance(layer.get(name), Mapping)}
        return merged(below, {**layer, **changed})

    @model_validator(mode="before")
    @classmethod
    def _suit_family(cls, values: Any) -> Any:
        if _table(values, "network").get("family") == FAMILY:
            return {**values, "training": {**PRESETS["sparse"], **_table(values, "training")}}
        return values

    @field_serializer("network")
    def _network_table(self, network: AnyConfig) -> dict[str, Any]:
        return network.as_dict()


class RunConfiguration(LearningSettings):
    """All of a training run but its folder."""

    ERROR: ClassVar = TrainingError

    train: Annotated[tuple[str, ...], BeforeValidator(_listed), FromFile(in_folder)] = ()
    """Training files, with weights as in ``games.hcpe3*2``."""
    test: Annotated[tuple[str, ...], BeforeValidator(_listed), FromFile(in_folder)] = ()
    """Test files."""
    run: RunSettings = RunSettings()
    """Everything else."""

    @model_validator(mode="after")
    def _has_files(self) -> Self:
        if not self.train:
            raise InvalidValueError("no training files are given")
        return self

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

    def non_utf8_file(self) -> str | None:
        """The first file whose name is not UTF-8; None if there is none."""
        names = (*self.train, *self.test, *(getattr(self.run, name) or "" for name in NETWORK_FILES))
        return next((name for name in names if any("\ud800" <= letter <= "\udfff" for letter in name)), None)

    def text(self) -> str:
        """The configuration as TOML, without what is not set; `read` reads it."""
        return toml_text(plain(self))


def resolved(
    network: AnyConfig, training: TrainingSettings, data: Dataset, test: Dataset | None, run: RunSettings
) -> RunConfiguration:
    """The configuration of a run, from what it was started with; paths are absolute."""
    files = zip(data.paths, data.weights, strict=True)
    return RunConfiguration(
        train=tuple(with_weight(str(path.absolute()), weight) for path, weight in files),
        test=tuple(str(path.absolute()) for path in (test.paths if test else ())),
        network=network,
        training=training,
        targets=TargetSettings(
            temperature=data.temperature, eval_scale="fit" if data.eval_scale is None else data.eval_scale,
            layer=data.layer, n_step=data.n_step, weights=data.position_weights,
        ),
        run=run.changed(**{name: _full(file) for name in NETWORK_FILES if (file := getattr(run, name))}),
    )  # fmt: skip


def _full(network: str) -> str:
    return network if is_network_name(network) else str(Path(network).absolute())


VISITS = "write FILE*2 to visit a file twice an epoch"


def split_weight(text: str, remedy: str = VISITS) -> tuple[Path, float]:
    """Path and weight of ``games.hcpe3*2``; the weight is 1 where there is none, or a file has just this name.

    Args:
        text: A file, perhaps with a weight.
        remedy: What the message advises if the weight is none.

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
        raise TrainingError(f"{text}: {number!r} is not a weight from {least:g} to {most:,.0f}; {remedy}")
    return Path(name), weight


def with_weight(name: str, weight: float) -> str:
    """The inverse of `split_weight`.

    >>> with_weight("a.hcpe", 1.0), with_weight("a.hcpe", 2.0), with_weight("a.hcpe", 1 / 3)
    ('a.hcpe', 'a.hcpe*2', 'a.hcpe*0.3333333333333333')
    """
    return name if weight == 1 else f"{name}*{str(weight).removesuffix('.0')}"


def _with_one_end(training: Mapping[str, Any]) -> dict[str, Any]:
    """Of steps and epochs, the one that is set takes the place of the other in earlier layers."""
    ends = {name: None for name in ("steps", "epochs") if not {"steps", "epochs"}.isdisjoint(training)}
    return {**ends, **training}


def _table(values: Any, name: str) -> dict[str, Any]:
    """A table of plain values; empty if there is none."""
    table: Any = cast("Mapping[str, Any]", values).get(name) if isinstance(values, Mapping) else None
    return dict(cast("Mapping[str, Any]", table)) if isinstance(table, Mapping) else {}
