import random

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fgtrace.analysis.calls import select_calls
from fgtrace.analysis.diff import DIFF, Asked, diff, gated, unions
from fgtrace.analysis.measured import Measure
from fgtrace.errors import FgtraceError
from fgtrace.opening import open_trace

CALL = 100_000


def recorded(trace, *, calls=8, case="c", route="aten", kernels=(("k", 1000),), slow=1.0, seed=0):
    """Calls that launch kernels, each with an operator around; a host `slow` times as slow."""
    noise = random.Random(seed)
    for number in range(calls):
        start = number * CALL
        trace.range(f"fgtrace::call::{case}::{route}::{number}", start, round(40_000 * slow))
        for place, (name, dur) in enumerate(kernels):
            at = start + 1000 + 3000 * place
            trace.op(f"aten::{name}", at - 100, 2500)
            trace.kernel(name, at, start + 50_000 + 5000 * place, dur + noise.randrange(20))
    return open_trace(trace.write(f"{seed}.{route}.{slow}.json"))


@pytest.fixture
def pair(new_trace):
    """Make both sides, given what each is recorded with."""

    def make(a=None, b=None):
        return (
            recorded(new_trace(), seed=1, **(a or {})),
            recorded(new_trace(), seed=2, **(b or {})),
        )

    return make


def rows(found, **chosen):
    return found.rows.filter(**chosen)


def verdict(found, name, time):
    (one,) = rows(found, name=name, time=time)["verdict"].to_list()
    return one


def test_rows_have_the_documented_columns_and_the_whole_calls_come_first(pair):
    for by in ("phase", "kernel", "op", "tree"):
        found = diff(*pair(), Asked(by=by))
        assert found.rows.schema == DIFF
        assert set(found.rows["kind"].head(2)) == {"call"}


def test_device_time_that_grew_is_slower_and_the_rest_is_unchanged(pair):
    a = {"kernels": (("k", 1000), ("j", 3000))}
    b = {"kernels": (("k", 1200), ("j", 3000))}
    found = diff(*pair(a, b), Asked(by="kernel"))
    assert verdict(found, "k", "device") == "slower"
    assert verdict(found, "j", "device") == "unchanged"
    assert rows(found, name="k")["delta_ns"][0] == pytest.approx(200, abs=20)


def test_host_time_of_one_process_a_side_is_never_called(pair):
    found = diff(*pair(b={"slow": 2.0}), Asked(by="op"))
    assert verdict(found, "call", "host") == "uncertain"
    assert rows(found, name="call", time="host")["delta_ns"][0] == 40_000
    assert rows(found, name="call", time="host")["detectable_ns"][0] > 0
    assert "slower" not in found.rows["verdict"]


def test_a_folder_of_recordings_is_one_side_of_several_processes(new_trace, tmp_path):
    sides = []
    for side, slow in (("a", 1.0), ("b", 2.0)):
        for seed in range(3):
            trace = new_trace()
            trace.folder = tmp_path / side
            trace.folder.mkdir(exist_ok=True)
            recorded(trace, slow=slow * (1 + seed / 1000), seed=seed)
        sides.append(open_trace(tmp_path / side))
    found = diff(*sides, Asked(by="op"))
    assert verdict(found, "call", "host") == "slower"


def test_with_fewer_than_five_calls_a_side_there_is_no_verdict(pair):
    found = diff(*pair({"calls": 4}, {"kernels": (("k", 2000),)}), Asked(by="kernel"))
    assert found.rows["verdict"].null_count() == found.rows.height
    assert rows(found, name="k")["delta_ns"][0] == pytest.approx(1000, abs=20)


def test_a_recording_does_not_differ_from_itself(pair):
    a, _ = pair()
    for by in ("phase", "kernel", "op", "tree"):
        found = diff(a, a, Asked(by=by))
        assert set(found.rows["verdict"]) <= {"unchanged", None}
        assert set(found.rows["status"]) == {"matched"}
        assert found.changes.is_empty()


