import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fgtrace.analysis.comparability import ACROSS, AXES, NOTHING_ALIKE, ONE_PROFILE, comparability
from fgtrace.analysis.facts import NAMED, listed
from fgtrace.frames import schema
from fgtrace.frames.provenance import Clocks, Device, Environment, Host, Protocol, Provenance
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES, Trace
from fgtrace.opening import open_trace

SAMPLES = Path(__file__).parents[2] / "samples"

DEVICE = Device(
    kind="cuda",
    index=0,
    name="NVIDIA H200",
    driver="580.1",
    properties={"multi_processor_count": 132, "major": 9, "minor": 0, "total_memory": 150},
)
ENVIRONMENT = Environment(
    route="triton",
    python="3.12.3",
    torch="2.11.0+cu130",
    torch_git="70d99e998b4955e0049d13a98d77ae1b14db1f45",
    cuda="13.0",
    triton="3.6.0",
    packages={"torch": "2.11.0", "triton": "3.6.0", "numpy": "2.5.2"},
    variables={"OMP_NUM_THREADS": "1"},
    modules={"ours.repeat": "a" * 64},
    threads=1,
)
PROTOCOL = Protocol(name="formal", seed=1, generations=6, warmup_s=0.5, batches=30)
MADE = Provenance(
    tool="fgtrace 0.1.0",
    profiler="kineto",
    profiler_options={"with_stack": False, "record_shapes": False},
    parameters={"repeat": {"rows": 17096}},
    protocol=PROTOCOL,
    device=DEVICE,
    environments=(ENVIRONMENT,),
    clocks=(Clocks(when="before", sm_mhz=1980), Clocks(when="during", sm_mhz=1980)),
    host=Host(system="Linux", machine="x86_64", cpu="Xeon", governor="performance"),
)
"""Of a run of which everything is known that can be."""

KINETO = Provenance(profiler="kineto", device=Device(kind="cuda", name="NVIDIA H200"))
"""Of a file of which little is."""


def trace_of(
    made,
    *,
    cases=("repeat",),
    routes=None,
    witnesses=(),
    stopwatch=True,
    calls=True,
    devices=((None, 0),),
):
    """Make a trace; its routes are those of its environments, in every case.

    `devices` are the rank and the device of each part's only kernel.
    """
    if routes is None:
        routes = [one.route for one in made.environments] or [None]
    rows = [{"case": case, "route": route} for case in cases for route in routes]
    frames = {name: pl.DataFrame(schema=columns) for name, columns in FRAMES.items()}
    if calls:
        frames["calls"] = pl.DataFrame(rows, schema=schema.CALLS)
    if stopwatch:
        samples = [{**row, "profiler": "none"} for row in rows]
        frames["samples"] = pl.DataFrame(samples, schema=schema.SAMPLES)
    seen = [
        {"route": route, "witness": name, "value": value}
        for route in routes
        for name, value in witnesses
    ]
    frames["witnesses"] = pl.DataFrame(seen, schema=schema.WITNESSES)
    frames["parts"] = pl.DataFrame(
        [{"part": part, "rank": rank} for part, (rank, _) in enumerate(devices)],
        schema=schema.PARTS,
    )
    lazy = {name: pl.LazyFrame(schema=columns) for name, columns in LAZY_FRAMES.items()}
    work = [
        {"event_id": part, "part": part, "kind": "kernel", "name": "k", "device": device}
        for part, (_, device) in enumerate(devices)
    ]
    lazy["events"] = pl.LazyFrame(work, schema=schema.EVENTS)
    return Trace("made", made, **frames, **lazy)


def run(*, environment=None, **fields):
    """Give the provenance of the run with other fields, and its only environment with others."""
    if environment is not None:
        fields["environments"] = (replace(ENVIRONMENT, **environment),)
    return replace(MADE, **fields)


def other_device(**fields):
    return run(device=replace(DEVICE, **fields))


