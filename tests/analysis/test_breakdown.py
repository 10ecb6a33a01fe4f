import polars as pl

from fgtrace.analysis.breakdown import BREAKDOWN, breakdown_report
from fgtrace.opening import open_trace


def report(trace):
    rows = breakdown_report(open_trace(trace.write()))
    assert rows.schema == BREAKDOWN
    return rows


def calls(trace):
    for start in (0, 100_000, 200_000):
        trace.range("fgtrace::call::c::r::0", start, 50_000)
        trace.range("fgtrace::phase::gather", start + 1000, 20_000)
        trace.kernel("a", start + 2000, start + 30_000, 1000)
        trace.kernel("b", start + 6000, start + 35_000, 2000)
    return trace


def test_each_side_has_pieces_that_add_up_to_it(trace):
    rows = report(calls(trace))
    totals = dict(rows.group_by("side").agg(pl.col("total_ns").sum()).rows())
    assert totals == {"host": 150_000, "device": 3 * 7000}
    assert rows.group_by("side").agg(pl.col("share").sum().round(9))["share"].to_list() == [1, 1]


def test_the_device_has_its_phases_and_the_gaps_between(trace):
    rows = report(calls(trace)).filter(pl.col("side") == "device")
    assert rows.select("phase", "piece", "median_ns").rows() == [
        (None, "gap", 4000),
        ("gather", "kernel", 3000),
    ]


def test_a_kernel_that_nothing_marks_is_of_the_launch_on_both_sides(trace):
    trace.range("call", 0, 50_000).kernel("a", 1000, 10_000, 5000)
    rows = report(trace).filter(pl.col("piece").is_in(("launch call", "kernel")))
    assert rows.select("side", "phase").rows() == [("host", "launch"), ("device", "launch")]


def test_kernels_at_once_overlap_and_the_sum_is_still_the_span(trace):
    trace.range("call", 0, 50_000).kernel("a", 1000, 10_000, 5000).kernel("b", 5000, 12_000, 5000)
    rows = report(trace).filter(pl.col("side") == "device")
    assert rows.select("piece", "total_ns").rows() == [("kernel", 10_000), ("overlap", -3000)]


def test_a_call_without_a_piece_counts_as_none_of_it_in_the_median(trace):
    trace.range("call", 0, 50_000).range("call", 100_000, 50_000)
    trace.range("call", 200_000, 50_000).kernel("a", 201_000, 210_000, 10)
    launch = report(trace).filter(pl.col("piece") == "launch call")
    assert launch.select("calls", "total_ns", "median_ns").rows() == [(3, 2000, 0)]


def test_the_flaggems_call_goes_to_the_launchers_python(shared):
    file = shared / "traces/h200/flaggems.repeat_values_known.json.gz"
    host = breakdown_report(open_trace(file)).filter(pl.col("side") == "host")
    assert host.row(0, named=True)["piece"] == "python"
    assert host["share"][0] > 0.5
    other = host.filter(pl.col("phase") == "other")["total_ns"].sum()
    assert other < 0.1 * host["total_ns"].sum()
