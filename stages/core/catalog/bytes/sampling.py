"""Bounded samples of a file's bytes: head, middle and tail, or the whole of a small one."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from stages.core.errors import SourceError

WHOLE = 1 << 20
"""Bytes up to which a file is read whole."""
HEAD = 1 << 19
PART = 1 << 18
"""Bytes of the head, and of the middle and the tail each, of a larger one."""
MOST = 1 << 25
"""Bytes that a head may grow to where one record is longer than `HEAD`."""


@dataclass(frozen=True)
class ByteSample:
    """What was read of a file.

    Args:
        head: Its first bytes.
        middle: Bytes from its middle; empty where the file is small or compressed.
        tail: Its last bytes; empty likewise.
        whole: Whether the head is all there is.
        size: Bytes of the file on disk.
        stretch: Bytes of content for each byte on disk, as far as the head tells.
    """

    head: bytes
    middle: bytes
    tail: bytes
    whole: bool
    size: int
    stretch: float = 1.0

    @property
    def parts(self) -> list[bytes]:
        """Samples that hold anything; the head always."""
        return [self.head, *filter(None, (self.middle, self.tail))]

    @property
    def content(self) -> float:
        """Bytes of content in the whole file, estimated where it is compressed."""
        return len(self.head) if self.whole else self.size * self.stretch


def compression(path: Path) -> str:
    """``gzip``, ``zstd`` or empty, by the file's name."""
    return {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower(), "")


def stem(path: Path) -> str:
    """The file's name without its data and compression suffixes."""
    return Path(path.stem).stem if compression(path) else path.stem


def open_bytes(path: Path) -> IO[bytes]:
    """The file's content, decompressed while it is read.

    Raises:
        SourceError: It cannot be opened.
    """
    try:
        if compression(path) == "gzip":
            return cast("IO[bytes]", gzip.open(path, "rb"))
        if compression(path) == "zstd":
            import zstandard

            return cast("IO[bytes]", zstandard.open(path, "rb"))
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> SourceError:
    """The error that says why a file's bytes cannot be had."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return SourceError(
        f"cannot be read: {reason}", place=path.name, hint="mend the file or leave it out"
    )


def take(path: Path, *, head: int = HEAD) -> ByteSample:
    """Samples of one file.

    Args:
        head: Bytes of the head of a file too large to be read whole.

    Raises:
        SourceError: It cannot be opened or decompressed, or holds nothing.
    """
    try:
        sample = _packed(path, head) if compression(path) else _plain(path, head)
    except SourceError:
        raise
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error
    except Exception as error:
        if type(error).__name__ == "ZstdError":
            raise unreadable(path, error) from error
        raise
    if not sample.head:
        raise SourceError("the file is empty", place=path.name, hint="leave it out or fill it")
    return sample


def _plain(path: Path, head: int) -> ByteSample:
    """Samples of an uncompressed file; offsets are multiples of four, for wide encodings."""
    with path.open("rb", buffering=0) as file:
        first = file.read(max(WHOLE, head) + 1)
        if len(first) <= max(WHOLE, head):
            rest = file.read()
            if not rest:
                return ByteSample(first, b"", b"", True, len(first))
            first += rest
        size = file.seek(0, 2)
        file.seek(max(head, size // 2) // 4 * 4)
        middle = file.read(PART) if size > head + 2 * PART else b""
        file.seek(max(head, size - PART) // 4 * 4)
        return ByteSample(first[:head], middle, file.read(), False, size)


def _packed(path: Path, head: int) -> ByteSample:
    """The head of a compressed file; what it unpacks to says how large the whole may be."""
    size = path.stat().st_size
    most = max(WHOLE, head)
    with path.open("rb") as raw:
        unpacked = _unpack(raw, compression(path))
        data = _read(unpacked, most + 1)
        if len(data) <= most:
            return ByteSample(data, b"", b"", True, size)
        return ByteSample(data[:most], b"", b"", False, size, len(data) / max(1, raw.tell()))


def _unpack(raw: IO[bytes], kind: str) -> IO[bytes]:
    """The content of an open compressed file."""
    if kind == "gzip":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    import zstandard

    reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return cast("IO[bytes]", reader)


def _read(file: IO[bytes], most: int) -> bytes:
    """Up to so many bytes, however small the pieces that the file hands out."""
    pieces, left = [], most
    while left > 0 and (piece := file.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
