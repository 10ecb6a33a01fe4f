import pytest

from fgtrace.analysis.groups import GROUPS, USER
from fgtrace.analysis.host import host_report
from fgtrace.opening import open_trace

NAMES = {
    "profiler": ("torch/autograd/profiler.py(826): __enter__", "my/profiler.py(1): f"),
    "triton: key": ("triton/runtime/jit.py(690): compute_cache_key", "my/jit.py(1): compute_key"),
    "triton: bind": ("triton/runtime/jit.py(370): <lambda>", "my/jit.py(370): <lambda>"),
    "triton: launch": ("triton/runtime/jit.py(695): run", "my/runtime/jit.py(695): run"),
    "triton: interpreter": ("triton/runtime/interpreter.py(9): f", "my/interpreter.py(9): f"),
    "triton: other": ("/x/triton/runtime/cache.py(9): get", "my_triton/cache.py(9): get"),
    "flaggems": ("/x/flag_gems/utils/libentry.py(659): run", "my_flag_gems/libentry.py(6): run"),
    "bundled kernels": ("fgtrace_kernels/launch.py(9): launch", "my_kernels/launch.py(9): f"),
    "allocator": ("<built-in method empty of type object at 0x7f>", "my/memory.py(1): empty"),
    "backward": (
        "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
        "my/autograd/graph.py(865): run_backward",
    ),
    "dispatcher": ("torch/_ops.py(946): __call__", "my/_ops.py(946): __call__"),
    "torch Python": ("torch/nn/modules/module.py(1783): _call_impl", "my_torch/nn.py(1): f"),
}


@pytest.fixture
def told(trace):
    """Give group, module, function and count of events: (category, name, start, duration)."""

    def tell(*rows):
        for category, name, start, dur in rows:
            trace.event(category, name, start, dur)
        report = host_report(open_trace(trace.write()))
        return set(report.select("group", "module", "function", "count").rows())

    return tell


def frame(name, start, dur):
    return "python_function", name, start, dur


def test_every_group_has_an_example_a_near_miss_and_a_source():
    assert set(NAMES) == {group.name for group in GROUPS}
    assert all(group.source for group in GROUPS)


@pytest.mark.parametrize("group", NAMES)
def test_a_frame_is_in_its_group_and_one_with_a_like_name_is_not(told, group):
    name, near = NAMES[group]
    rows = told(frame(name, 0, 10), frame(near, 20, 10))
    assert {row[0] for row in rows} == {group, USER}


def test_what_flaggems_generates_is_flaggems(told):
    name = "/root/.flaggems/code_cache/pointwise_dynamic_5f.py(17): _copy_kernel_wrapper_rank_3"
    assert {row[0] for row in told(frame(name, 0, 10))} == {"flaggems"}


def test_pythons_own_functions_belong_to_who_calls_them(told):
    rows = told(
        frame("flag_gems/utils/libentry.py(659): run", 0, 100),
        frame("functools.py(9): wraps", 10, 50),
        frame("<built-in function isinstance>", 20, 10),
        frame("mine.py(1): f", 200, 100),
        frame("<built-in function isinstance>", 210, 10),
        frame("<built-in function len>", 400, 10),
    )
    assert rows == {
        ("flaggems", "flag_gems/utils/libentry.py", "run", 1),
        ("flaggems", "functools.py", "wraps", 1),
        ("flaggems", None, "<built-in function isinstance>", 1),
        (USER, "mine.py", "f", 1),
        (USER, None, "<built-in function isinstance>", 1),
        (USER, None, "<built-in function len>", 1),
    }


def test_a_function_that_hands_over_to_an_operator_is_the_dispatchers(told):
    rows = told(
        frame("torch/nn/modules/linear.py(9): forward", 0, 100),
        frame("<built-in function linear>", 10, 50),
        ("cpu_op", "aten::linear", 20, 30),
        frame("<built-in function hasattr>", 70, 10),
    )
    assert {row[2]: row[0] for row in rows} == {
        "forward": "torch Python",
        "<built-in function linear>": "dispatcher",
        "aten::linear": "operator",
        "<built-in function hasattr>": "torch Python",
    }


def test_all_that_the_profiler_calls_is_the_profilers(told):
    rows = told(
        frame("mine.py(1): f", 0, 100),
        frame("torch/autograd/profiler.py(826): __exit__", 10, 50),
        frame("torch/_ops.py(946): __call__", 20, 30),
        frame("torch/_ops.py(946): __call__", 70, 20),
    )
    assert {row[0] for row in rows if row[1] == "torch/_ops.py"} == {"profiler", "dispatcher"}


def test_the_time_of_a_range_is_that_of_the_function_that_entered_it(told):
    rows = told(
        frame("mine.py(1): f", 0, 100),
        ("user_annotation", "fgtrace::phase::expand", 10, 80),
        frame("mine.py(9): g", 20, 30),
    )
    assert rows == {(USER, "mine.py", "f", 1), (USER, "mine.py", "g", 1)}


def test_a_range_in_no_function_has_a_row_for_all_its_numbers(told):
    name = "fgtrace::call::repeat::aten::"
    ranges = [("user_annotation", f"{name}{index}", 100 * index, 50) for index in range(3)]
    inside = [frame("mine.py(1): f", 100 * index + 10, 20) for index in range(3)]
    assert ("outside of frames", None, name[:-2], 3) in told(*ranges, *inside)


def test_api_calls_are_told_apart_without_calls_too(trace):
    trace.event("python_function", "mine.py(1): f", 0, 50_000)
    trace.api("cudaMalloc", 100, 50).api("cudaGetDevice", 200, 50)
    trace.kernel("k", 1000, 5000, 100).readback(8000, 12_000)
    rows = host_report(open_trace(trace.write()))
    api = rows.filter(rows["function"].str.starts_with("cuda"))
    assert dict(api.select("function", "group").rows()) == {
        "cudaMalloc": "allocator",
        "cudaGetDevice": "other API call",
        "cudaLaunchKernel": "launch call",
        "cudaMemcpyAsync": "other API call",
        "cudaStreamSynchronize": "waiting",
    }
