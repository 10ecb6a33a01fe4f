from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.launches import LAUNCHES, launches_report
from fgtrace.analysis.summary import summarise
from fgtrace.opening import open_trace


def report(trace):
    rows = launches_report(open_trace(trace.write()))
    assert rows.schema == LAUNCHES
    return rows.drop("queue_depth_median", "queue_depth_max").rows()


def test_a_delay_is_from_the_start_of_the_call_to_the_start_of_its_kernel(trace):
    for at, delay in enumerate((5000, 9000, 6000)):
        trace.kernel("k", at * 20_000, at * 20_000 + delay, 10)
    assert report(trace) == [("cudaLaunchKernel", 3, 6000, 6000, 9000, 0)]


def test_the_first_columns_are_those_that_scripts_rely_on():
    assert list(LAUNCHES)[:4] == ["api", "count", "host_time_ns", "delay_median_ns"]


def test_a_graph_begins_with_its_first_kernel(trace):
    trace.api("cudaGraphLaunch", 0, 100)
    trace.work("Memset (Device)", 3000, 10, category="gpu_memset", bytes=4)
    trace.work("b", 9000, 10).work("a", 7000, 10)
    assert report(trace) == [("cudaGraphLaunch", 1, 100, 7000, 7000, 0)]


def test_a_graph_without_kernels_begins_with_its_first_work(trace):
    trace.api("cudaGraphLaunch", 0, 100)
    trace.work("Memset (Device)", 3000, 10, category="gpu_memset", bytes=4)
    assert report(trace) == [("cudaGraphLaunch", 1, 100, 3000, 3000, 0)]


def test_launches_without_a_device_row_have_no_delay_and_are_told(trace):
    trace.kernel("k", 0, 5000, 10).api("cudaLaunchKernel", 20_000, 1000)
    trace.api("cuLaunchKernelEx", 30_000, 500)
    assert report(trace) == [
        ("cudaLaunchKernel", 2, 3000, 5000, 5000, 1),
        ("cuLaunchKernelEx", 1, 500, None, None, 1),
    ]


def test_without_a_recorded_device_no_launch_is_missed(trace):
    assert report(trace.api("cudaLaunchKernel", 0, 1000)) == [
        ("cudaLaunchKernel", 1, 1000, None, None, None)
    ]


def test_a_kernel_that_seems_to_start_before_its_launch_is_no_secret(trace):
    ((*_, median, _, _),) = report(trace.kernel("k", 5000, 4000, 10))
    assert median == -1000


def test_a_driver_call_inside_a_runtime_call_is_the_same_launch(trace):
    trace.api("cudaLaunchKernel", 0, 3000)
    trace.api("cuLaunchKernelEx", 500, 2000, correlation=trace.correlation)
    trace.work("k", 9000, 10, correlation=trace.correlation - 1)
    assert report(trace) == [("cudaLaunchKernel", 1, 3000, 9000, 9000, 0)]


def test_copies_are_no_launches(trace):
    assert report(trace.readback(0, 5000)) == []


apis = st.sampled_from(["cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaFree"])
calls = st.lists(
    st.tuples(apis, st.sampled_from("12"), st.integers(0, 40), st.integers(0, 15)), max_size=12
)


@given(calls=calls, work=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 60)), max_size=12))
def test_every_launch_is_in_one_row(made, calls, work):
    rows = [("runtime", *call, number) for number, call in enumerate(calls)]
    rows += [("kernel", "k", None, start, 5, number) for number, start in work]
    trace = made(rows)
    found = launches_report(trace)
    assert found["count"].sum() == summarise(trace).metrics.launch_count


def test_shared_launches_add_up_to_the_summary(shared):
    files = [*(shared / "traces/h200").glob("*.json.gz"), *(shared / "traces").glob("hta_r*.gz")]
    for file in sorted(files):
        trace = open_trace(file)
        rows, metrics = launches_report(trace), summarise(trace).metrics
        assert rows["count"].sum() == metrics.launch_count, file.name
        assert rows["without_device_row"].sum() == metrics.launches_without_device_row, file.name
