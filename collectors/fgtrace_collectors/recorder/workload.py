"""A case made ready for one route: inputs on the device, the callable, and whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from fgtrace_collectors.recorder.devices import Device


@dataclass(frozen=True)
class Workload:
    """A case with its parameters: the case, one of its sizes, or one variant of a factorial."""

    case: str
    """As it is registered."""
    name: str
    """As it is called in what is recorded, with its size in a sweep."""
    operator: str
    params: Dict[str, int]
    variant: Optional[str] = None
    """The state of each switched part, as `readback=1,index_check=0`; None outside a factorial."""
    full: bool = True
    """Every part is on: this variant is the call that is profiled."""

    @property
    def key(self) -> str:
        """Tell it from the others in one process."""
        return self.name if self.variant is None else f"{self.name}[{self.variant}]"


def variants(
    case: Any, name: str, params: Mapping[str, int], parts: Sequence[str]
) -> List[Workload]:
    """Give every combination of parts, the full one first; without parts the case itself."""
    if not parts:
        return [Workload(case.name, name, case.operator, dict(params))]
    return [
        Workload(
            case.name,
            name,
            case.operator,
            {**params, **dict(zip(parts, states))},
            variant=",".join(f"{part}={state}" for part, state in zip(parts, states)),
            full=all(states),
        )
        for states in product((1, 0), repeat=len(parts))
    ]


def prepare(
    case: Any, implementation: Callable[..., Any], params: Mapping[str, int], device: Device
) -> Tuple[Callable[[], Any], str]:
    """Build the inputs on the host, move them over, and compare one call with the reference.

    Gives the call without arguments, and "ok" or what differs.
    """
    arguments, keywords = case.arguments(params)
    expected = case.reference(*arguments, **keywords)
    call = partial(
        implementation,
        *(_moved(device, argument) for argument in arguments),
        **{name: _moved(device, argument) for name, argument in keywords.items()},
    )
    actual = call()
    device.synchronize()
    place = getattr(getattr(actual, "device", None), "type", device.kind.name)
    if place != device.kind.name:
        return call, f"the result is on {place}, expected on {device.name}"
    return call, difference(device.torch, actual, expected, case.rtol, case.atol)


def difference(torch: Any, actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """Say "ok", or in one sentence how a result differs from what it should be.

    Data types and shapes must be the same. Values must be equal, or for floating point within
    `atol + rtol * |expected|`.
    """
    if not isinstance(actual, torch.Tensor):
        return f"a {type(actual).__name__} came back, not a tensor"
    found = actual.detach().cpu()
    if found.dtype != expected.dtype:
        return f"dtype is {found.dtype}, expected {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape is {tuple(found.shape)}, expected {tuple(expected.shape)}"
    if torch.equal(found, expected):
        return "ok"
    if expected.is_floating_point() and (rtol or atol):
        wrong = ~torch.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    else:
        wrong = found != expected
    count = int(wrong.sum())
    if count == 0:
        return "ok"
    place = tuple(int(index) for index in wrong.nonzero()[0])
    return (
        f"{count} of {expected.numel()} values differ, first at {place}: "
        f"{found[place].item()}, expected {expected[place].item()}"
    )


def _moved(device: Device, argument: Any) -> Any:
    if isinstance(argument, device.torch.Tensor):
        return argument.to(device.name)
    return argument


def effective_parameters(
    case: Any, asked: Mapping[str, int], interpreted: bool
) -> Tuple[Dict[str, int], bool]:
    """Fill in defaults; under Triton's interpreter, its smaller ones for what nobody asked for.

    Gives the parameters and whether any is smaller than its default.
    """
    params: Dict[str, int] = {**case.defaults(interpreted=interpreted), **asked}
    shrunk = any(
        params[name] != value for name, value in case.defaults().items() if name not in asked
    )
    return params, shrunk
