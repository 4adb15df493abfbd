"""dlshogi's parameter files: their names and shapes, written down a second time, and what is refused.

`dlshogi_shapes` lists the parameters of dlshogi's networks as its classes declare them; `Dlshogi` computes with them.
"""

import contextlib
import io
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from naive_network import Naive
from network_samples import random_features, shaken

from fukayomi.nn import ParameterFileError, load_dlshogi, save_dlshogi
from fukayomi.nn.config import NetworkConfig, NetworkConfigError
from fukayomi.nn.network import PolicyValueNetwork

CHAINER = {"weight": "W", "bias": "b"}
CHAINER_NORM = {"weight": "gamma", "bias": "beta", "running_mean": "avg_mean", "running_var": "avg_var"}
Shape = tuple[int, ...]


def norm(name: str, channels: int) -> Iterator[tuple[str, Shape]]:
    for part in CHAINER_NORM:
        yield f"{name}.{part}", (channels,)
    yield f"{name}.num_batches_tracked", ()


def numbered_layers(blocks: int, channels: int, hidden: int, *, wide: bool) -> Iterator[tuple[str, Shape]]:
    """wideresnet10 and resnet10_swish: l1_1_1 ... l24_v and norm1 ... norm22_v, for any number of blocks."""
    yield from stem(channels)
    last = 2 * blocks + 2
    for layer in range(2, last):
        yield f"l{layer}.weight", (channels, channels, 3, 3)
    for layer in range(1, last):
        yield from norm(f"norm{layer}", channels)
    yield f"l{last}.weight", (27, channels, 1, 1)
    yield f"l{last}_2.bias", (2187,)
    yield f"l{last}_v.weight", (27, channels, 1, 1)
    if wide:
        yield f"l{last}_v.bias", (27,)
    yield from norm(f"norm{last}_v", 27)
    yield from [(f"l{last + 1}_v.weight", (hidden, 2187)), (f"l{last + 1}_v.bias", (hidden,))]
    yield from [(f"l{last + 2}_v.weight", (1, hidden)), (f"l{last + 2}_v.bias", (1,))]


def numbered_blocks(blocks: int, channels: int, hidden: int, squeezed: int = 0) -> Iterator[tuple[str, Shape]]:
    """The other residual networks, and those with squeeze-excitation."""
    yield from stem(channels)
    yield from norm("norm1", channels)
    for block in range(blocks):
        for part in (1, 2):
            yield f"blocks.{block}.conv{part}.weight", (channels, channels, 3, 3)
            yield from norm(f"blocks.{block}.bn{part}", channels)
        if squeezed:
            yield f"blocks.{block}.se.fc1.weight", (squeezed, channels, 1, 1)
            yield f"blocks.{block}.se.fc1.bias", (squeezed,)
            yield f"blocks.{block}.se.fc2.weight", (channels, squeezed, 1, 1)
            yield f"blocks.{block}.se.fc2.bias", (channels,)
    yield from [("policy.weight", (27, channels, 1, 1)), ("policy_bias.bias", (2187,))]
    yield "value_conv1.weight", (27, channels, 1, 1)
    yield from norm("value_norm1", 27)
    yield from [("value_fc1.weight", (hidden, 2187)), ("value_fc1.bias", (hidden,))]
    yield from [("value_fc2.weight", (1, hidden)), ("value_fc2.bias", (1,))]


def stem(channels: int) -> Iterator[tuple[str, Shape]]:
    yield "l1_1_1.weight", (channels, 62, 3, 3)
    yield "l1_1_2.weight", (channels, 62, 1, 1)
    yield "l1_2.weight", (channels, 57, 1, 1)


def chainer(name: str) -> str:
    module, _, leaf = name.rpartition(".")
    is_norm = "norm" in module or "bn" in module
    names = CHAINER_NORM | {"num_batches_tracked": "N"} if is_norm else CHAINER
    return f"{module.replace('.', '/')}/{names[leaf]}"


def drawn(shapes: Iterator[tuple[str, Shape]]) -> dict[str, torch.Tensor]:
    """Parameters at random; variances are positive."""
    random = torch.Generator().manual_seed(3)
    state: dict[str, torch.Tensor] = {}
    for name, shape in shapes:
        if not shape:
            state[name] = torch.tensor(7)
        elif name.endswith("running_var"):
            state[name] = torch.rand(shape, generator=random) + 0.5
        else:
            state[name] = torch.randn(shape, generator=random) * 0.2
    return state


def write_npz(state: dict[str, torch.Tensor], path: Path) -> Path:
    with path.open("wb") as file:
        np.savez_compressed(file, **{chainer(name): tensor.numpy() for name, tensor in state.items()})
    return path


