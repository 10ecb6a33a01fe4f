from fgtrace.analysis.launches import launches_report
from fgtrace.analysis.links import launches
from fgtrace.analysis.queues import queue_depths
from fgtrace.opening import open_trace


def depths(trace):
    opened = open_trace(trace.write())
    return queue_depths(opened, launches(opened)).to_list()


def test_the_depth_is_what_was_launched_and_not_done(trace):
    for number in range(4):
        trace.kernel("k", number * 3000, 20_000 + number * 1000, 900)
    trace.kernel("k", 22_500, 30_000, 10)
    assert depths(trace) == [0, 1, 2, 3, 2]


def test_streams_have_queues_of_their_own(trace):
    trace.kernel("a", 0, 50_000, 10).kernel("b", 3000, 50_000, 10)
    trace.api("cudaLaunchKernel", 6000, 100).work("c", 60_000, 10, stream=9)
    assert depths(trace) == [0, 1, 0]


def test_a_graph_is_one_piece_of_work(trace):
    trace.api("cudaGraphLaunch", 0, 100).work("a", 9000, 10).work("b", 9100, 10)
    trace.kernel("c", 5000, 9500, 10)
    assert depths(trace) == [0, 1]


def test_a_launch_without_a_device_row_has_no_depth(trace):
    trace.kernel("k", 0, 5000, 10).api("cudaLaunchKernel", 20_000, 1000)
    assert depths(trace) == [0, None]
    rows = launches_report(open_trace(trace.write()))
    assert rows.select("queue_depth_median", "queue_depth_max").rows() == [(0, 0)]
