"""Numbers and names as text: the one place that chooses units, digits and escapes.

Numbers that are not known are `—`. Three significant digits are shown, except for what is counted.
"""

from __future__ import annotations

import unicodedata
from decimal import ROUND_HALF_UP, Context, Decimal

MISSING = "—"

_DIGITS = 3
_ROUNDING = Context(prec=_DIGITS, rounding=ROUND_HALF_UP)
_THIN = "\N{NARROW NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"
_TIMES = (("ns", 1), ("µs", 10**3), ("ms", 10**6), ("s", 10**9))
_SIZES = (("B", 1), ("kB", 10**3), ("MB", 10**6), ("GB", 10**9), ("TB", 10**12))

# A base character takes a few accents; a heap of them would be drawn over the lines around it.
_MARKS = 3


def duration(ns: int | None) -> str:
    """Show a time: `287 ns`, `41.3 µs`, `1.94 ms`."""
    return MISSING if ns is None else " ".join(_scaled(ns, _TIMES))


def interval(low_ns: int | None, high_ns: int | None) -> str:
    """Show the ends of an interval of times, the unit once where both have the same."""
    if low_ns is None or high_ns is None:
        return MISSING
    (low, low_unit), (high, high_unit) = _scaled(low_ns, _TIMES), _scaled(high_ns, _TIMES)
    dash = " to " if low_ns < 0 else "–"
    return (
        f"{low}{dash}{high} {high_unit}"
        if low_unit == high_unit
        else (f"{low} {low_unit}{dash}{high} {high_unit}")
    )


def size(count_of_bytes: int | None) -> str:
    """Show a number of bytes in decimal units: `8 B`, `6.84 MB`."""
    return MISSING if count_of_bytes is None else " ".join(_scaled(count_of_bytes, _SIZES))


def count(number: int | None) -> str:
    """Show a whole number in full, its thousands grouped: `17 096`."""
    return MISSING if number is None else _grouped(number)


def age(seconds: float) -> str:
    """Show how long ago something was, in whole units: `40 s`, `5 min`, `3 h`, `12 d`."""
    whole = max(int(seconds), 0)
    for unit, unit_seconds in (("d", 86_400), ("h", 3600), ("min", 60)):
        if whole >= unit_seconds:
            return f"{whole // unit_seconds} {unit}"
    return f"{whole} s"


def share(part: float | None) -> str:
    """Show a part of 1 in percent; one that is not 0 is never shown as 0."""
    if part is None:
        return MISSING
    return "<0.1 %" if 0 < part < 0.0005 else f"{100 * part:.1f} %"


def change(part: float) -> str:
    """Show a change in percent, with its sign: `+5.1 %`."""
    sign = "" if part == 0 else "+" if part > 0 else _MINUS
    return f"{sign}{100 * abs(part):,.1f} %".replace(",", _THIN)


def level(part: float) -> str:
    """Show the level of an interval: `95 %`."""
    return f"{100 * part:g} %"


def factor(ratio: float | None) -> str:
    """Show how many times: `2.06×`."""
    return MISSING if ratio is None else f"{ratio:.2f}×"


def printable(text: str) -> str:
    r"""Show control, escape, bidi and other invisible characters as escapes (`\x1b`, `\u202e`).

    Names come from traces, and a trace is untrusted: nothing in it may move the cursor, turn text
    around or hide. Accents beyond the third on a character, and those on none, are escaped too.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = []
    marks = _MARKS
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        visible = character.isprintable() and marks <= _MARKS
        shown.append(character if visible else _escaped(character))
    return "".join(shown)


def reading(name: str, consumed: int, size: int) -> str:
    """Say how far a file is read, in percent; in bytes where its size is not known."""
    read = f"{100 * consumed / size:.0f} %" if size else f"{consumed / 1e6:.0f} MB"
    return f"reading {printable(name)}: {read}"


def text_width(text: str) -> int:
    """Count the terminal columns of `text`: wide characters take two, accents none."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _scaled(number: int, units: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    """Give the digits and the unit in which they are below 1000."""
    sign = _MINUS if number < 0 else ""
    magnitude = abs(number)
    for unit, unit_size in units:
        if unit_size == 1:
            if magnitude < 1000:
                return f"{sign}{magnitude}", unit
            continue
        digits = _ROUNDING.divide(Decimal(magnitude), Decimal(unit_size))
        if digits < 1000:
            # 999,950 ns are rounded up to the next unit, not to "1000 µs".
            places = _DIGITS - 1 - digits.adjusted()
            return f"{sign}{digits:.{places}f}", unit
    unit, unit_size = units[-1]
    return _grouped((1 if number >= 0 else -1) * round(Decimal(magnitude) / unit_size)), unit


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", _THIN).replace("-", _MINUS)
