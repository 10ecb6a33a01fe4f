"""The events of a trace, some at a time, whatever part of its text is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic

import msgspec

from fgtrace.errors import FgtraceError
from fgtrace.readers.inputs import Input, truncated, unreadable
from fgtrace.readers.marks import Times
from fgtrace.readers.pieces import Piece, Pieces
from fgtrace.readers.salvage import Event, Salvaged, list_may_end, salvage
from fgtrace.readers.values import CUT_OFF, value_end


@dataclass(frozen=True)
class Run(Generic[Event]):
    """Events that follow each other in a document of the file."""

    events: list[Event]
    text: bytes | memoryview
    document: int
    offset: int
    """Where their text begins, in bytes of the decompressed file."""
    salvaged: Salvaged[Event] | None = None
    """How they were read, where their text was damaged."""

    @cached_property
    def times(self) -> list[Times]:
        """The text of the events' times."""
        texts = [self.text] if self.salvaged is None else self.salvaged.texts
        return [times for text in texts for times in _TIMES.decode(_listed(text))]


_TIMES = msgspec.json.Decoder(list[Times])
_OBJECTS = msgspec.json.Decoder(list[msgspec.Raw])


class EventStream(Generic[Event]):
    """Decodes a trace's events, piece by piece; what is told of the whole is set at the end.

    `event_type` is a struct, or a union of tagged ones. What it does not take becomes `unknown`,
    which takes any object.
    """

    def __init__(self, source: Input, event_type: Any, unknown: type[Event]) -> None:
        self._source = source
        self._pieces = Pieces(source.blocks())
        self._decoder: msgspec.json.Decoder[list[Event]] = msgspec.json.Decoder(list[event_type])
        self._one: msgspec.json.Decoder[Event] = msgspec.json.Decoder(event_type)
        self._unknown = msgspec.json.Decoder(unknown)

    def __iter__(self) -> Iterator[Run[Event]]:
        """Give all events in the order of the file."""
        for piece in self._pieces:
            # The last piece has more than events in it.
            events = None if piece.last else self._decoded(piece.view)
            if events is None:
                yield self._with_list_end(piece)
            else:
                yield Run(events, piece.view, piece.document, piece.offset)
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

    def _with_list_end(self, piece: Piece) -> Run[Event]:
        """Decode a piece in which the list of events ends, or that is damaged."""
        text = piece.text
        end = value_end(b"[" + text)
        if end is not None and end != CUT_OFF:
            bracket = text.rindex(b"]", 0, end - 1)
            is_end = list_may_end(text, bracket, bare=piece.bare)
            events = self._decoded(text[:bracket]) if is_end else None
            if events is not None:
                self._pieces.end_list(piece, bracket)
                return Run(events, text[:bracket], piece.document, piece.offset)
        final = piece.last or piece.full
        salvaged = salvage(text, self._decoded, bare=piece.bare, final=final)
        if salvaged.list_end is not None:
            self._pieces.end_list(piece, salvaged.list_end)
        elif salvaged.unsettled is not None:
            self._pieces.put_back(piece, salvaged.unsettled)
        elif salvaged.unfinished and not piece.last:
            salvaged.skipped += 1
        return Run(salvaged.events, text, piece.document, piece.offset, salvaged)

    def _decoded(self, text: bytes | memoryview) -> list[Event] | None:
        listed = _listed(text)
        try:
            return self._decoder.decode(listed)
        except msgspec.ValidationError:
            return self._one_by_one(listed)
        except (msgspec.DecodeError, RecursionError):
            return None

    def _one_by_one(self, listed: bytes) -> list[Event] | None:
        """Decode objects of which some are not of the type of events."""
        events: list[Event] = []
        try:
            for text in _OBJECTS.decode(listed):
                try:
                    events.append(self._one.decode(text))
                except msgspec.ValidationError as error:
                    if "out of range" in str(error):  # a number
                        return None
                    events.append(self._unknown.decode(text))
        except (msgspec.DecodeError, RecursionError):
            return None
        return events


def _listed(text: bytes | memoryview) -> bytes:
    end = len(text)
    while end and text[end - 1] in b" \t\r\n":
        end -= 1
    if end and text[end - 1] == ord(","):
        end -= 1
    return b"".join((b"[", memoryview(text)[:end], b"]"))


def _no_events(source: Input, begun: bytes) -> FgtraceError:
    hint = "a Kineto trace is what torch.profiler's export_chrome_trace writes"
    try:
        msgspec.json.decode(begun, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError) as error:
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
