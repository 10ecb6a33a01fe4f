"""A trace's JSON as pieces that end where an event ends, so that it never lies in memory whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import msgspec

_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
"""The list of events begins. Inside of a string its quotes would be escaped."""

_BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*")')
"""Between two events; between nested objects too, but never inside a string."""

_LIST_ENDS = re.compile(rb'\}\s*,?\s*(\])(?=\s*(?:,\s*"|[\[{}]|\Z))|\A\s*(\])')

_ENOUGH = 4 << 20
"""Bytes that are worth a piece."""

_MOST_METADATA = 64 << 20
_MOST_EVENT = 64 << 20
"""Bytes without an end of an event after which a piece ends anywhere."""

_WINDOW = 16 << 10
_TRIED = 16
"""Places that are tried as the end of an event."""

_BOM = b"\xef\xbb\xbf"
_CLOSED = b'"_":0}'
"""A member that says nothing in the place of the list, so that no comma is left over."""
_BLANK = b" \t\r\n\0"


@dataclass(frozen=True)
class Piece:
    """Text of some events, with the commas between them but no brackets around them."""

    text: bytes
    offset: int
    """Where it begins, in bytes of the decompressed file."""
    document: int
    last: bool
    """Nothing follows it: it ends with the list and what comes after, or is cut off."""


class Pieces:
    """Cuts blocks of text into pieces of about a block each.

    Whoever decodes the pieces says where the list of events ends: `end_list`. What stands around
    the lists is in `metadata`, a JSON object a document, as far as it is whole.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._buffer = b""
        self._offset = 0
        self._ended = False
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
            if self._rest is None:
                self._give_up()
                return
            self._read_tail()
            document += 1

    def end_list(self, piece: Piece, length: int) -> None:
        """Say that the list of events ends after so many bytes of a piece."""
        self._rest = piece.text[length:]

    def _more(self) -> bool:
        block = next(self._blocks, b"")
        self._ended = not block
        self._buffer += block
        return not self._ended

    def _take(self, length: int) -> bytes:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        self._offset += length
        return taken

    def _find_list(self, document: int) -> bool:
        while not self._buffer.strip(_BLANK) and self._more():
            pass
        if self._buffer.startswith(_BOM):
            self._take(len(_BOM))
        self._take(len(self._buffer) - len(self._buffer.lstrip(_BLANK)))
        if self._buffer.startswith(b"["):
            self._take(1)
            self.metadata.append(b"")
            return True
        if not self._buffer.startswith(b"{") and document:
            self._skip_stray()
            return False
        while (found := _EVENTS.search(self._buffer)) is None:
            if len(self._buffer) > _MOST_METADATA or not self._more():
                if document:
                    self._skip_stray()
                self.begun = self._buffer
                return False
        self.metadata.append(self._take(found.end())[: found.start()])
        return True

    def _skip_stray(self) -> None:
        self.stray += len(self._buffer)
        self._buffer = b""
        while self._more():
            self.stray += len(self._buffer)
            self._buffer = b""

    def _cut(self, document: int) -> Iterator[Piece]:
        self._rest = None
        while self._rest is None:
            if not self._ended and len(self._buffer) < _ENOUGH:
                self._more()
            length = len(self._buffer) if self._ended else self._last_end()
            if not length and not self._ended and len(self._buffer) < _MOST_EVENT:
                self._more()
                continue
            offset, ended = self._offset, self._ended
            text = self._take(length or len(self._buffer))
            if text or not ended:
                yield Piece(text, offset, document, ended)
            if ended:
                return

    def _last_end(self) -> int:
        """Find the last place between two events; 0 where there is none."""
        places = last_places(self._buffer)
        # One between objects inside an event leaves no event before it.
        for before, place in pairwise(places):
            if is_event(self._buffer[place:before].rstrip(b", \t\r\n")):
                return before
        return places[0] if len(places) > 1 else 0

    def _give_up(self) -> None:
        """Do with what stands before the list, where what follows it is missing."""
        self.whole = False
        if self.metadata[-1]:
            self.metadata[-1] += _CLOSED

    def _read_tail(self) -> None:
        """Read what follows the list, up to the end of the document."""
        assert self._rest is not None
        self._offset -= len(self._rest)
        self._buffer = self._rest + self._buffer
        head = self.metadata[-1]
        if not head:
            self._take(1)
            return
        start = head + _CLOSED[:-1]
        while True:
            text = start + self._buffer[1:]
            try:
                msgspec.json.decode(text, type=_Anything)
                self.metadata[-1] = text
                self._take(len(self._buffer))
                return
            except msgspec.DecodeError as error:
                end, cut = end_of_value(error), "truncated" in str(error)
            if end is not None:
                self.metadata[-1] = text[:end]
                self._take(end - len(start) + 1)
                return
            if len(self._buffer) > _MOST_METADATA or not self._more():
                self._take(len(self._buffer))
                if cut:
                    self._give_up()
                else:
                    self.metadata[-1] = text
                return


class _Anything(msgspec.Struct):
    """A JSON object, whatever is in it."""


class _Phase(msgspec.Struct):
    ph: str


def is_event(text: bytes) -> bool:
    """Tell one whole event from a part of one, or from more than one."""
    try:
        msgspec.json.decode(text, type=_Phase)
    except msgspec.DecodeError:
        return False
    return True


def end_of_value(error: msgspec.DecodeError) -> int | None:
    """Give the length of the JSON value that more text follows, where that is what is wrong."""
    found = re.search(r"trailing characters \(byte (\d+)\)", str(error))
    return None if found is None else int(found[1])


def last_places(text: bytes) -> list[int]:
    """Give the last places where an event may begin, from the end; the beginning is one."""
    window = _WINDOW
    while True:
        begin = max(len(text) - window, 0)
        places = [found.end() for found in _BETWEEN.finditer(text, begin)]
        if not begin:
            return [*places[: -_TRIED - 1 : -1], 0]
        if len(places) >= _TRIED:
            return places[: -_TRIED - 1 : -1]
        window *= 8


def ends_document(text: bytes) -> bool:
    """Tell what may follow the list of events, its bracket included, up to the end of a file."""
    try:
        msgspec.json.decode(b'{"_":0' + text[1:], type=_Anything)
    except msgspec.DecodeError:
        return not text[1:].strip(_BLANK)
    return True


def list_ends(text: bytes) -> Iterator[int]:
    """Give the places where the list of events may end: where its bracket is."""
    for found in _LIST_ENDS.finditer(text):
        yield found.start(1) if found[1] else found.start(2)
