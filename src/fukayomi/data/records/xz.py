"""xz files as streams with bounded memory: a header may ask for a dictionary of 4 GiB, and Python would obey."""

import io
import lzma
import os
from typing import IO

MEMORY = 256 << 20  # bytes; the strongest preset, xz -9, needs 65 MiB
_READ_AT_ONCE = 1 << 16


class XzStream(io.RawIOBase):
    """The content of an xz file, all its streams one after the other. Seeking back reads from the start again."""

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
