"""A trace as a folder of Arrow files, which opens in milliseconds: what the cache keeps of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl

from fgtrace.frames.kept import MANIFEST, FrameFile, Manifest, fingerprint
from fgtrace.frames.schema import EVENTS, KIND, LAUNCH_ATTRIBUTES, OP_ATTRIBUTES
from fgtrace.frames.trace import COLLECTED, FRAMES, Trace

_PLACES = pl.Schema({"place": pl.UInt32(), "event_id": pl.UInt32(), "kind": KIND})


def save_arrow(trace: Trace, places: pl.LazyFrame, folder: Path, *, path: str) -> None:
    """Write a trace that was read from the file `path` into an empty folder.

    `places` says where in that file each event is (`Recorded.places`). Attributes of launches and
    operators are not kept: they are read from the file when they are asked for. The files are their
    owner's only, and are on the disk when this returns.
    """
    # COLLECTED is what nearly all reports start from, and takes longest to collect.
    frames = {name: getattr(trace, name).lazy() for name in (*FRAMES, *COLLECTED)}
    frames["events"] = trace.events
    frames["places"] = places.select(_PLACES.names())
    files = {}
    for name, frame in frames.items():
        rows = frame.select(pl.len()).collect().item()
        if rows:
            file = folder / f"{name}.arrow"
            file.touch(mode=0o600)
            # Compressed, 4 million events take a fifth of the space, and each query of them twice
            # the time: files that are not are mapped.
            frame.sink_ipc(file, compression="uncompressed", sync_on_close="data")
            with file.open("rb") as written:
                files[name] = FrameFile(rows, fingerprint(written))
    manifest = Manifest(path=path, source=trace.source, provenance=trace.provenance, frames=files)
    (folder / MANIFEST).touch(mode=0o600)
    (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def load_arrow(folder: Path) -> tuple[Trace, pl.LazyFrame]:
    """Read a trace without attributes of launches and operators, and the places of its events.

    The files are opened here: they can be removed while the frames are in use. Raises OSError,
    ValueError, or an error of msgspec's or Polars', where a file is not as it was written.
    """
    manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)

    def scan(name: str) -> pl.LazyFrame:
        with (folder / f"{name}.arrow").open("rb") as file:
            # Polars can panic at a damaged file.
            if fingerprint(file) != manifest.frames[name].fingerprint:
                raise ValueError(f"{file.name} is not as it was written")
            file.seek(0)
            return pl.scan_ipc(file)

    def frame(name: str, columns: pl.Schema) -> pl.LazyFrame:
        return scan(name) if name in manifest.frames else columns.to_frame().lazy()

    trace = Trace(
        source=manifest.source,
        provenance=manifest.provenance,
        events=frame("events", EVENTS),
        launch_attributes=LAUNCH_ATTRIBUTES.to_frame().lazy(),
        op_attributes=OP_ATTRIBUTES.to_frame().lazy(),
        stacks=None,
        **{name: frame(name, columns).collect() for name, columns in FRAMES.items()},
    )
    vars(trace).update(
        (name, scan(name).collect()) for name in COLLECTED if name in manifest.frames
    )
    return trace, frame("places", _PLACES)
