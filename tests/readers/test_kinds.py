import polars as pl
import pytest

from fgtrace.opening import open_trace

from .conftest import notes, rows


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("cpu_op", "aten::add", "op"),
        ("Operator", "aten::add", "op"),
        ("cpu_op", "ProfilerStep#3", "range"),
        ("user_annotation", "call", "range"),
        ("gpu_user_annotation", "call", "device_range"),
        ("cuda_runtime", "cudaLaunchKernel", "runtime"),
        ("privateuse1_runtime", "hipLaunchKernel", "runtime"),
        ("xpu_runtime", "urEnqueueKernelLaunch", "runtime"),
        ("mtia_runtime", "run", "runtime"),
        ("Runtime", "cudaLaunchKernel", "runtime"),
        ("cuda_driver", "cuLaunchKernelEx", "driver"),
        ("kernel", "k", "kernel"),
        ("Kernel", "k", "kernel"),
        ("kernel", "__amd_rocclr_copyBuffer", "memcpy"),
        ("kernel", "CopyDeviceToHost", "memcpy"),
        ("kernel", "CopyDeviceToHostAndBack", "kernel"),
        ("kernel", "__amd_rocclr_fillBufferAligned", "memset"),
        ("kernel", "my_copyBuffer", "kernel"),
        ("Kernel", "__amd_rocclr_copyBuffer", "memcpy"),
        ("Kernel", "FillBuffer", "memset"),
        ("Operator", "ProfilerStep#3", "range"),
        ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", "memcpy"),
        ("Memset", "Memset (Device)", "memset"),
        ("cuda_sync", "Stream Sync", "sync_record"),
        ("python_function", "train.py(1): main", "python"),
        ("python_function", "nn.Module: Linear_0", "python"),
        ("overhead", "Activity Buffer Request", "overhead"),
        ("Trace", "PyTorch Profiler (0)", "other"),
        ("cpu_instant_event", "[memory]", "memory"),
        ("cpu_instant_event", "[memory] of mine", "other"),
        ("cpu_op,foo", "aten::add", "other"),
        ("runtime", "k", "other"),
        ("CPU_OP", "aten::add", "other"),
        ("brand_new", "k", "other"),
    ],
)
def test_the_kind_comes_from_category_and_name(trace, category, name, kind, read):
    trace.event(category, name, 0, 5, stream=7)
    assert rows(read(trace.write()), "kind", "source_category") == [(kind, category)]


def test_other_categories_are_counted_in_a_note_but_not_the_profiler_s_own(trace, read):
    trace.event("new", "a", 0, 1).event("new", "b", 1, 1).event("newer", "c", 2, 1)
    trace.event("Trace", "PyTorch Profiler (0)", 3, 1)
    (note,) = read(trace.write()).notes
    assert (note.level, note.kind, note.count) == ("info", "other-category", 3)
    assert "(new, newer)" in note.message


def test_lists_of_the_profiler_before_kineto_have_kinds_by_their_process(read):
    recorded = read(
        """[{"name": "add", "ph": "X", "ts": 1.5, "dur": 9, "tid": 1, "pid": "CPU functions",
            "args": {}},
            {"name": "add", "ph": "s", "ts": 1.5, "tid": 1, "pid": "CPU functions", "id": 1,
            "cat": "cpu_to_cuda", "args": {}},
            {"name": "k", "ph": "X", "ts": 3, "dur": 2, "tid": 7, "pid": "CUDA functions"},
            {"name": "Memcpy DtoH (Device -> Pageable)", "ph": "X", "ts": 6, "dur": 2, "tid": 7,
            "pid": "CUDA functions"},
            {"name": "what", "ph": "X", "ts": 7, "dur": 2, "tid": 7, "pid": "Other functions"}]"""
    )
    assert rows(recorded, "kind", "start_ns", "process", "thread", "stream", "copy_kind") == [
        ("op", 1500, "CPU functions", "1", None, None),
        ("kernel", 3000, "CUDA functions", None, 7, None),
        ("memcpy", 6000, "CUDA functions", None, 7, "DtoH"),
        ("other", 7000, "Other functions", "7", None, None),
    ]
    assert notes(recorded) == {}


def test_device_columns_belong_to_device_rows_and_threads_to_host_rows(trace, read):
    trace.op("inductor", 0, 9, pid=31, tid=32, stream=0).api("cudaLaunchKernel", 1, 2, device=3)
    trace.work("k", 5, 1, device=2, stream=0)
    trace.event("kernel", "bare", 9, 1, pid=1, tid="stream 7")
    trace.event("kernel", "hexadecimal", 10, 1, pid="0x1", tid="0x1f")
    trace.event("kernel", "word", 11, 1, pid="GPU", tid="default")
    assert rows(read(trace.write()), "name", "process", "thread", "device", "stream") == [
        ("inductor", "31", "32", None, None),
        ("cudaLaunchKernel", "1", "1", None, None),
        ("k", "0", None, 2, 0),
        ("bare", "1", None, 1, 7),
        ("hexadecimal", "0x1", None, 1, 31),
        ("word", "GPU", None, None, None),
    ]


def test_a_device_number_that_no_column_holds_is_not_known(trace, read):
    trace.work("k", 0, 1, device=2**40, stream=2**40)
    assert rows(read(trace.write()), "device", "stream") == [(None, 2**40)]


@pytest.mark.parametrize(
    ("name", "copy_kind"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
        ("Memcpy DtoH (Device -> Array)", "DtoH"),
        ("Memcpy PtoP (Device -> Device)", "PtoP"),
        ("CopyDeviceToHost", "DtoH"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "HtoD"),
        ("Memcpy Unknown", "other"),
    ],
)
def test_the_direction_of_a_copy_is_read_from_its_name(trace, name, copy_kind, read):
    trace.work(name, 0, 1, category="gpu_memcpy", bytes=8)
    assert rows(read(trace.write()), "copy_kind", "bytes") == [(copy_kind, 8)]


def test_what_the_hip_call_says_of_a_copy_wins_over_the_device_row(trace, read):
    trace.api("hipMemcpyWithStream", 0, 9, kind="2", bytes="4")
    trace.work("Memcpy DtoD (Device -> Device)", 3, 1, category="gpu_memcpy")
    assert rows(read(trace.write()), "kind", "copy_kind", "bytes") == [
        ("runtime", None, None),
        ("memcpy", "DtoH", 4),
    ]


def test_what_another_call_says_of_a_copy_does_not(trace, read):
    trace.api("cudaMemcpyAsync", 0, 9, kind="2", bytes="4")
    trace.work("Memcpy DtoD (Device -> Device)", 3, 1, category="gpu_memcpy")
    assert rows(read(trace.write()), "copy_kind", "bytes")[1] == ("DtoD", None)


def test_categories_without_a_meaning_change_nothing_for_those_with_one(trace):
    for number, category in enumerate(
        ("new", "newer", "cpu_op", "hip_driver", "cpu_instant_event")
    ):
        trace.event(category, "[memory]", number, 1)
    events = open_trace(trace.write()).events.select("kind", "source_category").collect()
    assert events.cast(pl.String).rows() == [
        ("other", "new"),
        ("other", "newer"),
        ("op", "cpu_op"),
        ("driver", "hip_driver"),
        ("memory", "cpu_instant_event"),
    ]