def axis_of(name, one, other):
    """Compare two traces, or runs of two provenances, on one axis."""
    sides = [trace_of(side) if isinstance(side, Provenance) else side for side in (one, other)]
    (axis,) = (axis for axis in comparability(*sides).axes if axis.name == name)
    return axis


def state(name, one, other=MADE):
    return axis_of(name, one, other).state


def different(one, other=MADE):
    sides = [trace_of(side) if isinstance(side, Provenance) else side for side in (one, other)]
    return [axis.name for axis in comparability(*sides).axes if axis.state == "different"]


TUNED = "tunings in measured batches"
PAIRS = {
    # What differs, and what must not count as a difference.
    "device": (
        [
            other_device(name="NVIDIA H100"),
            other_device(kind="flagos"),
            other_device(properties={"multi_processor_count": 66}),
            other_device(properties={"computeMajor": 8, "computeMinor": 0}),
            run(host=replace(MADE.host, cpu="EPYC")),
            trace_of(MADE, devices=[(0, 0), (1, 1)]),
        ],
        [
            other_device(index=3),
            other_device(uuid="another of the kind"),
            other_device(properties={"numSms": 132, "totalGlobalMem": 149}),
            run(host=None),
            trace_of(MADE, devices=[(None, 0), (None, 0)]),
        ],
    ),
    "driver and clocks": (
        [
            other_device(driver="581.0"),
            run(clocks=(Clocks(when="during", sm_mhz=1900),)),
            run(host=replace(MADE.host, governor="powersave")),
        ],
        [
            run(clocks=(Clocks(when="during", sm_mhz=1930),)),
            # One odd reading is not the median.
            run(clocks=(*MADE.clocks, Clocks(when="after", sm_mhz=345))),
            run(clocks=(*MADE.clocks, Clocks(when="after"))),
        ],
    ),
    "torch build": (
        [
            run(environment={"torch": "2.12.0+cu130"}),
            run(environment={"torch_git": "0" * 40}),
            run(environment={"cuda": None, "hip": "6.4"}),
        ],
        [run(environment={"packages": {**ENVIRONMENT.packages, "torch": "2.11.0.post1"}})],
    ),
    "triton build": (
        [
            run(environment={"triton": "3.7.0"}),
            run(environment={"triton": None, "packages": {"numpy": "2.5.2"}}),
            run(environment={"packages": {**ENVIRONMENT.packages, "flagtree": "0.4"}}),
            run(environment={"interpreted": True}),
            run(environment={"variables": {"FLAGTREE_BACKEND": "hcu"}}),
        ],
        [run(environment={"triton": "3.6.0", "packages": {"numpy": "2.5.2"}})],
    ),
    "library versions and code revision": (
        [
            run(tool="fgtrace 0.2.0"),
            run(environment={"python": "3.13.0"}),
            run(environment={"packages": {"numpy": "2.6.0"}}),
            run(environment={"packages": {"numpy": "2.5.2", "flag-gems": "5.0.2"}}),
            run(environment={"modules": {"ours.repeat": "b" * 64}}),
        ],
        [
            run(environment={"executable": "/elsewhere/python"}),
            run(environment={"packages": {"torch": "2.11.0", "numpy": "2.5.2"}}),
        ],
    ),
    "routing": (
        [
            run(environment={"route": "aten"}),
            run(environment={"variables": {"FLAGOS_OPS": "mm"}}),
            run(set_variables={"USE_FLAGGEMS": "1"}),
        ],
        [
            run(environment={"variables": {"FLAGOS_LOG_LEVEL": "2"}}),
            run(set_variables={"TRITON_DEBUG": "1"}),
        ],
    ),
    "case and sizes": (
        [
            trace_of(MADE, cases=["gather"]),
            run(parameters={"repeat": {"rows": 256}}),
            run(parameters={"repeat": {"rows": 17096, "readback": 1}}),
        ],
        [
            trace_of(run(parameters={**MADE.parameters, "gather": {}}), cases=["repeat", "gather"]),
            run(parameters={**MADE.parameters, "gather": {"rows": 1}}),
        ],
    ),
    "profiler and its options": (
        [
            run(profiler="rocprofv3"),
            run(profiler_options={"with_stack": True}),
            run(profiler_options={"buffer": 2}),
        ],
        # What is off is not listed everywhere.
        [run(profiler_options={"with_modules": False})],
    ),
    "protocol": (
        [
            run(protocol=replace(PROTOCOL, name="quick")),
            run(protocol=replace(PROTOCOL, batches=20)),
            run(protocol=replace(PROTOCOL, calls=200)),
            run(protocol=replace(PROTOCOL, warmup_s=None, warmup_calls=50)),
            run(environment={"threads": 8}),
            run(environment={"variables": {"OMP_NUM_THREADS": "8"}}),
        ],
        [
            # More of the same.
            run(protocol=replace(PROTOCOL, generations=7)),
            run(protocol=replace(PROTOCOL, seed=2)),
            run(protocol=replace(PROTOCOL, budget_s=60.0)),
            run(environment={"variables": {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "3"}}),
        ],
    ),
    "cache state": (
        [run(protocol=replace(PROTOCOL, cache="cold"))],
        [run(protocol=replace(PROTOCOL, name="quick"))],
    ),
}

