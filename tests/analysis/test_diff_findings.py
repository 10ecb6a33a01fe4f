import polars as pl
import pytest

from fgtrace.analysis.comparing import COMPARISON
from fgtrace.analysis.diff_findings import CHANGES, KINDS_OF_CHANGE, changes_report


def row(level, name, metric, a, b, verdict=None, **more):
    """A row of a comparison, of case c by route r."""
    return {
        "case": "c",
        "route": "r",
        "level": level,
        "name": name,
        "kind": {"kernel": "kernel", "op": "op"}.get(level, level),
        "metric": metric,
        "unit": "count" if metric.endswith("count") else "ns",
        "in_a": a != 0,
        "in_b": b != 0,
        "a": a,
        "b": b,
        "low": b - a - 5,
        "high": b - a + 5,
        "verdict": verdict,
    } | more


def changes(*rows):
    report = changes_report(pl.DataFrame(rows, schema=COMPARISON))
    assert report.schema == CHANGES
    assert set(report["rule"]) <= set(KINDS_OF_CHANGE)
    return report.rows(named=True)


def sentences(*rows):
    return [one["sentence"] for one in changes(*rows)]


CALL = [row("call", "call", metric, 100_000, 120_000) for metric in ("device_time", "host_time")]


def test_nothing_stands_out_where_nothing_changed():
    assert not changes(*CALL, row("kernel", "k", "device_time", 500, 505, "unchanged"))
    assert not changes(*CALL, row("kernel", "k", "device_time", 5000, 9000, "uncertain"))


def test_a_kernel_with_a_verdict_is_told_with_its_interval():
    assert sentences(
        *CALL,
        row("kernel", "k", "device_time", 5000, 6000, "slower"),
        row("kernel", "k", "count", 2, 2),
    ) == ["k, 2 runs, takes 5.00 µs in A and 6.00 µs in B: slower by 995 ns–1.01 µs."]


@pytest.mark.parametrize(("b", "told"), [(5900, False), (6300, True)])
def test_without_a_verdict_a_time_stands_out_by_its_share_of_the_call(b, told):
    found = sentences(*CALL, row("kernel", "k", "device_time", 5000, b))
    assert bool(found) == told


def test_an_operator_inside_another_is_not_told_twice():
    found = changes(
        *CALL,
        row("op", "aten::outer", "host_time", 10_000, 30_000),
        row("op", "aten::inner", "host_time", 8_000, 27_950),
        row("op", "aten::other", "host_time", 8_000, 12_000),
    )
    assert [one["evidence"]["name"] for one in found] == ["aten::outer", "aten::other"]


def test_the_largest_difference_comes_first_and_counts_last():
    found = changes(
        row("call", "call", "readback_count", 0, 1),
        row("call", "call", "launch_count", 5, 5),
        *CALL,
        row("kernel", "small", "device_time", 5000, 7000),
        row("kernel", "large", "device_time", 50_000, 10_000),
    )
    assert [(one["rule"], one["evidence"]["name"]) for one in found] == [
        ("kernel-changed", "large"),
        ("kernel-changed", "small"),
        ("readbacks-changed", "call"),
    ]
    assert found[-1]["sentence"] == "Readbacks a call: 0 in A, 1 in B."


def test_of_several_cases_and_routes_each_sentence_says_which():
    kernel = row("kernel", "k", "device_time", 5000, 6000, "slower")
    there, elsewhere = sentences(*CALL, kernel, kernel | {"route": None, "b": 5900})
    assert there.startswith("c by r: k takes")
    assert elsewhere.startswith("c: k takes")


def test_a_phase_of_one_side_is_priced():
    (found,) = changes(
        *CALL,
        row("phase", "length_readback", "readback_count", 1, 0),
        row("phase", "length_readback", "device_time", 1470, 0),
        row("phase", "length_readback", "host_time", 45_000, 0),
        row("phase", "length_readback", "waiting_time", 7000, 0),
    )
    assert found["rule"] == "phase-gone"
    assert found["delta_ns"] == -45_000
    assert found["sentence"] == (
        "length_readback is in A only: 1 readback, 1.47 µs on the device, 45.0 µs of the "
        "host, of that 7.00 µs waiting a call."
    )


def test_a_phase_that_only_one_side_has_on_the_host_is_told_without_a_device():
    (found,) = changes(row("phase", "dispatch", "host_time", 0, 9000))
    assert (found["rule"], found["delta_ns"]) == ("phase-new", 9000)


def test_what_cannot_be_known_is_not_told():
    assert not changes(*CALL, row("kernel", "k", "device_time", 0, 0) | {"a": None, "low": None})
    assert not changes(row("call", "call", "readback_count", 0, 0) | {"b": None})
