"""`fgtrace collect` as a user runs it, on the CPU: what it leaves, says, and does when hurt."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fgtrace import open as open_trace

from .conftest import HAS_TORCH, SMALL, children_of, environment, wait_until

pytestmark = pytest.mark.skipif(
    not HAS_TORCH, reason="torch and triton are not installed, and cases run on them"
)

KNOWN = ("collect", "--case", "repeat_Tensor_known")
BOTH_CASES = (*KNOWN, "--case", "repeat_values_known")
PLUGIN = ("collect", "--case", "plugin_case", *SMALL)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, plugin: Path):
    """One small recording by two routes, shared by the tests that only look at it."""
    folder = tmp_path_factory.mktemp("recorded")
    routes = ("--route", "aten", "--route", "triton")
    done = subprocess.run(
        [sys.executable, "-m", "fgtrace", *BOTH_CASES, *SMALL, *routes, "-o", "a.fgtrace"],
        cwd=folder,
        env=environment(folder, plugin),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done, folder / "a.fgtrace"


def rows(stdout: str) -> dict[str, dict[str, object]]:
    return {f"{row['case']}/{row['route']}": row for row in json.loads(stdout)["rows"]}


def no_run(folder: Path) -> bool:
    return not list(folder.glob("runs/*")) and not list(folder.glob("runs/.*"))


# What it leaves and says.


def test_it_ends_with_a_row_a_route_the_run_and_the_next_command(recorded) -> None:
    done, run = recorded
    assert "aten" in done.stdout
    assert "triton" in done.stdout
    assert "throughput" in done.stdout
    assert f"wrote {run.name}" in done.stderr
    assert f"next: fgtrace show phases {run.name}" in done.stderr


def test_interpreted_triton_is_labelled_and_shows_no_device_numbers(recorded) -> None:
    done, run = recorded
    assert "interpreted: correctness only, not a timing" in done.stdout
    table = [line for line in done.stdout.splitlines() if " triton " in line]
    assert table
    assert all(line.count("—") >= 4 for line in table)
    trace = open_trace(run)
    timed = trace.samples.filter(route="triton", profiler="none")
    assert set(timed["calls"]) == {3}


def test_a_run_holds_everything_that_was_recorded(recorded) -> None:
    _, run = recorded
    trace = open_trace(run)
    pairs = {(case, route) for case in ("repeat_Tensor_known", "repeat_values_known")
             for route in ("aten", "triton")}  # fmt: skip
    assert set(trace.samples.select("case", "route").unique().rows()) == pairs
    assert set(trace.calls.select("case", "route").unique().rows()) == pairs
    assert set(trace.calls["index"]) == {0, 1, 2}
    assert {"none", "kineto"} == set(trace.calibration["profiler"])
    assert {"range", "operator"} <= set(trace.calibration["loop"])
    results = trace.witnesses.filter(witness="result")
    assert set(results["value"]) == {"ok"}
    assert len(list((run / "raw").iterdir())) == len(pairs)
    assert trace.stacks is None  # of an interpreter they would be millions


def test_the_stopwatch_and_the_profiler_never_share_a_process(recorded) -> None:
    _, run = recorded
    samples = open_trace(run).samples
    profiled = set(samples.filter(samples["profiler"] != "none")["process"])
    headline = samples.filter(~samples["process"].is_in(list(profiled)))
    assert profiled
    assert set(headline["route"]) == {"aten", "triton"}
    assert set(headline["profiler"]) == {"none"}


def test_the_profiles_process_times_unprofiled_batches_before_the_profiler(recorded) -> None:
    _, run = recorded
    samples = open_trace(run).samples
    for _, batches in samples.filter(
        samples["process"].is_in(list(set(samples.filter(profiler="kineto")["process"])))
    ).group_by("process", "case"):
        ordered = batches.sort("turn")["profiler"].to_list()
        assert ordered == ["none"] * (len(ordered) - 1) + ["kineto"]


def test_provenance_says_what_ran_and_nothing_of_the_environment_beyond_its_list(recorded) -> None:
    _, run = recorded
    provenance = open_trace(run).provenance
    assert provenance.protocol is not None
    assert provenance.protocol.name == "interpreted"
    assert provenance.device is not None
    assert provenance.device.kind == "cpu"
    assert {each.route for each in provenance.environments} == {"aten", "triton"}
    assert provenance.parameters["repeat_Tensor_known"] == {"rows": 6, "items": 40}
    text = (run / "manifest.json").read_text()
    assert "PATH" not in text.replace("PYTHONPATH", "PATH") or '"PATH"' not in text
    for each in provenance.environments:
        assert each.variables["OMP_NUM_THREADS"] == "1"
        assert "PATH" not in each.variables


def test_an_explicit_phase_is_found_in_the_profile(recorded) -> None:
    _, run = recorded
    names = set(open_trace(run).events.select("name").collect()["name"].cast(str))
    assert {"fgtrace::phase::prefix_scan", "fgtrace::phase::expand"} <= names


def test_a_secret_of_the_environment_reaches_no_file(fgtrace, tmp_path: Path) -> None:
    secret = "hf_Zk3xQpTokenThatMustNotTravel"
    done = fgtrace(
        *KNOWN, *SMALL, "--route", "aten", "-o", "a.fgtrace", HF_TOKEN=secret, FGTRACE_X=secret
    )
    assert done.returncode == 0, done.stderr
    assert secret not in done.stdout + done.stderr
    for path in (tmp_path / "a.fgtrace").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix == ".gz":
                import gzip

                content = gzip.decompress(content)
            assert secret.encode() not in content, path


def test_without_a_name_runs_are_numbered(fgtrace, tmp_path: Path) -> None:
    for _ in range(2):
        done = fgtrace(*KNOWN, *SMALL, "--route", "aten", "--profiler", "none")
        assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "repeat_Tensor_known-2.fgtrace",
        "repeat_Tensor_known.fgtrace",
    ]


def test_without_a_profiler_there_are_times_and_no_counts(fgtrace) -> None:
    done = fgtrace(*KNOWN, *SMALL, "--route", "aten", "--profiler", "none", "--format", "json")
    row = rows(done.stdout)["repeat_Tensor_known/aten"]
    assert row["throughput_ns"]
    assert row["kernel_count"] is None
    assert row["overhead_factor"] is None


def test_gates_are_kept_in_the_run_and_read_before_anything_runs(fgtrace, tmp_path: Path) -> None:
    asked = (*KNOWN, *SMALL, "--route", "aten", "--profiler", "none", "-o", "a.fgtrace")
    wrong = fgtrace(*asked, "--fail-on", "readback_count > 0", "--fail-on", "call_tme > +3%")
    assert wrong.returncode == 2
    assert wrong.stderr.splitlines()[1:] == [
        "  call_tme > +3%",
        "  ^",
        "hint: did you mean call_time?",
    ]
    assert not (tmp_path / "a.fgtrace").exists()
    done = fgtrace(
        *asked, "--fail-on", "readback_count>0", "--fail-on", "route:aten.call_time > +3%"
    )
    assert done.returncode == 0, done.stderr
    assert open_trace(tmp_path / "a.fgtrace").provenance.gates == (
        "readback_count > 0",
        "route:aten.call_time > +3%",
    )


def test_every_route_that_cannot_run_is_listed_with_its_reason(fgtrace) -> None:
    done = fgtrace("collect", "--case", "index_select_unchecked", *SMALL, "--profiler", "none")
    assert done.returncode == 0, done.stderr
    assert "flaggems: " in done.stderr
    assert "triton-readback: it serves none of the chosen cases" in done.stderr


def test_a_formal_run_has_six_generations_of_other_processes(fgtrace, tmp_path: Path) -> None:
    done = fgtrace(
        *KNOWN, *SMALL, "--route", "aten", "--formal", "--profiler", "none", "-o", "a.fgtrace"
    )
    assert done.returncode == 0, done.stderr
    samples = open_trace(tmp_path / "a.fgtrace").samples
    assert set(samples["generation"]) == set(range(6))
    assert samples["process"].n_unique() == 6
    assert "quick" not in done.stdout


# Other interpreters.


def test_a_recording_is_made_in_another_interpreter(
    fgtrace, torch_only: Path, tmp_path: Path
) -> None:
    for module in ("fgtrace", "polars", "msgspec", "click"):
        tried = subprocess.run([torch_only, "-I", "-c", f"import {module}"], capture_output=True)
        assert tried.returncode != 0, f"{module} is not meant to be there"
    done = fgtrace(
        *KNOWN,
        *SMALL,
        "--route",
        "aten",
        "--route",
        "triton",
        "--env",
        f"aten={torch_only}",
        "--env",
        f"triton=echo activated; exec {torch_only}",
        "-o",
        "a.fgtrace",
    )
    assert done.returncode == 0, done.stderr
    for each in open_trace(tmp_path / "a.fgtrace").provenance.environments:
        assert each.executable == str(torch_only)
    assert set(open_trace(tmp_path / "a.fgtrace").calls["route"]) == {"aten", "triton"}


def test_the_one_file_recorder_works_where_only_torch_is(
    fgtrace, torch_only: Path, tmp_path: Path
) -> None:
    assert fgtrace("recorder", "-o", "r.pyz").returncode == 0
    asked = ("--case", "repeat_values_known", "--route", "aten", "--route", "triton-readback")
    done = subprocess.run(
        [torch_only, "-I", "r.pyz", *asked, *SMALL, "-o", "there.zip"],
        cwd=tmp_path,
        env={**os.environ, "FGTRACE_LOCK_DIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    gate = "readback_count > 0"
    made = fgtrace("collect", "--from", "there.zip", "--fail-on", gate, "--format", "json")
    assert made.returncode == 0, made.stderr
    assert set(rows(made.stdout)) == {
        "repeat_values_known/aten",
        "repeat_values_known/triton-readback",
    }
    trace = open_trace(tmp_path / "runs" / "there.fgtrace")
    assert trace.provenance.gates == (gate,)
    assert "fgtrace::phase::length_readback" in set(
        trace.events.select("name").collect()["name"].cast(str)
    )
    assert {each.executable for each in trace.provenance.environments} == {str(torch_only)}

    # The plan that it wrote runs again, as it was.
    import zipfile

    zipfile.ZipFile(tmp_path / "there.zip").extract("plan.json", tmp_path)
    again = subprocess.run(
        [torch_only, "-I", "r.pyz", "--plan", "plan.json", "-o", "again.zip"],
        cwd=tmp_path,
        env={**os.environ, "FGTRACE_LOCK_DIR": str(tmp_path / "tmp")},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert again.returncode == 0


def test_a_sweep_is_a_case_for_each_size_wherever_it_is_recorded(fgtrace, tmp_path: Path) -> None:
    sweep = ("--case", "repeat_values_known", "--route", "aten", "--param", "rows=16,4")
    sized = ["repeat_values_known[rows=16]", "repeat_values_known[rows=4]"]
    assert fgtrace("collect", *sweep, "-o", "a.fgtrace").returncode == 0
    assert fgtrace("recorder", "-o", "r.pyz").returncode == 0
    there = [sys.executable, "r.pyz", *sweep, "-o", "b.zip"]
    variables = {**os.environ, "FGTRACE_LOCK_DIR": str(tmp_path / "tmp")}
    subprocess.run(there, cwd=tmp_path, env=variables, check=True, timeout=300)
    assert fgtrace("collect", "--from", "b.zip", "-o", "b.fgtrace").returncode == 0
    for run in ("a.fgtrace", "b.fgtrace"):
        trace = open_trace(tmp_path / run)
        assert {name: one["rows"] for name, one in trace.provenance.parameters.items()} == {
            sized[0]: 16,
            sized[1]: 4,
        }
        for frame in (trace.samples, trace.calls):
            assert sorted(set(frame["case"])) == sized
        found = json.loads(fgtrace("show", "matrix", run, "--by", "size", "--format=json").stdout)
        assert [(row["case"], row["parameter"], row["size"]) for row in found["rows"]] == [
            ("repeat_values_known", "rows", 4),
            ("repeat_values_known", "rows", 16),
        ]
        files = sorted(path.name for path in (tmp_path / run / "raw").glob("*.g0.*"))
        assert files == [f"aten.repeat_values_known.rows-{rows}.g0.json.gz" for rows in (16, 4)]


# What goes wrong.


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "no case was given"),
        (("--case", "repeat_value_known"), 2, "did you mean repeat_values_known?"),
        (("--case", "repeat_values_known", "--route", "atem"), 4, "did you mean aten?"),
        (("--case", "repeat_values_known", "--param", "rows=0"), 2, "rows=0"),
        (("--case", "repeat_values_known", "--device", "cuda:99", "--route", "aten"), 4, "cuda:99"),
        (("--case", "repeat_values_known", "--device", "tpu"), 2, "tpu"),
        (("--case", "repeat_values_known", "-o", "/proc/x/a.fgtrace"), 2, "cannot be written"),
        (
            ("--case", "repeat_values_known", "--route", "triton", "--param", "rows=65"),
            2,
            "at most 64",
        ),
        (("--case", "repeat_values_switched", "--route", "aten"), 2, "serves none"),
        (
            ("--case", "repeat_values_known", "--route", "aten", "--env", "aten=/no/python"),
            4,
            "aten",
        ),
        (("--case", "repeat_values_known", "--route", "flaggems"), 4, "flag_gems"),
        (("--from", "nothing.zip"), 3, "nothing.zip"),
        (("--from", "nothing.zip", "--route", "aten"), 2, "--from"),
        (("--from", "nothing.zip", "--seed", "3"), 2, "--seed beside --from"),
        (("--from", "nothing.zip", "--fail-on", "readback_count > 0"), 3, "nothing.zip"),
        (("--case", "repeat_values_known", "-o", "a.zip"), 2, "a run is a folder"),
        (("--case", "repeat_values_known", "--route", "aten", "--l2", "cold"), 2, "--l2 cold"),
        (("--case", "repeat_values_known", "--route", "aten", "--graph"), 2, "--graph"),
        (("--case", "plugin_case", "--route", "broken"), 4, "not_there"),
    ],
)
def test_bad_input_is_one_line_a_hint_and_the_documented_exit_code(
    fgtrace, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = fgtrace("collect", *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith("fgtrace: error: ")
    assert lines[1].startswith("hint: ")
    assert len(lines) == 2
    assert no_run(tmp_path)


def test_an_environment_without_torch_is_unavailable(fgtrace, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True
    )
    done = fgtrace(*KNOWN, "--route", "aten", "--env", f"aten={tmp_path}/bare/bin/python")
    assert done.returncode == 4
    assert "torch is not installed" in done.stderr


def test_an_error_is_a_document_too_where_json_was_asked_for(fgtrace) -> None:
    done = fgtrace("collect", "--case", "nonsense", "--format", "json")
    assert json.loads(done.stdout)["error"]["kind"] == "usage"


def test_an_output_that_exists_is_kept_without_force_and_replaced_with_it(
    fgtrace, tmp_path: Path
) -> None:
    arguments = (*KNOWN, *SMALL, "--route", "aten", "--profiler", "none", "-o", "a.fgtrace")
    assert fgtrace(*arguments).returncode == 0
    first = (tmp_path / "a.fgtrace" / "manifest.json").read_text()
    assert fgtrace(*arguments).returncode == 2
    assert (tmp_path / "a.fgtrace" / "manifest.json").read_text() == first
    assert fgtrace(*arguments, "--force", "--seed", "2").returncode == 0
    assert (tmp_path / "a.fgtrace" / "manifest.json").read_text() != first


def test_a_route_that_cannot_be_imported_is_left_out_unless_it_was_asked_for(fgtrace) -> None:
    done = fgtrace(
        *("collect", "--case", "plugin_safe", *SMALL, "--profiler", "none", "--format", "json")
    )
    assert done.returncode == 0, done.stderr
    assert "broken: AttributeError" in done.stderr
    assert set(rows(done.stdout)) == {"plugin_safe/plain"}


def test_a_rule_that_was_not_kept_is_a_warning(fgtrace, tmp_path: Path) -> None:
    done = fgtrace(
        *KNOWN, *SMALL, "--route", "aten", "--profiler", "none", CUDA_LAUNCH_BLOCKING="1"
    )
    assert done.returncode == 0, done.stderr
    assert "rule-broken: aten: slowing variables is CUDA_LAUNCH_BLOCKING, not none" in done.stderr


def test_a_variable_is_set_in_every_process_and_a_secret_one_not_written_down(
    fgtrace, tmp_path: Path
) -> None:
    done = fgtrace(
        *(*KNOWN, *SMALL, "--route", "aten", "-o", "a.fgtrace"),
        *("--set", "FLAGOS_OP_add=cuda", "--set", "HF_TOKEN=hf_secret123"),
    )
    assert done.returncode == 0, done.stderr
    (found,) = open_trace(tmp_path / "a.fgtrace").provenance.environments
    assert found.variables["FLAGOS_OP_add"] == "cuda"
    assert "hf_secret123" not in (tmp_path / "a.fgtrace" / "manifest.json").read_text()


def test_a_wrong_result_keeps_the_run_marks_it_and_fails(fgtrace, tmp_path: Path) -> None:
    done = fgtrace(*PLUGIN, "--route", "plain", "--route", "wrong", "-o", "a.fgtrace")
    assert done.returncode == 1, done.stderr
    assert "plugin_case by wrong: 40 of 40 values differ" in done.stderr
    trace = open_trace(tmp_path / "a.fgtrace")
    assert "wrong-result" in set(trace.notes["kind"])
    assert trace.samples.filter(route="wrong").height > 0


def test_a_route_that_raises_is_marked_and_the_others_are_timed(fgtrace, tmp_path: Path) -> None:
    done = fgtrace(*PLUGIN, "--route", "plain", "--route", "raising", "-o", "a.fgtrace")
    assert done.returncode == 1, done.stderr
    assert "raised ValueError: not today" in done.stderr
    assert set(open_trace(tmp_path / "a.fgtrace").samples["route"]) == {"plain"}


def test_the_one_file_recorder_keeps_a_wrong_recording_and_fails(
    fgtrace, torch_only: Path, plugin: Path, tmp_path: Path
) -> None:
    assert fgtrace("recorder", "-o", "r.pyz").returncode == 0
    done = subprocess.run(
        [torch_only, "-I", "r.pyz", "--case", "plugin_case", "--route", "wrong", *SMALL],
        cwd=tmp_path,
        env={**os.environ, "FGTRACE_LOCK_DIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "40 of 40 values differ" in done.stderr
    made = fgtrace("collect", "--from", "recording.zip")
    assert made.returncode == 1
    assert "40 of 40 values differ" in made.stderr


def test_a_child_that_dies_ends_the_collection_and_its_last_words_are_shown(
    fgtrace, tmp_path: Path
) -> None:
    done = fgtrace(*PLUGIN, "--route", "plain", "--route", "dying")
    assert done.returncode == 5, done.stderr
    assert "route dying: its process ended with signal SIGKILL" in done.stderr
    assert "the last words" in done.stderr
    assert no_run(tmp_path)
    assert not children_of(tmp_path)


def test_two_collections_do_not_share_a_device(fgtrace, starting, tmp_path: Path) -> None:
    first = starting(*PLUGIN, "--route", "slow")
    assert wait_until((tmp_path / "tmp" / "fgtrace-cpu.lock").exists, 60)
    second = fgtrace(*PLUGIN, "--route", "plain")
    assert second.returncode == 5, second.stderr
    assert "in use by another collection" in second.stderr
    assert str(first.pid) in second.stderr


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_run_no_child_and_no_temporaries(
    starting, tmp_path: Path, end: signal.Signals
) -> None:
    process = starting(*PLUGIN, "--route", "slow")
    assert wait_until(lambda: bool(children_of(tmp_path)), 60)
    time.sleep(2.0)
    process.send_signal(end)
    interrupted = time.monotonic()
    assert process.wait(timeout=20) == 130
    assert time.monotonic() - interrupted < 4.0
    assert no_run(tmp_path)
    assert wait_until(lambda: not children_of(tmp_path))


def test_killed_at_any_moment_it_leaves_no_run_or_a_complete_one(
    fgtrace, starting, tmp_path: Path
) -> None:
    moments = random.Random(20261130)
    output = tmp_path / "runs" / "a.fgtrace"
    arguments = (*KNOWN, *SMALL, "--route", "aten", "--force", "-o", "runs/a.fgtrace")
    began = time.monotonic()
    assert fgtrace(*arguments).returncode == 0
    lasts = time.monotonic() - began
    first = (output / "manifest.json").read_text()
    survived = 0
    for trial in range(8):
        process = starting(*arguments)
        # The last trials aim at the end, where the run is written and put in its place.
        wait = moments.uniform(0.2, lasts) if trial < 5 else moments.uniform(0.8, 1.05) * lasts
        time.sleep(wait)
        process.kill()
        process.wait()
        assert wait_until(lambda: not children_of(tmp_path)), "children outlived their parent"
        if output.exists():
            survived += 1
            assert open_trace(output).samples.height > 0
    assert fgtrace(*arguments).returncode == 0
    assert open_trace(output).samples.height > 0
    assert (output / "manifest.json").read_text() != first
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["a.fgtrace"]
    assert survived, "a --force collection must leave the old run until the new one is complete"


def test_a_full_disk_ends_the_collection_and_leaves_the_old_run(fgtrace, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(small)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a file system of 24 KiB can only be mounted by root")
    try:
        done = fgtrace(*KNOWN, *SMALL, "--route", "aten", "-o", "small/a.fgtrace")
        assert done.returncode == 5, done.stderr
        assert "No space left on device" in done.stderr
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_factorial_is_in_the_run(fgtrace, tmp_path: Path) -> None:
    done = fgtrace(
        "collect", "--case", "repeat_values_switched", "--factorial", "readback,index_check",
        *SMALL, "-o", "run.fgtrace",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = open_trace(tmp_path / "run.fgtrace")
    switched = run.samples.drop_nulls("variant")["variant"].unique()
    assert switched.len() == 4
    shown = json.loads(fgtrace("show", "effects", "run.fgtrace", "--format", "json").stdout)
    assert {row["kind"] for row in shown["rows"]} == {"main", "simple", "interaction"}
    assert run.calls["case"].unique().to_list() == ["repeat_values_switched"]


def test_the_stacks_are_in_the_run_apart_from_the_profile(fgtrace, tmp_path: Path) -> None:
    done = fgtrace(*KNOWN, "--route", "aten", "-o", "run.fgtrace")
    assert done.returncode == 0, done.stderr
    run = open_trace(tmp_path / "run.fgtrace")
    assert run.stacks is not None
    assert run.stacks.calls.height == 10
    assert run.calls.height == 100
    assert "kineto+stacks" in run.calibration["profiler"]
    host = fgtrace("show", "host", "run.fgtrace", "--format", "csv").stdout
    assert "repeat_interleave" in host


def test_stacks_can_be_left_out(fgtrace, tmp_path: Path) -> None:
    done = fgtrace(*KNOWN, "--route", "aten", "--no-stacks", "-o", "run.fgtrace")
    assert done.returncode == 0, done.stderr
    assert open_trace(tmp_path / "run.fgtrace").stacks is None
    assert not list((tmp_path / "run.fgtrace" / "raw").glob("*stacks*"))
