"""Where records come from: files, folders, zip and tar archives, read as streams and never unpacked onto the disk.

Archives are not trusted: a member's path is only a label, links and devices are passed over, and nothing larger than
MEMBER_LIMIT is read into memory, whatever the headers say. A file alone, compressed or not, may be larger if it holds
many games: it comes in parts.
"""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fukayomi.data.records.text import MEMBER_LIMIT, Source, read_source, too_large
from fukayomi.data.records.xz import XzStream

_ZIP_MAGIC = b"PK\x03\x04"
_EMPTY_ZIP_MAGIC = b"PK\x05\x06"
_UNSUPPORTED = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar", b"\x28\xb5\x2f\xfd": "zstandard"}
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
_TAR_MAGIC_AT = 257
# What the libraries raise for archives that are damaged or of a later kind (NotImplementedError, of zip files).
_DAMAGES = (
    OSError, EOFError, NotImplementedError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile
)  # fmt: skip
_TAR_BLOCK = 512  # bytes; a block of zeros ends an archive
_HEAD = 1 << 16  # bytes; most records are smaller


class SourceError(ValueError):
    """An input that cannot be read at all: missing, or a damaged archive."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """A file of which the beginning was read, which tells what it is; of a small file that is all."""

    path: Path
    data: bytes
    size: int

    @classmethod
    def of(cls, path: Path) -> "FileHead":
        """The beginning of a file.

        Raises:
            OSError: It cannot be read.
        """
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return cls(path, file.read(min(size, _HEAD) or _HEAD), size)  # a pipe has no size

    @property
    def is_whole(self) -> bool:
        """Whether this is the whole file."""
        return len(self.data) == self.size


def find_files(inputs: Sequence[Path]) -> list[Path]:
    """The files among the inputs and, sorted by name, under the folders among them.

    Raises:
        SourceError: An input does not exist, or a folder is empty.
    """
    files: list[Path] = []
    for path in inputs:
        if path.is_dir():
            inside = sorted(
                file
                for folder, _, names in os.walk(path)
                for home in (Path(folder),)
                for name in sorted(names)  # names are compared faster than paths
                if not name.startswith(".") and (file := home / name).is_file()
            )
            if not inside:
                raise SourceError(f"{path}: there is no file in this folder")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            raise SourceError(f"{path}: no such file or folder")
    return files


def iter_sources(files: Iterable[Path | FileHead], advance: Callable[[int], None] = lambda _: None) -> Iterator[Source]:
    """The content of files, in order; of archives, that of every member, in the archive's order.

    Args:
        files: As find_files gives them, or what was read of them; what is whole is not read again.
        advance: Called with the number of bytes of the files that were read since the last call.

    Raises:
        SourceError: A file cannot be read, or an archive is damaged or of a kind that we do not read.
    """
    for found in files:
        if isinstance(found, FileHead) and found.is_whole and _is_plain(found.data):
            yield Source(str(found.path), found.data)
            advance(found.size)
            continue
        path = found.path if isinstance(found, FileHead) else found
        try:
            with path.open("rb") as file:
                yield from _iter_file(path, file, advance)
        except _DAMAGES as error:
            raise SourceError(f"{path}: cannot be read: {error}") from error


def _iter_file(path: Path, file: IO[bytes], advance: Callable[[int], None]) -> Iterator[Source]:
    head = file.read(512)
    file.seek(0)
    for magic, kind in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise SourceError(f"{path}: a {kind} archive, which we do not read; unpack it first")
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


def _is_plain(head: bytes) -> bool:
    return not head.startswith((_ZIP_MAGIC, _EMPTY_ZIP_MAGIC, *_COMPRESSED, *_UNSUPPORTED)) and not _is_tar(head)


def _is_tar(head: bytes) -> bool:
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar"


class _Progress:
    """How far the compressed file has been read."""

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
    """A stream of which nobody reads more than MEMBER_LIMIT at once, as a hostile tar header would make tarfile do.

    Attributes:
        last: What was read last.
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
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        while (member := archive.next()) is not None:
            archive.members = []  # pyright: ignore[reportAttributeAccessIssue]  # or it would remember every one
            if member.isfile():
                yield _read_tar_member(path, archive, member)
            progress.report()
    if stream.last != bytes(_TAR_BLOCK):  # tarfile takes a header that is cut or broken for the end
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
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, zlib.error, lzma.LZMAError) as error:
        # A wrong checksum, a password, a kind of compression that we lack: the other members may be well.
        return Source(name, b"", f"cannot be read: {error}")


def _refuse_nested(source: Source) -> Source:
    if source.data.startswith((_ZIP_MAGIC, *_COMPRESSED, *_UNSUPPORTED)):
        return Source(source.name, b"", "an archive inside an archive; unpack it first")
    return source
