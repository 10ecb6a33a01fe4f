"""A trace's JSON as pieces that end where an event ends, so that it never lies in memory whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from fgtrace.readers.values import CUT_OFF, event_end, members_end, value_end

_EVENTS = re.compile(rb'"traceEvents"\s*+:\s*+\[')
"""The list of events begins. Inside of a string its quotes would be escaped."""

_TELLS = re.compile(rb'("traceEvents")\s*+:\s*+\[|"ph"\s*+:')

_LISTS_OBJECTS = re.compile(rb"\[\s*+[\]{]")

_BETWEEN = re.compile(rb'\}\s*+,\s*+(?=\{\s*+")')
"""Between two events; between nested objects too, and inside of strings."""

_NEXT_DOCUMENT = re.compile(rb'\}\s*+(?=\{\s*+"|\[\s*+\{)')

_ENOUGH = 4 << 20
"""Bytes that are worth a piece."""

_MOST_METADATA = 64 << 20
_MOST_EVENT = 64 << 20
"""Bytes without an end of an event after which a piece ends anywhere."""

_MOST_DOCUMENTS = 256

_WINDOW = 8 << 10
_TRIED = 64
"""Places that are tried as the beginning of an event."""

_BOM = b"\xef\xbb\xbf"
_OPEN = b'"_":0'
"""A member that says nothing in the place of the list, so that no comma is left over."""
_BLANK = b" \t\r\n\0"


@dataclass(frozen=True)
class Piece:
    """Text of some events, with the commas between them but no brackets around them."""

    view: memoryview
    offset: int
    """Where it begins, in bytes of the decompressed file."""
    document: int
    bare: bool
    """Its list is a whole document, with no object around it."""
    last: bool
    """Nothing follows it: it ends with the list and what comes after, or is cut off."""
    full: bool
    """It is too long to be read again with what follows it."""

    @cached_property
    def text(self) -> bytes:
        """A copy of the text, for what needs more than to decode it."""
        return bytes(self.view)


class Pieces:
    """Cuts blocks of text into pieces of about a block each.

    Whoever decodes the pieces says where the list of events ends, and what of a piece needs more
    text: `end_list`, `put_back`. What stands around the lists is in `metadata`, a JSON object a
    document, as far as it is whole.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._buffer = b""
        self._offset = 0
        self._ended = False
        self._wants_more = False
        self._rest: bytes | None = None
        self.begun = b""
        """What was read where no list of events was found."""
        self.metadata: list[bytes] = []
        self.stray = 0
        """Bytes after the end of a document that begin no other one."""
        self.whole = True
        """Every document has its end."""

    def __iter__(self) -> Iterator[Piece]:
        """Give the pieces of every document, in order."""
        document = 0
        while self._find_list(document):
            yield from self._cut(document)
            while self._rest is not None and self._read_tail():
                yield from self._cut(document)
            if self._rest is None:
                self._give_up()
                return
            document += 1

    def end_list(self, piece: Piece, at: int) -> None:
        """Say that the bracket at a place of a piece ends the list of events."""
        self._rest = piece.text[at:]

    def put_back(self, piece: Piece, at: int) -> None:
        """Have what begins at a place of a piece come again, with more after it."""
        rest = piece.text[at:]
        self._buffer = rest + self._buffer
        self._offset -= len(rest)
        self._wants_more = True

    def _more(self) -> bool:
        block = next(self._blocks, b"")
        self._ended = not block
        self._buffer = self._buffer + block if self._buffer else block
        return not self._ended

    def _take(self, length: int) -> bytes:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        self._offset += length
        return taken

    def _find_list(self, document: int) -> bool:
        # A byte order mark may come in parts.
        while len(text := _begun(self._buffer)) < len(_BOM) and self._more():
            pass
        self._take(len(self._buffer) - len(text))
        if document and (document >= _MOST_DOCUMENTS or not self._buffer.startswith((b"{", b"["))):
            self._skip_stray()
            return False
        if self._buffer.startswith(b"[") and self._is_bare():
            self._take(1)
            self.metadata.append(b"")
            return True
        while (found := _list_begin(self._buffer)) is None:
            if len(self._buffer) > _MOST_METADATA or not self._more():
                self.begun = self._buffer
                if document:
                    self._skip_stray()
                return False
        self.metadata.append(self._take(found.end())[: found.start()])
        return True

    def _is_bare(self) -> bool:
        """Tell a list of events from a document with a bracket before it."""
        while (told := _TELLS.search(self._buffer)) is None:
            if len(self._buffer) > _MOST_METADATA or not self._more():
                return _LISTS_OBJECTS.match(self._buffer) is not None
        return told[1] is None

    def _skip_stray(self) -> None:
        self.stray += len(self._buffer)
        self._buffer = b""
        while self._more():
            self.stray += len(self._buffer)
            self._buffer = b""

    def _cut(self, document: int) -> Iterator[Piece]:
        self._rest = None
        self._wants_more = False
        while self._rest is None:
            if not self._ended and (self._wants_more or len(self._buffer) < _ENOUGH):
                self._more()
                self._wants_more = False
            full = len(self._buffer) >= _MOST_EVENT
            length = len(self._buffer) if self._ended else _last_event_end(self._buffer)
            if not length and not full and not self._ended:
                self._wants_more = True
                continue
            offset, ended = self._offset, self._ended
            view = memoryview(self._buffer)[: length or len(self._buffer)]
            self._buffer = self._buffer[len(view) :]
            self._offset += len(view)
            if view:
                yield Piece(view, offset, document, not self.metadata[-1], ended, full)
            if ended:
                return

    def _give_up(self) -> None:
        """Do with what stands before the list, where what follows it is missing."""
        self.whole = False
        if self.metadata[-1]:
            self.metadata[-1] += _OPEN + b"}"

    def _read_tail(self) -> bool:
        """Read what follows the list up to the end of the document, or to one more list in it."""
        assert self._rest is not None
        self._offset -= len(self._rest)
        self._buffer = self._rest + self._buffer
        head = self.metadata[-1]
        if not head:
            self._take(1)
            return False
        head += _OPEN
        while (end := members_end(self._buffer, 1)) is None or end == CUT_OFF:
            if self._begins_again(head):
                return True
            if len(self._buffer) <= _MOST_METADATA and self._more():
                continue
            if end == CUT_OFF:
                self._take(len(self._buffer))
                self._give_up()
                return False
            # It is damaged: its end is where another document begins.
            following = _NEXT_DOCUMENT.search(self._buffer)
            end = len(self._buffer) if following is None else following.end()
            break
        if self._begins_again(head):
            return True
        self.metadata[-1] = head + self._take(end)[1:]
        return False

    def _begins_again(self, head: bytes) -> bool:
        again = _EVENTS.search(self._buffer)
        if again is None:
            return False
        head += self._buffer[1 : again.start()]
        if not _is_whole(head + _OPEN + b"}"):
            return False
        self.metadata[-1] = head
        self._take(again.end())
        return True


def _begun(text: bytes) -> bytes:
    return text.lstrip(_BLANK).removeprefix(_BOM).lstrip(_BLANK)


def _list_begin(text: bytes) -> re.Match[bytes] | None:
    """Find where the list of events begins: not in an object that stands before it."""
    begins = list(islice(_EVENTS.finditer(text), _TRIED))
    for begin in begins:
        if _is_whole(text[: begin.start()] + _OPEN + b"}"):
            return begin
    return begins[0] if begins else None


def _is_whole(text: bytes) -> bool:
    return value_end(text) == len(text)


def _last_event_end(text: bytes) -> int:
    """Give the place after the last event that is followed by a comma; 0 where none was found."""
    window = _WINDOW
    while True:
        begin = max(len(text) - window, 0)
        places = [0] * (not begin) + [found.end() for found in _BETWEEN.finditer(text, begin)]
        for place in places[: -_TRIED - 1 : -1]:
            end = event_end(text, place)
            if end is not None and text[end : end + 1] == b",":
                return end + 1
        if not begin:
            return 0
        window *= 8
