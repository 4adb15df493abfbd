"""Files, folders and archives of records, hostile ones included."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import tarfile
import tracemalloc
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.data.records import sources
from fukayomi.data.records import text as record_text
from fukayomi.data.records.sources import Source, SourceError, find_files, iter_sources

GAMES = {"b.csa": b"second", "a.csa": b"first", "deep/er/c.csa": b"third"}


def contents(*inputs: Path) -> dict[str, bytes]:
    return {source.name: source.data for source in iter_sources(find_files(inputs))}


def tar_bytes(mode: str = "w", games: dict[str, bytes] = GAMES) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in games.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def zip_bytes(games: dict[str, bytes] = GAMES) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in games.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name, data in GAMES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / ".hidden").write_bytes(b"no")
    (tmp_path / ".out.tmp" / "half").mkdir(parents=True)  # of a run that was killed
    (tmp_path / ".out.tmp" / "half" / "d.csa").write_bytes(b"no")
    found = [(Path(source.name).name, source.data) for source in iter_sources(find_files([tmp_path]))]
    assert found == [("a.csa", b"first"), ("b.csa", b"second"), ("c.csa", b"third")]


def test_what_lies_beside_games_of_self_play_is_no_data(tmp_path: Path) -> None:
    games = ["a-1.hcpe3", "a-1_opp.hcpe3", "b.json", "c/a-1.json", "c/b.games", "c/b.lock"]
    beside = [
        "a-1.json", "a-1.weights.npy", "a-1_opp.json", "a-1.layer-x.hcpe3", "a-1.layer-x.hcpe3.json",
        "a-1.layer-x.weights.npy", "b-000001.games", "b.lock", "d/b-000002.games", "d/b.lock",
    ]  # fmt: skip
    for name in (*games, *beside):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    assert [file.relative_to(tmp_path).as_posix() for file in find_files([tmp_path])] == games
    assert find_files([tmp_path / "a-1.json"]) == [tmp_path / "a-1.json"]  # whoever names it wants it


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "tar.bz2", "tar.xz", "zip", "none"])
def test_archives_keep_their_order_and_are_known_by_content(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"games.{suffix}"
    modes = {"tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz", "none": "w:xz"}
    path.write_bytes(zip_bytes() if suffix == "zip" else tar_bytes(modes[suffix]))
    advanced: list[int] = []
    found = list(iter_sources([path], advanced.append))
    assert [(source.name, source.data) for source in found] == [
        (f"{path}/{name}", data) for name, data in GAMES.items()
    ]
    assert 0 < sum(advanced) <= path.stat().st_size


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_single_compressed_record(tmp_path: Path, compress: object) -> None:
    assert callable(compress)
    path = tmp_path / "a.csa.gz"
    path.write_bytes(compress(b"PI\n+\n"))
    assert contents(path) == {str(path): b"PI\n+\n"}


def test_nothing_is_written_whatever_the_names_say(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "side"
    folder.mkdir(parents=True)
    games = {"../../outside.csa": b"x", "/etc/outside.csa": b"y", "C:\\outside.csa": b"z"}
    (folder / "a.tar").write_bytes(tar_bytes("w", games))
    (folder / "a.zip").write_bytes(zip_bytes(games))
    assert len(contents(folder)) == 6
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_file()) == ["a.tar", "a.zip"]


def test_links_and_devices_in_a_tar_are_passed_over(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for kind, name in ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard"), (tarfile.CHRTYPE, "device")):
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = str(secret)
            archive.addfile(member)
        member = tarfile.TarInfo("a.csa")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    assert list(contents(tmp_path / "a.tar").values()) == [b"x"]


def test_large_members_are_named_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MEMBER_LIMIT", 2 << 20)
    monkeypatch.setattr(record_text, "MEMBER_LIMIT", 2 << 20)
    monkeypatch.setattr(record_text, "PART", 1 << 20)
    games = {"small.csa": b"x", "large.csa": b"\0" * (3 << 20), "after.csa": b"y"}
    (tmp_path / "a.tar.xz").write_bytes(tar_bytes("w:xz", games))
    (tmp_path / "b.zip").write_bytes(zip_bytes(games))
    (tmp_path / "c.csa").write_bytes(games["large.csa"])
    (tmp_path / "d.csa.gz").write_bytes(gzip.compress(games["large.csa"]))
    found = list(iter_sources(find_files([tmp_path])))
    assert [source.problem for source in found] == ["", "larger than 2 MiB", ""] * 2 + ["larger than 2 MiB"] * 2
    assert all(not source.data for source in found if source.problem)


def test_a_tar_header_that_asks_for_everything_is_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("a")
    member.type = tarfile.XHDTYPE  # an extended header, which tarfile reads in one piece
    member.size = 1 << 32
    path = tmp_path / "bomb.tar.xz"
    path.write_bytes(lzma.compress(member.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 4096))
    with pytest.raises(SourceError, match=r"bomb\.tar\.xz: cannot be read: a header asks for 4294967296 bytes"):
        contents(path)


def test_a_zip_member_with_a_wrong_checksum_does_not_hide_the_others(tmp_path: Path) -> None:
    data = bytearray(zip_bytes({"a.csa": b"first", "b.csa": b"second"}))
    at = data.index(b"PK\x01\x02") + 16  # the CRC in the central directory
    data[at] ^= 1
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    first, second = iter_sources([path])
    assert "cannot be read" in first.problem
    assert second == Source(f"{path}/b.csa", b"second")


def test_archives_inside_archives_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zip_bytes({"inner.zip": zip_bytes(), "b.csa": b"x"}))
    first, second = iter_sources([path])
    assert "an archive inside an archive" in first.problem
    assert second.data == b"x"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + b"\0" * 50, "7z archives are not supported"),
        ("a.zip", b"PK\x03\x04" + b"\0" * 50, r"a\.zip: cannot be read"),
        ("a.tar.gz", b"\x1f\x8b" + b"\0" * 50, r"a\.tar\.gz: cannot be read"),
        ("a.tar.xz", tar_bytes("w:xz")[:-30], r"a\.tar\.xz: cannot be read"),
        ("a.tar.gz", tar_bytes("w:gz")[:80], r"a\.tar\.gz: cannot be read"),
        ("a.tar", tar_bytes()[:1200], r"a\.tar: cannot be read"),
    ],
    # Names of our own: pytest would name a case by its bytes, and a gzip header holds the time.
    ids=["7z", "zip", "gzip-header-alone", "xz-cut", "gzip-cut", "tar-cut"],
)
def test_damaged_archives_are_named(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=message):
        contents(tmp_path / name)


def test_inputs_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere: no such file or folder"):
        find_files([tmp_path / "nowhere"])
    with pytest.raises(SourceError, match="the folder has no files"):
        find_files([tmp_path])


def test_pipes_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.csa").write_bytes(b"x")
    assert list(contents(tmp_path).values()) == [b"x"]


def test_a_pipe_that_is_named_is_refused(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="pipe: this is a named pipe; give a regular file"):
        find_files([tmp_path / "pipe"])
    with pytest.raises(SourceError, match="pipe: this is a named pipe"):
        list(iter_sources([tmp_path / "pipe"]))


ARCHIVES: Sequence[bytes] = (tar_bytes(), tar_bytes("w:gz"), tar_bytes("w:xz"), zip_bytes())


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(ARCHIVES), st.data())
def test_any_damage_is_an_error_or_other_content(
    tmp_path_factory: pytest.TempPathFactory, archive: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(archive)))
    junk = data.draw(st.binary(max_size=6))
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(archive[:at] + junk + archive[at + data.draw(st.integers(0, 20)) :])
    with contextlib.suppress(SourceError):  # any other exception is a failure
        contents(path)


def header(fields: dict[int, bytes], tar_format: int = tarfile.GNU_FORMAT) -> bytes:
    """The header of a tar member with some bytes replaced, and a right checksum."""
    member = tarfile.TarInfo("a.csa")
    member.size = 5
    data = bytearray(member.tobuf(tar_format))
    for at, value in fields.items():
        data[at : at + len(value)] = value
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data)


def pax(text: bytes) -> bytes:
    """A pax header with this content, and the member that it is about."""
    size = b"%011o\0" % len(text)
    return header({124: size, 156: b"x"}) + text.ljust(512, b"\0") + header({}) + b"first".ljust(512, b"\0")


@pytest.mark.parametrize(
    "data",
    [
        header({124: b"\x80\0\0\0" + b"\xff" * 8}),
        header({124: b"\x80" + b"\x7f" * 11}),
        header({124: b"\xff" * 12}),
        pax(b"16 size=hundred\n"),
        pax(b"30 size=-99999999999999999999\n"),
        pax(b"31 size=999999999999999999999\n"),
        pax(b"14 size=1e400\n"),
        pax(b"0 size=1\n"),
    ],
    ids=["2^64", "2^95", "negative", "word", "pax-negative", "pax-large", "pax-float", "no-length"],
)
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["tar", "gz"])
def test_tar_headers_with_absurd_numbers_are_refused(tmp_path: Path, data: bytes, compress: object) -> None:
    path = tmp_path / "games.tar"
    path.write_bytes(compress(data + bytes(1024)))  # type: ignore[operator]
    with pytest.raises(SourceError, match=r"games\.tar: cannot be read"):
        list(iter_sources([path]))


def test_a_zip_whose_names_are_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "games.zip"
    path.write_bytes(zip_bytes({"棋譜.csa": b"first"}).replace("棋譜".encode(), b"\xff" * 6))
    with pytest.raises(SourceError, match=r"games\.zip: cannot be read: a header is damaged"):
        list(iter_sources([path]))


def test_a_small_archive_of_a_large_record_takes_little_memory(tmp_path: Path) -> None:
    large = bytes(66 << 20)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csa", large)
    (tmp_path / "b.tar.gz").write_bytes(tar_bytes("w:gz", {"a.csa": large}))
    (tmp_path / "c.csa.gz").write_bytes(gzip.compress(large, 1))
    del large
    tracemalloc.start()
    found = list(iter_sources(find_files([tmp_path])))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(source.data, source.problem) for source in found] == [(b"", "larger than 64 MiB")] * 3
    assert peak < 150 << 20