NOT_KNOWN = {
    "device": [run(device=None), other_device(name=None), other_device(name="")],
    "driver and clocks": [
        run(clocks=()),
        other_device(driver=None),
        other_device(driver="13000"),  # the version of its API, which says less
    ],
    "torch build": [
        run(environments=()),
        run(environment={"torch": None}),
        run(environment={"torch_git": None}),
    ],
    "triton build": [run(environments=()), run(environment={"torch": None, "triton": None})],
    "library versions and code revision": [
        run(tool=None),
        run(tool="fgtrace"),
        run(environments=()),
        run(environment={"packages": {}}),
    ],
    "routing": [
        trace_of(run(environments=()), routes=["triton"]),
        trace_of(run(environments=()), routes=[None]),
    ],
    "case and sizes": [run(parameters={}), trace_of(MADE, cases=[])],
    "profiler and its options": [run(profiler=None), run(profiler_options={})],
    "protocol": [run(protocol=None)],
    "cache state": [run(protocol=None)],
}


@pytest.mark.parametrize(
    ("name", "other"), [(name, one) for name, (found, _) in PAIRS.items() for one in found]
)
def test_what_belongs_to_an_axis_makes_it_different(name, other):
    axis = axis_of(name, MADE, other)
    assert axis.state == "different"
    assert axis.forbids
    assert axis.a != axis.b


@pytest.mark.parametrize(
    ("name", "other"), [(name, one) for name, (_, near) in PAIRS.items() for one in near]
)
def test_what_does_not_belong_to_an_axis_leaves_it_the_same(name, other):
    axis = axis_of(name, MADE, other)
    assert (axis.state, axis.forbids) == ("same", None)


@pytest.mark.parametrize(
    ("name", "other"), [(name, one) for name, several in NOT_KNOWN.items() for one in several]
)
def test_what_one_side_does_not_tell_makes_an_axis_unknown(name, other):
    assert state(name, other) == "unknown"
    assert state(name, other, other) == "unknown"


def test_a_difference_that_is_known_counts_although_the_rest_is_not():
    assert state("driver and clocks", run(clocks=(), device=replace(DEVICE, driver="9.1"))) == (
        "different"
    )


def test_of_a_difference_only_what_differs_is_said():
    axis = axis_of("torch build", MADE, run(environment={"torch_git": "0" * 40}))
    assert (axis.a, axis.b) == ("git 70d99e998b49", "git 000000000000")


