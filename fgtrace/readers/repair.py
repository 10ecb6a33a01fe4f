"""Events out of damaged text: each is repaired or skipped alone, so that no other one is lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from fgtrace.readers.pieces import end_of_value

Event = TypeVar("Event")

_PLACES = re.compile(
    rb"""\}[^{}"]{0,40}?(?=\{)"""  # whatever became of the comma
    rb"""|,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|args|id)"\s*:)"""  # a lost closing brace
    rb"""|\}\s*,(?=[^{"]{1,40}"?ph"?\s*:)"""  # a lost opening brace
)
"""Where an event may end. Some places lie inside of one; the pieces between are joined again."""

_MOST_JOINED = 8

_STRING = r'"(?:[^"\\]|\\.)*"'
_STRINGS = re.compile(_STRING, re.DOTALL)
_VALUES = re.compile(rf'{_STRING}|[^\s,:\[\]{{}}"]+', re.DOTALL)
_COMMAS = re.compile(rf"({_STRING})|,(?=\s*(?:[,\]}}]|\Z))", re.DOTALL)
_MISSING = re.compile(rf"({_STRING})|:(?=\s*[,\]}}])", re.DOTALL)
_NON_FINITE = re.compile(r"(?i)[-+]?(inf(inity)?|nan(\(.*)?|1\.#\w+|n/a)")
_JSON_VALUE = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|true|false|null")
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    r'|\\["\\/bfnrt]'
    r"|(\\)"
)
_OPENS = re.compile(r'(?<=[{\[,:])(\s*)"')
_CLOSES = re.compile(r'"(?=\s*(?::|[}\]]|\Z|,\s*(?:["\[{\d-]|true|false|null)))')


@dataclass
class Salvaged(Generic[Event]):
    """What could be read of damaged text."""

    events: list[Event] = field(default_factory=list)
    fixes: Counter[str] = field(default_factory=Counter)
    """Repaired events by kind of note; an event may need several."""
    skipped: int = 0
    first_skipped: int | None = None
    """Where the first skipped one begins in the text."""
    unfinished: bool = False
    """The text stops inside of an event, which is not among the skipped ones."""


def salvage(text: bytes, decode: Callable[[bytes], list[Event] | None]) -> Salvaged[Event]:
    """Read the events of damaged text.

    `decode` takes text of some events, and gives None where it is not that.
    """
    places = [0, *(found.end() for found in _PLACES.finditer(text)), len(text)]
    salvaged = Salvaged[Event]()
    damaged: list[int] = []

    def settle() -> None:
        if damaged:
            _mend(
                text, [*(places[at] for at in damaged), places[damaged[-1] + 1]], decode, salvaged
            )
            damaged.clear()

    def walk(first: int, end: int) -> None:
        events = decode(text[places[first] : places[end]])
        if events is not None:
            settle()
            salvaged.events += events
        elif end - first == 1:
            damaged.append(first)
        else:
            middle = (first + end) // 2
            walk(first, middle)
            walk(middle, end)

    walk(0, len(places) - 1)
    settle()
    return salvaged


def _mend(
    text: bytes,
    places: list[int],
    decode: Callable[[bytes], list[Event] | None],
    salvaged: Salvaged[Event],
) -> None:
    """Read neighbours of which none could be read alone."""
    at = 0
    while at < len(places) - 1:
        segment = text[places[at] : places[at + 1]]
        used = 1
        events = None
        if _is_open(segment):
            for used in range(2, min(_MOST_JOINED, len(places) - 1 - at) + 1):
                events = decode(text[places[at] : places[at + used]])
                if events is not None:
                    break
            else:
                used = 1
        if events is None:
            events, fixes = _repaired(segment, decode)
            salvaged.fixes += fixes
        if events is not None:
            salvaged.events += events
        elif places[at + 1] == len(text) and _is_cut(segment):
            salvaged.unfinished = True
        elif segment.strip(b" \t\r\n,"):
            salvaged.skipped += 1
            if salvaged.first_skipped is None:
                salvaged.first_skipped = places[at]
        at += used


