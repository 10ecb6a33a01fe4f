"""Events out of damaged text: each is repaired or skipped alone, so that no other one is lost."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

from fgtrace.readers.repair import opened, repairs
from fgtrace.readers.values import CUT_OFF, event_end, members_end, value_end


class HasPhase(Protocol):
    """An event of which at least the phase is decoded."""

    @property
    def ph(self) -> object:
        """What kind of mark it is; None where the object is no event."""


Event = TypeVar("Event", bound=HasPhase)

_PLACES = re.compile(
    rb"""(?:\}|\A)[^}"]{0,40}?(?=\{\s*+["}])"""  # whatever became of the comma
    rb"""|,\s*+(?=\{\s*+"(?:ph|name|cat|pid|tid|ts|args|id)"\s*+:)"""  # a lost closing brace
    rb"""|\}\s*+,(?=[^{"]{1,40}"?ph"?\s*+:)"""  # a lost opening brace
)
"""Where an event may begin. Some places lie inside of one, but none inside of a string."""

_SEPARATORS = re.compile(rb"[\s,]*+")
_LIST_ENDS = re.compile(rb'\}\s*+(?:,\s*+)?(?=\]\s*+(?:,\s*+"|[\[{}]|\Z))')
_AFTER_LIST = re.compile(rb'\s*+(?:,\s*+"|\}|\Z)')
_GOES_ON = re.compile(rb"[\s\0]*+[,{\[]")
_BLANK_END = re.compile(rb"[\s\0]*+\Z")
_OBJECT = re.compile(rb"[\s\0]*+(?=\{)")
_BARE_LIST = re.compile(rb"[\s\0]*+\[\s*+(?=\{)")
_HAS_PHASE = re.compile(rb'"ph"\s*+:\s*+"')
_AFTER_VALUE = re.compile(rb"[,\]]|\Z")

_MOST_JOINED = 8
_HEAD = 8 << 10
"""Bytes in which a document that follows another one is told."""


@dataclass
class Salvaged(Generic[Event]):
    """What could be read of damaged text."""

    events: list[Event] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    """What they were decoded from."""
    fixes: Counter[str] = field(default_factory=Counter)
    """Repaired events by kind of note; an event may need several."""
    skipped: int = 0
    first_skipped: int | None = None
    """Where the first skipped one begins in the text."""
    unfinished: bool = False
    """The text stops inside of an event, which is not among the skipped ones."""
    unsettled: int | None = None
    """From where on more of the text must be known."""
    list_end: int | None = None
    """Where the bracket is that ends the list of events."""

    def take(self, events: list[Event], text: bytes) -> None:
        """Take events that a text was decoded to."""
        self.events += events
        self.texts.append(text)


def list_may_end(text: bytes, bracket: int, *, bare: bool) -> bool:
    """Tell the bracket that ends the list from one that took a comma's place.

    A `bare` list is a whole document, with no object around it.
    """
    if not bare:
        return _AFTER_LIST.match(text, bracket + 1) is not None
    return _GOES_ON.match(text, bracket + 1) is None or _begins_document(text, bracket + 1)


def _begins_document(text: bytes, at: int) -> bool:
    """Tell a document that follows a bare list of events from one more event, or a part of one."""
    listed = _BARE_LIST.match(text, at)
    if listed is not None:
        return event_end(text, listed.end()) is not None
    another = _OBJECT.match(text, at)
    return (
        another is not None
        and event_end(text, another.end()) is None
        and text.find(b'"traceEvents"', at, at + _HEAD) >= 0
    )


def salvage(
    text: bytes,
    decode: Callable[[bytes], list[Event] | None],
    *,
    bare: bool = False,
    final: bool = True,
) -> Salvaged[Event]:
    """Read the events of text that begins where one should.

    `decode` takes text of events, and gives None where it is not that. The list of events is
    `bare` where it is the whole document. A `final` text is settled up to its end.
    """
    places = [*(found.end() for found in _PLACES.finditer(text)), len(text)]
    found = Salvaged[Event]()
    at, step = 0, 1
    due: int | None = 0  # commas before what comes next, where that can be known
    while True:
        begin = _SEPARATORS.match(text, at).end()  # type: ignore[union-attr]
        commas = text.count(b",", at, begin)
        if begin == len(text):
            return found
        if text[begin] == ord("]") and list_may_end(text, begin, bare=bare):
            found.fixes["trailing-comma"] += commas > 0
            found.list_end = begin
            return found
        extra = due is not None and commas > due
        missing = due is not None and commas < due
        next_place = bisect_right(places, begin)
        if text[begin] == ord("{"):
            stop = places[min(next_place + step, len(places)) - 1]
            events = decode(text[begin:stop])
            if events is not None:
                found.take(events, text[begin:stop])
                found.fixes["missing-comma"] += missing
                found.fixes["trailing-comma"] += extra
                at, due, step = begin + len(text[begin:stop].rstrip(b", \t\r\n")), 1, step * 2
                continue
            if step > 1:
                step = 1
                continue
        found.fixes["trailing-comma"] += extra
        # A list is none of an event's neighbours: a bracket between two events opens one.
        end = None if text[begin] == ord("[") else value_end(text, begin)
        if end is not None and end != CUT_OFF:
            is_alone = _AFTER_VALUE.match(text, end) is not None
            if text[begin] == ord("{"):
                events = decode(text[begin:end])
                if events and (is_alone or isinstance(events[0].ph, str)):
                    found.take(events, text[begin:end])
                    found.fixes["missing-comma"] += missing
                    at, due = end, 1
                    continue
                if events is None:
                    _mend(text, [begin, end], decode, found)
                    at, due = end, 1
                    continue
            elif is_alone:
                found.fixes["stray-text"] += 1
                at, due = end, 1
                continue
        rest = range(next_place, len(places) - 1)
        following = next((n for n in rest if event_end(text, places[n]) is not None), None)
        limit = len(places) - 1 if following is None else following
        cut = final and following is None
        list_end = _list_end(text, begin, places[limit], bare=bare, cut=cut)
        if list_end is None and following is None and not final:
            found.unsettled = begin
            return found
        at, due = places[limit] if list_end is None else list_end, None
        inside = places[next_place : bisect_right(places, at - 1)]
        _mend(text, [begin, *inside, at], decode, found)


def _list_end(text: bytes, begin: int, end: int, *, bare: bool, cut: bool) -> int | None:
    """Find the bracket that ends the list after a damaged event; what follows it is what tells."""
    for found in _LIST_ENDS.finditer(text, begin, end):
        bracket = found.end()
        after = members_end(text, bracket + 1)
        if bare:
            is_end = _BLANK_END.match(text, bracket + 1) is not None
            is_end = is_end or _begins_document(text, bracket + 1)
        elif after == CUT_OFF:
            is_end = cut
        else:
            is_end = after is not None and _ends_document(text, after)
        if is_end:
            return bracket
    return None


def _ends_document(text: bytes, at: int) -> bool:
    another = _OBJECT.match(text, at)
    if another is None:
        return _BLANK_END.match(text, at) is not None
    return event_end(text, another.end()) is None


def _mend(
    text: bytes,
    places: list[int],
    decode: Callable[[bytes], list[Event] | None],
    found: Salvaged[Event],
) -> None:
    """Read neighbours of which none can be read as it is."""
    depths = [opened(text[begin:end]) for begin, end in pairwise(places)]
    at, told = 0, False
    while at < len(depths):
        used, is_read = 1, False
        for used in {_together(depths, at): None, 1: None}:
            is_read = _repaired(text[places[at] : places[at + used]], decode, found)
            if is_read:
                break
        begin, part = places[at], text[places[at] : places[at + used]]
        at += used
        if is_read:
            told = False
        elif (
            places[at] == len(text) and part.startswith(b"{") and value_end(text, begin) == CUT_OFF
        ):
            found.unfinished = True
        elif _HAS_PHASE.search(part) or (
            begin == places[0] and part.startswith(b"{") and b'"' in part
        ):
            told = True
            found.skipped += 1
            if found.first_skipped is None:
                found.first_skipped = begin
        elif not told and part.strip(b", \t\r\n\0"):
            told = True
            found.fixes["stray-text"] += 1


def _together(depths: list[int], first: int) -> int:
    """Count the parts that are one object together, which ends where all that began does.

    It is 1 where that is not so within some parts.
    """
    for count in range(1, _MOST_JOINED + 1):
        if sum(depths[first : first + count]) <= 0:
            return min(count, len(depths) - first)
    return 1


def _repaired(
    part: bytes, decode: Callable[[bytes], list[Event] | None], found: Salvaged[Event]
) -> bool:
    """Take an event, repaired by as few steps as it takes."""
    if b"ph" not in part or b"}" not in part:
        return False
    for text, fixes in repairs(part):
        events = decode(text)
        if events is not None and all(isinstance(event.ph, str) for event in events):
            found.fixes += fixes
            found.take(events, text)
            return True
    return False