def test_a_list_names_a_few_things_and_counts_the_rest():
    assert NAMED == 3
    assert listed(["a", "b", None, "a", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert listed([None]) is None
    assert len(listed(["x" * 10_000])) < 200


def test_kineto_files_of_two_cuda_runtimes_had_two_torch_builds():
    files = [
        replace(KINETO, device=Device(kind="cuda", name="A", properties={name: version}))
        for name, version in (
            ("cuda_runtime_version", 12040),
            ("cuda_runtime_version", 13000),
            ("hip_runtime_version", 13000),
        )
    ]
    assert state("torch build", files[0], files[0]) == "unknown"
    assert state("torch build", files[0], files[1]) == "different"
    assert state("torch build", files[1], files[2]) == "different"


def test_a_drivers_version_is_not_compared_with_that_of_its_api():
    kineto = other_device(driver="13000")
    assert state("driver and clocks", kineto, other_device(driver="12040")) == "different"
    assert state("driver and clocks", kineto, MADE) == "unknown"


def test_the_host_is_the_device_of_what_runs_on_it():
    def on_host(cpu):
        return run(device=Device(kind="cpu"), host=replace(MADE.host, cpu=cpu))

    assert state("device", on_host("Xeon"), on_host("Xeon")) == "same"
    assert state("device", on_host("Xeon"), on_host("EPYC")) == "different"


def test_ranks_on_a_device_each_are_several_devices():
    ranks = trace_of(MADE, devices=[(0, 0), (1, 0)])
    axis = axis_of("device", ranks, trace_of(MADE, devices=[(0, 0)]))
    assert (axis.a, axis.b) == ("2 devices", "1 device")


def test_what_was_loaded_belongs_to_the_routing_of_a_route():
    def loaded(value):
        return trace_of(MADE, witnesses=[("flag_gems imported", value)])

    assert state("routing", loaded("true"), loaded("true")) == "same"
    assert state("routing", loaded("true"), loaded("false")) == "different"
    assert state("routing", trace_of(MADE), loaded("false")) == "same"


def test_what_processes_said_of_the_rules_belongs_to_the_protocol():
    def traced(value):
        return trace_of(MADE, witnesses=[("tracing", value)])

    assert state("protocol", traced("none"), traced("none")) == "same"
    assert state("protocol", traced("none"), traced("active")) == "different"


def test_the_configuration_that_autotuning_chose_is_never_known():
    def tuned(count):
        return trace_of(MADE, witnesses=[(TUNED, count)])

    name = "autotuned configuration"
    assert state(name, tuned("0"), tuned("0")) == "unknown"
    assert state(name, tuned("0"), tuned("unknown")) == "unknown"
    assert state(name, tuned("3"), tuned("5")) == "unknown"
    assert state(name, tuned("0"), tuned("3")) == "different"


def test_a_hidden_value_is_not_taken_for_the_same_nor_for_another():
    hidden, told = (run(environment={"variables": {"FLAGOS_X": one}}) for one in ("(hidden)", "1"))
    assert "routing" not in different(hidden, told)


def test_sources_that_old_runs_witnessed_are_compared():
    def old(digest):
        made = run(tool="fgtrace", environment={"modules": {}})
        return trace_of(made, witnesses=[("sha256 of ours.repeat", digest)])

    assert "library versions and code revision" not in different(old("a" * 64))
    assert "library versions and code revision" in different(old("b" * 64))


@pytest.mark.parametrize("modules", [{}, {**ENVIRONMENT.modules, "ours.more": "c" * 64}])
def test_sources_that_one_side_alone_tells_are_not_known(modules):
    told = run(environment={"modules": modules})
    assert state("library versions and code revision", told) == "unknown"
    assert state("library versions and code revision", told, told) == "same"


def test_sources_that_only_another_case_needs_are_no_difference():
    more = run(
        environment={"modules": {**ENVIRONMENT.modules, "ours.gather": "c" * 64}},
        parameters={**MADE.parameters, "gather": {}},
    )
    wider = trace_of(more, cases=["repeat", "gather"])
    assert state("library versions and code revision", wider) == "same"


def environment(route, **fields):
    return replace(ENVIRONMENT, **{"route": route, **fields})


def test_routes_are_compared_with_their_namesakes():
    ours = run(environments=(environment("aten", triton="3.5.0"), environment("triton")))
    assert state("triton build", ours, MADE) == "same"
    theirs = run(environments=(environment("aten"), environment("flaggems")))
    assert state("triton build", ours, theirs) == "different"
    assert state("routing", ours, theirs) == "same"


def test_without_a_namesake_each_route_is_compared_with_each():
    def of(route, version):
        return environment(route, triton=version, packages={"numpy": "2.5.2"})

    ours = run(environments=(of("aten", "3.6.0"), of("mine", "3.7.0")))
    theirs = run(environments=(of("flaggems", "3.6.0"), of("triton", "3.5.0")))
    there, back = (axis_of("triton build", *pair) for pair in ((ours, theirs), (theirs, ours)))
    assert there == replace(back, a=back.b, b=back.a)
    assert {*there.a.split(", ")} == {"3.6.0", "3.7.0"}
    assert {*there.b.split(", ")} == {"3.6.0", "3.5.0"}


def test_of_other_routes_the_versions_count_that_both_have():
    gems = environment(
        "flaggems",
        packages={**ENVIRONMENT.packages, "flag-gems": "5.0.2"},
        modules={"flag_gems.repeat": "d" * 64},
    )
    assert different(run(environments=(gems,))) == ["routing"]
    assert state("library versions and code revision", run(environments=(gems,))) == "same"
    newer = replace(gems, packages={"numpy": "3.0"})
    assert "library versions and code revision" in different(run(environments=(newer,)))


def test_a_selection_of_calls_tells_the_cases_that_are_compared():
    def chosen(case):
        both = trace_of(MADE, cases=["repeat", "gather"])
        return both.having(calls=both.calls.filter(case=case))

    assert state("case and sizes", chosen("repeat"), chosen("gather")) == "different"
    unprofiled = [trace_of(MADE, cases=[case], calls=False) for case in ("repeat", "gather")]
    assert state("case and sizes", *unprofiled) == "different"


def summary(one, other=MADE):
    sides = [trace_of(side) if isinstance(side, Provenance) else side for side in (one, other)]
    return comparability(*sides).summary


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (MADE, "same stack"),
        (run(environment={"route": "aten"}), "route isolation"),
        (run(tool="fgtrace 0.2.0"), "code revision"),
        (other_device(name="NVIDIA H100"), "stack comparison"),
        (other_device(driver="581.0"), "stack comparison"),
        (run(environment={"torch": "2.12.0"}), "stack comparison"),
        (run(environment={"triton": "3.7.0"}), "stack comparison"),
        (run(profiler="rocprofv3", environment={"triton": "3.7.0"}), "cross-profiler"),
        # Two things that differ isolate neither.
        (run(tool="fgtrace 0.2.0", environment={"route": "aten"}), "stack comparison"),
        (run(protocol=None, environment={"route": "aten"}), "route isolation"),
        (
            run(protocol=replace(PROTOCOL, cache="cold"), environment={"route": "aten"}),
            "stack comparison",
        ),
        (run(protocol=replace(PROTOCOL, cache="cold")), "same stack"),
        (KINETO, "same stack"),
    ],
)
def test_the_summary_names_what_the_comparison_is_of(other, expected):
    assert summary(other) == expected


