"""dlshogi's parameter files: ``.npz`` with the names of Chainer, and ``.pth``, the checkpoints of its training.

A network has the same parameters in both, in one of two layouts. In wideresnet10 and resnet10_swish the layers are
numbered through; in all other networks the blocks are. The files do not say more of a network than its shapes: the
activation of one with numbered blocks must be given.

    torch    weight  bias    in a BatchNorm: weight  bias  running_mean  running_var  num_batches_tracked
    Chainer  W       b                       gamma   beta  avg_mean      avg_var      N
"""

# pyright: reportUnknownMemberType=false

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import problem_of
from fukayomi.nn.config import FEATURES2, HEAD_WIDTH, LABELS, MOST_BLOCKS, Activation, NetworkConfig, NetworkConfigError
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import ParameterFileError, build_network, parameter_shapes, require_finite

SUFFIXES = (".npz", ".pth")
PLAIN_NAMES = {"weight": "W", "bias": "b"}
NORM_NAMES = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "avg_mean",
    "running_var": "avg_var",
    "num_batches_tracked": "N",
}
TORCH_NAMES = {chainer: name for names in (PLAIN_NAMES, NORM_NAMES) for name, chainer in names.items()}
MOST_ARRAYS = 20_000
"""More than a network of the most blocks has."""
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError)
"""Exceptions from reading damaged archives: NotImplementedError and UnicodeDecodeError are among them."""
NUMBERED = (NetworkConfig(activation="relu", pre_activation=True), NetworkConfig())
"""wideresnet10 and resnet10_swish, whose layers dlshogi numbers through."""
PLAIN = {
    "large_kernel_interval": 0,
    "transformer_blocks": 0,
    "stem": "sum",
    "colour_plane": False,
}
"""Fields in which all of dlshogi's networks are alike."""

Shapes = Mapping[str, tuple[int, ...]]


def load_dlshogi(path: Path | str, *, activation: Activation | None = None) -> PolicyValueNetwork:
    """The network of one of dlshogi's files, on the CPU, in evaluation mode.

    Keys of former auxiliary heads are ignored, and averaged models are read too, whose keys start with "module".

    Args:
        path: A file with a name in .npz or .pth. Of a checkpoint, the model is read, not the averaged one.
        activation: Activation of the network. wideresnet10 (relu) and resnet10_swish (silu) need none.

    Raises:
        ParameterFileError: The file is missing, damaged, something else, or does not say which activation the network
            has.
    """
    path = Path(path)
    if (problem := problem_of(path)) is not None:
        raise ParameterFileError(f"{path}: {problem}")
    read = _read_npz if path.suffix.lower() == ".npz" else _read_pth
    try:
        shapes, tensor = read(path)
        config, names = _recognised(shapes, activation)
        expected = parameter_shapes(config)
        tensors: dict[str, Tensor] = {}
        for ours, theirs in names.items():
            if ours.endswith("num_batches_tracked") and theirs not in shapes:
                tensors[ours] = torch.zeros((), dtype=torch.int64)  # the oldest files have none
                continue
            if shapes.get(theirs) != expected[ours]:
                found = f"has the shape {shapes[theirs]}, not" if theirs in shapes else "is missing; it has the shape"
                raise NetworkConfigError(f"{_spelled(theirs, path)} {found} {expected[ours]}")
        unknown = sorted(shapes.keys() - names.values())
        if unknown:
            raise NetworkConfigError(f"{_spelled(unknown[0], path)} is no parameter of such a network")
        for ours, theirs in names.items():
            if ours not in tensors:
                tensors[ours] = tensor(theirs)
        return build_network(config, tensors)
    except NetworkConfigError as error:
        raise ParameterFileError(f"{path}: {error}") from error
    except DAMAGE as error:
        raise ParameterFileError(f"{path}: not a network of dlshogi, or damaged ({error})") from error


def save_dlshogi(network: PolicyValueNetwork, path: Path | str) -> None:
    """Write a network so that dlshogi reads it; an existing file is replaced once the new one is complete.

    Heads that only training has are left out. A .pth file has no optimiser: dlshogi resumes from it with
    --reset_optimizer.

    Args:
        network: A network that dlshogi has too.
        path: File to write, with a name in .npz or .pth.

    Raises:
        NetworkConfigError: dlshogi has no such network.
        ExportError: A parameter is not finite.
    """
    path = Path(path)
    config = network.config.changed(heads=())
    require_dlshogi(config)
    names = _numbered_layers(config) if _at_rest(config) in NUMBERED else _numbered_blocks(config)
    state = network.state_dict()
    tensors = {theirs: state[ours].detach().cpu().contiguous() for ours, theirs in _parameters(config, names).items()}
    require_finite(tensors)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    if path.suffix == ".npz":
        arrays: dict[str, Any] = {chainer_name(name): tensor.numpy() for name, tensor in tensors.items()}
        np.savez_compressed(content, **arrays)
    else:
        torch.save({"epoch": 0, "t": 0, "model": tensors}, content)
    replace_file(path, content.getvalue())