def write_pth(state: dict[str, torch.Tensor], path: Path) -> Path:
    torch.save({"epoch": 3, "t": 1000, "model": state, "optimizer": {"state": {}}, "scaler": {}}, path)
    return path


WRITERS: dict[str, Callable[[dict[str, torch.Tensor], Path], Path]] = {".npz": write_npz, ".pth": write_pth}


@dataclass
class Dlshogi:
    """One position through a network of numbered layers, without the classes and names of the package."""

    state: dict[str, torch.Tensor]
    blocks: int
    wide: bool

    def __call__(self, features1: torch.Tensor, features2: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        activation = torch.relu if self.wide else torch.nn.functional.silu
        u = self.conv("l1_1_1", features1, 1) + self.conv("l1_1_2", features1) + self.conv("l1_2", features2)
        if not self.wide:
            u = activation(self.norm("norm1", u))
        for layer in range(2, 2 * self.blocks + 2, 2):
            if self.wide:
                h = activation(self.norm(f"norm{layer - 1}", u))
                h = activation(self.norm(f"norm{layer}", self.conv(f"l{layer}", h, 1)))
                u = self.conv(f"l{layer + 1}", h, 1) + u
            else:
                h = activation(self.norm(f"norm{layer}", self.conv(f"l{layer}", u, 1)))
                u = activation(self.norm(f"norm{layer + 1}", self.conv(f"l{layer + 1}", h, 1)) + u)
        last = 2 * self.blocks + 2
        if self.wide:
            u = activation(self.norm(f"norm{last - 1}", u))
        policy = self.conv(f"l{last}", u).flatten(1) + self.state[f"l{last}_2.bias"]
        v = activation(self.norm(f"norm{last}_v", self.conv(f"l{last}_v", u))).flatten(1)
        v = activation(v @ self.state[f"l{last + 1}_v.weight"].T + self.state[f"l{last + 1}_v.bias"])
        return policy, v @ self.state[f"l{last + 2}_v.weight"].T + self.state[f"l{last + 2}_v.bias"]

    def conv(self, name: str, x: torch.Tensor, padding: int = 0) -> torch.Tensor:
        return torch.conv2d(x, self.state[f"{name}.weight"], self.state.get(f"{name}.bias"), padding=padding)

    def norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        mean, var, gamma, beta = (
            self.state[f"{name}.{part}"].view(-1, 1, 1) for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / torch.sqrt(var + (2e-5 if self.wide else 1e-5)) * gamma + beta


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("wideresnet10", numbered_layers(10, 192, 256, wide=True)),
        ("resnet10_swish", numbered_layers(10, 192, 256, wide=False)),
        ("resnet10", numbered_blocks(10, 192, 256)),
        ("resnet15x224_swish", numbered_blocks(15, 224, 256)),
        ("resnet5x64_fcl32", numbered_blocks(5, 64, 32)),
        ("senet10", numbered_blocks(10, 192, 256, 24)),
        ("senet4x48_reduction16_swish", numbered_blocks(4, 48, 256, 3)),
    ],
)
def test_what_is_written_has_dlshogis_names_and_shapes(name, shapes, tmp_path: Path):
    network = PolicyValueNetwork(NetworkConfig.from_name(name))
    save_dlshogi(network, tmp_path / "model.pth")
    state = torch.load(tmp_path / "model.pth", weights_only=True)["model"]
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == dict(shapes)


def test_the_names_in_npz_are_chainers(tmp_path: Path):
    save_dlshogi(PolicyValueNetwork(NetworkConfig.from_name("senet2x16_fcl8")), tmp_path / "model.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"], "nothing is appended to the name"
    with np.load(tmp_path / "model.npz") as arrays:
        found = {name: (array.shape, array.dtype.kind) for name, array in arrays.items()}
    shapes = numbered_blocks(2, 16, 8, 2)
    assert found == {chainer(name): (shape, "f" if shape else "i") for name, shape in shapes}


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("wide", [True, False])
def test_a_network_with_numbered_layers_computes_the_same(wide, suffix, tmp_path: Path):
    state = drawn(numbered_layers(3, 16, 8, wide=wide))
    network = load_dlshogi(WRITERS[suffix](state, tmp_path / f"model{suffix}"))
    assert network.config == NetworkConfig(
        blocks=3, channels=16, activation="relu" if wide else "silu", value_hidden=8, pre_activation=wide
    )
    features = random_features(5)
    with torch.inference_mode():
        for expected, found in zip(Dlshogi(state, 3, wide)(*features), network(*features), strict=True):
            torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("squeezed", [0, 4])