def test_the_sentence_counts_what_is_not_known():
    def sentence(one, other=MADE):
        return comparability(trace_of(one), trace_of(other)).sentence

    by_routes = run(environment={"route": "aten"})
    assert sentence(by_routes) == (
        "The same case on the same stack by two routes: differences belong to the routes, "
        "as far as 1 axis that is not known allows."
    )
    assert sentence(replace(by_routes, clocks=(), parameters={})) == (
        "Only the routes are known to differ: differences belong to them, "
        "as far as 3 axes that are not known allow."
    )
    assert sentence(MADE) == (
        "Nothing is known to differ, but 1 of 11 axes is not known: "
        "that is no proof of the same stack."
    )
    assert sentence(Provenance(), Provenance()).startswith(
        "Nothing is known to differ, but 11 of 11 axes are not known"
    )
    assert "how, does: cache state; 1 of 11 axes is not known." in sentence(
        run(protocol=replace(PROTOCOL, cache="cold"))
    )
    assert sentence(other_device(driver="581.0", name="B")).startswith(
        "What differs is device, driver and clocks: "
    )


def profiler_forbids(one, other):
    return axis_of("profiler and its options", one, other).forbids


def test_across_profilers_there_are_no_verdicts_and_no_percentages():
    found = comparability(trace_of(MADE), trace_of(run(profiler="hipprof")))
    assert (found.summary, found.verdicts, found.percentages) == ("cross-profiler", False, False)
    assert profiler_forbids(MADE, run(profiler="hipprof")) == ACROSS
    assert found.sentence.lower() == f"{ACROSS}.".lower()


