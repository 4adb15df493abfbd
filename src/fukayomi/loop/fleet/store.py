"""Store where the machines of a fleet leave networks and games for each other: a folder, or any URL that fsspec knows.

A file appears under its name complete, or not at all. Names are relative to the store, with slashes.

    >>> import tempfile
    >>> store = open_store(tempfile.mkdtemp())
    >>> store.write("games/000001/w1/w1-000001.json", b"{}")
    >>> store.sizes("games"), store.folders("games")
    ({'games/000001/w1/w1-000001.json': 2}, ['000001'])
"""

# fsspec has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import contextlib
import os
import random
import time
import uuid
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

from fukayomi.errors import FukayomiError, by_extra
from fukayomi.files.atomic import replace_file
from fukayomi.listener import SILENT, Listener
from fukayomi.loop.settings import FleetSettings, LoopError

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "tos", "memory"})
"""Protocols whose files appear when they are complete. Elsewhere a file is written beside its name and moved."""
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 60.0
_Result = TypeVar("_Result")


class StoreError(FukayomiError, OSError):
    """The store could not do what was asked. The message names it and says why; another attempt may succeed."""


class Store(Protocol):
    """A tree of files that several machines see."""

    @property
    def url(self) -> str:
        """Address of the store, without passwords."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder; None if it is none of this machine's."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            FileNotFoundError: There is no such file.
            StoreError: It cannot be read.
        """
        ...

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """The contents of several files, at the same time where the store can; those that do not exist are left out.

        Raises:
            StoreError: A file cannot be read.
        """
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a file; it appears complete or not at all. Folders are made.

        Raises:
            StoreError: It cannot be written.
        """
        ...

    def sizes(self, folder: str) -> dict[str, int]:
        """The names of all files in a folder and those in it, with their sizes in bytes; nothing if there is none.

        Raises:
            StoreError: They cannot be listed.
        """
        ...

    def folders(self, folder: str) -> list[str]:
        """The folders in a folder, in order.

        Raises:
            StoreError: They cannot be listed.
        """
        ...


def check_fleet(fleet: FleetSettings) -> None:
    """See that what a fleet needs besides the cluster is installed.

    Raises:
        LoopError: It is not.
    """
    for module in ("ray", "fsspec") if "://" in (fleet.store or "") else ("ray",):
        if find_spec(module) is None:
            raise LoopError(f"the table [fleet] needs {module}: {by_extra('fleet')}")


def open_store(url: str | Path) -> Store:
    """The store at a path or URL.

    Raises:
        LoopError: The protocol is unknown, or needs a package that is not installed.
        ModuleNotFoundError: fsspec is not installed.
    """
    text = str(url)
    if "://" not in text:
        return _Folder(Path(text))
    if text.startswith("file://"):
        return _Folder(Path(text.removeprefix("file://")))
    return _Url(text)


class _Folder:
    """A folder that all machines see under the same name."""

    def __init__(self, path: Path) -> None:
        self.folder: Path | None = path
        self._path = path
        self.url = str(path)

    def read(self, name: str) -> bytes:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _failed(self.url, name, error) from error

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        for name in names:
            try:
                contents[name] = self.read(name)
            except FileNotFoundError:
                continue
        return contents

    def write(self, name: str, data: bytes) -> None:
        path = self._path / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)
        except OSError as error:
            raise _failed(self.url, name, error) from error

    def sizes(self, folder: str) -> dict[str, int]:
        sizes: dict[str, int] = {}
        try:
            for path, _, names in os.walk(self._path / folder, onerror=_raise_unless_missing):
                for name in names:
                    file = Path(path, name)
                    with contextlib.suppress(FileNotFoundError):  # a temporary file that was moved meanwhile
                        sizes[file.relative_to(self._path).as_posix()] = file.stat().st_size
        except OSError as error:
            raise _failed(self.url, folder, error) from error
        return sizes

    def folders(self, folder: str) -> list[str]:
        try:
            return sorted(path.name for path in (self._path / folder).iterdir() if path.is_dir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _failed(self.url, folder, error) from error


class _Url:
    """A place that fsspec knows: object stores, sftp, memory."""

    def __init__(self, url: str) -> None:
        import fsspec  # an extra

        self.folder: Path | None = None
        self.url = _without_password(url)
        try:
            files, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:  # "Install s3fs to access S3", "Protocol not known"
            raise LoopError(f"fleet, store: {self.url}: {error}") from error
        self._files: Any = files
        self._root = str(root).rstrip("/")
        self._is_object_store = url.partition("://")[0].rpartition("::")[2] in OBJECT_STORES

    def read(self, name: str) -> bytes:
        with self._errors(name):
            return self._files.cat_file(self._path(name))

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        paths = {self._path(name): name for name in names}
        if not paths:
            return {}
        with self._errors("games"):
            results: dict[str, Any] = self._files.cat(list(paths), on_error="return")
        contents: dict[str, bytes] = {}
        for path, content in results.items():
            if isinstance(content, bytes):
                contents[paths[path]] = content
            elif not isinstance(content, FileNotFoundError):
                raise _failed(self.url, paths[path], content)
        return contents

    def write(self, name: str, data: bytes) -> None:
        path = PurePosixPath(self._path(name))
        with self._errors(name, expected=()):  # there is no file to be missing, but there may be no bucket
            if self._is_object_store:
                self._files.pipe_file(str(path), data)
                return
            self._files.makedirs(str(path.parent), exist_ok=True)
            beside = str(path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp"))
            self._files.pipe_file(beside, data)
            try:
                self._files.mv(beside, str(path))
            except Exception:
                if not self._files.exists(str(path)):
                    raise
                self._files.rm_file(str(path))  # some file systems move nothing over a file
                self._files.mv(beside, str(path))

    def sizes(self, folder: str) -> dict[str, int]:
        with self._errors(folder):
            self._files.invalidate_cache()
            try:
                files: dict[str, Any] = self._files.find(self._path(folder), detail=True)
            except FileNotFoundError:
                return {}
            return {self._name(path): int(info["size"]) for path, info in files.items()}

    def folders(self, folder: str) -> list[str]:
        with self._errors(folder):
            self._files.invalidate_cache()
            try:
                entries: list[Any] = self._files.ls(self._path(folder), detail=True)
            except FileNotFoundError:
                return []
            return sorted(PurePosixPath(info["name"]).name for info in entries if info["type"] == "directory")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _name(self, path: str) -> str:
        """A path of the file system, relative to the store. Some give a leading slash, others do not."""
        return path.lstrip("/").removeprefix(self._root.lstrip("/")).lstrip("/")

    @contextmanager
    def _errors(self, name: str, expected: tuple[type[BaseException], ...] = (FileNotFoundError,)) -> Generator[None]:
        """Libraries behind fsspec have errors of their own."""
        try:
            yield
        except expected:
            raise
        except Exception as error:
            raise _failed(self.url, name, error) from error


class Backoff:
    """Delays that double with each failure in a row, and differ from machine to machine.

    >>> backoff = Backoff(random.Random(1))
    >>> [backoff.failed() <= limit for limit in (0.5, 1, 2, 4)]
    [True, True, True, True]
    """

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()
        self.failures = 0
        """In a row."""

    def failed(self) -> float:
        """Seconds to wait before the next attempt."""
        longest = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** min(self.failures, 30))
        self.failures += 1
        return longest * self._chance.uniform(0.5, 1)

    def worked(self) -> None:
        """Begin with short delays again."""
        self.failures = 0


def insist(
    attempt: Callable[[], _Result],
    patience_s: float,
    listener: Listener = SILENT,
    wait: Callable[[float], object] = time.sleep,
) -> _Result:
    """Try something until the store can do it.

    Args:
        attempt: What to try.
        patience_s: Seconds of failures after which it is given up.
        listener: Is told when it begins to fail, and when it works again.
        wait: Waits between attempts.

    Raises:
        StoreError: It failed all the time.
    """
    backoff, waited_s = Backoff(), 0.0
    while True:
        try:
            result = attempt()
        except StoreError as error:
            if waited_s >= patience_s:
                raise
            if not backoff.failures:
                listener.note(f"{error}; trying again")
            delay_s = backoff.failed()
            wait(delay_s)
            waited_s += delay_s
            continue
        if backoff.failures:
            listener.note("the store answers again")
        return result


def _failed(url: str, name: str, error: BaseException) -> StoreError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
    return StoreError(f"store {url}: {name}: {reason}")


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user = f"{parts.username}@" if parts.username else ""
    return urlunsplit(parts._replace(netloc=user + parts.netloc.rpartition("@")[2]))


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
