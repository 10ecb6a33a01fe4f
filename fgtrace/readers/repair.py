"""Text that is nearly JSON made JSON, step by step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from math import isinf

from fgtrace.readers.values import CUT_OFF, value_end

_MOST = 4 << 20
"""Bytes beyond which damaged text is not worth repairing."""

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_UNCLOSED = r'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?\Z'
"""Met before a string is looked for at each of its quotes."""
_CONTROLS = re.compile("[\0-\x1f]")
_STRINGS = re.compile(rf"{_STRING}|{_UNCLOSED}", re.DOTALL)
_VALUES = re.compile(rf'{_STRING}|{_UNCLOSED}|[^\s,:\[\]{{}}"]++', re.DOTALL)
_COMMAS = re.compile(rf"({_STRING}|{_UNCLOSED})|,(?=\s*+(?:[,\]}}]|\Z))", re.DOTALL)
_MISSING = re.compile(rf"({_STRING}|{_UNCLOSED})|:(?=\s*+[,\]}}])", re.DOTALL)
_NON_FINITE = re.compile(r"(?i)[-+]?(inf(inity)?|nan(\(.*)?|1\.#\w+|n/a)")
_MAYBE_NON_FINITE = re.compile(r"(?i)inf|nan|1\.#|n/a|\de\+?\d{3}|\d{309}")
_JSON_VALUE = re.compile(r"-?(0|[1-9]\d*+)(\.\d++)?([eE][-+]?\d++)?|true|false|null")
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    r'|\\["\\/bfnrt]'
    r"|(\\)"
)
_ESCAPED = {code: rf"\u{code:04x}" for code in range(0x20)}
_MARKED = {0xDC00 + byte: rf"\\x{byte:02x}" for byte in range(0x80, 0x100)}
"""Bytes that are no UTF-8 are surrogates in the text."""
_OPENS = re.compile(r'(?<=[{\[,:])(\s*+)"')
_CLOSES = re.compile(r'"(?=\s*+(?::|[}\]]|\Z|,\s*+(?:["\[{}\]\d-]|true|false|null)))')


def repairs(text: bytes) -> Iterator[tuple[bytes, Counter[str]]]:
    """Give the JSON that one object's damaged text may be, by ever more steps.

    Each comes with the kinds of the notes that its steps are told by.
    """
    if len(text) > _MOST:
        return
    whole = text.strip(b" \t\r\n,").decode("utf-8", "surrogateescape")
    begin = max(whole.find("{"), 0)
    for steps in _STEPS:
        fixes = Counter({"stray-text": 1} if begin else {})
        changed = whole[begin:]
        for kind, step in steps:
            before, changed = changed, step(changed)
            if changed != before:
                fixes[kind] = 1
        encoded = changed.encode("utf-8", "replace")
        end = value_end(encoded)
        if end is not None and end != CUT_OFF:
            yield encoded[:end], fixes | Counter({"stray-text": 1} if end < len(encoded) else {})


def opened(text: bytes) -> int:
    """Count the objects and lists that begin in a text and do not end in it."""
    bare = _STRINGS.sub("", text.decode("utf-8", "replace"))
    return bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")


def _mark_bytes(text: str) -> str:
    """Write bytes that are no UTF-8 as `\\xff`, so that names that differ by them still differ."""
    return text.translate(_MARKED)


def _escape_controls(text: str) -> str:
    if _CONTROLS.search(text) is None:
        return text

    return _STRINGS.sub(lambda string: string[0].translate(_ESCAPED), text)


def _escape_backslashes(text: str) -> str:
    return _ESCAPES.sub(lambda escape: r"\\" if escape[1] else escape[0], text)


def _drop_commas(text: str) -> str:
    return _COMMAS.sub(lambda found: found[1] or "", text)


def _empty_non_finite(text: str) -> str:
    if _MAYBE_NON_FINITE.search(text) is None:
        return text

    def emptied(value: re.Match[str]) -> str:
        word = value[0]
        finite = not _NON_FINITE.fullmatch(word) and not (
            _JSON_VALUE.fullmatch(word) and word[-1].isdigit() and isinf(float(word))
        )
        return word if finite else "null"

    return _VALUES.sub(emptied, text)


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
    (*_IN_STRINGS, *_BETWEEN_STRINGS),
    (("unescaped-quote", _escape_quotes), *_IN_STRINGS, *_BETWEEN_STRINGS),
)
