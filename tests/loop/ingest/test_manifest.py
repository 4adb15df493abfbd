"""The manifest: lines that are complete or not there, whoever writes them."""

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.loop.ingest.manifest import Manifest, ManifestError


def test_networks_and_settings_are_entered_once(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path)
    for _ in range(2):
        manifest.add_network("ab" * 32, 0, "first")
        sha256 = manifest.add_settings({"playouts": 8, "threshold": 0.5})
        assert manifest.add_settings({"threshold": 0.5, "playouts": 8}) == sha256
    assert len(manifest.path.read_bytes().splitlines()) == 2
    again = Manifest(tmp_path)
    assert [(entry.generation, entry.name) for entry in again.networks.values()] == [(0, "first")]
    assert again.settings == {sha256: {"playouts": 8, "threshold": 0.5}}


def test_readers_see_what_others_append(tmp_path: Path) -> None:
    reader, writer = Manifest(tmp_path), Manifest(tmp_path)
    writer.exclude("w1")
    assert reader.excluded == {}
    reader.refresh()
    assert reader.excluded == {"w1": ""}
    (tmp_path / "new").write_text('{"entry": "excluded", "worker": "w2"}\n')
    (tmp_path / "new").replace(writer.path)
    reader.refresh()
    assert reader.excluded == {"w2": ""}
    writer.path.unlink()
    reader.refresh()
    assert reader.excluded == {}


@settings(max_examples=15)
@given(cut=st.integers(0, 10_000))
def test_a_line_that_a_kill_left_is_no_entry(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("store")
    manifest = Manifest(folder)
    manifest.add_network("ab" * 32, 0)
    whole = manifest.path.stat().st_size
    manifest.exclude("w1", "a reason")
    data = manifest.path.read_bytes()
    cut = whole + cut % (len(data) - whole)
    manifest.path.write_bytes(data[:cut])
    assert Manifest(folder).excluded == {}
    Manifest(folder).exclude("w2")
    kept = Manifest(folder)
    is_whole = cut == len(data) - 1  # only the end of the line is missing, as if written by hand
    assert kept.excluded == ({"w1": "a reason", "w2": ""} if is_whole else {"w2": ""})
    assert list(kept.networks) == ["ab" * 32]


def test_unknown_entries_and_fields_are_skipped(tmp_path: Path) -> None:
    lines = [{"entry": "moon", "phase": 1}, {"entry": "excluded", "worker": "w1", "by": "me"}]
    (tmp_path / "manifest.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    assert Manifest(tmp_path).excluded == {"w1": ""}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[]", 'not an object with a string "entry"'),
        ('{"entry": 1}', 'not an object with a string "entry"'),
        ('{"entry": "excluded"}', "worker is missing"),
        ('{"entry": "excluded", "worker": "../x"}', "worker: String should match pattern"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    first = '{"entry": "excluded", "worker": "w1"}\n'
    (tmp_path / "manifest.jsonl").write_text(f"{first}{line}\n{first}")
    with pytest.raises(ManifestError) as error:
        Manifest(tmp_path)
    assert f"manifest.jsonl, line 2 (offset {len(first)}): " in str(error.value)
    assert reason in str(error.value)


def append(folder: Path, worker: int) -> None:
    manifest = Manifest(folder)
    for number in range(10):
        manifest.exclude(f"w{worker}-{number}", "x" * 200)


def test_several_writers_take_turns(tmp_path: Path) -> None:
    writers = [threading.Thread(target=append, args=(tmp_path, worker)) for worker in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(Manifest(tmp_path).excluded) == 20
