"""What tells that a folder holds a whole trace, and its files what was written to them."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import BinaryIO

import msgspec

from fgtrace.frames.provenance import Provenance

MANIFEST = "manifest.json"

_SAMPLE = 64 << 10


class FrameFile(msgspec.Struct, frozen=True):
    """A frame's file. A frame without rows has none."""

    rows: int
    fingerprint: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder holds. It is written last, so that a folder without one is incomplete."""

    path: str
    """The file that the trace was read from, as it can be shown."""
    source: str
    provenance: Provenance
    frames: dict[str, FrameFile]


def fingerprint(file: BinaryIO) -> str:
    """Hash the size of a file and its first, middle and last 64 KiB."""
    size = os.fstat(file.fileno()).st_size
    digest = blake2b(str(size).encode(), digest_size=16)
    for place in (0, (size - _SAMPLE) // 2, size - _SAMPLE):
        file.seek(max(place, 0))
        digest.update(file.read(_SAMPLE))
    return digest.hexdigest()
