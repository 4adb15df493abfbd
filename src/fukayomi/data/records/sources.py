"""Sources of records: files, folders, zip and tar archives, read as streams and never unpacked to the disk.

Archives are not trusted: the path of a member is only a label, links and devices are skipped, and nothing larger than
MEMBER_LIMIT is read into memory, whatever the headers say. A single file, compressed or not, may be larger if it holds
many games: it is read in parts.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fukayomi.data.records.text import MEMBER_LIMIT, Source, read_source, too_large
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import InputFileError, open_input, require_file

MEMORY = 256 << 20  # bytes; the strongest preset, xz -9, needs 65 MiB
_READ_AT_ONCE = 1 << 16


class XzStream(io.RawIOBase):
    """The content of an xz file, all its streams one after the other. Seeking back reads from the start again.

    Memory is bounded: a header may ask for a dictionary of 4 GiB, and Python would obey.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._begin = file.tell()
        self._restart()

    def _restart(self) -> None:
        self._file.seek(self._begin)
        self._position = 0
        self._compressed = b""
        self._stream: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("the end of a compressed stream is not known")
        target = offset + (self._position if whence == os.SEEK_CUR else 0)
        if target < self._position:
            self._restart()
        while self._position < target:
            if not self._decompress(min(_READ_AT_ONCE, target - self._position)):
                break
        return self._position

    def readinto(self, buffer: "bytearray | memoryview", /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        data = self._decompress(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _decompress(self, most: int) -> bytes:
        """Up to `most` bytes; none at the end.

        Raises:
            lzma.LZMAError: The data is damaged, or needs too much memory.
            EOFError: The file ends in the middle of a stream.
        """
        while True:
            if not self._compressed and (self._stream is None or self._stream.needs_input):
                self._compressed = self._file.read(_READ_AT_ONCE)
                if not self._compressed and self._stream is None:
                    return b""
                if not self._compressed:
                    raise EOFError("the file ends in the middle of the compressed data")
            if self._stream is None:
                self._compressed = self._compressed.lstrip(b"\0")  # the padding between streams
                if not self._compressed:
                    continue
                self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)
            data = self._feed(self._stream, most)
            self._position += len(data)
            if data:
                return data

    def _feed(self, stream: lzma.LZMADecompressor, most: int) -> bytes:
        compressed, self._compressed = self._compressed, b""
        try:
            data = stream.decompress(compressed, most)
        except lzma.LZMAError as error:
            if "Memory usage limit" not in str(error):
                raise
            raise lzma.LZMAError(f"unpacking takes more than {MEMORY >> 20} MiB of memory") from error
        if stream.eof:
            self._compressed, self._stream = stream.unused_data, None
        return data


_ZIP_MAGIC = b"PK\x03\x04"
_EMPTY_ZIP_MAGIC = b"PK\x05\x06"
_UNSUPPORTED = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar", b"\x28\xb5\x2f\xfd": "zstandard"}
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")
"""Suffixes of compressed files that can be read."""
_GAMES = ".hcpe3"
_WAITING = re.compile(r".+-[0-9]{6,}\.games", re.DOTALL)
_LOCK = ".lock"
_COMPANION = re.compile(r"(?P<games>.+?)(\.json|\.weights\.npy|\.layer-.+)", re.DOTALL)
_TAR_MAGIC_AT = 257
# Raised for damaged archives; NotImplementedError for zip files of a newer version.
_DAMAGES = (
    OSError, EOFError, NotImplementedError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile
)  # fmt: skip
# Raised by tarfile and zipfile for headers with impossible numbers or names.
_BAD_HEADERS = (ValueError, OverflowError, IndexError, KeyError, RecursionError, struct.error)
_TAR_BLOCK = 512  # bytes; a block of zeros ends an archive
_LARGEST_OFFSET = (1 << 63) - 1
_HEAD = 1 << 16  # bytes; most records are smaller


class SourceError(InvalidValueError):
    """An input cannot be read at all: it is missing, or a damaged archive."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """The beginning of a file, which shows its format; all of it if the file is small."""

    path: Path
    data: bytes
    size: int

    @classmethod
    def of(cls, path: Path) -> "FileHead":
        """Read the beginning of a file.

        Raises:
            OSError: The file cannot be read.
        """
        with open_input(path) as file:
            size = os.fstat(file.fileno()).st_size
            return cls(path, file.read(min(size, _HEAD)), size)

    @property
    def is_whole(self) -> bool:
        """True if this is the whole file."""
        return len(self.data) == self.size


def find_files(inputs: Sequence[Path]) -> list[Path]:
    """The files among the inputs, and those inside folders, sorted by name; each file once, by its first name.

    Inside folders, hidden files and folders are left out, and what lies beside the games of ``NAME.hcpe3`` and is
    no data of its own: its description (``NAME.json``), weights (``NAME.weights.npy``) and layers (``NAME.layer-*``),
    games that wait for their file (``NAME-000001.games``) and locks (``*.lock``).

    Raises:
        SourceError: An input does not exist or is no regular file, or a folder is empty.
        OSError: An input cannot be reached.
    """
    files: dict[object, Path] = {}  # by their identity
    for path in inputs:
        if path.is_dir():
            inside = sorted(
                (file, found)
                for folder, _, names in os.walk(path)
                for home in (Path(folder),)
                if not _is_hidden(home, path)
                for name in sorted(_own_files(names))  # names are compared faster than paths
                if not name.startswith(".") and (found := _identity(file := home / name)) is not None
            )
            if not inside:
                raise SourceError(f"{path}: the folder has no files")
            for file, found in inside:
                files.setdefault(found, file)
            continue
        try:
            require_file(path)
        except FileNotFoundError as error:
            raise SourceError(f"{path}: no such file or folder") from error
        except InputFileError as error:
            raise SourceError(str(error)) from error
        files.setdefault(_identity(path), path)
    return list(files.values())


def _own_files(names: Sequence[str]) -> Iterable[str]:
    """The files of a folder without those that belong to games of self-play."""
    games = {name.removesuffix(_GAMES) for name in names if name.endswith(_GAMES)}
    if not games and not any(_WAITING.fullmatch(name) for name in names):
        return names
    others = (name for name in names if not _WAITING.fullmatch(name) and not name.endswith(_LOCK))
    return (name for name in others if (found := _COMPANION.fullmatch(name)) is None or found["games"] not in games)


def _identity(path: Path) -> object:
    """Identity of a regular file, which its other names share; None for anything else."""
    try:
        status = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else path


def _is_hidden(folder: Path, above: Path) -> bool:
    return any(part.startswith(".") for part in folder.relative_to(above).parts)


def iter_sources(files: Iterable[Path | FileHead], advance: Callable[[int], None] = lambda _: None) -> Iterator[Source]:
    """Read files in order, and every member of archives in the order of the archive.

    Args:
        files: As `find_files` returns them, or their heads; a file whose head is all of it is not read again.
        advance: Called with the number of bytes of the files read since the last call.

    Raises:
        SourceError: A file cannot be read, or an archive is damaged or of an unsupported kind.
    """
    for found in files:
        if isinstance(found, FileHead) and found.is_whole and _is_plain(found.data):
            yield Source(str(found.path), found.data)
            advance(found.size)
            continue
        path = found.path if isinstance(found, FileHead) else found
        try:
            with open_input(path) as file:
                yield from _iter_file(path, file, advance)
        except InputFileError as error:
            raise SourceError(str(error)) from error
        except SourceError:
            raise
        except _DAMAGES as error:
            raise SourceError(f"{path}: cannot be read: {error}") from error
        except _BAD_HEADERS as error:
            raise SourceError(f"{path}: cannot be read: a header is damaged: {error}") from error


def _iter_file(path: Path, file: IO[bytes], advance: Callable[[int], None]) -> Iterator[Source]:
    head = file.read(512)
    file.seek(0)
    for magic, kind in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise SourceError(f"{path}: {kind} archives are not supported; unpack it first")
    if head.startswith((_ZIP_MAGIC, _EMPTY_ZIP_MAGIC)):
        yield from _iter_zip(path, file, advance)
        return
    stream = _LimitedReader(_decompress(head, file) or file)
    yield from _iter_stream(path, stream, _Progress(file, advance))


def _decompress(head: bytes, file: IO[bytes]) -> IO[bytes] | gzip.GzipFile | None:
    if head.startswith(b"\x1f\x8b"):
        return gzip.open(file)
    if head.startswith(b"BZh"):
        return bz2.open(file)
    if head.startswith(b"\xfd7zXZ\x00"):
        return io.BufferedReader(XzStream(file), 1 << 20)
    return None


def is_archive(head: bytes) -> bool:
    """True if a file that begins so is an archive or a compressed file that can be read."""
    return head.startswith((_ZIP_MAGIC, _EMPTY_ZIP_MAGIC, *_COMPRESSED)) or _is_tar(head)


def _is_plain(head: bytes) -> bool:
    return not head.startswith(tuple(_UNSUPPORTED)) and not is_archive(head)


def _is_tar(head: bytes) -> bool:
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar"


class _Progress:
    """Reports how much of a compressed file has been read."""

    def __init__(self, file: IO[bytes], advance: Callable[[int], None]) -> None:
        self._file = file
        self._advance = advance
        self._done = 0

    def report(self) -> None:
        position = self._file.tell()
        if position != self._done:
            self._advance(position - self._done)
            self._done = position


class _LimitedReader(io.RawIOBase):
    """A stream that refuses to read more than MEMBER_LIMIT at once, as a hostile tar header would make tarfile do.

    Attributes:
        last: The data read last.
    """

    def __init__(self, stream: IO[bytes] | gzip.GzipFile) -> None:
        self._stream = stream
        self.last = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= MEMBER_LIMIT + 1:
            raise tarfile.ReadError(f"a header asks for {size} bytes")
        self.last = self._stream.read(size)
        return self.last

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if not 0 <= offset <= _LARGEST_OFFSET:
            raise tarfile.ReadError(f"a header leads to byte {offset}")
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


def _iter_stream(path: Path, stream: _LimitedReader, progress: _Progress) -> Iterator[Source]:
    head = stream.read(512)
    stream.seek(0)
    if not _is_tar(head):
        for source in read_source(str(path), stream.read):
            progress.report()
            yield source
        progress.report()
        return
    end = 0
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        while (member := archive.next()) is not None:
            archive.members = []  # pyright: ignore[reportAttributeAccessIssue]  # tarfile would keep all of them
            if member.size < 0 or archive.offset <= end:  # tarfile would go on for ever
                raise tarfile.ReadError(f"the header of {member.name!r} leads back")
            end = archive.offset
            if member.isfile():
                yield _read_tar_member(path, archive, member)
            progress.report()
    if stream.last != bytes(_TAR_BLOCK):  # tarfile takes a damaged header for the end
        raise tarfile.ReadError("it ends in the middle, or a header is damaged")
    stream.read(MEMBER_LIMIT)  # the padding, and the checksum at the end of a compressed stream
    progress.report()


def _read_tar_member(path: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> Source:
    name = f"{path}/{member.name}"
    if member.size > MEMBER_LIMIT:
        return Source(name, b"", too_large())
    content = archive.extractfile(member)
    data = content.read(member.size) if content is not None else b""
    if len(data) != member.size:
        raise tarfile.ReadError(f"it ends inside {member.name!r}")
    return _refuse_nested(Source(name, data))


def _iter_zip(path: Path, file: IO[bytes], advance: Callable[[int], None]) -> Iterator[Source]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield _read_zip_member(path, archive, member)
            advance(member.compress_size)


def _read_zip_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Source:
    name = f"{path}/{member.filename}"
    if member.file_size > MEMBER_LIMIT:
        return Source(name, b"", too_large())
    try:
        with archive.open(member) as content:
            data = content.read(MEMBER_LIMIT + 1)
        return _refuse_nested(Source(name, data)) if len(data) <= MEMBER_LIMIT else Source(name, b"", too_large())
    except (*_BAD_HEADERS, zipfile.BadZipFile, RuntimeError, EOFError, zlib.error, lzma.LZMAError) as error:
        # A wrong checksum, a password, an unsupported compression: other members may be readable.
        return Source(name, b"", f"cannot be read: {error}")


def _refuse_nested(source: Source) -> Source:
    if source.data.startswith((_ZIP_MAGIC, *_COMPRESSED, *_UNSUPPORTED)):
        return Source(source.name, b"", "an archive inside an archive; unpack it first")
    return source