def require_dlshogi(config: NetworkConfig) -> None:
    """Raise NetworkConfigError if dlshogi has no network of this shape."""
    for name, plain in PLAIN.items():
        if getattr(config, name) != plain:
            raise NetworkConfigError(f"dlshogi has no network with {name} {getattr(config, name)!r}")
    if config.pre_activation and _at_rest(config) != NUMBERED[0]:
        raise NetworkConfigError("of the networks with pre_activation, dlshogi has wideresnet10 alone")


def _at_rest(config: NetworkConfig) -> NetworkConfig:
    """Without the fields that change no parameter of policy and value without Transformer blocks."""
    return config.changed(dropout=0.0, head_width=HEAD_WIDTH, heads=())


def chainer_name(name: str) -> str:
    """The name in an .npz file of a parameter of a state dict.

    >>> chainer_name("blocks.3.bn1.running_mean"), chainer_name("l22_2.bias")
    ('blocks/3/bn1/avg_mean', 'l22_2/b')
    """
    *module, leaf = name.split(".")
    names = NORM_NAMES if "norm" in name or "bn" in name else PLAIN_NAMES
    return "/".join([*module, names[leaf]])


def _spelled(name: str, path: Path) -> str:
    """A parameter's name as in the file."""
    leaf = name.rpartition(".")[2]
    return chainer_name(name) if path.suffix.lower() == ".npz" and leaf in NORM_NAMES else name


def _recognised(shapes: Shapes, activation: Activation | None) -> tuple[NetworkConfig, dict[str, str]]:
    """The network with parameters of these shapes, and their names by ours.

    Raises:
        NetworkConfigError: It is none of dlshogi's, or the activation is not known.
    """
    first, constants = shapes.get("l1_1_1.weight", ()), shapes.get("l1_2.weight", ())
    if len(first) != 4 or len(constants) != 4:
        raise NetworkConfigError("not a network of dlshogi: l1_1_1 and l1_2, its first convolutions, are missing")
    if constants[1] != FEATURES2:
        raise NetworkConfigError(
            f"the network takes {constants[1]} constant planes, not {FEATURES2}: dlshogi's further planes for entering "
            "kings are not supported"
        )
    by_layer = "blocks.0.conv1.weight" not in shapes
    blocks = 0
    while (
        blocks <= MOST_BLOCKS and (f"l{2 * blocks + 3}" if by_layer else f"blocks.{blocks}.conv2") + ".weight" in shapes
    ):
        blocks += 1
    hidden = shapes.get(f"l{2 * blocks + 3}_v.weight" if by_layer else "value_fc1.weight", ())
    if not blocks or len(hidden) != 2 or hidden[1] != LABELS:
        raise NetworkConfigError("not a network of dlshogi: its blocks or its value's hidden layer are missing")
    squeeze = shapes.get("blocks.0.se.fc1.weight", ())
    pre_activation = by_layer and f"l{2 * blocks + 2}_v.bias" in shapes
    if by_layer:
        activation = activation or ("relu" if pre_activation else "silu")
    elif activation is None:
        raise NetworkConfigError(
            "the file does not say whether the network's activation is relu or silu (swish): fukayomi export FILE "
            "network.safetensors --activation silu (or relu) writes one that does"
        )
    config = NetworkConfig(
        blocks=blocks,
        channels=first[0],
        activation=activation,
        value_hidden=hidden[0],
        pre_activation=pre_activation,
        squeeze=first[0] // max(1, squeeze[0]) if squeeze else 0,
    )
    return config, _parameters(config, _numbered_layers(config) if by_layer else _numbered_blocks(config))


STEM = {"stem.conv1_3x3": "l1_1_1", "stem.conv1_1x1": "l1_1_2", "stem.conv2_1x1": "l1_2"}


def _numbered_layers(config: NetworkConfig) -> dict[str, str]:
    """dlshogi's names of the modules by ours, where it numbers the layers."""
    names = dict(STEM)
    norm = 1
    if not config.pre_activation:
        names["stem.norm"], norm = "norm1", 2
    for block in range(config.blocks):
        for part in (1, 2):
            names[f"blocks.{block}.conv{part}"] = f"l{2 * block + part + 1}"
            names[f"blocks.{block}.norm{part}"] = f"norm{norm}"
            norm += 1
    if config.pre_activation:
        names["final.norm"] = f"norm{norm}"
    last = 2 * config.blocks + 2
    heads = {
        "policy.conv": f"l{last}",
        "policy": f"l{last}_2",
        "value.conv": f"l{last}_v",
        "value.norm": f"norm{last}_v",
    }
    return names | heads | {"value.fc1": f"l{last + 1}_v", "value.fc2": f"l{last + 2}_v"}