def test_the_other_way_round_is_the_negative(pair):
    a, b = pair({"kernels": (("k", 1000), ("x", 500))}, {"kernels": (("k", 1500), ("y", 70))})
    for by in ("phase", "kernel", "op", "tree"):
        there, back = diff(a, b, Asked(by=by)).rows, diff(b, a, Asked(by=by)).rows
        swapped = {"added": "removed", "removed": "added"}
        swapped |= {"faster": "slower", "slower": "faster"}
        mirrored = back.select(
            "name",
            "kind",
            "time",
            pl.col("status", "verdict").cast(pl.String).replace(swapped),
            count_a="count_b",
            count_b="count_a",
            time_a_ns="time_b_ns",
            time_b_ns="time_a_ns",
            delta_ns=-pl.col("delta_ns"),
            interval_low_ns=-pl.col("interval_high_ns"),
            interval_high_ns=-pl.col("interval_low_ns"),
        )
        named = (pl.col("name").str.split(" → ").list.sort().list.join(" → "), "kind", "time")
        columns = mirrored.columns
        got = there.with_columns(pl.col("status", "verdict").cast(pl.String)).select(columns)
        assert (
            got.with_columns(named[0])
            .sort("name", "kind", "time", "status")
            .equals(mirrored.with_columns(named[0]).sort("name", "kind", "time", "status"))
        )


def test_a_readback_on_one_side_only_is_found_and_priced(new_trace):
    sides = []
    for reads in (True, False):
        trace = new_trace()
        for start in range(0, 8 * CALL, CALL):
            trace.range(f"fgtrace::call::c::r::{start // CALL}", start, 60_000)
            if reads:
                trace.range("fgtrace::phase::length_readback", start + 1000, 30_000)
                trace.readback(start + 2000, start + 20_000)
            trace.kernel("k", start + 40_000, start + 70_000, 500)
        sides.append(open_trace(trace.write(f"{reads}.json")))
    found = diff(*sides)
    assert found.by == "phase"
    gone = rows(found, name="length_readback", time="device")
    assert gone.select("status", "count_a", "count_b", "delta_ns").row(0) == (
        "removed",
        1,
        0,
        -1000,
    )
    finding = found.changes.row(0, named=True)
    assert finding["rule"] == "phase-gone"
    assert "length_readback is in A only: 1 readback, 1.00 µs on the device" in finding["sentence"]
    assert "readbacks-changed" in found.changes["rule"]


def test_names_are_normal_unless_raw_ones_are_asked_for(new_trace):
    sides = []
    for pinned in ("Pinned", "Pageable"):
        trace = new_trace().range("call", 0, 50_000).api("cudaMemcpyAsync", 1000, 100)
        trace.work(f"Memcpy DtoH (Device -> {pinned})", 2000, 50, category="gpu_memcpy", bytes=8)
        sides.append(open_trace(trace.write(f"{pinned}.json")))
    normal = diff(*sides, Asked(by="kernel")).rows
    raw = diff(*sides, Asked(by="kernel", measure=Measure(raw_names=True))).rows
    assert normal.filter(kind="memcpy")["status"].to_list() == ["matched"]
    assert sorted(raw.filter(kind="memcpy")["status"]) == ["added", "removed"]


def test_one_extra_kernel_shifts_nothing(pair):
    a = {"kernels": (("k", 100), ("k", 2000), ("k", 300))}
    b = {"kernels": (("k", 100), ("extra", 50), ("k", 2000), ("k", 300))}
    found = diff(*pair(a, b), Asked(by="tree"))
    work = rows(found, kind="kernel", time="device")
    assert work.select("name", "status", "count_a", "count_b").sort("name").rows() == [
        ("extra", "added", 0, 1),
        ("k", "matched", 3, 3),
    ]
    assert verdict(found, "k", "device") == "unchanged"


kernel = st.tuples(st.sampled_from(["k", "j", "x"]), st.just(100))


@settings(
    max_examples=25,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(kernel, min_size=1, max_size=6), st.lists(kernel, min_size=1, max_size=4), st.randoms()
)
def test_inserting_kernels_marks_exactly_those_added(new_trace, kernels, more, chance):
    grown = list(kernels)
    for one in more:
        grown.insert(chance.randrange(len(grown) + 1), one)
    sides = [
        recorded(new_trace(), calls=2, kernels=side, seed=seed)
        for seed, side in enumerate((kernels, grown))
    ]
    for one, other, status, column in ((0, 1, "added", "count_b"), (1, 0, "removed", "count_a")):
        work = rows(diff(sides[one], sides[other], Asked(by="tree")), kind="kernel", time="device")
        assert work.filter(status=status)[column].sum() == len(more)
        assert work.filter(status="matched")["count_a"].sum() == len(kernels)
        assert set(work["status"]) <= {"matched", status}


