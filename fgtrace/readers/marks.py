"""What is taken from each mark of a trace file: an event, or a part of one, or what is none."""

from __future__ import annotations

from typing import Any, TypedDict, Union, cast

import msgspec


class _Object(TypedDict):
    """An object where a plain value belongs."""


class _List(msgspec.Struct, gc=False, array_like=True):
    """A list where a plain value belongs."""


# Nothing of either is taken: Polars takes time without bound for lists deep inside lists.
Value = str | int | float | bool | _Object | _List | None


class Args(msgspec.Struct, gc=False):
    """The arguments that are taken. Each was met as a number and as text."""

    correlation: Value = None
    external_id: Value = msgspec.field(default=None, name="External id")
    old_external_id: Value = msgspec.field(default=None, name="external id")
    device: Value = None
    stream: Value = None
    bytes: Value = None
    kind: Value = None


class Mark(msgspec.Struct, gc=False, tag_field="ph"):
    """Anything in the list of events. Its phase `ph` says which class it becomes."""

    @property
    def ph(self) -> Any:
        """The phase."""
        return type(self).__struct_config__.tag


class Unknown(msgspec.Struct, gc=False):
    """What has no phase, or one that the format does not know."""

    ph: Value = None


class Timed(Mark, gc=False):
    """A mark with a place in time. Everything that is not named is skipped without being kept."""

    cat: Value = None
    name: Value = None
    pid: Value = None
    tid: Value = None
    ts: Value = None
    args: Args | list[msgspec.Raw] | str | int | float | bool | None = None


class Complete(Timed, gc=False, tag="X"):
    """An event with its duration."""

    dur: Value = None


class Begin(Timed, gc=False, tag="B"):
    """The begin of an event."""


class End(Timed, gc=False, tag="E"):
    """The end of an event."""


class Instant(Timed, gc=False, tag="i"):
    """An event without a length."""


class OldInstant(Timed, gc=False, tag="I"):
    """The same, as older files have it."""


class Navigation(Timed, gc=False, tag="R"):
    """The same, once more."""


class Counter(Timed, gc=False, tag="C"):
    """A value at a time."""


def _named(phase: str) -> type[Mark]:
    made = msgspec.defstruct(f"Phase_{ord(phase)}", [], bases=(Mark,), tag=phase, gc=False)
    return cast(type[Mark], made)


_TIMED: tuple[type[Mark], ...] = (Complete, Begin, End, Instant, OldInstant, Navigation, Counter)

_NO_EVENTS = tuple(_named(phase) for phase in "Mstf")
"""Names of rows, and arrows between events."""

_NOT_READ = tuple(_named(phase) for phase in "bneSTpFPNODcVva()")
"""The other phases that the format knows."""

AnyMark = Mark | Unknown

MARKS: Any = Union[(*_TIMED, *_NO_EVENTS, *_NOT_READ)]
"""The type to decode a mark as."""

UNDERSTOOD = frozenset(mark().ph for mark in (*_TIMED, *_NO_EVENTS))
"""The phases of which nothing is lost."""


class Times(msgspec.Struct, gc=False):
    """The text of an event's times: no float holds large ones."""

    ts: msgspec.Raw = msgspec.Raw(b"null")
    dur: msgspec.Raw = msgspec.Raw(b"null")
