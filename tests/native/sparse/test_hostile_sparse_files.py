"""Damaged and hostile files of sparse networks."""

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sparse_files
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sparse_files import begins, signed

from fukayomi._native import SparseInferenceNetwork, SparseInput, SparseRunner
from fukayomi.files.sparse_network import HEADER_BYTES, SparseFile, SparseFileError, read_sparse_file
from fukayomi.shogi import Position


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> SparseFile:
    return sparse_files.write(tmp_path_factory.mktemp("sparse"), sparse_files.SMALL)


def refused(folder: Path, data: bytes) -> str:
    path = folder / "hostile.sparse"
    path.write_bytes(data)
    with pytest.raises(SparseFileError) as caught:
        read_sparse_file(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def run(data: NDArray[np.uint8]) -> None:
    """Whatever is in the arrays, the network can be run."""
    network = SparseInferenceNetwork(data)
    read = SparseInput(1)
    position = Position()
    read.write(0, position, position.legal_moves)
    logits, values = np.zeros((1, 593), np.float32), np.zeros(1, np.float32)
    is_finite = SparseRunner(network, 1).run(read, 1, logits, values)
    assert is_finite == bool(np.isfinite(logits).all() and np.isfinite(values).all())


def test_a_damaged_file_is_refused(file: SparseFile, tmp_path: Path) -> None:
    data = bytearray(file.data.tobytes())
    data[HEADER_BYTES + 700] ^= 1
    assert "damaged, its SHA-256 is another" in refused(tmp_path, bytes(data))
    data[HEADER_BYTES + 700] ^= 1
    data[40] ^= 1
    assert "damaged" in refused(tmp_path, bytes(data))


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (0, 0x50534E92, "does not begin as a sparse network does"),
        (4, 0, "does not begin as a sparse network does"),
        (8, 2, "format version 2; version 1 is known"),
        (8, 0, "format version 0"),
        (12, 99, "features of version 99; version 1 is known"),
        (16, 0, "policy is 0, not a multiple of 64 up to 1024"),
        (16, 96, "policy is 96"),
        (16, 8192, "policy is 8192"),
        (16, 0xFFFFFFC0, "policy is 4294967232"),
        (20, 65, "value is 65, not a multiple of 64 up to 1024"),
        (20, 0x80000000, "value is 2147483648"),
        (24, 64, "shared is 64, not a multiple of 32 up to 32"),
        (24, 0, "shared is 0"),
        (28, 12, "hidden is 12, not a multiple of 8 up to 256"),
        (28, 264, "hidden is 264"),
        (16, 128, r"bytes; a network of its widths has"),
        (20, 1024, r"bytes; a network of its widths has"),
        (28, 16, r"bytes; a network of its widths has"),
    ],
)
def test_every_field_of_the_header(file: SparseFile, tmp_path: Path, offset: int, value: int, message: str) -> None:
    data = bytearray(file.data.tobytes())
    struct.pack_into("<I", data, offset, value)
    assert message in refused(tmp_path, signed(data))


def test_cut_off_files(file: SparseFile, tmp_path: Path) -> None:
    data = file.data.tobytes()
    assert "empty" in refused(tmp_path, b"") or "ends within its header" in refused(tmp_path, b"")
    for size in (1, 7, 8, 31, 63):
        assert "ends within its header" in refused(tmp_path, data[:size])
    for begin in begins(file).values():
        for size in (begin, begin + 1):
            assert "a network of its widths has" in refused(tmp_path, signed(data[:size]))
    assert "a network of its widths has" in refused(tmp_path, signed(data[:-1]))
    assert "a network of its widths has" in refused(tmp_path, signed(data + bytes(64)))


@pytest.mark.parametrize(
    "name", ["scales", "label_scales", "value_scales1", "value_bias1", "value_layer2", "value_bias2", "value_layer3"]
)
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite(file: SparseFile, tmp_path: Path, name: str, number: float) -> None:
    data = bytearray(file.data.tobytes())
    struct.pack_into("<f", data, begins(file)[name] + file.arrays()[name].nbytes - 4, number)
    assert f"{name} has a number that is not finite" in refused(tmp_path, signed(data))


@pytest.mark.parametrize("top", [0, 63, 1024, 65535])
def test_tops_beyond_their_range(file: SparseFile, tmp_path: Path, top: int) -> None:
    data = bytearray(file.data.tobytes())
    struct.pack_into("<H", data, begins(file)["tops"] + 2 * 127, top)
    assert f"tops has {top}; they are 64 to 1023" in refused(tmp_path, signed(data))
    with pytest.raises(ValueError, match="tops has"):
        SparseInferenceNetwork(np.frombuffer(signed(data), np.uint8))


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_every_changed_byte_is_noticed(file: SparseFile, where: float, change: int) -> None:
    data = bytearray(file.data.tobytes())
    data[int(where * len(data))] ^= change
    refused(file.path.parent, bytes(data))


WORDS = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2, 8, 32, 64, 128, 1024, 2**31]))


@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=8),
    st.lists(st.tuples(st.integers(2, 7), WORDS), max_size=2),
    st.one_of(st.none(), st.floats(0, 1)),
    st.data(),
)
def test_mutated_files(
    file: SparseFile,
    mutations: list[tuple[float, int]],
    words: list[tuple[int, int]],
    end: float | None,
    data: st.DataObject,
) -> None:
    """A file with another content and a good hash is refused, or computes something."""
    changed = bytearray(file.data.tobytes())
    start = data.draw(st.sampled_from([0, *begins(file).values()]))
    for where, value in mutations:
        changed[start + int(where * min(2048, len(changed) - start))] = value
    for place, word in words:
        struct.pack_into("<I", changed, place * 4, word)
    changed = signed(changed if end is None else changed[: int(end * len(changed))])
    path = file.path.with_name("mutated.sparse")
    path.write_bytes(changed)
    try:
        found = read_sparse_file(path)
    except SparseFileError as error:
        assert str(path) in str(error)  # noqa: PT017
        with pytest.raises(ValueError, match=r"\w"):
            SparseInferenceNetwork(np.frombuffer(changed, np.uint8))
    else:
        run(found.data)


def test_extreme_weights_compute_something(file: SparseFile) -> None:
    extremes: dict[str, Any] = {
        "tops": 64,
        "scales": 3e38,
        "label_scales": 3e38,
        "value_scales1": 3e38,
        "value_layer2": -3e38,
        "value_layer3": 3e38,
    }
    for sign in (-1, 1):
        changed = file.data.copy()
        for name, begin in begins(file).items():
            array = file.arrays()[name]
            most = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
            value = extremes.get(name, 0 if most is None else most.max if sign > 0 else most.min)
            changed[begin : begin + array.nbytes] = np.full(array.size, value, array.dtype).view(np.uint8)
        run(changed)


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.sparse"):
        with pytest.raises(SparseFileError, match=str(path)):
            read_sparse_file(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(SparseFileError, match="a named pipe"):
            read_sparse_file(tmp_path / "pipe")
