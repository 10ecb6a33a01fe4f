"""Where JSON values end, in text that goes on after them or is no JSON at all."""

from __future__ import annotations

import re

import msgspec

CUT_OFF = -1
"""The text stops inside of the value."""

_RAW = msgspec.json.Decoder(msgspec.Raw)
_AT = re.compile(r"\(byte (\d+)\)")
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_MEMBER = re.compile(rb'\s*+,\s*+"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+:', re.DOTALL)
_CLOSED = re.compile(rb"\s*+\}")
_UNFINISHED = re.compile(
    rb'\s*+(?:,\s*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+\\?(?:"\s*+)?)?)?\Z', re.DOTALL
)


class _Phase(msgspec.Struct):
    ph: str


_PHASE = msgspec.json.Decoder(_Phase)


def value_end(text: bytes, at: int = 0) -> int | None:
    """Give the place after the value that begins at a place, white space around it included.

    It is `CUT_OFF` where the text stops too early, and None where there is no JSON.
    """
    try:
        _RAW.decode(memoryview(text)[at:])
    except msgspec.DecodeError as error:
        trailing = _TRAILING.search(str(error))
        if trailing is not None:
            return at + int(trailing[1]) - 1  # it counts the first character after the value
        return CUT_OFF if _is_cut(str(error), len(text) - at) else None
    except RecursionError:
        return None
    return len(text)


def _is_cut(error: str, length: int) -> bool:
    if "truncated" in error:
        return True
    at = _AT.search(error)  # the digits of a number that stops are an invalid number
    return at is not None and int(at[1]) >= length


def event_end(text: bytes, at: int) -> int | None:
    """Give the place after the event that begins at a place; None where no whole one does."""
    end = value_end(text, at)
    if end is None or end == CUT_OFF:
        return None
    try:
        _PHASE.decode(memoryview(text)[at:end])
    except (msgspec.DecodeError, RecursionError):
        return None
    return end


def members_end(text: bytes, at: int) -> int | None:
    """Give the place after an object of which one member ends at a place, as `value_end` does."""
    while (member := _MEMBER.match(text, at)) is not None:
        end = value_end(text, member.end())
        if end is None or end == CUT_OFF:
            return end
        at = end
    closed = _CLOSED.match(text, at)
    if closed is not None:
        return closed.end()
    return CUT_OFF if _UNFINISHED.match(text, at) else None
