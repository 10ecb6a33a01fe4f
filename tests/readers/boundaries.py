"""Where the events of a trace file are, by counting brackets byte by byte."""

from __future__ import annotations


def boundaries(text: bytes) -> list[tuple[int, int]]:
    """Give begin and end of each whole object in a file's list of events, damaged or not.

    One document, whose list is the first value with a bracket at its level.
    """
    found = []
    level = 0
    listed = None  # the level of objects in the list
    begin = 0
    in_string = escaped = False
    for place, byte in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
                if listed is None and text[:place].endswith(b'"traceEvents'):
                    listed = level + 1
        elif byte == 0x22:
            in_string = True
        elif byte in b"{[":
            if level == 0 and byte == 0x5B:
                listed = 1
            if level == listed and byte == 0x7B:
                begin = place
            level += 1
        elif byte in b"}]":
            level -= 1
            if level == listed and byte == 0x7D:
                found.append((begin, place + 1))
            elif listed is not None and level < listed:
                break
    return found
