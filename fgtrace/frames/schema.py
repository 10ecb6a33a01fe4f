"""The columns of every frame: names, types, units and meaning.

Times are Int64 nanoseconds. A value that is not known is null; NaN never appears.
"""

from __future__ import annotations

import polars as pl
from polars.datatypes import DataTypeClass


def _schema(**columns: pl.DataType | DataTypeClass) -> pl.Schema:
    return pl.Schema(columns)


KIND = pl.Enum(
    [
        "op",  # an operator call on the host
        "runtime",  # a runtime API call (cudaLaunchKernel, hipMemcpyWithStream, ...)
        "driver",  # a driver API call (cuLaunchKernelEx, ...)
        "kernel",  # device work
        "memcpy",  # device work: a copy
        "memset",  # device work: a fill
        "range",  # a named range on the host
        "device_range",  # a named range drawn on the device; no device work
        "python",  # a Python frame
        "sync_record",  # a record of a wait drawn on the device; no device work
        "overhead",  # the profiler's own work
        "memory",  # an allocation or a release
        "counter",
        "other",  # not understood; its category is in `source_category`
    ]
)
"""What an event is. It comes from category and name, never from having a stream."""

DEVICE_WORK = ("kernel", "memcpy", "memset")
"""The kinds that occupy a device."""

HOST_API = ("runtime", "driver")
"""The kinds that are calls into the device's API."""

COPY_KIND = pl.Enum(["HtoD", "DtoH", "DtoD", "HtoH", "PtoP", "other"])

HOW = pl.Enum(["correlation", "external_id", "graph", "index_window", "time_window", "none"])
"""By what a device event was linked to its launch."""

CAUSE = pl.Enum(["before_window", "api_not_recorded", "lost"])
"""Why a device event has no launch."""

LEVEL = pl.Enum(["info", "warning"])

EVENTS = _schema(
    event_id=pl.UInt32,  # order of (part, start, longest first, place in the file)
    part=pl.UInt32,  # row of `parts`: one process's recording with its own clock
    kind=KIND,
    name=pl.Categorical(),
    start_ns=pl.Int64,  # on the part's clock
    dur_ns=pl.Int64,
    process=pl.Categorical(),  # as the file says it: a number or a word
    thread=pl.Categorical(),  # host events; null for device work
    device=pl.Int32,  # device work
    stream=pl.Int64,  # device work
    correlation=pl.Int64,  # joins device work and the API call that launched it
    external_id=pl.Int64,  # joins device work and the operator, where it resolves
    bytes=pl.Int64,  # copies and fills
    copy_kind=COPY_KIND,  # copies
    rank=pl.Int32,
    source_category=pl.Categorical(),  # the file's own category
)

LAUNCH_ATTRIBUTES = _schema(
    event_id=pl.UInt32,  # a kernel
    grid=pl.List(pl.Int64),  # blocks in x, y, z
    block=pl.List(pl.Int64),  # threads in x, y, z
    registers=pl.Int32,  # per thread
    shared_bytes=pl.Int64,  # per block
)

OP_ATTRIBUTES = _schema(
    event_id=pl.UInt32,  # an operator
    # JSON as the profiler wrote it, an entry an argument.
    input_shapes=pl.String,
    input_types=pl.String,
    input_strides=pl.String,
    concrete_inputs=pl.String,  # scalars and lists
    call_site=pl.String,  # where Python called, innermost frame first
)

LINKS = _schema(
    device_event_id=pl.UInt32,  # a kernel, copy or fill
    launch_event_id=pl.UInt32,  # the API call that started it
    op_event_id=pl.UInt32,  # the innermost operator around that call
    range_event_id=pl.UInt32,  # the innermost range around that call
    how=HOW,
    cause=CAUSE,  # set where there is no launch
)

CALLS = _schema(
    part=pl.UInt32,
    case=pl.String,  # null where the call's range does not name one
    route=pl.String,
    generation=pl.UInt32,
    index=pl.UInt32,  # 0 is the first call of its case and route in the part
    range_event_id=pl.UInt32,
    start_ns=pl.Int64,
    dur_ns=pl.Int64,
    left_out=pl.Boolean,  # first call, over three times the median: not in medians
)

PARTS = _schema(
    part=pl.UInt32,
    source=pl.String,  # the file, relative to the run where it lies in one
    process=pl.String,
    rank=pl.Int32,
    route=pl.String,  # set by `collect`
    generation=pl.UInt32,  # set by `collect`
    profiler=pl.String,  # kineto, ...
)

SAMPLES = _schema(
    case=pl.String,
    route=pl.String,
    # Of a factorial: the state of each switched part, as readback=1,index_check=0; else null.
    variant=pl.String,
    generation=pl.UInt32,
    process=pl.Int64,  # the child's process id
    turn=pl.UInt32,  # order in which the parent handed the batches out
    mode=pl.Enum(["throughput", "latency", "graph"]),
    profiler=pl.String,  # none, or the profiler that was recording
    calls=pl.UInt32,  # calls in the batch
    wall_ns=pl.Int64,  # the whole batch, final wait included
    enqueue_ns=pl.Int64,  # until the last call returned, final wait left out
)
"""A row a timed batch. `throughput` waits once, after the last call; `latency` after each call;
`graph` replays a captured graph and waits once."""

WITNESSES = _schema(
    case=pl.String,  # null: of the whole process
    route=pl.String,
    generation=pl.UInt32,
    process=pl.Int64,
    witness=pl.String,  # what was looked at
    value=pl.String,
)
"""Evidence of what really served a call, and whether a run kept the protocol's rules."""

CALIBRATION = _schema(
    route=pl.String,
    generation=pl.UInt32,
    process=pl.Int64,
    loop=pl.String,  # see fgtrace_collectors.recorder.calibration
    profiler=pl.String,  # none, or the profiler that was recording
    iterations=pl.UInt32,
    wall_ns=pl.Int64,  # the whole loop
)

NOTES = _schema(
    level=LEVEL,
    kind=pl.String,  # one of fgtrace.frames.notes.KINDS
    count=pl.Int64,  # of what the note is about
    message=pl.String,
    option=pl.String,  # the option that changes it, where there is one
    part=pl.UInt32,  # null: of the whole trace
)