def test_a_run_without_profiles_is_compared_by_the_stopwatch():
    unprofiled = trace_of(run(profiler="none"))
    assert comparability(unprofiled, trace_of(MADE)).verdicts
    assert profiler_forbids(unprofiled, MADE) == ONE_PROFILE
    untimed = trace_of(MADE, stopwatch=False)
    assert not comparability(unprofiled, untimed).verdicts
    assert profiler_forbids(unprofiled, untimed) == NOTHING_ALIKE
    # It has no options that anybody could know.
    bare = replace(unprofiled.provenance, profiler_options={})
    assert state("profiler and its options", bare, bare) == "same"


def test_other_options_forbid_something_else_than_other_profilers():
    stacked = run(profiler_options={"with_stack": True})
    assert profiler_forbids(MADE, stacked) not in (ACROSS, ONE_PROFILE, NOTHING_ALIKE)


@pytest.mark.parametrize(
    ("other", "verdicts"),
    [
        (MADE, True),
        (trace_of(MADE, cases=["gather"]), False),
        (run(parameters={"repeat": {"rows": 256}}), False),
        (run(parameters={}), True),
        (other_device(name="NVIDIA H100"), True),
    ],
)
def test_other_work_gets_no_verdicts_and_keeps_its_percentages(other, verdicts):
    other = trace_of(other) if isinstance(other, Provenance) else other
    found = comparability(trace_of(MADE), other)
    assert (found.verdicts, found.percentages) == (verdicts, True)


few = st.sampled_from(["a", "b", "1.0", "13000"])
maybe = st.none() | few
words = st.dictionaries(
    st.sampled_from(["numpy", "triton", "flagtree", "FLAGOS_A", "USE_FLAGGEMS", "OMP"]), few
)
environments = st.builds(
    Environment,
    route=st.sampled_from(["aten", "triton", "flaggems", "mine"]),
    python=few,
    torch=maybe,
    torch_git=maybe,
    cuda=maybe,
    triton=maybe,
    packages=words,
    variables=words,
    modules=words,
    threads=st.none() | st.integers(1, 2),
    interpreted=st.booleans(),
)
made = st.builds(
    Provenance,
    tool=st.sampled_from([None, "fgtrace", "fgtrace 1", "fgtrace 2"]),
    profiler=st.sampled_from([None, "kineto", "none", "hipprof"]),
    profiler_options=st.dictionaries(few, st.booleans() | few, max_size=2),
    parameters=st.dictionaries(few, st.dictionaries(few, st.integers(1, 2)), max_size=3),
    set_variables=words,
    protocol=st.none()
    | st.builds(Protocol, name=few, seed=st.just(1), generations=st.integers(1, 2), cache=few),
    device=st.none() | st.builds(Device, kind=few, name=maybe, driver=maybe),
    environments=st.lists(environments, max_size=3, unique_by=lambda one: one.route).map(tuple),
    clocks=st.lists(
        st.builds(
            Clocks, when=st.just("during"), sm_mhz=st.none() | st.sampled_from([0, 100, 103, 104])
        ),
        max_size=3,
    ).map(tuple),
    host=st.none() | st.builds(Host, system=few, machine=few, cpu=maybe, governor=maybe),
)
traces = st.builds(
    trace_of,
    made,
    cases=st.lists(few, max_size=3, unique=True),
    witnesses=st.lists(
        st.tuples(
            st.sampled_from([TUNED, "tracing", "flag_gems imported", "sha256 of numpy"]),
            st.sampled_from(["0", "1", "unknown"]),
        ),
        max_size=3,
    ),
    stopwatch=st.booleans(),
    calls=st.booleans(),
    devices=st.lists(st.tuples(st.none() | st.integers(0, 1), st.integers(0, 1)), max_size=3),
)


