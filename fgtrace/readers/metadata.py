"""What a Kineto trace says about its making, as far as it is on the allow-list."""

from __future__ import annotations

from typing import Any

import msgspec

from fgtrace.frames.provenance import Device, Provenance
from fgtrace.readers.numbers import whole
from fgtrace.readers.repair import repairs

_OPTIONS = ("record_shapes", "with_stack", "with_modules", "with_flops", "profile_memory")
_PROPERTIES = (
    "computeMajor",
    "computeMinor",
    "maxThreadsPerBlock",
    "maxThreadsPerMultiprocessor",
    "numSms",
    "regsPerBlock",
    "regsPerMultiprocessor",
    "sharedMemPerBlock",
    "sharedMemPerBlockOptin",
    "sharedMemPerMultiprocessor",
    "totalGlobalMem",
    "warpSize",
)


class Metadata(msgspec.Struct, frozen=True):
    """The allow-list: what else a file says is never decoded."""

    device_properties: Any = msgspec.field(default=None, name="deviceProperties")
    distributed: Any = msgspec.field(default=None, name="distributedInfo")
    base_time_ns: Any = msgspec.field(default=None, name="baseTimeNanoseconds")
    cuda_driver_version: Any = None
    cuda_runtime_version: Any = None
    hip_driver_version: Any = None
    hip_runtime_version: Any = None
    record_shapes: Any = None
    with_stack: Any = None
    with_modules: Any = None
    with_flops: Any = None
    profile_memory: Any = None

    @property
    def rank(self) -> int | None:
        """The process's rank in a distributed job."""
        rank = self.distributed.get("rank") if isinstance(self.distributed, dict) else None
        return rank if type(rank) is int and -(2**31) <= rank < 2**31 else None

    def provenance(self, used_device: int | None) -> Provenance:
        """Make the provenance of a recording whose work ran on a device."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        return Provenance(
            profiler="kineto",
            profiler_options={
                name: bool(value) for name, value in options.items() if isinstance(value, int)
            },
            base_time_ns=whole(self.base_time_ns),
            device=self._device(used_device),
        )

    def _device(self, used: int | None) -> Device | None:
        listed = self.device_properties if isinstance(self.device_properties, list) else []
        known = [entry for entry in listed if isinstance(entry, dict)]
        if not known:
            return None
        chosen = next((entry for entry in known if entry.get("id") == used), known[0])
        properties = {
            **{name: chosen.get(name) for name in _PROPERTIES},
            "cuda_runtime_version": self.cuda_runtime_version,
            "hip_runtime_version": self.hip_runtime_version,
        }
        driver = whole(self.cuda_driver_version or self.hip_driver_version)
        name = chosen.get("name")
        return Device(
            kind="cuda",
            index=whole(chosen.get("id")),
            name=name if isinstance(name, str) else None,
            driver=None if driver is None else str(driver),
            properties={key: value for key, value in properties.items() if type(value) is int},
        )


class RepairedMetadata(Metadata, frozen=True):
    """The same, out of text that is damaged."""


def read_metadata(text: bytes) -> Metadata | None:
    """Read what stands around the list of events; None where it cannot be read."""
    if not text:
        return Metadata()
    try:
        return msgspec.json.decode(text, type=Metadata)
    except (msgspec.DecodeError, RecursionError):
        pass
    for repaired, _ in repairs(text):
        try:
            return msgspec.json.decode(repaired, type=RepairedMetadata)
        except (msgspec.DecodeError, RecursionError):
            continue
    return None
