"""What a trace collects of its events."""

import polars as pl

from fgtrace.opening import open_trace


def test_host_events_are_nested_over_all_kinds_of_a_thread(trace):
    trace.range("call", 0, 10_000).op("aten::add", 1000, 8000).kernel("k", 2000, 50_000, 10)
    trace.op("elsewhere", 3000, 100, tid=2)
    host = open_trace(trace.write()).host_events
    assert host.select(pl.col("name").cast(pl.String), "depth", "parent_id", "own_ns").rows() == [
        ("call", 0, None, 2000),
        ("aten::add", 1, 0, 6000),
        ("cudaLaunchKernel", 2, 1, 2000),
        ("elsewhere", 0, None, 100),
    ]


def test_what_was_collected_is_kept_by_a_trace_with_other_fields(trace):
    opened = open_trace(trace.op("aten::add", 0, 10).write())
    host = opened.host_events
    assert opened.having(source="other").host_events is host
    assert opened.having(events=opened.events.head(0)).host_events.is_empty()
