"""The samples hold what their README claims, and are read for ever."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import fgtrace
from fgtrace.analysis.calls import calls_report
from fgtrace.analysis.effects import effects_report
from fgtrace.analysis.findings import findings_report
from fgtrace.analysis.matrix import matrix_report
from fgtrace.analysis.matrix_by_size import matrix_by_size_report
from fgtrace.analysis.phases import phases_report
from fgtrace.frames.trace import Trace

PROJECT = Path(__file__).parents[1]
SAMPLES = PROJECT / "samples"
H200 = SAMPLES / "h200.fgtrace"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fgtrace.open(H200)


@pytest.fixture(scope="module")
def matrix(trace: Trace) -> pl.DataFrame:
    return matrix_report(trace)


def row(matrix: pl.DataFrame, case: str, route: str) -> dict[str, object]:
    return matrix.filter(case=case, route=route).row(0, named=True)


def test_the_run_of_version_1_is_read_for_ever() -> None:
    assert json.loads((H200 / "manifest.json").read_text())["schema_version"] == 1
    assert fgtrace.open(H200).device_work.height > 0


def test_all_samples_together_stay_well_under_a_megabyte() -> None:
    size = sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file())
    assert size < 800_000


def test_it_was_recorded_by_the_formal_protocol_on_an_h200(trace: Trace) -> None:
    provenance = trace.provenance
    assert provenance.device is not None
    assert provenance.device.name == "NVIDIA H200"
    assert provenance.protocol is not None
    assert (provenance.protocol.name, provenance.protocol.generations) == ("formal", 6)
    versions = {(one.torch, one.triton) for one in provenance.environments}
    assert versions == {("2.11.0+cu130", "3.6.0")}
    (flaggems,) = [one for one in provenance.environments if one.route == "flaggems"]
    assert flaggems.packages["flag-gems"] == "5.0.2"
    assert {clocks.when for clocks in provenance.clocks} == {"before", "during", "after"}


def test_every_route_was_right_in_every_process(trace: Trace) -> None:
    results = trace.witnesses.filter(witness="result")
    assert set(results["value"]) == {"ok"}
    assert results.select("case", "route").n_unique() == 16


def test_nothing_was_compiled_or_tuned_inside_a_measured_batch(trace: Trace) -> None:
    counts = trace.witnesses.filter(pl.col("witness").str.ends_with(" in measured batches"))
    assert counts.height == 16 * 6 * 2
    assert set(counts["value"]) == {"0"}


def test_the_rules_of_a_formal_run_were_kept(trace: Trace) -> None:
    for rule, kept in {"tracing": "none", "dispatch log": "none", "torch threads": "1"}.items():
        assert set(trace.witnesses.filter(witness=rule)["value"]) == {kept}


CLAIMED = re.compile(
    r"^\| `(repeat_\w+)` \| `([\w-]+)` \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE
)


def test_kernels_copies_and_readbacks_a_call_are_as_claimed(matrix: pl.DataFrame) -> None:
    claims = CLAIMED.findall((SAMPLES / "README.md").read_text())
    assert len(claims) == 16
    for case, route, *counts in claims:
        found = row(matrix, case, route)
        columns = ("kernel_count", "copy_count", "readback_count")
        assert [found[column] for column in columns] == [int(count) for count in counts]


def test_every_profiled_call_of_a_row_has_the_same_counts(trace: Trace) -> None:
    counts = pl.col("kernel_count", "copy_count", "readback_count")
    calls = calls_report(trace).group_by("case", "route").agg(counts.n_unique(), calls=pl.len())
    assert set(calls["calls"]) == {10}
    assert {count for row in calls.select(counts).iter_rows() for count in row} == {1}


def test_atens_dynamic_path_reads_eight_bytes_and_one(trace: Trace) -> None:
    parts = trace.parts.filter(route="aten", source="raw/aten.repeat_Tensor_dynamic.g0.json.gz")
    copies = trace.device_work.filter(part=parts["part"].item(), kind="memcpy", copy_kind="DtoH")
    assert copies.group_by("bytes").len().sort("bytes").rows() == [(1, 10), (8, 10)]


def test_what_is_not_in_the_sample_is_a_note(trace: Trace) -> None:
    (note,) = trace.notes.filter(kind="profiles-left-out").iter_rows(named=True)
    assert note["count"] == 16 * 5


def test_batches_and_machine_are_as_claimed(trace: Trace) -> None:
    profiled = trace.samples.filter(profiler="kineto")["process"].unique().to_list()
    timed = trace.samples.filter(~pl.col("process").is_in(profiled))
    batches = timed.group_by("case", "route", "generation", "mode").len()
    assert set(batches.filter(mode="throughput")["len"]) == {30}
    assert set(batches.filter(mode="latency")["len"]) == {10}
    provenance = trace.provenance
    assert provenance.host is not None
    assert provenance.host.cores == 16
    assert provenance.device is not None
    assert provenance.device.driver == "580.159.04"
    assert {one.python for one in provenance.environments} == {"3.12.3"}


def test_the_counts_are_those_of_the_raw_files(trace: Trace) -> None:
    """By the standard library alone, from the text of the profiles."""
    categories = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
    for part in trace.parts.iter_rows(named=True):
        document = json.loads(gzip.decompress((H200 / part["source"]).read_bytes()))
        for category, kind in categories.items():
            events = [e for e in document["traceEvents"] if e.get("cat") == category]
            frame = trace.device_work.filter(part=part["part"], kind=kind)
            assert frame.height == len(events)
            assert frame["dur_ns"].sum() == sum(round(e["dur"] * 1000) for e in events)


def test_flaggems_reads_a_known_length_back_and_aten_and_triton_do_not(
    matrix: pl.DataFrame,
) -> None:
    for case in ("repeat_values_known", "repeat_Tensor_known"):
        assert row(matrix, case, "flaggems")["readback_count"] == 1
        assert row(matrix, case, "triton-readback")["readback_count"] == 1
        assert row(matrix, case, "aten")["readback_count"] == 0
        assert row(matrix, case, "triton")["readback_count"] == 0


def test_a_known_size_changes_nothing_that_can_be_seen_for_flaggems_and_much_for_aten(
    matrix: pl.DataFrame,
) -> None:
    def interval(case: str, route: str) -> tuple[int, int]:
        found = row(matrix, case, route)
        low, high = found["throughput_low_ns"], found["throughput_high_ns"]
        assert isinstance(low, int)
        assert isinstance(high, int)
        return low, high

    for kind in ("Tensor", "values"):
        known, dynamic = f"repeat_{kind}_known", f"repeat_{kind}_dynamic"
        assert interval(known, "flaggems")[1] > interval(dynamic, "flaggems")[0]
        assert interval(known, "flaggems")[0] < interval(dynamic, "flaggems")[1]
        assert interval(known, "aten")[1] < interval(dynamic, "aten")[0]


def test_the_specimen_marks_the_readback_as_a_phase(trace: Trace) -> None:
    phases = phases_report(trace).filter(case="repeat_values_known", route="triton-readback")
    (readback,) = phases.filter(phase="length_readback").iter_rows(named=True)
    assert (readback["kernel_count"], readback["readback_count"]) == (0, 1)
    assert readback["waiting_ns"] > 0
    rules = phases_report(trace).filter(case="repeat_values_dynamic", route="aten")
    readbacks = dict(rules.select("phase", "readback_count").rows())
    assert (readbacks["length_readback"], readbacks["negative_check"]) == (1, 1)


def test_no_path_user_or_host_of_the_machine_is_in_it() -> None:
    for path in SAMPLES.rglob("*"):
        if path.suffix == ".gz":
            text = gzip.decompress(path.read_bytes()).decode()
        elif path.suffix == ".json":
            text = path.read_text()
        else:
            continue
        assert not re.search(r"(?<![\w.])/(home|root|opt|usr|tmp)/", text)


def test_the_generations_medians_are_as_claimed(trace: Trace) -> None:
    profiled = trace.samples.filter(profiler="kineto")["process"].unique().to_list()
    timed = trace.samples.filter(
        ~pl.col("process").is_in(profiled), mode="throughput", case="repeat_values_known"
    )
    claims = re.findall(
        r"([0-9.]+) and\s+([0-9.]+) µs by\s+`(\w+)`", (SAMPLES / "README.md").read_text()
    )
    assert len(claims) == 2
    for low, high, route in claims:
        medians = (
            timed.filter(route=route)
            .group_by("generation")
            .agg((pl.col("wall_ns") / pl.col("calls") / 1000).median())["wall_ns"]
        )
        assert (f"{medians.min():.1f}", f"{medians.max():.1f}") == (low, high)


def test_the_cost_of_a_range_is_as_the_decisions_say(trace: Trace) -> None:
    loops = trace.calibration.filter(loop="range", profiler="none")
    cost_us = loops.select((pl.col("wall_ns") / pl.col("iterations")).median()).item() / 1000
    assert f"took {cost_us:.1f} µs" in (PROJECT / "docs" / "decisions.md").read_text()


COMMANDS = re.findall(
    r"```sh\n(fgtrace (?:show|diff) [^\n]+)\n```\n\n```text\n(.*?)```",
    (PROJECT / "README.md").read_text(),
    re.DOTALL,
)


def test_the_readme_shows_tables_of_the_sample() -> None:
    assert len(COMMANDS) == 5


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_the_readme_shows_what_the_command_prints(command: str, shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == shown


def test_the_factorial_has_what_its_readme_says() -> None:
    trace = fgtrace.open(SAMPLES / "factorial.fgtrace")
    calls = calls_report(trace)
    assert set(calls["kernel_count"]) == {5}
    assert set(calls["readback_count"]) == {3}
    assert calls.group_by("route").len()["len"].to_list() == [20, 20]
    effects = effects_report(trace)
    assert effects["rounds"].unique().to_list() == [100]
    assert (effects.filter(kind="main")["interval_low_ns"] > 0).all()
    interaction = effects.filter(kind="interaction")["effect_ns"].abs().max()
    assert interaction < effects.filter(kind="main")["effect_ns"].min() / 3
    assert trace.stacks is not None
    assert trace.stacks.calls.height == 20


def test_the_sweep_has_what_its_readme_says() -> None:
    trace = fgtrace.open(SAMPLES / "sweep.fgtrace")
    sizes = matrix_by_size_report(trace)
    assert sizes.filter("fastest").select("route", "size").rows() == [
        ("aten", size) for size in (20_000, 200_000, 2_000_000, 20_000_000, 80_000_000)
    ]
    assert "crossover" not in findings_report(trace)["rule"]
    times = matrix_report(trace).with_columns(
        items=pl.col("case").str.extract(r"items=(\d+)").cast(pl.Int64),
        waits=pl.col("throughput_ns") > 1.2 * pl.col("enqueue_ns"),
    )
    assert not times.filter(pl.col("items") <= 2_000_000)["waits"].any()
    assert set(times.filter("waits")["route"]) == {"aten", "triton"}
    assert times.filter("waits").height == 4
