"""The language of gates: `phase:gather.device_time > +5%` says what must not become of a metric.

    EXPR     := [SELECTOR {' ' SELECTOR} '.'] METRIC OP VALUE
    SELECTOR := LEVEL ':' NAME
    LEVEL    := 'case' | 'route' | 'phase' | 'kernel' | 'op'
    OP       := '>' | '>=' | '<' | '<=' | '==' | '!='
    VALUE    := ('+' | '-') NUMBER ('%' | [UNIT]) | NUMBER [UNIT]

`case` and `route` say of which calls; one of the others, of which rows. Without it a gate is about
whole calls. A NAME has no spaces, or stands in double quotes; `*` and `?` are wildcards, and a
backslash inside of quotes takes the meaning from `*`, `?`, `"` and itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.units import printable, text_width

METRICS = {
    "call_time": "ns",  # by the stopwatch, back to back; of whole calls alone
    "device_time": "ns",
    "host_time": "ns",
    "waiting_time": "ns",
    "count": "count",
    "kernel_count": "count",
    "copy_count": "count",
    "readback_count": "count",
    "launch_count": "count",
}
"""What a gate can be about, and what it is measured in."""

ROWS = ("phase", "kernel", "op")
LEVELS = ("case", "route", *ROWS)
OPERATORS = (">", ">=", "<", "<=", "==", "!=")
UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}

LONGEST = 4096
"""Of more characters, wildcards would take too much to compile."""

_DIGITS = 15
"""A float has them all."""

_WORD = re.compile(r"\w*")
_PLAIN = re.compile(r'[^\s"\\<>=!]+')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPE = re.compile(r"\\(.)")
_OPERATOR = re.compile(r"[<>=!]*")
_VALUE = re.compile(r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]+)?) *(?P<unit>%|\w*)")

_SLIPS = {"=": "==", "=>": ">=", "=<": "<=", "<>": "!="}


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What must not be true of a run; as text, an expression that means it."""

    case: str | None = None
    """A pattern of names, as those below."""
    route: str | None = None
    level: str = "call"
    """call, phase, kernel or op"""
    name: str | None = None
    """None at level call."""
    metric: str
    operator: str
    amount: Decimal
    unit: str = ""
    """%, ns, us, ms or s; none for a count."""
    signed: bool = False
    """The amount is a change, not the new value."""

    @property
    def of_time(self) -> bool:
        """Tell a time, which has an interval, from a count, which is exact."""
        return METRICS[self.metric] == "ns"

    @property
    def threshold(self) -> float:
        """Give the amount in percent, in nanoseconds, or as the number that it is."""
        return float(self.amount * UNITS.get(self.unit, 1))

    def __str__(self) -> str:
        chosen = (("case", self.case), ("route", self.route), (self.level, self.name))
        where = " ".join(f"{level}:{_name(text)}" for level, text in chosen if text is not None)
        amount = f"{self.amount:{'+' if self.signed else ''}f}{self.unit}"
        return f"{where}{'.' if where else ''}{self.metric} {self.operator} {amount}"


def parse(text: str) -> Gate:
    """Read an expression; raise FgtraceError (usage) that shows the place where it is none."""
    text = text.strip()
    if len(text) > LONGEST:
        raise FgtraceError(
            f"a gate has at most {LONGEST} characters, and this one {len(text)}",
            hint="* stands for any part of a name",
            kind="usage",
            exit_code=ExitCode.USAGE,
        )
    return _Reader(text).gate()


def pattern_of(name: str) -> str:
    """Write a name as a gate takes it, to mean no other name where that can be."""
    seen = "".join(character if character.isprintable() else "\0" for character in name)
    return _name(re.sub(r'[\\"*?]', r"\\\g<0>", seen).replace("\0", "?"))


def nearest(name: str, names: Iterable[str], most: int = 10) -> str:
    """Say which of `names` may be meant by a wrong one; else which there are."""
    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"did you mean {close[0]}?" if close else f"one of: {', '.join(names[:most])}{more}"


def _name(pattern: str) -> str:
    return pattern if _PLAIN.fullmatch(pattern) else f'"{pattern}"'


