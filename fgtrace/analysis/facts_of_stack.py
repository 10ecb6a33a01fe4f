"""What two recordings tell of what ran the calls: device, builds, sources, routes."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from fgtrace.analysis.facts import Fact, Sides, Words, witnessed, words
from fgtrace.frames.provenance import Environment, Provenance
from fgtrace.frames.trace import Trace

CLOCKS_APART = 1.03
"""Times that one median clock must be the other for the clocks to differ."""

COMPILING = ("FLAGTREE_BACKEND", "TRITON_INTERPRET")
"""Variables that say how Triton's code is run."""

_ROUTING = ("FLAGOS_", "FLAGGEMS_", "GEMS_", "USE_FLAGGEMS", "ALL_USE_")
_LOGGING = "FLAGOS_LOG"  # begins a variable's name as those do, and routes nothing

_TRITONS = ("triton", "pytorch-triton", "pytorch-triton-rocm", "flagtree")
_SERVING = ("torch_fl imported", "flag_gems imported")
_DIGITS = 12  # of a hash, are shown


def routes_calls(variable: str) -> bool:
    """Tell whether a variable chooses an implementation, by its name."""
    return variable.startswith(_ROUTING) and not variable.startswith(_LOGGING)


def device(sides: Sides) -> Iterator[Fact]:
    """Name the device, its kind and its size, and the host's processor.

    Memory is left out: two drivers report that of the same device differently.
    """
    yield sides.each_made(_device_name, needed=True)
    yield sides.each_made(lambda made: made.device.kind if made.device else None, needed=True)
    yield sides.each(_devices)
    yield sides.each_made(_multiprocessors)
    yield sides.each_made(_capability)
    yield sides.each_made(lambda made: made.host.cpu if made.host else None)


def _device_name(made: Provenance) -> Words:
    if made.device is None:
        return None
    on_host = made.host if made.device.kind == "cpu" else None
    return made.device.name or (on_host.cpu if on_host else None)


def _devices(trace: Trace) -> Words:
    used = trace.device_work.select("part", "device").drop_nulls().unique()
    count = used.join(trace.parts, on="part").select("rank", "device").n_unique()
    return {0: None, 1: "1 device"}.get(count, f"{count} devices")


def _multiprocessors(made: Provenance) -> Words:
    return words("{} multiprocessors", _property(made, "multi_processor_count", "numSms"))


def _capability(made: Provenance) -> Words:
    major = _property(made, "major", "computeMajor")
    return words("compute {}.{}", major, _property(made, "minor", "computeMinor"))


def _property(made: Provenance, *names: str) -> int | str | None:
    # torch and Kineto call the same property differently.
    has = made.device.properties if made.device else {}
    return next((has[name] for name in names if name in has), None)


def driver_and_clocks(sides: Sides) -> Iterator[Fact]:
    """Tell the driver's version, the median clock, and the processor's governor.

    Kineto tells the version of the driver's API, a number that several drivers share.
    """
    yield sides.each_made(lambda made: _driver(made, api=False), needed=True)
    yield sides.each_made(lambda made: _driver(made, api=True))
    a, b = (_clock(trace.provenance) for trace in sides.traces)
    low, high = sorted((a or 0, b or 0))
    near = high <= CLOCKS_APART * low
    yield Fact(words("{:g} MHz", a), words("{:g} MHz", b), needed=True, near=near)
    yield sides.each_made(
        lambda made: words("governor {}", made.host.governor) if made.host else None
    )


def _driver(made: Provenance, *, api: bool) -> Words:
    version = made.device.driver if made.device else None
    if version is None or version.isdecimal() != api:
        return None
    return f"driver API {version}" if api else f"driver {version}"


def _clock(made: Provenance) -> float | None:
    read = [one.sm_mhz for one in made.clocks if one.sm_mhz is not None]
    return median(read) if read else None


