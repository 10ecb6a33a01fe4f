"""Find out what an operator call spends its time on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fgtrace.opening import open_trace as open

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def __getattr__(name: str) -> Any:
    if name == "open":
        # Polars takes 0.2 s to import, and `fgtrace --help` needs none of it.
        from fgtrace.opening import open_trace

        return open_trace
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
