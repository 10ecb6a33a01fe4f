"""The events of a trace, some at a time, whatever part of its text is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from fgtrace.errors import FgtraceError
from fgtrace.readers.inputs import Input, truncated, unreadable
from fgtrace.readers.marks import Times
from fgtrace.readers.pieces import Pieces, ends_document, is_event, last_places, list_ends
from fgtrace.readers.repair import Salvaged, salvage

Event = TypeVar("Event")


@dataclass(frozen=True)
class Run(Generic[Event]):
    """Events that follow each other in a document of the file."""

    events: list[Event]
    text: bytes
    document: int
    offset: int
    """Where their text begins, in bytes of the decompressed file."""
    salvaged: Salvaged[tuple[Event, Times]] | None = None
    """How they were read, where their text was damaged."""

    @cached_property
    def times(self) -> list[Times]:
        """The text of the events' times."""
        if self.salvaged is not None:
            return [times for _, times in self.salvaged.events]
        return _TIMES.decode(_listed(self.text))


_TIMES = msgspec.json.Decoder(list[Times])


class EventStream(Generic[Event]):
    """Decodes a trace's events, piece by piece; what is told of the whole is set at the end.

    `event_type` is a struct, or a union of tagged ones; what it does not take is no event.
    """

    def __init__(self, source: Input, event_type: Any) -> None:
        self._source = source
        self._pieces = Pieces(source.blocks())
        self._decoder: msgspec.json.Decoder[list[Event]] = msgspec.json.Decoder(list[event_type])

    def __iter__(self) -> Iterator[Run[Event]]:
        """Give all events in the order of the file."""
        for piece in self._pieces:
            text = piece.text
            # The last piece has more than events in it.
            events = None if piece.last else self._decoded(text)
            salvaged = None
            if events is None:
                end = _list_end(text, last=piece.last)
                if end is not None:
                    self._pieces.end_list(piece, end)
                    text = text[:end]
                comma = end is not None and text.rstrip().endswith(b",")
                events = self._decoded(text)
                if events is None or comma:
                    salvaged = salvage(text, self._with_times)
                    events = [event for event, _ in salvaged.events]
                    salvaged.fixes["trailing-comma"] += comma
            yield Run(events, text, piece.document, piece.offset, salvaged)
        if not self._pieces.metadata:
            raise _no_events(self._source, self._pieces.begun)

    @property
    def metadata(self) -> list[bytes]:
        """What stands around the list of events, as JSON; one for each document."""
        return self._pieces.metadata

    @property
    def stray(self) -> int:
        """How many bytes follow the end of the last document."""
        return self._pieces.stray

    @property
    def cut_off(self) -> str | None:
        """Why the file is not whole."""
        if self._source.damage is not None:
            return self._source.damage
        return None if self._pieces.whole else "the file stops before its end"

    def _decoded(self, text: bytes) -> list[Event] | None:
        try:
            return self._decoder.decode(_listed(text))
        except msgspec.DecodeError:
            return None

    def _with_times(self, text: bytes) -> list[tuple[Event, Times]] | None:
        events = self._decoded(text)
        return None if not events else list(zip(events, _TIMES.decode(_listed(text)), strict=True))


def _listed(text: bytes) -> bytes:
    return b"[" + text.rstrip(b", \t\r\n") + b"]"


def _list_end(text: bytes, *, last: bool) -> int | None:
    """Find the bracket that ends the list of events: the first that a whole event is before."""
    ends = list(list_ends(text))
    for end in ends:
        before = text[:end].rstrip(b", \t\r\n")
        if not before or any(is_event(before[place:]) for place in last_places(before)):
            return end
    # The last event may be damaged: what follows the list is then what tells.
    return next((end for end in ends if last and ends_document(text[end:])), None)


def _no_events(source: Input, begun: bytes) -> FgtraceError:
    hint = "a Kineto trace is what torch.profiler's export_chrome_trace writes"
    try:
        msgspec.json.decode(begun)
    except msgspec.DecodeError as error:
        if source.damage is not None or (begun[:1] in b"{[" and "truncated" in str(error)):
            return truncated(source.name, source.damage)
        return unreadable(
            f"{source.name} is not JSON that can be read: {error}", hint=hint, kind="not-json"
        )
    return unreadable(
        f"{source.name} is not a trace: it has no list of traceEvents",
        hint=hint,
        kind="unknown-format",
    )