def test_what_only_some_calls_have_is_said_to_be_in_no_row(new_trace):
    trace = new_trace()
    for start in range(0, 3 * CALL, CALL):
        trace.range("call", start, 40_000).kernel("k", start + 1000, start + 50_000, 100)
    trace.kernel("once", 2 * CALL + 5000, 2 * CALL + 60_000, 100)
    a = open_trace(trace.write())
    found = diff(a, a, Asked(by="tree"))
    assert "1 of 4 events of A are in some of its calls only, and in no row" in found.missing


def test_the_tree_has_phases_where_calls_have_and_device_time_is_of_all_inside(new_trace):
    trace = new_trace().range("fgtrace::call::c::r::0", 0, 50_000)
    trace.range("fgtrace::phase::gather", 1000, 20_000).op("aten::take", 1500, 15_000)
    trace.kernel("one", 2000, 60_000, 300).kernel("two", 5000, 61_000, 400)
    trace.api("cudaStreamSynchronize", 30_000, 1000)
    a = open_trace(trace.write())
    device = rows(diff(a, a, Asked(by="tree")), time="device")
    assert device.select("path", "depth", "kind", "time_a_ns").rows() == [
        ("call", 0, "call", 700),
        ("gather", 0, "phase", 700),
        ("gather > aten::take", 1, "op", 700),
        ("gather > aten::take > one", 2, "kernel", 300),
        ("gather > aten::take > two", 2, "kernel", 400),
    ]
    host = rows(diff(a, a, Asked(by="tree")), kind="api", time="host")
    assert host.select("path", "time_a_ns").rows() == [("StreamSynchronize", 1000)]


def test_a_graphs_launch_has_its_kernels_inside(new_trace):
    trace = new_trace().range("call", 0, 50_000).api("cudaGraphLaunch", 1000, 500)
    trace.work("one", 3000, 100).work("two", 4000, 100)
    a = open_trace(trace.write())
    found = diff(a, a, Asked(by="tree"))
    assert rows(found, time="device")["path"].to_list() == [
        "call",
        "GraphLaunch",
        "GraphLaunch > one",
        "GraphLaunch > two",
    ]


def test_traces_without_calls_are_compared_as_a_whole(new_trace):
    traces = [
        open_trace(new_trace().op("aten::add", 0, 5000).kernel("k", 100, 9000, dur).write())
        for dur in (100, 300)
    ]
    found = diff(*traces)
    assert found.by == "op"
    assert rows(found, kind="call", time="device")["delta_ns"][0] == 200
    with pytest.raises(FgtraceError, match="whole traces have no phases"):
        diff(*traces, Asked(by="phase"))


def test_work_outside_of_calls_is_told_and_a_whole_trace_has_it(new_trace):
    trace = new_trace().range("call", 0, 50_000).kernel("k", 1000, 60_000, 100)
    a = open_trace(trace.kernel("late", 70_000, 80_000, 900).write())
    found = diff(a, a, Asked(by="kernel"))
    assert "late" not in found.rows["name"]
    assert "1 of 2 device events of A (900 ns of 1.00 µs) belong to no compared call" in str(
        found.missing
    )
    whole = diff(a, a, Asked(by="kernel", measure=Measure(whole=True)))
    assert "late" in whole.rows["name"]
    assert not whole.missing


def test_a_side_without_device_rows_has_no_times_of_0(new_trace):
    trace = new_trace()
    host = open_trace(trace.range("call", 0, 9000).op("aten::add", 10, 5000).write("host.json"))
    device = open_trace(trace.kernel("k", 100, 20_000, 50).write("device.json"))
    found = diff(host, device, Asked(by="op"))
    assert "device" not in found.rows["time"]
    assert "A has no device work, so that device times are not compared" in found.missing
    with pytest.raises(FgtraceError, match="has no device work"):
        diff(host, device, Asked(by="kernel"))


