from fgtrace.analysis.kernels import KERNELS, kernels_report
from fgtrace.opening import open_trace


def test_kernels_are_listed_by_total_time_then_name(trace):
    for at, (name, dur) in enumerate([("b", 10), ("a", 10), ("c", 15), ("c", 5)]):
        trace.kernel(name, at * 10_000, at * 10_000 + 5000, dur)
    trace.work("Memset (Device)", 90_000, 10, category="gpu_memset", bytes=4)
    rows = kernels_report(open_trace(trace.write()))
    assert rows.schema == KERNELS
    assert rows.rows() == [
        ("c", 2, 20, 0.4, 5, 10, 15, 15),
        ("a", 1, 10, 0.2, 10, 10, 10, 10),
        ("b", 1, 10, 0.2, 10, 10, 10, 10),
    ]


def test_the_ninety_fifth_percentile_is_a_duration_that_occurred(trace):
    for number in range(1, 101):
        trace.kernel("k", number * 10_000, number * 10_000 + 5000, number)
    ((_, _, total, _, least, median, p95, most),) = kernels_report(open_trace(trace.write())).rows()
    assert (total, least, median, p95, most) == (5050, 1, 50, 96, 100)


def test_a_trace_without_kernels_has_an_empty_list(trace):
    rows = kernels_report(open_trace(trace.op("aten::add", 0, 10).write()))
    assert rows.schema == KERNELS
    assert rows.is_empty()


def test_kernels_of_no_length_have_no_share(trace):
    rows = kernels_report(open_trace(trace.kernel("k", 0, 5000, 0).write()))
    assert rows["share"].to_list() == [0.0]
