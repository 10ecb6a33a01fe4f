from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from fgtrace.analysis.calls import PHASE
from fgtrace.analysis.marks import device_phases, phase_marks
from fgtrace.analysis.phases import EXPLAINED, explained_report, phases_report
from fgtrace.analysis.pieces import host_pieces
from fgtrace.analysis.rules import RANGE, RULES, read_rules
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.opening import open_trace

SCAN = "void cub::DeviceScanKernel<long>"
EXPAND = "void compute_cuda_kernel<long>(long const*)"
MIN_MAX = "void at::native::reduce_kernel<512, ReduceOp<long, MinMaxOps<long>>>"
ALL = "void at::native::reduce_kernel<512, 1, ReduceOp<bool, and_kernel_cuda>>"


@dataclass
class Script:
    """Writes what a call does, one thing after the other, a microsecond each."""

    trace: object
    now: int = 1000

    def step(self):
        self.now += 10_000
        return self.now

    def op(self, name, *inside):
        """An operator that launches kernels."""
        at = self.step()
        self.trace.op(name, at, 9000)
        for place, kernel in enumerate(inside):
            self.trace.kernel(kernel, at + 100 + 2500 * place, at + 3000 + 2500 * place, 500)
        return self

    def kernel(self, name):
        at = self.step()
        self.trace.kernel(name, at, at + 3000, 500)
        return self

    def item(self, size=8):
        at = self.step()
        self.trace.op("aten::item", at, 9000)
        self.trace.readback(at + 100, at + 4000, size=size)
        return self


def scanned(do):
    return do.op("aten::cumsum", SCAN)


EXAMPLES = {
    "scan-operator": (
        lambda do: scanned(do).kernel(EXPAND),
        lambda do: scanned(do).kernel("a gather of something"),  # cumsum alone
    ),
    "scan-kernel": (
        lambda do: do.kernel("reduce_then_scan_block_sum_kernel_row").kernel(EXPAND),
        lambda do: do.kernel(EXPAND).kernel("reduce_then_scan_block_sum_kernel_row"),
    ),
    "length-readback": (
        lambda do: scanned(do).item().kernel("repeat_interleave_tensor_kernel"),
        lambda do: do.op("aten::sum", "sum").item().kernel(EXPAND),  # .item() in user code
    ),
    "negative-test": (
        lambda do: scanned(do).op("aten::ge", "compare").kernel(EXPAND),
        lambda do: do.op("aten::ge", "compare").op("aten::cumsum", SCAN).kernel(EXPAND),
    ),
    "negative-readback": (
        lambda do: scanned(do).kernel(ALL).item(1).kernel(EXPAND),
        lambda do: scanned(do).kernel(ALL).item(1),
    ),
    "expansion-operator": (
        lambda do: do.op("aten::repeat_interleave"),
        lambda do: do.op("aten::repeat"),
    ),
    "expansion-kernel": (
        lambda do: do.kernel(EXPAND),
        lambda do: do.kernel("void recompute_cuda_kernels"),
    ),
    "index-range": (
        lambda do: do.op("aten::aminmax", MIN_MAX).item().item().op("aten::index_select"),
        lambda do: do.op("aten::aminmax", MIN_MAX).item().item(),
    ),
    "index-range-kernel": (
        lambda do: do.kernel("aminmax_kernel_1").item().op("aten::index_select"),
        lambda do: do.op("aten::index_select").kernel("aminmax_kernel_1"),
    ),
    "index-readback": (
        lambda do: do.kernel(MIN_MAX).item().op("aten::index_select"),
        lambda do: do.kernel("softmax").item().op("aten::index_select"),
    ),
    "gather-operator": (
        lambda do: do.op("aten::index_select", "k"),
        lambda do: do.op("aten::index_put_", "k"),
    ),
    "gather-kernel": (
        lambda do: do.kernel("index_select_kernel"),
        lambda do: do.kernel("index_put_kernel"),
    ),
    "allocation": (
        lambda do: do.op("aten::empty"),
        lambda do: do.op("aten::zeros"),
    ),
    "view": (
        lambda do: do.op("aten::reshape"),
        lambda do: do.op("aten::reshape", "elementwise_kernel"),  # it had to copy
    ),
}


def called(trace, script):
    trace.range("call", 0, 200_000)
    script(Script(trace))
    return open_trace(trace.write())


def rules_in(trace):
    return set(phase_marks(trace)["rule"])


