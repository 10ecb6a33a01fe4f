"""Big Kineto files, made of real ones: their events again and again, later and under other ids.

Only digits are replaced, so line breaks, the order of keys and how a number is written stay as the
profiler wrote them.
"""

from __future__ import annotations

import argparse
import gzip
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec

# Times are microseconds: adding whole ones leaves the decimals as they are written. A quote within
# a JSON string is escaped, so none of these can be found there. An id of 0 means none, but for the
# index of an event.
_SHIFTED = re.compile(
    rb'("ts"\s*:\s*\d+)|"Ev Idx"\s*:\s*\d+|'
    rb'"(?:id|correlation|wait_on_cuda_event_record_corr_id|[Ee]xternal id|Sequence number'
    rb'|Record function id|Python id|Python parent id)"\s*:\s*[1-9]\d*'
)
_PIECES_A_WRITE = 100_000
_UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}

Kinds = Counter[tuple[str, str]]  # events by phase and category


class _Event(msgspec.Struct, gc=False):
    ph: Any = None
    cat: Any = None
    pid: Any = None
    ts: Decimal = Decimal(0)
    dur: Decimal | None = None


class _File(msgspec.Struct):
    events: list[msgspec.Raw] = msgspec.field(name="traceEvents")


@dataclass
class _Template:
    """Text with numbers to shift: each literal is followed by one, but for the last."""

    literals: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    is_time: list[bool] = field(default_factory=list)
    kinds: Kinds = field(default_factory=Counter)

    def filled(self, microseconds: int, ids: int) -> Iterator[bytes]:
        for first in range(0, len(self.literals), _PIECES_A_WRITE):
            piece = slice(first, first + _PIECES_A_WRITE)
            yield b"".join(
                b"%b%d" % (literal, number + (microseconds if time else ids))
                for literal, number, time in zip(
                    self.literals[piece], self.numbers[piece], self.is_time[piece], strict=False
                )
            )
        yield self.literals[-1]


@dataclass(frozen=True)
class _Source:
    head: bytes
    events: _Template
    once: _Template  # names of rows, and the profiler's own rows
    separator: bytes
    tail: bytes
    bytes: int
    start_us: int
    span_us: int
    ids: int


def replicate(sources: Sequence[Path], size: int, out: Path) -> Kinds:
    """Write about `size` bytes of whole replicas, and count the events written by kind.

    Sources take turns. Each replica starts where the one before it ends, and no two share an id.
    Names of rows and what stands outside the events are written once, the latter from the first
    source.

    Args:
        sources: Kineto files, plain or gzip. Each is held in memory whole.
        size: Bytes to come near, with one replica at least.
        out: The file to write.
    """
    read = [_source(path) for path in sources]
    written: Kinds = Counter()
    placed: dict[int, tuple[int, int]] = {}
    start_us, ids = read[0].start_us, 0
    with out.open("wb") as file:
        file.write(read[0].head)
        for turn in cycle(range(len(read))):
            source = read[turn]
            if placed and file.tell() + source.bytes / 2 > size:
                break
            shift = (start_us - source.start_us, ids)
            if placed:
                file.write(read[0].separator)
            file.writelines(source.events.filled(*shift))
            placed.setdefault(turn, shift)
            written += source.events.kinds
            start_us, ids = start_us + source.span_us, ids + source.ids
        for turn, shift in placed.items():
            if read[turn].once.kinds:
                file.write(read[0].separator)
                file.writelines(read[turn].once.filled(*shift))
                written += read[turn].once.kinds
        file.write(read[0].tail)
    return written


def _source(path: Path) -> _Source:
    text = path.read_bytes()
    if text.startswith(b"\x1f\x8b"):
        text = gzip.decompress(text)
    found = msgspec.json.decode(text, type=_File).events
    head_end = end = text.index(bytes(found[0]))
    separator = b""
    repeated: list[bytes] = []
    once: list[bytes] = []
    again: Kinds = Counter()
    ever: Kinds = Counter()
    start_us, end_us = Decimal("inf"), Decimal(0)
    for raw in map(bytes, found):
        place = text.index(raw, end)
        before, end = text[end:place], place + len(raw)
        separator = separator or before
        event = msgspec.json.decode(raw, type=_Event)
        kind = (str(event.ph), str(event.cat or ""))
        # The profiler's own rows are of processes called "Spans" and "Traces".
        if event.ph == "M" or isinstance(event.pid, str):
            once += [before, raw] if once else [raw]
            ever[kind] += 1
        else:
            repeated += [before, raw] if repeated else [raw]
            again[kind] += 1
            start_us = min(start_us, event.ts)
            end_us = max(end_us, event.ts + (event.dur or 0))
    events, others = _template(b"".join(repeated), again), _template(b"".join(once), ever)
    numbers = [n for n, is_time in zip(events.numbers, events.is_time, strict=True) if not is_time]
    return _Source(
        head=text[:head_end],
        events=events,
        once=others,
        separator=separator,
        tail=text[end:],
        bytes=sum(map(len, repeated)),
        start_us=math.floor(start_us),
        span_us=math.ceil(end_us) - math.floor(start_us) + 1,
        ids=max(numbers, default=0) + 1,
    )


def _template(text: bytes, kinds: Kinds) -> _Template:
    template, end = _Template(kinds=kinds), 0
    for match in _SHIFTED.finditer(text):
        number = match[0].rpartition(b":")[2]
        template.literals.append(text[end : match.end() - len(number.lstrip())])
        template.numbers.append(int(number))
        template.is_time.append(match[1] is not None)
        end = match.end()
    template.literals.append(text[end:])
    return template


def size(text: str) -> int:
    """Parse `60MB` or `1GB` to bytes."""
    number, unit = text[:-2], text[-2:]
    if unit not in _UNITS or not number.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is no size: write 60MB or 1GB")
    return int(number) * _UNITS[unit]


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="+", type=Path, help="Kineto files to make it of")
    parser.add_argument("--size", type=size, required=True, help="like 60MB or 1GB")
    parser.add_argument("-o", dest="out", type=Path, required=True, help="the file to write")
    options = parser.parse_args()
    written = replicate(options.sources, options.size, options.out)
    for (phase, category), count in written.most_common():
        print(f"{count:>12,}  {phase}  {category}")


if __name__ == "__main__":
    _main()