class _Reader:
    """Reads an expression from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def gate(self) -> Gate:
        """Read all of it."""
        for place, character in enumerate(self.text):
            if not character.isprintable():
                hint = "in a name, ? stands for any character"
                raise self._error(f"{character!a} cannot be seen", hint, place)
        names = self._selectors()
        metric = self._metric(names)
        operator = self._operator(metric)
        amount, unit, signed = self._value(metric)
        level = next((level for level in ROWS if level in names), "call")
        return Gate(
            case=names.get("case"),
            route=names.get("route"),
            level=level,
            name=names.get(level),
            metric=metric,
            operator=operator,
            amount=amount,
            unit=unit,
            signed=signed,
        )

    def _selectors(self) -> dict[str, str]:
        """Read patterns of names by level, and the dot after them."""
        names: dict[str, str] = {}
        self._skip()
        while self._following(word := self._match(_WORD)) == ":":
            self._check_level(word, names)
            self.place += len(word) + 1
            names[word] = self._selected()
            self._skip()
        if names and self._following() == ".":
            self.place += 1
        elif names and self._following() not in ("", *"<>=!"):
            raise self._error(
                "a name is followed by .METRIC, or by a space and another selector",
                'a name with spaces, <, >, =, !, \\ or " stands in double quotes',
            )
        return names

    def _check_level(self, word: str, names: dict[str, str]) -> None:
        others = [level for level in ROWS if level in names]
        if word not in LEVELS:
            raise self._error(f"there is no level {word!r}", nearest(word, LEVELS))
        if word in names:
            raise self._error(f"a second {word}", "* and ? are wildcards, and gates can be several")
        if word in ROWS and others:
            raise self._error(
                f"a row is of a {others[0]} or of a {word}, never of both",
                "say one of them, beside case: and route: if need be",
            )

    def _selected(self) -> str:
        """Read a name; where it ends the left side, without the metric after its last dot."""
        if self._following() == '"':
            return self._quoted()
        name = self._match(_PLAIN)
        after = self.text[self.place + len(name) :].lstrip(" ")
        if after[:1] in ("", *"<>=!"):
            name = name.rpartition(".")[0] if "." in name else name
        if not name:
            raise self._no_name()
        self.place += len(name)
        return name

    def _quoted(self) -> str:
        quoted = self._match(_QUOTED)
        if not quoted:
            raise self._error("the quote has no end", 'a " inside of a name is written \\"')
        if quoted == '""':
            raise self._no_name()
        for escape in _ESCAPE.finditer(quoted):
            if escape[1] not in '*?"\\':
                raise self._error(
                    f"a backslash before {escape[1]!r}",
                    'it takes the meaning from *, ?, " and \\, and from nothing else',
                    self.place + escape.start(),
                )
        self.place += len(quoted)
        return quoted[1:-1]

    def _metric(self, names: dict[str, str]) -> str:
        metric = self._match(_PLAIN)
        if not metric:
            raise self._error("a metric is missing", f"one of: {', '.join(METRICS)}")
        if metric not in METRICS:
            unlevelled = metric.rpartition(".")[2] in METRICS
            hint = f"did you mean phase:{metric}?" if unlevelled else nearest(metric, METRICS)
            raise self._error(f"there is no metric {metric!r}", hint)
        rows = [level for level in ROWS if level in names]
        if metric == "call_time" and rows:
            raise self._error(
                f"a {rows[0]} has no call_time: the stopwatch takes the time of whole calls",
                "device_time or host_time; or select by case: and route: alone",
            )
        self.place += len(metric)
        return metric

    def _operator(self, metric: str) -> str:
        self._skip()
        operator = self._match(_OPERATOR)
        if not operator:
            whole = f"quote the whole of it: '{printable(self.text)} > {_example(metric)}'"
            hint = whole if self._at_end() else f"one of: {', '.join(OPERATORS)}"
            raise self._error("a comparison is missing", hint)
        if operator not in OPERATORS:
            meant = _SLIPS.get(operator)
            hint = f"did you mean {meant}?" if meant else f"one of: {', '.join(OPERATORS)}"
            raise self._error(f"there is no comparison {operator}", hint)
        if METRICS[metric] == "ns" and operator in ("==", "!="):
            hint = "compare a time with >, >=, < or <="
            raise self._error(f"times are never the same: {operator} says nothing of them", hint)
        self.place += len(operator)
        return operator

    def _value(self, metric: str) -> tuple[Decimal, str, bool]:
        """Read the amount, its unit, and whether it is a change."""
        self._skip()
        found = _VALUE.match(self.text, self.place)
        if found is None:
            what = "a value is missing" if self._at_end() else "this is no value"
            raise self._error(what, f"for example {_example(metric)}, or +5% for a change")
        sign, number, unit = found["sign"], found["number"], found["unit"]
        end = found.start("unit")
        if len(number) > _DIGITS:
            raise self._error(f"a number of over {_DIGITS} digits", f"such as {_example(metric)}")
        if unit == "%" and not sign:
            hint = f"write +{number}% for so much more than the base, -{number}% for less"
            raise self._error(f"{number}% is no change without its sign", hint)
        if unit != "%" and METRICS[metric] == "ns" and unit not in UNITS:
            what = f"there is no unit {unit!r}" if unit else f"{metric} is a time and has a unit"
            written = ", ".join(f"{sign}{number}{each}" for each in ("ns", "us", "ms", "s"))
            raise self._error(what, f"write {written}", end)
        if unit in UNITS and METRICS[metric] == "count":
            raise self._error(f"{metric} is a number without unit", f"write {sign}{number}", end)
        self.place = found.end() if unit == "%" or unit in UNITS else end
        self._skip()
        if not self._at_end():
            hint = "a gate is one comparison, and gates can be several"
            raise self._error("the gate has ended before this", hint)
        return Decimal(sign + number), re.sub("[µμ]", "u", unit), bool(sign)

    def _match(self, what: re.Pattern[str]) -> str:
        found = what.match(self.text, self.place)
        return found[0] if found else ""

    def _following(self, word: str = "") -> str:
        """Give the character after the place and a word there; none at the end."""
        place = self.place + len(word)
        return self.text[place : place + 1]

    def _skip(self) -> None:
        while self._following() == " ":
            self.place += 1

    def _at_end(self) -> bool:
        return self.place == len(self.text)

    def _no_name(self) -> FgtraceError:
        return self._error("a name is missing", "* stands for every name")

    def _error(self, what: str, hint: str, place: int | None = None) -> FgtraceError:
        before = printable(self.text[: self.place if place is None else place])
        return FgtraceError(
            f"a gate cannot be read: {what}",
            hint=hint,
            kind="usage",
            exit_code=ExitCode.USAGE,
            excerpt=(f"  {printable(self.text)}", f"  {' ' * text_width(before)}^"),
        )


def _example(metric: str) -> str:
    return "40us" if METRICS[metric] == "ns" else "0"