def test_every_rule_has_an_example_a_near_miss_and_a_source():
    assert set(EXAMPLES) == {rule.name for rule in RULES}
    assert all(rule.source and rule.sentence for rule in RULES)


def test_the_table_of_rules_in_the_docs_is_the_table_of_rules():
    page = (Path(__file__).parents[2] / "docs/phases.md").read_text(encoding="utf-8")
    table = page.split("## The rules\n\n")[1].split("\n\n")[0].splitlines()[2:]
    expected = [(f"`{rule.name}`", f"`{rule.phase}`", rule.sentence, rule.source) for rule in RULES]
    assert [tuple(line.strip("| ").split(" | ")) for line in table] == expected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_marks_what_it_is_for(trace, rule):
    opened = called(trace, EXAMPLES[rule.name][0])
    marks = phase_marks(opened, (rule,))
    assert marks["phase"].unique().to_list() == [rule.phase]
    assert marks["rule"].unique().to_list() == [rule.name]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_leaves_a_near_miss_alone(trace, rule):
    opened = called(trace, EXAMPLES[rule.name][1])
    assert phase_marks(opened, (rule,)).is_empty()


def test_the_view_that_picks_the_scalar_goes_with_the_readback(trace):
    script = lambda do: scanned(do).op("aten::select").item().kernel(EXPAND)  # noqa: E731
    rows = phases_report(called(trace, script))
    assert "dispatch" not in rows["phase"].to_list()


def test_inside_an_explicit_range_rules_say_nothing(trace):
    trace.range("fgtrace::phase::gather", 9000, 50_000)
    opened = called(trace, lambda do: scanned(do).item().kernel(EXPAND))
    assert rules_in(opened) == {RANGE}


def test_views_and_allocations_inside_a_part_are_the_parts(trace):
    trace.op("aten::index_select", 500, 90_000)
    opened = called(trace, lambda do: do.op("aten::empty").op("aten::view"))
    assert rules_in(opened) == {"gather-operator"}


def test_what_is_outside_of_calls_has_no_phase(trace):
    trace.range("call", 500_000, 1000)
    Script(trace).kernel(EXPAND)
    assert phase_marks(open_trace(trace.write())).is_empty()


def test_the_kernels_of_one_graph_launch_have_phases_of_their_own(trace):
    trace.range("call", 0, 90_000).api("cudaGraphLaunch", 1000, 500)
    trace.work(SCAN, 5000, 10).work(EXPAND, 6000, 10).work("index_select_kernel", 7000, 10)
    opened = open_trace(trace.write())
    found = device_phases(opened)
    assert sorted(found["phase"]) == ["expand", "gather", "prefix_scan"]


def test_conditions_are_asked_of_the_kernels_of_a_graph_launch_too(trace):
    trace.range("call", 0, 90_000).api("cudaGraphLaunch", 1000, 500)
    trace.work(EXPAND, 5000, 10).work(SCAN, 6000, 10)
    opened = open_trace(trace.write())
    found = device_phases(opened)
    assert found["phase"].to_list() == ["expand"]  # no expansion is after the scan


def test_one_kernel_of_a_graph_does_not_say_what_the_whole_graph_is(trace):
    trace.range("call", 0, 90_000).api("cudaGraphLaunch", 1000, 500)
    trace.work("gemm", 5000, 10).work("index_select_kernel", 6000, 10)
    opened = open_trace(trace.write())
    assert phase_marks(opened).is_empty()
    found = device_phases(opened)
    assert found["phase"].to_list() == ["gather"]


def test_an_explicit_range_around_a_graph_launch_says_what_its_kernels_are(trace):
    trace.range("call", 0, 90_000).range("fgtrace::phase::index_check", 500, 2000)
    trace.api("cudaGraphLaunch", 1000, 500)
    trace.work(SCAN, 5000, 10).work(EXPAND, 6000, 10)
    opened = open_trace(trace.write())
    found = device_phases(opened)
    assert set(found.select("phase", "rule").rows()) == {("index_check", RANGE)}


def test_a_view_that_copies_without_a_device_is_none_either(trace):
    trace.op("aten::contiguous", 10_500, 9500).op("aten::clone", 11_000, 8500)
    opened = called(trace, lambda do: do.op("aten::copy_"))
    assert phase_marks(opened).is_empty()