def test_a_network_with_numbered_blocks_computes_the_same(squeezed, suffix, tmp_path: Path):
    state = drawn(numbered_blocks(2, 16, 8, squeezed))
    path = WRITERS[suffix](state, tmp_path / f"model{suffix}")
    with pytest.raises(ParameterFileError, match=f"model{suffix}: the file does not say whether"):
        load_dlshogi(path)
    network = load_dlshogi(path, activation="relu")
    assert network.config == NetworkConfig(
        blocks=2, channels=16, activation="relu", value_hidden=8, squeeze=squeezed and 16 // squeezed
    )
    ours = {
        "bn": "norm",
        "se.": "se.1.",
        "policy_bias": "policy",
        "value_conv1": "value.conv",
        "value_norm1": "value.norm",
    }
    ours |= {"value_fc": "value.fc", "l1_1_1": "stem.conv1_3x3", "l1_1_2": "stem.conv1_1x1", "l1_2": "stem.conv2_1x1"}
    named: dict[str, Any] = {}
    for name, tensor in state.items():
        renamed = name.replace("policy.weight", "policy.conv.weight")
        renamed = renamed.replace("norm1.", "stem.norm.", 1) if name.startswith("norm1.") else renamed
        for theirs, mine in ours.items():
            renamed = renamed.replace(theirs, mine, 1)
        named[renamed] = tensor.double().numpy()
    features = random_features(1)
    policy, value = Naive(network.config, named)(*(planes[0].double().numpy() for planes in features))
    with torch.inference_mode():
        found, logit = network(*features)
    np.testing.assert_allclose(found[0].numpy(), policy, atol=1e-4)
    np.testing.assert_allclose(torch.sigmoid(logit[0]).numpy(), value, atol=1e-5)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("name", ["resnet3x16_swish_fcl8", "senet2x24_fcl8", "resnet10x16"])
def test_networks_come_back_unchanged(name, suffix, tmp_path: Path):
    network = shaken(NetworkConfig.from_name(name))
    save_dlshogi(network, tmp_path / f"model{suffix}")
    again = load_dlshogi(tmp_path / f"model{suffix}", activation=network.config.activation)
    assert again.config == network.config
    for key, tensor in network.state_dict().items():
        assert torch.equal(again.state_dict()[key], tensor)
    before = (tmp_path / f"model{suffix}").read_bytes()
    save_dlshogi(again, tmp_path / f"model{suffix}")
    assert (tmp_path / f"model{suffix}").read_bytes() == before