def repaired(text: bytes) -> bytes:
    """Repair JSON other than events by all steps there are."""
    whole = text.decode("utf-8", "surrogateescape")
    for _, step in _STEPS[-1]:
        whole = step(whole)
    return whole.encode("utf-8", "replace")


def _is_open(segment: bytes) -> bool:
    """Tell text that ends inside of an object from whole objects."""
    bare = _STRINGS.sub("", segment.decode("utf-8", "replace"))
    return bare.count("{") > bare.count("}") or bare.count("[") > bare.count("]")


def _is_cut(segment: bytes) -> bool:
    try:
        msgspec.json.decode(segment)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    return False


def _repaired(
    segment: bytes, decode: Callable[[bytes], list[Event] | None]
) -> tuple[list[Event] | None, Counter[str]]:
    """Repair one event by as few steps as it takes; give the steps that it took."""
    fixes: Counter[str] = Counter()
    text = segment.strip(b" \t\r\n,").decode("utf-8", "surrogateescape")
    if not text.startswith("{") and "{" in text:
        text = text[text.index("{") :]
        fixes["stray-text"] = 1
    for steps in _STEPS:
        for kind, step in steps:
            changed = step(text)
            if changed != text:
                fixes[kind] = 1
                text = changed
        encoded = text.encode("utf-8", "replace")
        try:
            msgspec.json.decode(encoded, type=msgspec.Raw)
        except msgspec.DecodeError as error:
            end = end_of_value(error)
            if end is None:
                continue
            encoded = encoded[:end]
            fixes["stray-text"] = 1
        events = decode(encoded)
        if events is not None:
            return events, fixes
    return None, Counter()


def _mark_bytes(text: str) -> str:
    """Write bytes that are no UTF-8 as `\\xff`, so that names that differ by them still differ."""
    return re.sub("[\udc80-\udcff]", lambda byte: rf"\\x{ord(byte[0]) - 0xDC00:02x}", text)


def _escape_controls(text: str) -> str:
    def escaped(characters: re.Match[str]) -> str:
        return re.sub("[\0-\x1f]", lambda one: rf"\u{ord(one[0]):04x}", characters[0])

    return _STRINGS.sub(escaped, text)


def _escape_backslashes(text: str) -> str:
    return _ESCAPES.sub(lambda escape: r"\\" if escape[1] else escape[0], text)


def _drop_commas(text: str) -> str:
    return _COMMAS.sub(lambda found: found[1] or "", text)


def _empty_non_finite(text: str) -> str:
    return _VALUES.sub(lambda value: "null" if _NON_FINITE.fullmatch(value[0]) else value[0], text)


def _fill_values(text: str) -> str:
    text = _MISSING.sub(lambda found: found[1] or ":null", text)

    def quoted(value: re.Match[str]) -> str:
        word = value[0]
        return word if word.startswith('"') or _JSON_VALUE.fullmatch(word) else f'"{word}"'

    return _VALUES.sub(quoted, text)


def _escape_quotes(text: str) -> str:
    """Escape the quotes inside of strings: those that nothing structural is next to."""
    parts, at = [], 0
    while (opening := _OPENS.search(text, at)) is not None:
        parts.append(text[at : opening.end()])
        closing = _CLOSES.search(text, opening.end())
        if closing is None:
            return text
        inside = text[opening.end() : closing.start()]
        parts += [re.sub(r'(\\.)|"', lambda found: found[1] or r"\"", inside), '"']
        at = closing.end()
    return "".join(parts) + text[at:]


_IN_STRINGS = (
    ("invalid-utf8", _mark_bytes),
    ("control-character", _escape_controls),
    ("invalid-escape", _escape_backslashes),
)
_BETWEEN_STRINGS = (
    ("non-finite-number", _empty_non_finite),
    ("trailing-comma", _drop_commas),
    ("invalid-value", _fill_values),
)
_STEPS: tuple[tuple[tuple[str, Callable[[str], str]], ...], ...] = (
    _IN_STRINGS,
    _BETWEEN_STRINGS,
    (("unescaped-quote", _escape_quotes), *_IN_STRINGS, *_BETWEEN_STRINGS),
)