@pytest.mark.parametrize(
    ("kernel", "phase"),
    [
        # hipcub, by the names that rocprim's headers give; a real one is in the MI300X recordings.
        (
            "void rocprim::detail::trampoline_kernel<rocprim::detail::scan_impl<long>>",
            "prefix_scan",
        ),
        ("void rocprim::detail::init_lookback_scan_state_kernel<1>", "prefix_scan"),
        ("void rocprim::detail::single_scan_kernel<false>", "prefix_scan"),
        # A selection keeps its state in a scan's, and is none: nonzero, unique, masks.
        ("void rocprim::detail::partition_kernel<rocprim::detail::lookback_scan_state>", None),
        ("void rocprim::detail::scan_by_key_impl<long>", None),
        ("at::native::xpu::SegmentScanKernel<at::native::xpu::SegmentScanConfig<>>", "prefix_scan"),
        ("at::native::xpu::LoopScanWithIndicesKernel<long>", None),  # cummax
        ("at::native::xpu::AccumulateCarrierKernelFunctor<long>", "prefix_scan"),
        ("reduce_then_scan_root_scan_kernel_row", "prefix_scan"),
    ],
)
@pytest.mark.parametrize(
    "expansion",
    [
        "at::native::xpu::RepeatInterleaveKernelFunctor<long>",
        "void compute_cuda_kernel<long>(long const*)",
        "repeat_interleave_tensor_kernel",
    ],
)
def test_scans_and_expansions_are_known_by_every_devices_names(trace, kernel, phase, expansion):
    opened = called(trace, lambda do: do.kernel(kernel).item().kernel(expansion))
    marks = phase_marks(opened)
    read = {"length_readback"} if phase else set()
    assert set(marks["phase"]) - {"dispatch"} == {phase, "expand"} - {None} | read


def test_rocms_calls_have_the_same_phases(trace):
    trace.range("call", 0, 100_000)
    trace.op("aten::repeat_interleave", 1000, 90_000).op("aten::cumsum", 2000, 9000)
    trace.api("hipLaunchKernel", 3000, 1000).work("void rocprim::detail::scan_impl<l>", 15_000, 9)
    trace.op("aten::item", 20_000, 20_000)
    trace.api("hipMemcpyWithStream", 21_000, 15_000)
    trace.work("CopyDeviceToHost", 30_000, 900, category="gpu_memcpy", bytes=8)
    trace.api("hipLaunchKernel", 60_000, 1000).work(EXPAND, 65_000, 9)
    rows = phases_report(open_trace(trace.write()))
    readbacks = dict(rows.select("phase", "readback_count").rows())
    assert readbacks["length_readback"] == 1
    assert dict(rows.select("phase", "kernel_count").rows())["prefix_scan"] == 1


TRAINING = (
    "hta_trace_diff_control_a100",
    "hta_trace_diff_test_v100_cudagraph",
    "hta_v100_ns_resolution",
    "h200/train_schedule",
    "tl_h100_qwen",
    "tl_mi300_qwen",
    "tl_mi300_timesformer",
)


@pytest.mark.parametrize("name", TRAINING)
def test_recordings_of_models_have_no_parts_of_a_repeat_and_no_work_in_views(shared, name):
    opened = open_trace(shared / f"traces/{name}.json.gz")
    marks = phase_marks(opened)
    assert set(marks["phase"]) <= {"gather", "allocate", "dispatch"}
    assert set(device_phases(opened)["phase"]) <= {"gather"}


def hidden(trace):
    """The trace without its phase ranges."""
    marks = (pl.col("kind") == "range") & pl.col("name").cast(pl.String).str.contains(PHASE)
    return trace.having(events=trace.events.filter(~marks))


@pytest.mark.parametrize("name", ["abl_00", "abl_01", "abl_10", "abl_11", "factorial_kineto"])
def test_the_rules_alone_agree_with_the_ranges(shared, name):
    file = shared / f"traces/h200/{name}{'' if 'fact' in name else '_full'}.json.gz"
    trace = open_trace(file)
    ranged = device_phases(trace, ())
    blind = hidden(trace)
    both = ranged.join(device_phases(blind), on="device_event_id", how="left")
    # That range is around an aten::repeat_interleave, which makes a scan of its own: a composite,
    # compared with the union of its parts.
    composite = {"expand": {"prefix_scan", "expand"}}
    for phase, found in both.select("phase", "phase_right").iter_rows():
        assert found in composite.get(phase, {phase})
    host = host_pieces(blind).filter("own_thread")
    other = host.filter(pl.col("phase") == "other")["time_ns"].sum()
    assert other < 0.1 * host["time_ns"].sum()


