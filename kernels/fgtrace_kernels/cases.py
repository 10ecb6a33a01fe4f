"""The bundled cases: named workloads with inputs, parameters and an expected result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Tuple

from fgtrace_kernels import reference

if TYPE_CHECKING:
    import torch

Values = Mapping[str, int]
Arguments = Tuple[Tuple[Any, ...], Dict[str, Any]]


@dataclass(frozen=True)
class Param:
    """A whole number that sizes or switches a case.

    `interpreted` is the value used, and the largest allowed, under Triton's interpreter; None
    leaves the default and the maximum as they are.
    """

    name: str
    default: int
    summary: str
    minimum: int = 1
    maximum: Optional[int] = None
    interpreted: Optional[int] = None


def _always_fits(values: Values) -> Optional[str]:
    return None


@dataclass(frozen=True)
class Case:
    """A workload, ready to be run by any route that has its operator.

    Attributes:
        name: what `--case` takes.
        summary: one line for a listing.
        operator: what a route is asked for.
        params: everything that can be set, in the order shown.
        arguments: parameter values to positional and keyword arguments; tensors on the CPU.
        reference: the same arguments to the expected result, on the CPU.
        misfit: a sentence when the values do not fit together, else None.
        parts: the parameters that switch a part off (0) and on (1), for a factorial.
        rtol: relative tolerance of the result; both 0 means equal.
        atol: absolute tolerance of the result.
    """

    name: str
    summary: str
    operator: str
    params: Tuple[Param, ...]
    arguments: Callable[[Values], Arguments]
    reference: Callable[..., torch.Tensor]
    misfit: Callable[[Values], Optional[str]] = _always_fits
    parts: Tuple[str, ...] = ()
    rtol: float = 0.0
    atol: float = 0.0

    def defaults(self, *, interpreted: bool = False) -> Dict[str, int]:
        """Give the value of every parameter that the user does not set."""
        return {
            param.name: param.interpreted
            if interpreted and param.interpreted is not None
            else param.default
            for param in self.params
        }


# The sizes of flagos-ai/FlagGems#7241.
SIZES = (
    Param("rows", 17096, "rows to repeat", interpreted=64),
    Param("items", 854524, "rows of the result", interpreted=3200),
)


def _x(values: Values) -> torch.Tensor:
    import torch

    return torch.arange(values["rows"], dtype=torch.int64)


def _repeats(values: Values) -> torch.Tensor:
    """Share `items` out evenly: every row gets the quotient, the first ones one more."""
    import torch

    quotient, remainder = divmod(values["items"], values["rows"])
    repeats = torch.full((values["rows"],), quotient, dtype=torch.int64)
    repeats[:remainder] += 1
    return repeats


def _values_dynamic(values: Values) -> Arguments:
    return (_x(values), _repeats(values)), {}


def _values_known(values: Values) -> Arguments:
    return (_x(values), _repeats(values)), {"output_size": values["items"]}


def _tensor_dynamic(values: Values) -> Arguments:
    return (_repeats(values),), {}


def _tensor_known(values: Values) -> Arguments:
    return (_repeats(values),), {"output_size": values["items"]}


def _select(values: Values) -> Arguments:
    return (_x(values), 0, reference.repeat_interleave(_repeats(values))), {}


def _switched(values: Values) -> Arguments:
    return (_x(values), _repeats(values)), {
        "output_size": values["items"],
        "readback": bool(values["readback"]),
        "index_check": bool(values["index_check"]),
    }


REPEAT_VALUES_DYNAMIC = Case(
    name="repeat_values_dynamic",
    summary="repeat_interleave(x, repeats): the length must be read back",
    operator="repeat_interleave",
    params=SIZES,
    arguments=_values_dynamic,
    reference=reference.repeat_interleave,
)

REPEAT_VALUES_KNOWN = Case(
    name="repeat_values_known",
    summary="repeat_interleave(x, repeats, output_size=items): nothing needs to be read back",
    operator="repeat_interleave",
    params=SIZES,
    arguments=_values_known,
    reference=reference.repeat_interleave,
)

REPEAT_TENSOR_DYNAMIC = Case(
    name="repeat_Tensor_dynamic",
    summary="repeat_interleave(repeats): the length must be read back",
    operator="repeat_interleave",
    params=SIZES,
    arguments=_tensor_dynamic,
    reference=reference.repeat_interleave,
)

REPEAT_TENSOR_KNOWN = Case(
    name="repeat_Tensor_known",
    summary="repeat_interleave(repeats, output_size=items): nothing needs to be read back",
    operator="repeat_interleave",
    params=SIZES,
    arguments=_tensor_known,
    reference=reference.repeat_interleave,
)

INDEX_SELECT_CHECKED = Case(
    name="index_select_checked",
    summary="index_select(x, 0, index) with the indices checked on the host",
    operator="index_select_checked",
    params=SIZES,
    arguments=_select,
    reference=reference.index_select,
)

INDEX_SELECT_UNCHECKED = Case(
    name="index_select_unchecked",
    summary="index_select(x, 0, index) without a check on the host",
    operator="index_select_unchecked",
    params=SIZES,
    arguments=_select,
    reference=reference.index_select,
)

REPEAT_VALUES_SWITCHED = Case(
    name="repeat_values_switched",
    summary="repeat_values_known with the readback and the index check each on or off",
    operator="repeat_values",
    params=(
        *SIZES,
        Param("readback", 1, "read the known length back: 0 or 1", minimum=0, maximum=1),
        Param("index_check", 1, "check the indices on the host: 0 or 1", minimum=0, maximum=1),
    ),
    arguments=_switched,
    reference=reference.repeat_values,
    parts=("readback", "index_check"),
)

CASES = (
    REPEAT_VALUES_DYNAMIC,
    REPEAT_VALUES_KNOWN,
    REPEAT_TENSOR_DYNAMIC,
    REPEAT_TENSOR_KNOWN,
    INDEX_SELECT_CHECKED,
    INDEX_SELECT_UNCHECKED,
    REPEAT_VALUES_SWITCHED,
)