def torch_build(sides: Sides) -> Iterator[Fact]:
    """Tell torch's version, its sources' revision, and what it was built for."""
    yield from sides.each_environment(lambda found: found.torch, needed=True)
    yield from sides.each_environment(_revision, needed=True)
    yield from sides.each_environment(_toolkits)
    yield sides.each_made(_runtime)


def _runtime(made: Provenance) -> Words:
    # A Kineto file tells nothing else of torch.
    cuda, hip = (_property(made, f"{name}_runtime_version") for name in ("cuda", "hip"))
    return words("CUDA runtime {}", cuda) or words("HIP runtime {}", hip)


def _revision(found: Environment) -> Words:
    return f"git {found.torch_git[:_DIGITS]}" if found.torch_git else None


def _toolkits(found: Environment) -> Words:
    if found.torch is None:
        return None
    versions = (("CUDA", found.cuda), ("HIP", found.hip))
    built = [f"{name} {version}" for name, version in versions if version is not None]
    return " and ".join(built) or "no CUDA or HIP"


def triton_build(sides: Sides) -> Iterator[Fact]:
    """Tell Triton's version, that of the package it came in, and whether it is interpreted."""
    yield from sides.each_environment(_triton, needed=True)
    yield from sides.variables(COMPILING.__contains__)


def _triton(found: Environment) -> Words:
    if found.torch is None:
        return None  # nobody looked
    version = found.triton
    packages = [
        f"{name} {found.packages[name]}"
        for name in _TRITONS
        if found.packages.get(name, version) != version
    ]
    build = ", ".join([version, *packages] if version else packages) or "no Triton"
    return f"{build}, interpreted" if found.interpreted else build


def libraries(sides: Sides) -> Iterator[Fact]:
    """Tell the versions of fgtrace, Python and packages, and the sources that serve the routes.

    Other routes have other packages and sources: of theirs, those count that both have.
    """
    yield sides.each_made(_fgtrace, needed=True)
    yield from sides.each_environment(lambda found: f"Python {found.python}", needed=True)
    for one, other in sides.routes:
        same_route = one.route == other.route
        if one.environment and other.environment:
            yield from _versions(
                one.environment.packages, other.environment.packages, every=same_route
            )
        ours, theirs = one.modules, other.modules
        # Which sources there are depends on the cases too.
        same_cases = sides.cases[0] == sides.cases[1]
        every = same_route and (same_cases or not ours.keys() & theirs.keys())
        for name in _of_both(ours, theirs, every=every):
            yield Fact(_source(ours, name), _source(theirs, name), needed=every)


def _fgtrace(made: Provenance) -> Words:
    name, _, version = (made.tool or "").partition(" ")
    return f"{name} {version}" if version else None


def _versions(ours: dict[str, str], theirs: dict[str, str], *, every: bool) -> Iterator[Fact]:
    if not ours or not theirs:
        yield Fact(None, None, needed=True)
        return
    for name in _of_both(ours, theirs, every=every):
        if name not in ("torch", *_TRITONS):
            yield Fact(_version(ours, name), _version(theirs, name))


def _version(packages: dict[str, str], name: str) -> str:
    return f"{name} {packages[name]}" if name in packages else f"no {name}"


def _source(modules: dict[str, str], name: str) -> Words:
    return f"{name} {modules[name][:_DIGITS]}" if name in modules else None


def _of_both(ours: dict[str, str], theirs: dict[str, str], *, every: bool) -> list[str]:
    return sorted(ours.keys() | theirs.keys() if every else ours.keys() & theirs.keys())


def routing(sides: Sides) -> Iterator[Fact]:
    """Name the routes, the variables that choose an implementation, and what was loaded."""
    for one, other in sides.routes:
        yield Fact(one.route, other.route, needed=True)
    # That no variable is set is known where the environment is.
    yield from sides.each_environment(lambda found: _routed(found.variables), needed=True)
    yield from sides.variables(routes_calls)
    for one, other in sides.routes:
        if one.route == other.route:
            yield from witnessed(one, other, _SERVING)


def _routed(variables: dict[str, str]) -> str:
    return f"routing variables: {sum(map(routes_calls, variables)) or 'none'}"
