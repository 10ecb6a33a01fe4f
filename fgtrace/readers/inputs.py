"""The bytes of a recording: opened, told apart by their first bytes, and decompressed in blocks."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard
from isal import isal_zlib

from fgtrace.errors import ExitCode, FgtraceError

BLOCK = 8 << 20
"""About how many bytes a block has."""

_CHUNK = 256 << 10  # stored bytes at a time
# A decoder is fed so little that what it makes of it at once stays small: half a MiB of gzip, 16 of
# zstd at their highest ratios. It is also faster than large pieces, whose output leaves the caches.
_PIECE = 512

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))
_NOT_READ = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x5d\x00\x00": "lzma",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!": "RAR",
}
_WIDE = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"{\x00": "UTF-16LE",
    b"[\x00": "UTF-16LE",
    b"\x00{": "UTF-16BE",
    b"\x00[": "UTF-16BE",
}
"""How text that is not UTF-8 begins, longest first."""

Progress = Callable[[str, int, int], None]
"""Called with an input's name, the stored bytes read so far, and its size (0: not known)."""


class _Coding(NamedTuple):
    name: str
    magics: tuple[bytes, ...]
    decoder: Callable[[], Any]


_CODINGS = (
    _Coding("gzip", (_GZIP,), lambda: isal_zlib.decompressobj(wbits=31)),
    _Coding("zstd", (_ZSTD, *_ZSTD_SKIPPED), lambda: zstandard.ZstdDecompressor().decompressobj()),
)
# isal's stub says that its error is an instance.
_BROKEN: tuple[type[Exception], ...] = (isal_zlib.error, zstandard.ZstdError)  # type: ignore[assignment]


@contextmanager
def open_input(
    path: Path, progress: Progress | None = None, *, name: str | None = None
) -> Iterator[Input]:
    """Open a recording to be read once; `name` is what messages call it, if not its path."""
    name = str(path) if name is None else name
    try:
        file = path.open("rb")
        status = os.fstat(file.fileno())
    except OSError as error:
        raise not_readable(name, error) from None
    with file:
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        yield Input(file, name, size, progress, state=state_of(status))


def state_of(status: os.stat_result) -> tuple[int, int]:
    """Give what a file has another of once it was changed."""
    return status.st_size, status.st_mtime_ns


