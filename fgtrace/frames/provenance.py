"""Where a recording comes from: software, device, protocol and the state of the machine.

Every field is named here, so that decoding is the allow-list: what a file says beyond it
(environment dumps hold secrets) is dropped.
"""

from __future__ import annotations

import msgspec


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """The accelerator, or the host where a case ran on it."""

    kind: str
    """cpu, cuda, xpu, flagos"""
    index: int | None = None
    name: str | None = None
    uuid: str | None = None
    driver: str | None = None
    properties: dict[str, int | str] = {}


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter that a route ran in."""

    route: str
    python: str
    executable: str | None = None
    torch: str | None = None
    torch_git: str | None = None
    cuda: str | None = None
    hip: str | None = None
    triton: str | None = None
    packages: dict[str, str] = {}
    """Versions of the distributions that can change a result, by name."""
    variables: dict[str, str] = {}
    """Environment variables of the allow-list."""
    modules: dict[str, str] = {}
    """sha256 of the source files that serve the route, by module name."""
    threads: int | None = None
    interpreted: bool = False


class Clocks(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of the device's state; None where the device does not say."""

    when: str
    """before, during or after"""
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine."""

    system: str
    machine: str
    cpu: str | None = None
    cores: int | None = None
    governor: str | None = None


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """How the stopwatch was used."""

    name: str
    """quick, formal or founding"""
    seed: int
    generations: int
    warmup_s: float | None = None
    warmup_calls: int | None = None
    batches: int | None = None
    calls: int | None = None
    """Calls a batch where the protocol fixes them; else chosen a case, see `samples`."""
    profile_calls: int | None = None
    cache: str = "warm"
    """warm: inputs stay where the last call left them; cold: the L2 is flushed before each call"""
    budget_s: float | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known about the making of a trace."""

    tool: str | None = None
    created: str | None = None
    command: tuple[str, ...] = ()
    profiler: str | None = None
    profiler_options: dict[str, str | int | bool] = {}
    base_time_ns: int | None = None
    """What the profiler counted its times from, in nanoseconds of the epoch; not added to them."""
    parameters: dict[str, dict[str, int]] = {}
    """Parameters by case."""
    set_variables: dict[str, str] = {}
    """Variables given by the user with --set."""
    protocol: Protocol | None = None
    device: Device | None = None
    environments: tuple[Environment, ...] = ()
    clocks: tuple[Clocks, ...] = ()
    host: Host | None = None
    gates: tuple[str, ...] = ()
    """What a later run must not do, compared with this one: expressions of `diff --fail-on`."""