def test_other_cases_are_refused_and_other_routes_compared(pair):
    with pytest.raises(FgtraceError, match="nothing to compare: case c in A; case d in B"):
        diff(*pair(b={"case": "d"}))
    found = diff(*pair(b={"route": "triton"}))
    assert set(found.rows["route"]) == {"aten → triton"}


def test_calls_of_one_recording_are_compared_with_its_named_ones(new_trace):
    plain = new_trace().range("call", 0, 9000).kernel("k", 100, 20_000, 50)
    named = new_trace().range("fgtrace::call::c::r::0", 0, 9000).kernel("k", 100, 20_000, 50)
    found = diff(open_trace(plain.write("plain.json")), open_trace(named.write("named.json")))
    assert set(found.rows["case"]) == {"c"}


def test_unions_are_of_composites_that_only_one_side_has():
    both = {"expand": {"expand", "prefix_scan"}}
    assert unions(both, both) == {}
    assert unions(both, {}) == {
        "prefix_scan": "prefix_scan+expand",
        "expand": "prefix_scan+expand",
    }
    overlapping = unions({"a": {"a", "b"}}, {"c": {"b", "c"}})
    assert overlapping == dict.fromkeys("abc", "a+b+c")


def test_a_composite_is_compared_with_the_union_of_its_parts(shared):
    h200 = shared / "traces/h200"
    found = diff(
        open_trace(h200 / "abl_10_full.json.gz"),
        open_trace(h200 / "flaggems.repeat_values_known.json.gz"),
        Asked(by="phase"),
    )
    union = rows(found, name="prefix_scan+expand", time="device")
    assert union.select("status", "count_a", "count_b").rows() == [("matched", 5, 3)]
    assert "prefix_scan" not in found.rows["name"]


def test_gates_get_no_interval_of_what_cannot_be_decided(pair):
    measures = gated(diff(*pair(b={"slow": 2.0})).comparison)
    call = measures.filter(level="call")
    undecided = call.filter(metric="host_time").row(0, named=True)
    assert undecided["low"] is None
    assert undecided["why"] == (
        "one process a side: host time differs between processes of the same code"
    )
    decided = call.filter(metric="device_time").row(0, named=True)
    assert decided["low"] <= decided["b"] - decided["a"] <= decided["high"]
    assert decided["why"] is None
    counted = call.filter(metric="kernel_count").row(0, named=True)
    assert (counted["a"], counted["low"], counted["high"]) == (1, 0, 0)
    assert call["name"].null_count() == call.height


def opened(shared, name):
    return open_trace(shared / f"traces/{name}.json.gz")


def counted(found, **chosen):
    """How many names are added, removed, more, fewer and equal by their count."""
    kept = found.rows.filter(pl.col("kind") != "call", **chosen)
    statuses = dict(kept.group_by("status").len().rows())
    matched = kept.filter(status="matched").select(
        (pl.col("count_b") - pl.col("count_a")).sign().alias("sign")
    )
    signs = dict(matched.group_by("sign").len().rows())
    return [statuses.get("added", 0), statuses.get("removed", 0)] + [
        signs.get(sign, 0) for sign in (1, -1, 0)
    ]


@pytest.fixture
def first_steps(shared):
    names = ("hta_trace_diff_control_a100", "hta_trace_diff_test_v100_cudagraph")
    return [select_calls(opened(shared, one), ranges="ProfilerStep#1009") for one in names]


RAW = Measure(raw_names=True)


def test_the_first_iterations_kernels_are_those_of_the_known_diff(first_steps):
    found = diff(*first_steps, Asked(by="kernel", measure=RAW))
    assert counted(found) == [27, 66, 15, 9, 84]
    call = rows(found, kind="call", time="device").row(0, named=True)
    assert (call["count_a"], call["count_b"]) == (1575, 2503)
    assert (call["time_a_ns"], call["time_b_ns"]) == (68_591_000, 150_930_000)
    copies = rows(found, name="Memcpy DtoD (Device -> Device)").row(0, named=True)
    assert (copies["count_a"], copies["count_b"]) == (3, 768)
    assert (copies["time_a_ns"], copies["time_b_ns"]) == (455_000, 15_355_000)