class Input:
    """One recording being read: decompressed blocks, how far it is, and how it ended.

    `head` is the first block: large enough to tell what the content is, or all of it. White space
    before it is dropped; a byte order mark of UTF-8 is not.
    """

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        size: int,
        progress: Progress | None = None,
        *,
        state: tuple[int, int] = (0, 0),
    ) -> None:
        self.name = name
        self.state = state
        """The file's `state_of` when it was opened."""
        self.size = size
        """Bytes as they are stored; 0 where they come from a pipe."""
        self.consumed = 0
        """Stored bytes read so far."""
        self.damage: str | None = None
        """After the last block: why compressed data ended before their end, else None."""
        self._file = file
        self._progress = progress
        self._blocks = self._content()
        self.head = next((block for block in self._blocks if not _is_blank(block)), b"")
        if not self.head:
            raise truncated(name, self.damage) if self.damage else _empty(name)
        for start, encoding in _WIDE.items():
            if self.head.startswith(start):
                raise unreadable(
                    f"{name} is {encoding} text, not UTF-8",
                    hint=f"convert it first: iconv -f {encoding} -t UTF-8",
                    kind="not-json",
                )

    def blocks(self) -> Iterator[bytes]:
        """Give the content once, in blocks of about `BLOCK` bytes, none of them empty."""
        yield self.head
        yield from self._blocks

    def _content(self) -> Iterator[bytes]:
        start = self._read(_PIECE)
        _refuse_unsupported(self.name, start)
        coding = next((coding for coding in _CODINGS if start.startswith(coding.magics)), None)
        if coding is None:
            block = start + self._read(BLOCK - len(start))
            while block:
                yield block
                block = self._read(BLOCK)
            return
        made: list[bytes] = []
        size = 0
        for data in self._decoded(coding, start):
            made.append(data)
            size += len(data)
            if size >= BLOCK:
                yield b"".join(made)
                made, size = [], 0
        if made:
            yield b"".join(made)

    def _decoded(self, coding: _Coding, start: bytes) -> Iterator[bytes]:
        """Decode member after member, up to the end or to what is damaged."""
        decoder, member = coding.decoder(), 0  # where in the file the member begins
        for position, piece in self._pieces(start):
            rest = piece
            while rest:
                if decoder.eof:
                    rest = rest.lstrip(b"\x00")  # what tapes and block devices fill up with
                    if not rest:
                        break
                    if not any(magic.startswith(rest[: len(magic)]) for magic in coding.magics):
                        self.damage = f"{coding.name} data are followed by something else"
                        return
                    decoder, member = coding.decoder(), position + len(piece) - len(rest)
                try:
                    data = decoder.decompress(rest)
                except _BROKEN:
                    at = position + len(piece) - len(rest)
                    self.damage = f"{coding.name} data are damaged after {at} bytes"
                    yield from self._before_damage(coding, member, at, rest)
                    return
                if data:
                    yield data
                rest = decoder.unused_data if decoder.eof else b""
        if not decoder.eof:
            self.damage = f"{coding.name} data end early"

    def _before_damage(
        self, coding: _Coding, member: int, at: int, damaged: bytes
    ) -> Iterator[bytes]:
        """Decode a member anew, the piece at which it failed byte by byte.

        A decoder that fails keeps what it had made of the piece. What comes from a pipe cannot be
        read again: there, that little is lost.
        """
        if not self._file.seekable():
            return
        self._file.seek(member)
        decoder = coding.decoder()
        for start in range(member, at, _PIECE):
            decoder.decompress(self._stored(min(_PIECE, at - start)))
        for place in range(len(damaged)):
            try:
                data = decoder.decompress(damaged[place : place + 1])
            except _BROKEN:
                return
            if data:
                yield data

    def _pieces(self, start: bytes) -> Iterator[tuple[int, bytes]]:
        """Give the stored bytes in small pieces, each with its place in the file."""
        chunk = start
        while chunk:
            first = self.consumed - len(chunk)
            for place in range(0, len(chunk), _PIECE):
                yield first + place, chunk[place : place + _PIECE]
            chunk = self._read(_CHUNK)

    def _read(self, size: int) -> bytes:
        data = self._stored(size)
        self.consumed += len(data)
        if self._progress is not None:
            self._progress(self.name, self.consumed, self.size)
        return data

    def _stored(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise not_readable(self.name, error) from None


def _is_blank(block: bytes) -> bool:
    return block == _BOM or block.removeprefix(_BOM).isspace()


def unreadable(message: str, *, hint: str, kind: str) -> FgtraceError:
    """Make the error of an input that cannot be read as what it should be."""
    return FgtraceError(message, hint=hint, kind=kind, exit_code=ExitCode.UNREADABLE)


def truncated(name: Path | str, damage: str | None = None) -> FgtraceError:
    """Make the error of a file that stops before its end."""
    return unreadable(
        f"{name} is cut off: {damage or 'it stops before its end'}",
        hint="the job was killed while it wrote, or the copy broke off; copy or record it again",
        kind="truncated",
    )


def _empty(name: Path | str) -> FgtraceError:
    return unreadable(
        f"{name} is empty",
        hint="the profiler wrote nothing, or the disk was full; record it again",
        kind="empty",
    )


def not_readable(name: Path | str, error: OSError) -> FgtraceError:
    """Make the error of a path that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return unreadable(
            f"{name} does not exist", hint="check the spelling of the path", kind="not-found"
        )
    if isinstance(error, IsADirectoryError):
        return unreadable(
            f"{name} is a folder, not a recording",
            hint="name a file in it, or a run folder (NAME.fgtrace)",
            kind="unknown-format",
        )
    hint = "check the permissions of the file"
    if not isinstance(error, PermissionError):
        hint = "copy it to a place that can be read, and name the copy"
    return unreadable(
        f"{name} cannot be read: {error.strerror or error}", hint=hint, kind="unreadable"
    )


def _refuse_unsupported(name: Path | str, start: bytes) -> None:
    for magic, coding in _NOT_READ.items():
        if start.startswith(magic):
            raise unreadable(
                f"{name} is compressed with {coding}",
                hint="decompress it first; gzip and zstd are read as they are",
                kind="unsupported-compression",
            )
