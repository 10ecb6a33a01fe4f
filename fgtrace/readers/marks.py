"""What is taken from each mark of a trace file: an event, or a part of one, or what is none."""

from __future__ import annotations

from typing import Any, Union, cast

import msgspec


class Args(msgspec.Struct, gc=False):
    """The arguments that are taken. Each was met as a number and as text."""

    correlation: Any = None
    external_id: Any = msgspec.field(default=None, name="External id")
    old_external_id: Any = msgspec.field(default=None, name="external id")
    device: Any = None
    stream: Any = None
    bytes: Any = None
    kind: Any = None


class Mark(msgspec.Struct, gc=False, tag_field="ph"):
    """Anything in the list of events. Its phase `ph` says which class it becomes."""

    @property
    def ph(self) -> Any:
        """The phase."""
        return type(self).__struct_config__.tag


class Unknown(msgspec.Struct, gc=False):
    """What has no phase, or one that the format does not know."""

    ph: Any = None


class Timed(Mark, gc=False):
    """A mark with a place in time. Everything that is not named is skipped without being kept."""

    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    args: Args | list[Any] | str | int | float | bool | None = None


class Complete(Timed, gc=False, tag="X"):
    """An event with its duration."""

    dur: Any = None


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