def _numbered_blocks(config: NetworkConfig) -> dict[str, str]:
    """dlshogi's names of the modules by ours, where it numbers the blocks."""
    names = STEM | {"stem.norm": "norm1", "policy.conv": "policy", "policy": "policy_bias"}
    for block in range(config.blocks):
        for ours, theirs in (("conv1", "conv1"), ("norm1", "bn1"), ("conv2", "conv2"), ("norm2", "bn2")):
            names[f"blocks.{block}.{ours}"] = f"blocks.{block}.{theirs}"
        for part in ("fc1", "fc2"):
            names[f"blocks.{block}.se.1.{part}"] = f"blocks.{block}.se.{part}"
    value = {"conv": "value_conv1", "norm": "value_norm1", "fc1": "value_fc1", "fc2": "value_fc2"}
    return names | {f"value.{ours}": theirs for ours, theirs in value.items()}


def _parameters(config: NetworkConfig, modules: Mapping[str, str]) -> dict[str, str]:
    """dlshogi's names of all parameters by ours."""
    parameters: dict[str, str] = {}
    for name in parameter_shapes(config):
        module, _, leaf = name.rpartition(".")
        parameters[name] = f"{modules[module]}.{leaf}"
    return parameters


def _plain_name(name: str) -> str | None:
    """A key of a state dict as dlshogi's networks have it; None for what is no parameter of policy and value."""
    name = name.removeprefix("module.")
    return None if name == "n_averaged" or "_aux" in name else name


def _read_npz(path: Path) -> tuple[dict[str, tuple[int, ...]], Callable[[str], Tensor]]:
    """Shapes of the parameters, and how to read one; the arrays stay in the file."""
    entries = dict(_npz_entries(path))
    shapes: dict[str, tuple[int, ...]] = {}
    with zipfile.ZipFile(path) as archive:
        for name, entry in entries.items():
            shapes[name] = _array_shape(archive, entry)

    def tensor(name: str) -> Tensor:
        try:
            with zipfile.ZipFile(path) as archive, archive.open(entries[name]) as file:
                array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        except DAMAGE as error:
            raise NetworkConfigError(f"{entries[name]} is damaged ({error})") from error
        return torch.from_numpy(array.astype(np.int64 if array.dtype.kind in "iu" else np.float32))

    return shapes, tensor


def _npz_entries(path: Path) -> Iterator[tuple[str, str]]:
    """The names of a network's parameters in torch, and the files of the archive that have them."""
    with zipfile.ZipFile(path) as archive:
        files = archive.namelist()
    if len(files) > MOST_ARRAYS:
        raise NetworkConfigError(f"{len(files)} arrays are too many for a network")
    for file in files:
        *module, leaf = file.removesuffix(".npy").split("/")
        if leaf not in TORCH_NAMES and (module, leaf) != ([], "n_averaged"):
            raise NetworkConfigError(f"not a network of dlshogi: {file} is no parameter")
        name = _plain_name(".".join([*module, TORCH_NAMES.get(leaf, leaf)]))
        if name is not None:
            yield name, file


def _array_shape(archive: zipfile.ZipFile, entry: str) -> tuple[int, ...]:
    """The shape that the header of an array states; nothing else is read."""
    try:
        with archive.open(entry) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
    except Exception as error:  # encrypted or damaged; and the header is Python source, which fails in many ways
        raise NetworkConfigError(f"{entry} is no array of numbers ({error})") from error
    if dtype.kind not in "fiu" or dtype.itemsize > 8:
        raise NetworkConfigError(f"{entry} is an array of {dtype}, not of numbers")
    return shape


def _read_pth(path: Path) -> tuple[dict[str, tuple[int, ...]], Callable[[str], Tensor]]:
    """Shapes of the parameters, and how to read one; the file is mapped into memory, not read."""
    if not zipfile.is_zipfile(path):
        raise NetworkConfigError("not a file of torch, or of torch before 1.6: load and save it with a newer one")
    with zipfile.ZipFile(path) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise NetworkConfigError("not a file of torch: it is compressed")
    try:
        state: Any = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except Exception as error:  # damaged files make torch raise almost anything
        raise NetworkConfigError(f"not a checkpoint, or damaged ({type(error).__name__})") from error
    fields = cast("dict[Any, Any]", state) if isinstance(state, dict) else {}
    if "format" in fields:
        raise NetworkConfigError("not a checkpoint of dlshogi; give one of fukayomi train a name in .pt")
    model: Any = fields.get("model", fields)
    tensors: dict[str, Tensor] = {}
    for key, tensor in cast("dict[Any, Any]", model).items() if isinstance(model, dict) else ():
        name = _plain_name(str(key))
        if name is not None:
            if not isinstance(tensor, Tensor) or tensor.layout != torch.strided:
                raise NetworkConfigError(f"{key} is no tensor")
            tensors[name] = tensor
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}, lambda name: tensors[name].clone()