@settings(max_examples=60)
@given(one=traces, other=traces)
def test_swapping_the_sides_swaps_what_each_says_and_nothing_else(one, other):
    there, back = comparability(one, other), comparability(other, one)
    swapped = tuple(replace(axis, a=axis.b, b=axis.a) for axis in back.axes)
    assert there == replace(back, axes=swapped)


@settings(max_examples=60)
@given(one=traces, other=traces)
def test_an_axis_forbids_something_unless_it_is_the_same(one, other):
    found = comparability(one, other)
    assert [axis.name for axis in found.axes] == list(AXES)
    for axis in found.axes:
        assert (axis.forbids is None) == (axis.state == "same")
        if axis.state == "different":
            assert None not in (axis.a, axis.b)
            assert axis.a != axis.b


@settings(max_examples=60)
@given(one=traces)
def test_a_recording_differs_in_nothing_from_itself(one):
    found = comparability(one, one)
    assert "different" not in [axis.state for axis in found.axes]
    assert (found.summary, found.verdicts, found.percentages) == ("same stack", True, True)


def test_the_page_has_every_axis_with_what_it_forbids():
    page = (Path(__file__).parents[2] / "docs/comparability.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| .+? \| (.+?) \|$", page, flags=re.MULTILINE)
    assert [row for row in rows if row[0] in AXES] == [
        (name, rule.different) for name, rule in AXES.items()
    ]


def test_the_sample_is_the_same_as_itself_but_for_what_it_does_not_tell():
    sample = open_trace(SAMPLES / "h200.fgtrace")
    found = comparability(sample, sample)
    assert found.summary == "same stack"
    unknown = [axis.name for axis in found.axes if axis.state == "unknown"]
    # It was recorded before fgtrace had a version.
    assert unknown == ["library versions and code revision", "autotuned configuration"]


def test_two_profiles_of_the_sample_are_of_two_routes():
    raw = SAMPLES / "h200.fgtrace" / "raw"
    one, other = (
        open_trace(raw / f"{route}.repeat_values_known.g0.json.gz") for route in ("aten", "triton")
    )
    found = comparability(one, other)
    assert found.summary == "route isolation"
    assert different(one, other) == ["routing"]
    assert "9 axes that are not known" in found.sentence


def test_other_devices_make_a_stack_comparison(shared):
    one, other = (
        open_trace(shared / "traces" / f"hta_trace_diff_{name}.json.gz", cache=False)
        for name in ("control_a100", "test_v100_cudagraph")
    )
    found = comparability(one, other)
    assert found.summary == "stack comparison"
    assert different(one, other) == ["device"]
    assert "A100" in found.axes[0].a
    assert "V100" in found.axes[0].b


def test_old_files_of_two_routes_that_name_none_prove_nothing(shared):
    one, other = (
        open_trace(shared / "traces/h200" / f"{route}.repeat_values_known.json.gz", cache=False)
        for route in ("flaggems", "native")
    )
    found = comparability(one, other)
    states = {axis.name: axis.state for axis in found.axes}
    assert found.summary == "same stack"
    assert (states["device"], states["routing"]) == ("same", "unknown")
    assert "no proof" in found.sentence
