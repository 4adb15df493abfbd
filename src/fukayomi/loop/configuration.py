"""Learning runs as TOML: presets and files, checked, and saved with the run."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

import tomli_w
from pydantic import BaseModel, ValidationError

from fukayomi import __version__
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.match.configuration import ConfigurationError, prepare_engine
from fukayomi.engine.settings import EMBEDDED
from fukayomi.files.settings import read_toml
from fukayomi.learning.settings import TrainingError, TrainingSettings
from fukayomi.learning.training.configuration import build_configuration, split_weight
from fukayomi.loop.settings import LoopError, LoopSettings
from fukayomi.nn.config import NetworkConfigError
from fukayomi.nn.sparse_config import SparseConfig

PRESETS = Path(__file__).parent / "presets"
_TRAINING_TABLES = ("network", "training", "targets")
"""Tables that `fukayomi train` has too."""
_BASE: dict[str, Any] = {"training": {"schedule": "constant"}}
"""What differs from the defaults of `fukayomi train`."""
_PATHS = (
    ("learner", "initial"), ("learner", "teacher"), ("learner", "supervised"), ("learner", "test"),
    ("openings", "files"), ("gate", "openings"), ("strength", "openings"),
)  # fmt: skip
"""Settings that are files."""


def preset_names() -> list[str]:
    """The presets that come with the package."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def read_preset(name: str) -> dict[str, Any]:
    """The plain values of a preset.

    Raises:
        LoopError: There is no such preset.
    """
    if name not in preset_names():
        raise LoopError(f"preset {name!r} does not exist; there are {', '.join(preset_names())}")
    return read_settings(PRESETS / f"{name}.toml")