def test_the_first_iterations_host_events_are_those_of_the_known_diff(first_steps):
    found = diff(*first_steps, Asked(by="op", measure=RAW))
    assert counted(found, time="host") == [5, 72, 20, 56, 78]
    first = found.changes.row(0, named=True)
    assert first["evidence"]["name"] == "aten::item"
    assert "5 calls, takes 4.83 ms in A and 32.5 ms in B" in first["sentence"]
    item = rows(found, name="aten::item", time="host").row(0, named=True)
    assert (item["time_a_ns"], item["time_b_ns"]) == (4_826_000, 32_455_000)


@pytest.mark.parametrize("by", ["kernel", "tree"])
def test_nothing_of_two_vendors_recordings_is_lost(shared, by):
    sides = [opened(shared, f"tl_{one}_timesformer") for one in ("mi300", "h100")]
    found = diff(*sides, Asked(by=by))
    work = found.rows.filter(pl.col("kind").is_in(["kernel", "memcpy", "memset"]), time="device")
    assert work["time_a_ns"].sum() == 119_852_883
    assert work["time_b_ns"].sum() == 158_433_174


def test_operators_of_the_qwen_pair_differ_as_another_tool_says(shared):
    found = diff(*(opened(shared, f"tl_{one}_qwen") for one in ("h100", "mi300")), Asked(by="op"))
    device = dict(rows(found, time="device").select("name", "delta_ns").iter_rows())
    assert device["aten::mul"] == pytest.approx(-2_211_600, abs=100)
    assert device["aten::mm"] == pytest.approx(1_994_900, abs=100)
    assert device["aten::copy_"] == pytest.approx(-1_911_200, abs=100)
    # That tool leaves out what has no launch in the file, in calls or not.
    assert device["call"] == pytest.approx(-2_161_555, abs=30)
    assert any("463 of 1" in one for one in found.missing)


def test_the_small_pair_has_the_known_names_added_and_gone(shared):
    traces = [
        select_calls(opened(shared, f"hta_trace_compare_{one}"), ranges="ProfilerStep#1010")
        for one in ("base", "test")
    ]
    found = diff(*traces, Asked(by="op", measure=RAW))
    host = found.rows.filter(pl.col("kind") != "call", time="host")
    by_status = dict(host.group_by("status").agg(pl.col("name").sort()).iter_rows())
    assert by_status["added"] == ["AddmmBackward0", "All2All_Pooled_Req", "CatBackward0"]
    assert by_status["removed"] == ["nccl:all_reduce"]
    assert len(by_status["matched"]) == 5


def test_the_readback_of_flaggems_is_priced_against_aten(shared):
    sides = [
        opened(shared, f"h200/{route}.repeat_values_known") for route in ("flaggems", "native")
    ]
    found = diff(*sides)
    gone = found.changes.filter(rule="phase-gone").row(0, named=True)
    assert "length_readback is in A only: 1 readback, 1.47 µs on the device" in gone["sentence"]
    assert gone["delta_ns"] == -45_458


def test_identical_scan_and_gather_are_not_called_slower(shared):
    found = diff(*(opened(shared, f"h200/abl_{one}_full") for one in ("00", "10")))
    host = rows(found, time="host")
    assert set(host["verdict"]) == {"uncertain"}
    device = found.rows.filter(pl.col("name").is_in(["prefix_scan", "gather"]), time="device")
    change = device["delta_ns"] / device["time_a_ns"]
    assert change.abs().max() <= 0.03
    assert set(device["verdict"]) == {"unchanged"}


@pytest.mark.parametrize("by", ["phase", "kernel", "op", "tree"])
def test_no_real_recording_differs_from_itself(shared, by):
    for name in ("h200/abl_11_full", "h200/train_schedule", "h200/cuda_graph"):
        a = opened(shared, name)
        if by == "phase" and a.calls.is_empty():
            continue
        found = diff(a, a, Asked(by=by))
        assert set(found.rows["verdict"]) <= {"unchanged", None}
        assert set(found.rows["status"]) == {"matched"}
