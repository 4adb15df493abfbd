"""Stores: folders, and URLs of fsspec."""

import random
import uuid
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from s3_server import BUCKET

from fukayomi.loop import LoopError
from fukayomi.loop.fleet.store import LONGEST_DELAY_S, Backoff, Store, StoreError, insist, open_store

Opener = Callable[[Path], Store]
KINDS: dict[str, Opener] = {
    "folder": lambda path: open_store(path / "store"),
    "file": lambda path: open_store(f"file://{path}/store"),
    "memory": lambda path: open_store(f"memory://{uuid.uuid4().hex}/store"),
    "moving": lambda path: open_store(f"local://{path}/store"),  # for fsspec no object store: files are moved
    "s3": lambda path: open_store(f"s3://{BUCKET}/{uuid.uuid4().hex}"),
}


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "s3":
        request.getfixturevalue("s3")
    return KINDS[request.param](tmp_path)


def test_what_is_written_is_read_and_listed(store: Store) -> None:
    assert (store.sizes("games"), store.folders("games")) == ({}, [])
    with pytest.raises(FileNotFoundError):
        store.read("current.json")

    store.write("current.json", b"1")
    store.write("games/000002/b/1.json", b"22")
    store.write("games/000001/a/1.json", b"333")
    store.write("current.json", b"4444")

    assert store.read("current.json") == b"4444"
    assert store.sizes("games") == {"games/000001/a/1.json": 3, "games/000002/b/1.json": 2}
    assert store.sizes("games/000002") == {"games/000002/b/1.json": 2}
    assert store.folders("games") == ["000001", "000002"]
    assert store.read_all(["current.json", "nothing", "games/000001/a/1.json"]) == {
        "current.json": b"4444",
        "games/000001/a/1.json": b"333",
    }
    assert store.read_all([]) == {}


def test_nothing_else_stays_of_a_write(tmp_path: Path) -> None:
    KINDS["moving"](tmp_path).write("games/a.json", b"1")
    assert [path.name for path in (tmp_path / "store" / "games").iterdir()] == ["a.json"]


def test_a_write_that_fails_leaves_nothing_under_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = KINDS["moving"](tmp_path)
    files = fsspec.filesystem("local")

    def half(path: str, value: bytes, **options: object) -> None:
        Path(path).write_bytes(value[:1])
        raise ConnectionResetError("gone")

    monkeypatch.setattr(type(files), "pipe_file", lambda self, path, value, **options: half(path, value))
    with pytest.raises(StoreError, match=r"store local://.*/store: games/a\.json: gone"):
        store.write("games/a.json", b"123")
    with pytest.raises(FileNotFoundError):
        store.read("games/a.json")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    store = open_store(tmp_path / "store")
    with pytest.raises(StoreError, match=r"store .*/store: current\.json: "):
        store.write("current.json", b"1")


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_is_missing_or_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = open_store("s3://nowhere/run")
    with pytest.raises(StoreError, match=r"store s3://nowhere/run: current\.json: .*bucket does not exist"):
        missing.write("current.json", b"1")
    assert missing.sizes("games") == {}

    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    fsspec.filesystem("s3").clear_instance_cache()
    far = open_store(f"s3://{BUCKET}/run")
    with pytest.raises(StoreError, match=rf"store s3://{BUCKET}/run: current\.json: Could not connect"):
        far.read("current.json")
    fsspec.filesystem("s3").clear_instance_cache()


@pytest.mark.parametrize(
    ("url", "message"),
    [("nonsense://a/b", "Protocol not known"), ("sftp://user:secret@host/a", "nstall|paramiko")],
)
def test_urls_that_cannot_be_used_are_named_without_passwords(url: str, message: str) -> None:
    with pytest.raises(LoopError, match=message) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)


def test_delays_grow_to_a_limit_and_begin_again() -> None:
    backoff = Backoff(random.Random(1))
    delays = [backoff.failed() for _ in range(12)]
    assert delays[:3] == sorted(delays[:3])
    assert all(LONGEST_DELAY_S / 2 <= delay <= LONGEST_DELAY_S for delay in delays[8:])
    backoff.worked()
    assert backoff.failed() <= 0.5


def test_a_failing_store_is_asked_again_until_patience_ends() -> None:
    waits: list[float] = []

    def failing(times: int) -> Callable[[], str]:
        left = iter(range(times))

        def attempt() -> str:
            if next(left, None) is not None:
                raise StoreError("no answer")
            return "done"

        return attempt

    assert insist(failing(4), 60, wait=waits.append) == "done"
    assert len(waits) == 4
    with pytest.raises(StoreError, match="no answer"):
        insist(failing(1000), 20, wait=waits.append)
    assert sum(waits[4:]) >= 20