def read_settings(path: Path) -> dict[str, Any]:
    """The plain values of a TOML file; files that it names are relative to its folder.

    Raises:
        LoopError: The file cannot be read, or is not valid TOML.
    """
    try:
        found = read_toml(path)
    except OSError as error:
        raise LoopError(f"cannot read the settings in {path}: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise LoopError(f"{path}: {error}") from error
    folder = path.parent.absolute()
    for table, name in _PATHS:
        values = found.get(table)
        if isinstance(values, dict) and name in values:
            values[name] = _from_folder(cast("dict[str, Any]", values)[name], folder)
    fleet = found.get("fleet")
    if isinstance(fleet, dict) and isinstance(store := cast("dict[str, Any]", fleet).get("store"), str):
        fleet["store"] = store if "://" in store else str(folder / store)
    for number, engine in enumerate(_tables(found, "league", "engine")):
        try:
            prepare_engine(engine, path.parent)
        except ConfigurationError as error:
            raise LoopError(f"{path}: league, engine, {number}, command: {error}") from error
    for network in _tables(found, "league", "network"):
        if "file" in network:
            network["file"] = _from_folder(network["file"], folder)
    for anchor in _tables(found, "strength", "anchor"):
        if "network" in anchor:
            anchor["network"] = _from_folder(anchor["network"], folder)
    return found


def build_settings(*layers: Mapping[str, Any]) -> LoopSettings:
    """Check plain values and build the settings; later layers win over earlier ones.

    Args:
        layers: Values as in a file. A layer may have a `preset`, over which its other values win.

    Raises:
        LoopError: A setting is unknown, of the wrong type, or out of range; the message names it.
    """
    merged: dict[str, Any] = {}
    parts_of: list[dict[str, Any]] = [{"train": ["-"]}]
    for layer in (_BASE, *_with_presets(layers)):
        merged = _merged(merged, layer)
        parts_of.append({name: layer[name] for name in _TRAINING_TABLES if name in layer})
    tables = {name: merged.pop(name, {}) for name in _TRAINING_TABLES}
    try:
        parts = build_configuration(*parts_of)
        seed = merged.get("seed", LoopSettings.model_fields["seed"].default)
        training = replace(parts.training, seed=seed, epochs=None)  # a preset of training may have epochs
        settings = LoopSettings.model_validate(
            {**merged, "network": parts.network, "training": training, "targets": parts.targets}
        )
    except (TrainingError, NetworkConfigError) as error:
        raise LoopError(str(error)) from error
    except ValidationError as error:
        raise LoopError("; ".join(_complaint(dict(each)) for each in error.errors()[:3])) from error
    _check_training(tables["training"], settings)
    return settings


def settings_text(settings: LoopSettings) -> str:
    """The settings as TOML, with all defaults; `read_settings` and `build_settings` read it."""
    head = f"# A learning run of fukayomi {__version__}: fukayomi learn FILE --out FOLDER\n\n"
    return head + tomli_w.dumps(plain(settings))


def plain(settings: LoopSettings) -> dict[str, Any]:
    """The settings as plain values, without those that are not set."""
    found = _plain(settings)
    for name in ("steps", "epochs", "seed"):
        found["training"].pop(name, None)
    return found


def differences(one: LoopSettings, other: LoopSettings) -> Iterator[tuple[str, Any, Any]]:
    """The settings that differ, as name and both values."""
    flat, others = _flat(plain(one)), _flat(plain(other))
    for name in sorted({*flat, *others}):
        if flat.get(name) != others.get(name):
            yield name, flat.get(name), others.get(name)


def _with_presets(layers: tuple[Mapping[str, Any], ...]) -> Iterator[Mapping[str, Any]]:
    for layer in layers:
        given = dict(layer)
        if (name := given.pop("preset", None)) is not None:
            yield read_preset(name)
        yield given


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Values of two layers; tables are merged, everything else is replaced."""
    found = dict(below)
    for name, value in above.items():
        before = found.get(name)
        both_tables = isinstance(value, Mapping) and isinstance(before, Mapping)
        if both_tables and not (name == "network" and "name" in value):  # a named network is another one
            found[name] = _merged(cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", value))
        else:
            found[name] = value
    return found


def _check_training(given: Any, settings: LoopSettings) -> None:
    """What the loop decides cannot be set."""
    for name, reason in (
        ("steps", "the loop trains as many steps as learner.samples_per_position allows"),
        ("epochs", "the loop trains as many steps as learner.samples_per_position allows"),
        ("seed", "the run has one seed, at the top of the file"),
    ):
        if name in given:
            raise LoopError(f"training, {name}: cannot be set here: {reason}")
    if settings.training.schedule != "constant":
        raise LoopError(
            f'training, schedule: "{settings.training.schedule}" needs to know the last step, and a learning run has '
            'none; write "constant"'
        )
    if settings.targets.layer is not None:
        raise LoopError("targets, layer: a learning run makes its layers itself; add the table [reanalysis]")
    if settings.training.val_lambda_decay:
        raise LoopError("training, val_lambda_decay: a learning run has no epochs; set val_lambda")
    plain, training = TrainingSettings(), settings.training
    for name in ("teacher_weight", "teacher_temperature"):
        if settings.learner.teacher is None and getattr(training, name) != getattr(plain, name):
            raise LoopError(f"training, {name}: there is no teacher; name one in learner.teacher")
    for file in (*settings.learner.supervised, *settings.learner.test):
        try:
            split_weight(file)
        except TrainingError as error:
            raise LoopError(f"learner: {error}") from error


def _tables(found: dict[str, Any], table: str, name: str) -> list[dict[str, Any]]:
    """The tables [[table.name]]."""
    outer: Any = found.get(table)
    inner: Any = cast("dict[str, Any]", outer).get(name) if isinstance(outer, dict) else None
    return [each for each in cast("list[Any]", inner) if isinstance(each, dict)] if isinstance(inner, list) else []


def _from_folder(value: Any, folder: Path) -> Any:
    """A path, or several, made absolute; "embedded" stays."""
    if isinstance(value, str):
        return value if _is_named(value) else str(folder / value)
    return [_from_folder(each, folder) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def _is_named(network: str) -> bool:
    """Whether it is no file: the embedded network, or an evaluator for tests."""
    return network == EMBEDDED or network.startswith("<")


def _plain(value: Any) -> Any:
    """A value for TOML."""
    if isinstance(value, BaseModel):
        names = {name: field.alias or name for name, field in type(value).model_fields.items()}
        return _plain({names[name]: getattr(value, name) for name in names})
    if isinstance(value, SparseConfig):
        return value.as_dict()
    if isinstance(value, TimeControl):
        return value.text()
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        items = {str(name): each for name, each in cast("Mapping[Any, Any]", value).items()}
        return {name: _plain(each) for name, each in items.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[Any]", value)]
    return str(value) if isinstance(value, Path) else value


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def _complaint(error: Mapping[str, Any]) -> str:
    """One line about one error."""
    words = [str(word) for word in error["loc"]]
    where = ", ".join(words)
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown setting; {_known(words[:-1])}"
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in ("value_error", "missing"):
        return f"{where}: {message}" if where else message
    return f"{where}: {message}, not {error['input']!r}"


def _known(table: list[str]) -> str:
    """The settings that a table has."""
    model: Any = LoopSettings
    for word in table:
        field = next((f for name, f in model.model_fields.items() if word in (name, f.alias)), None)
        annotation = field.annotation if field else None
        kinds = [annotation, *get_args(annotation)]
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        model = inner or model
    names = [field.alias or name for name, field in model.model_fields.items()]
    return f"there are {', '.join(names)}"
