"""A second name for a file, or a copy."""

import os
from pathlib import Path

import pytest

from fukayomi.files.atomic import copy_or_link, replace_file


@pytest.mark.parametrize("has_links", [True, False])
def test_the_target_keeps_its_content_when_the_source_is_replaced(
    has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"one")
    target.write_bytes(b"before")
    copy_or_link(source, target)
    copy_or_link(source, target)  # again: both may be links to one file
    replace_file(source, b"two")
    assert target.read_bytes() == b"one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


def test_what_a_kill_left_behind_does_not_matter(tmp_path: Path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"one")
    (tmp_path / ".target.tmp").write_bytes(b"half")
    copy_or_link(source, target)
    assert target.read_bytes() == b"one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


def test_a_missing_source_leaves_the_target_as_it_was(tmp_path: Path):
    (tmp_path / "target").write_bytes(b"before")
    with pytest.raises(FileNotFoundError):
        copy_or_link(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"before"