def test_old_and_averaged_files_are_read(tmp_path: Path):
    state = drawn(numbered_layers(2, 16, 8, wide=False))
    expected = load_dlshogi(write_npz(state, tmp_path / "plain.npz")).state_dict()
    averaged = {f"module.{name}": tensor for name, tensor in state.items()}
    with (tmp_path / "averaged.npz").open("wb") as file:
        arrays = {chainer(name): tensor.numpy() for name, tensor in averaged.items()}
        np.savez(file, n_averaged=np.array(4), **arrays)
    old = {name: tensor for name, tensor in state.items() if "num_batches" not in name}
    old["l6_v_aux.weight"] = torch.zeros(3)
    write_npz(old, tmp_path / "old.npz")
    for name in ("averaged", "old"):
        for key, tensor in load_dlshogi(tmp_path / f"{name}.npz").state_dict().items():
            if "num_batches" not in key:
                assert torch.equal(tensor, expected[key]), (name, key)
    torch.save(state, tmp_path / "bare.pth")
    assert torch.equal(load_dlshogi(tmp_path / "bare.pth").state_dict()["policy.bias"], expected["policy.bias"])


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (NetworkConfig(blocks=2, channels=16, large_kernel_interval=2), "large_kernel_interval 2"),
        (NetworkConfig(blocks=2, channels=16, transformer_blocks=1), "transformer_blocks 1"),
        (NetworkConfig(blocks=2, channels=16, stem="branches"), "stem 'branches'"),
        (NetworkConfig(blocks=2, channels=16, colour_plane=True), "colour_plane True"),
        (NetworkConfig(blocks=2, channels=16, activation="relu", pre_activation=True), "wideresnet10 alone"),
    ],
)
def test_networks_that_dlshogi_does_not_have_are_not_written(config, reason, tmp_path: Path):
    with pytest.raises(NetworkConfigError, match=reason):
        save_dlshogi(PolicyValueNetwork(config), tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def header(shape: str, kind: str = "<f4") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"l2/W": None}, "its blocks or its value's hidden layer are missing|l2/W"),
        ({"l3/W": None}, "its blocks or its value"),
        ({"l1_1_1/W": None}, "l1_1_1 and l1_2"),
        (
            {"l2/W": header("(999999999, 16, 3, 3)")},
            r"l2/W has the shape \(999999999, 16, 3, 3\), not \(16, 16, 3, 3\)",
        ),
        ({"l2/W": header("(16, 16, 3, 3)")}, "l2/W.npy is damaged"),
        ({"l2/W": header("(16, 16, 3, 3)", "|O")}, "l2/W.npy is an array of object"),
        ({"l2/W": header("(16, 16, 3, 3)", "<c8")}, "l2/W.npy is an array of complex64"),
        ({"l2/W": header("__import__('os').system('x')")}, "l2/W.npy is no array"),
        ({"l2/W": b""}, "l2/W.npy is no array"),
        ({"l1_1_1/W": header("(999999999, 62, 3, 3)")}, "channels: Input should be"),
        ({"l1_2/W": header("(16, 119, 1, 1)")}, "119 constant planes"),
        ({"extra/W": header("(1,)")}, "extra/W is no parameter of such a network"),
        ({"l2/weights": header("(1,)")}, "l2/weights.npy is no parameter"),
        ({"norm2/gamma": None}, r"norm2/gamma is missing; it has the shape \(16,\)"),
    ],
)
def test_npz_files_that_are_no_network_are_refused(change: dict[str, bytes | None], reason: str, tmp_path: Path):
    arrays: dict[str, bytes] = {}
    for name, tensor in drawn(numbered_layers(1, 16, 8, wide=False)).items():
        buffer = io.BytesIO()
        np.save(buffer, tensor.numpy())
        arrays[chainer(name)] = buffer.getvalue()
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (arrays | change).items():
            if content is not None:
                archive.writestr(f"{name}.npy", content)
    with pytest.raises(ParameterFileError, match=reason) as error:
        load_dlshogi(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("suffix", WRITERS)
def test_damaged_files_are_refused(suffix, tmp_path: Path):
    path = tmp_path / f"model{suffix}"
    with pytest.raises(ParameterFileError, match="no such file"):
        load_dlshogi(path)
    WRITERS[suffix](drawn(numbered_layers(1, 16, 8, wide=False)), path)
    data = path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0xFF
    for damaged in (b"", data[:100], data[: len(data) // 2], b"PK\x03\x04" + data[4:50]):
        path.write_bytes(damaged)
        with pytest.raises(ParameterFileError, match=f"model{suffix}: "):
            load_dlshogi(path)
    if suffix == ".npz":  # its parts have checksums that are looked at
        path.write_bytes(flipped)
        with pytest.raises(ParameterFileError, match=f"model{suffix}: "):
            load_dlshogi(path)


@pytest.mark.parametrize("suffix", WRITERS)
def test_files_with_changed_bytes_are_read_or_refused(suffix, tmp_path: Path):
    path = tmp_path / f"model{suffix}"
    data = WRITERS[suffix](drawn(numbered_layers(1, 4, 2, wide=False)), path).read_bytes()
    random = np.random.default_rng(1)
    loaded = 0
    for _ in range(75):
        changed = bytearray(data)
        ends = [*range(3000), *range(len(data) - 3000, len(data))]  # the pickle, headers and the archive's directory
        for place in random.choice(ends, random.integers(1, 4)):
            changed[place] = random.integers(256)
        path.write_bytes(changed)
        with contextlib.suppress(ParameterFileError):
            loaded += load_dlshogi(path).config.blocks == 1
    assert 0 < loaded < 75


class Runs:
    """Pickles as a call of a function."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[Path]]:
        return Path.touch, (Path("called"),)  # type: ignore[return-value]


def test_pth_files_that_are_no_network_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.pth"
    state = drawn(numbered_layers(1, 16, 8, wide=False))
    for content, reason in (
        ([1], "l1_1_1 and l1_2"),
        ({"model": 5}, "l1_1_1 and l1_2"),
        ({"model": state | {"l2.weight": "x"}}, "l2.weight is no tensor"),
        ({"model": state | {"l2.weight": torch.zeros(1).expand(10**6, 10**6)}}, "l2.weight has the shape"),
        ({"model": state | {"x.weight": torch.zeros(1)}}, "x.weight is no parameter"),
        ({"format": "fukayomi-checkpoint-1"}, r"a name in \.pt"),
        ({"model": state, "settings": Runs()}, "not a checkpoint"),
    ):
        torch.save(content, path)
        with pytest.raises(ParameterFileError, match=reason):
            load_dlshogi(path)
    assert not Path("called").exists()
    torch.save({"model": state}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(ParameterFileError, match=r"before 1\.6"):
        load_dlshogi(path)
    torch.save({"model": state}, path)
    with zipfile.ZipFile(path) as stored, zipfile.ZipFile(tmp_path / "small.pth", "w", zipfile.ZIP_DEFLATED) as small:
        for entry in stored.namelist():
            small.writestr(entry, stored.read(entry))
    with pytest.raises(ParameterFileError, match="compressed"):
        load_dlshogi(tmp_path / "small.pth")
