"""Chunks: written in an order that a kill cannot spoil, and read back only as they were written."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.selfplay import chunk
from fukayomi.selfplay.chunk import ChunkDetails, ChunkError, ResultCounts


def details(**changes: Any) -> ChunkDetails:
    fields: dict[str, Any] = {
        "games": 2, "positions": 3, "plies": 5, "worker": "gpu0.host-1", "sequence": 1, "first_game": 0,
        "seed": (1 << 64) - 1, "network": "ab" * 32, "build": "0.1", "settings": {"playouts": 800, "threshold": 0.99},
        "results": ResultCounts(black_wins=1, draws=1, mates=1, repetitions=1), "wrong_resignations": (4, 1),
    }  # fmt: skip
    return ChunkDetails(**fields | changes)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_chunk_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "w-000001.hcpe3"
    weights = np.array([1, 0.5, 2], np.float32)
    info = chunk.write_chunk(path, b"games", details(), weights)
    assert names(tmp_path) == {"w-000001.hcpe3", "w-000001.json", "w-000001.weights.npy"}
    read = chunk.read_chunk(path)
    assert (read.info, read.data) == (info, b"games")
    assert read.weights is not None
    np.testing.assert_array_equal(read.weights, weights)
    assert dict(info) | dict(details()) == dict(info)
    assert chunk.find_chunks(tmp_path) == [path]


def test_a_chunk_exists_with_its_sidecar_and_never_changes(tmp_path: Path) -> None:
    path = tmp_path / "w-000001.hcpe3"
    path.write_bytes(b"left by a kill")
    assert chunk.find_chunks(tmp_path) == []
    info = chunk.write_chunk(path, b"games", details())
    before = chunk.sidecar_of(path).stat().st_mtime_ns
    assert chunk.write_chunk(path, b"games", details()) == info
    assert chunk.write_chunk(path, b"games", details(build="0.1+core.0123456789ab", device="cpu")) == info
    assert chunk.sidecar_of(path).stat().st_mtime_ns == before
    with pytest.raises(ChunkError, match="another chunk has this name"):
        chunk.write_chunk(path, b"other games", details())
    assert path.read_bytes() == b"games"


def test_settings_have_one_hash_in_any_order() -> None:
    assert chunk.settings_sha256({"a": 1, "b": [2]}) == chunk.settings_sha256({"b": [2], "a": 1})
    assert chunk.settings_sha256({"a": 1}) != chunk.settings_sha256({"a": 2})


def change(path: Path, **fields: Any) -> None:
    sidecar = chunk.sidecar_of(path)
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | fields))


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("version", 2, "version 2; this fukayomi reads versions up to 1"),
        ("version", 0, "version: Input should be greater than or equal to 1"),
        ("games", "2", "games: Input should be a valid integer"),
        ("plies", -1, "plies: "),
        ("worker", "../../etc", "worker: String should match pattern"),
        ("sha256", "0" * 63, "sha256: String should match pattern"),
        ("settings", {"playouts": 801}, "settings_sha256 is not that of the settings"),
        ("settings", {"playouts": float("nan")}, "settings"),
        ("weights", {"file": "../w.npy", "sha256": "0" * 64}, "weights.file: "),
        ("results", {"draws": 1.5}, "results.draws: "),
    ],
)
def test_a_bad_field_is_named(tmp_path: Path, field: str, value: object, reason: str) -> None:
    path = tmp_path / "w-000001.hcpe3"
    chunk.write_chunk(path, b"games", details())
    change(path, **{field: value})
    with pytest.raises(ChunkError, match=reason) as error:
        chunk.read_chunk(path)
    assert "w-000001.json" in str(error.value)


def test_later_fields_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "w-000001.hcpe3"
    info = chunk.write_chunk(path, b"games", details())
    change(path, temperature=3)
    assert chunk.read_chunk_info(chunk.sidecar_of(path)) == info


def test_changed_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w-000001.hcpe3"
    chunk.write_chunk(path, b"games", details(), np.ones(3, np.float32))
    path.write_bytes(b"gamez")
    with pytest.raises(ChunkError, match=r"hcpe3: the checksum"):
        chunk.read_chunk(path)
    path.write_bytes(b"game")
    with pytest.raises(ChunkError, match="4 bytes, but its sidecar says 5"):
        chunk.read_chunk(path)
    path.write_bytes(b"games")
    weights = tmp_path / "w-000001.weights.npy"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ChunkError, match=r"npy: the checksum"):
        chunk.read_chunk(path)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (np.ones(2, np.float32), r"shape \(2,\) for 3 positions"),
        (np.array([1, -1, 1], np.float32), "negative or not a number"),
        (np.array([1, np.nan, 1], np.float32), "negative or not a number"),
    ],
)
def test_weights_fit_the_positions(tmp_path: Path, weights: np.ndarray[Any, Any], reason: str) -> None:
    with pytest.raises(ChunkError, match=reason):
        chunk.write_chunk(tmp_path / "w-000001.hcpe3", b"games", details(), weights)
    assert names(tmp_path) == set()


@given(at=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_sidecar_is_an_error_or_another_valid_one(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: bool
) -> None:
    folder = tmp_path_factory.getbasetemp()
    sidecar = folder / "hurt.json"
    text = bytearray(chunk.ChunkInfo(
        **dict(details()), sha256="0" * 64, bytes=0, settings_sha256=chunk.settings_sha256(details().settings)
    ).text().encode())  # fmt: skip
    at %= len(text)
    text[at] = byte
    sidecar.write_bytes(text[:at] if cut else text)
    with suppress(ChunkError):
        assert chunk.read_chunk_info(sidecar).version == 1