def counts(shared, name):
    rows = phases_report(open_trace(shared / f"traces/h200/{name}.json.gz"))
    found = {
        phase: (kernels, copies, readbacks)
        for phase, kernels, copies, readbacks in rows.select(
            "phase", "kernel_count", "copy_count", "readback_count"
        ).iter_rows()
        if kernels or copies
    }
    host = dict(rows.select("phase", "host_time_ns").rows())
    assert host.get("other", 0) < 0.1 * sum(host.values())
    return found


KNOWN = {"prefix_scan": (2, 0, 0), "expand": (1, 0, 0)}
GATHER = {"gather": (1, 0, 0)}
LENGTH = {"length_readback": (0, 1, 1)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flaggems.repeat_values_known", KNOWN | LENGTH | GATHER),
        ("flaggems.repeat_values_dynamic", KNOWN | LENGTH | GATHER),
        ("flaggems.repeat_Tensor_known", KNOWN | LENGTH),
        ("flaggems.repeat_Tensor_dynamic", KNOWN | LENGTH),
        ("native.repeat_values_known", KNOWN | GATHER),
        ("native.repeat_values_dynamic", KNOWN | LENGTH | GATHER | {"negative_check": (2, 1, 1)}),
        ("native.repeat_Tensor_known", KNOWN),
        ("native.repeat_Tensor_dynamic", KNOWN | LENGTH | {"negative_check": (2, 1, 1)}),
    ],
)
def test_routes_without_ranges_have_the_phases_that_they_are_known_to_have(shared, name, expected):
    assert counts(shared, name) == expected


def test_each_rule_is_explained_where_it_marks_something(trace):
    opened = called(trace, lambda do: scanned(do).item().kernel(EXPAND))
    rows = explained_report(opened)
    assert rows.schema == EXPLAINED
    read = rows.filter(pl.col("rule") == "length-readback").row(0, named=True)
    assert (read["calls"], read["count"], read["example"]) == (1, 1, "aten::item")
    assert "read back before the expansion" in read["sentence"]
    assert "Repeat.h" in read["source"]


OWN = """
[[rule]]
name = "my-sort"
phase = "sort"
sentence = "the sort that the expansion needs"
operator = "^aten::sort$"
followed_by = "compute_cuda_kernel"
"""


def test_the_users_rules_come_before_the_built_in_ones(trace, tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text(OWN.replace("aten::sort", "aten::cumsum"))
    rules = read_rules(file)
    opened = called(trace, lambda do: scanned(do).kernel(EXPAND))
    assert phases_report(opened, rules=rules)["phase"].to_list()[0] == "sort"


def test_a_users_rule_counts_where_a_generic_rule_marks_the_same_operator(trace, tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text(OWN.replace("sort$", "view$").replace("followed_by", "preceded_by"))
    opened = called(trace, lambda do: do.kernel(EXPAND).op("aten::view"))
    rows = phases_report(opened, rules=read_rules(file))
    assert "sort" in rows["phase"].to_list()
    assert "dispatch" not in rows["phase"].to_list()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[rule]", "Expected"),
        ("", "has no [[rule]]"),
        ("[[rule]]\nname = 'a'", "phase"),
        (OWN + "kernel = 'k'", "exactly one of operator, kernel, readback_of"),
        (OWN + "colour = 'red'", "colour"),
        (OWN.replace("^aten::sort$", "("), "is no regular expression"),
        (OWN.replace('"sort"', "7"), "phase"),
        (OWN.replace('"sort"', '"two words"'), "phase 'two words' is no name"),
        (OWN.replace('"sort"', '"\\u001b[31mred"'), "is no name"),
        (OWN.replace('"sort"', '""'), "phase '' is no name"),
        (OWN.replace('"^aten::sort$"', '""'), "exactly one of operator, kernel, readback_of"),
        (OWN.replace('"my-sort"', '"range"'), "'range' is taken"),
        (OWN.replace('"my-sort"', '"view"'), "'view' is taken"),
        (OWN + OWN, "'my-sort' is taken"),
        (OWN.replace("operator", "kernel") + "workless = true", "workless goes with operator"),
    ],
)
def test_a_file_of_rules_that_cannot_be_used_is_refused_in_one_line(tmp_path, text, told):
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(FgtraceError) as caught:
        read_rules(file)
    assert caught.value.exit_code == ExitCode.USAGE
    assert told in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_file_of_rules_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FgtraceError, match="cannot be read"):
        read_rules(tmp_path / "rules.toml")
