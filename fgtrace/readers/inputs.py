"""The bytes of a recording: opened, recognised by their first bytes, and decompressed."""

from __future__ import annotations

from pathlib import Path

import zstandard
from isal import igzip, isal_zlib

from fgtrace.errors import ExitCode, FgtraceError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_NOT_READ = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x04\x22\x4d\x18": "lz4"}


def unreadable(message: str, *, hint: str, kind: str) -> FgtraceError:
    """Make the error of an input that cannot be read as what it should be."""
    return FgtraceError(message, hint=hint, kind=kind, exit_code=ExitCode.UNREADABLE)


def read_bytes(path: Path) -> bytes:
    """Read a file whole, and decompress it when it is gzip or zstd, of any number of members."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise unreadable(
            f"{path} does not exist", hint="check the spelling of the path", kind="not-found"
        ) from None
    except IsADirectoryError:
        raise unreadable(
            f"{path} is a folder, not a recording",
            hint="name a file in it, or a run folder (NAME.fgtrace)",
            kind="unknown-format",
        ) from None
    except OSError as error:
        raise unreadable(
            f"{path} cannot be read: {error.strerror}",
            hint="check the permissions of the file",
            kind="unreadable",
        ) from None
    for magic, name in _NOT_READ.items():
        if data.startswith(magic):
            raise unreadable(
                f"{path} is compressed with {name}",
                hint="decompress it first; gzip and zstd are read as they are",
                kind="unsupported-compression",
            )
    if data.startswith(_GZIP):
        data = _gunzip(path, data)
    elif data.startswith(_ZSTD):
        data = _unzstd(path, data)
    if not data.strip():
        raise unreadable(
            f"{path} is empty",
            hint="the profiler wrote nothing, or the disk was full; record it again",
            kind="empty",
        )
    return data


def _gunzip(path: Path, data: bytes) -> bytes:
    try:
        content: bytes = igzip.decompress(data)  # type: ignore[no-untyped-call]
    except EOFError:
        raise truncated(path) from None
    except (OSError, isal_zlib.error) as error:  # type: ignore[misc]  # its stub says: an instance
        raise unreadable(
            f"{path} has damaged gzip data: {error}",
            hint="copy it again from where it was recorded",
            kind="truncated",
        ) from None
    return content


def _unzstd(path: Path, data: bytes) -> bytes:
    frames = []
    try:
        while data:
            frame = zstandard.ZstdDecompressor().decompressobj()
            frames.append(frame.decompress(data))
            if not frame.eof:
                raise truncated(path)
            data = frame.unused_data
    except zstandard.ZstdError as error:
        raise unreadable(
            f"{path} has damaged zstd data: {error}",
            hint="copy it again from where it was recorded",
            kind="truncated",
        ) from None
    return b"".join(frames)


def truncated(path: Path) -> FgtraceError:
    """Make the error of a file that stops before its end."""
    return unreadable(
        f"{path} is cut off: it stops before its end",
        hint="the job was killed while it wrote, or the copy broke off; copy or record it again",
        kind="truncated",
    )
