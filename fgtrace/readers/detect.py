"""What a file is, told from its first block: a recording, or something known that is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

KINETO = "a Kineto trace"

# Possessive, so that hostile text costs no more than one pass.
_TOKEN = re.compile(
    rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)(?:"(?P<key>\s*+:)?|\\?\Z)|[][{}]', re.DOTALL
)
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_CATEGORY = re.compile(rb'"cat"\s*:\s*"(\w+)"')
_TABLE = re.compile(rb"CREATE (?:TABLE|VIEW) (?:IF NOT EXISTS )?[\"'`\[]?(\w+)", re.IGNORECASE)
_FOLDED = re.compile(rb"[^\n;]+(?:;[^\n;]+)+ \d+\r?\n")
_HIPPROF = {"HIP", "HIPOPS", "HIPCOPY", "HIPTX"}
_KINETO_CATEGORIES = {"cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "user_annotation"}
_SCANNED = 1 << 20  # bytes in which a JSON's outermost keys are looked for
_VALUE = 100  # bytes of a key's value that are looked at


class Head:
    """The first block of a file, decompressed, and what can be seen in it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.text = data.removeprefix(b"\xef\xbb\xbf").lstrip()

    @cached_property
    def _scan(self) -> tuple[dict[str, bytes], bool]:
        """Scan for the keys of the object, or of the objects in the list, each with how its value
        begins, and for whether its end was met.

        A key that decides ends the scan.
        """
        keys: dict[str, bytes] = {}
        if not self.text.startswith((b"{", b"[")):
            return keys, True
        level = 1 if self.text.startswith(b"{") else 2
        depth = 0
        for token in _TOKEN.finditer(self.text, 0, _SCANNED):
            mark = token[0][:1]
            if mark in b"{[":
                depth += 1
            elif mark in b"}]":
                depth -= 1
                if depth <= 0:
                    return keys, True
            elif depth == level and token["key"]:
                key = token["text"].decode(errors="replace")
                keys.setdefault(key, self.text[token.end() : token.end() + _VALUE].lstrip())
                if key == ("traceEvents" if level == 1 else "ph"):
                    break
        return keys, False

    @property
    def keys(self) -> dict[str, bytes]:
        """The JSON's outermost keys: of an object, or of the objects in a list."""
        return self._scan[0]

    def has(self, *keys: str) -> bool:
        """Tell whether the JSON has all these keys."""
        return self.keys.keys() >= set(keys)

    @property
    def is_without_end(self) -> bool:
        """Whether the JSON's end lies beyond what was scanned, or is lost."""
        return not self._scan[1]

    @cached_property
    def categories(self) -> set[str]:
        """The categories of a trace's events."""
        return {found.decode() for found in _CATEGORY.findall(self.text)}

    @cached_property
    def columns(self) -> set[str]:
        """The names in a CSV's first line, in lower case."""
        line = self.text[:4096].split(b"\n", 1)[0].decode(errors="replace").lower()
        names = [name.strip().strip('"') for name in line.split(",")]
        return set(names) if len(names) > 1 else set()

    @cached_property
    def tables(self) -> str:
        """The names of an SQLite database's tables and views, in one text."""
        if not self.data.startswith(b"SQLite format 3\x00"):
            return ""
        return "\n".join(found.decode() for found in _TABLE.findall(self.data))

    @property
    def first_member(self) -> str:
        """The name of a zip archive's first member."""
        if not self.data.startswith(b"PK\x03\x04"):
            return ""
        length = int.from_bytes(self.data[26:28], "little")
        return self.data[30 : 30 + length].decode(errors="replace")

    @cached_property
    def messages(self) -> list[bytes]:
        """The first messages of a protobuf file whose outermost fields are all number 1."""
        fields = list(_fields(self.data, limit=4))
        is_list = bool(fields) and all(field == (1, 2) for field, _ in fields)
        return [content for _, content in fields] if is_list else []

    def inner(self, field: int) -> list[bytes]:
        """Give the texts of a field of those messages."""
        return [
            content
            for message in self.messages
            for found, content in _fields(message, limit=8)
            if found == (field, 2)
        ]


def _fields(data: bytes, limit: int) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Give number and wire type of a protobuf message's first fields, with what lies in them."""
    place = 0
    for _ in range(limit):
        tag, place = _varint(data, place)
        if tag is None or tag >> 3 == 0:
            return
        kind, content = tag & 7, b""
        if kind == 0:
            _, place = _varint(data, place)
        elif kind == 2:
            length, place = _varint(data, place)
            if length is None:
                return
            content = data[place : place + length]
            place += length
        elif kind in (1, 5):
            place += 8 if kind == 1 else 4
        else:
            return
        yield (tag >> 3, kind), content


def _varint(data: bytes, place: int) -> tuple[int | None, int]:
    value = 0
    for shift in range(0, 64, 7):
        if place >= len(data):
            return None, place
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    return None, place


class Format(NamedTuple):
    """Something that a file can be."""

    name: str
    """As people call it, with an article."""
    matches: Callable[[Head], bool]
    hint: str = ""
    """What to do instead; empty where a reader may be there."""


_EXPORT = "export_chrome_trace writes the file that is needed"
_ROCM = (
    "files of the ROCm profilers are not read yet; a Kineto trace of the same program is: "
    "torch.profiler's " + _EXPORT
)
_OTHER = f"fgtrace reads runs and Kineto traces: torch.profiler's {_EXPORT}"
_ARCHIVE = "extract it, and name the file or the folder that comes out"


def _starts(*magics: bytes) -> Callable[[Head], bool]:
    return lambda head: head.data.startswith(magics)


def _is_hipprof(head: Head) -> bool:
    return bool(head.categories & _HIPPROF) and not head.categories & _KINETO_CATEGORIES


def _is_events(head: Head) -> bool:
    return head.has("traceEvents") or (head.text.startswith(b"[") and head.has("ph"))


FORMATS = (
    # JSON, by its outermost keys
    Format("hipprof JSON", lambda head: _is_events(head) and _is_hipprof(head), _ROCM),
    Format(
        "rocprof JSON",
        lambda head: (
            re.match(rb"\{}", head.keys.get("traceEvents", b"")[1:].lstrip()) is not None
            and b'"BeginNs"' in head.data
        ),
        _ROCM,
    ),
    Format(KINETO, _is_events),
    Format("rocprofv3 JSON", lambda head: head.has("rocprofiler-sdk-tool"), _ROCM),
    Format(
        "a PyTorch execution trace",
        lambda head: head.has("schema", "nodes") or b"chakra" in head.keys.get("schema", b""),
        f"it holds no times; torch.profiler's {_EXPORT}",
    ),
    Format(
        "a CUDA memory snapshot",
        lambda head: (
            head.has("segments", "device_traces")
            or (head.data.startswith(b"\x80") and b"segments" in head.data[:200])
            or (head.text.startswith(b"<") and b"MemoryViz" in head.data)
        ),
        f"docs.pytorch.org/memory_viz shows it; torch.profiler's {_EXPORT}",
    ),
    Format(
        "a speedscope profile",
        lambda head: (
            b"speedscope" in head.keys.get("$schema", b"") or head.has("shared", "profiles")
        ),
        _OTHER,
    ),
    Format(
        "a Chrome CPU profile",
        lambda head: b'"callFrame"' in head.keys.get("nodes", b""),
        _OTHER,
    ),
    Format("a Firefox profile", lambda head: head.has("meta", "libs", "threads"), _OTHER),
    Format(
        "a Proton profile",
        lambda head: (
            head.text.startswith(b"[")
            and head.has("children")
            and all(key in head.text for key in (b'"frame"', b'"metrics"'))
        ),
        f"proton.start(..., data='trace') writes a Chrome trace; {_OTHER}",
    ),
    Format(
        "the manifest of a run",
        lambda head: head.has("schema_version", "provenance", "frames"),
        "name the folder that it lies in",
    ),
    # Databases, by their tables
    Format("a rocpd database", lambda head: "rocpd_kernel_dispatch" in head.tables, _ROCM),
    Format("an rpd database", lambda head: "rocpd_api" in head.tables, _ROCM),
    Format("a hipprof database", lambda head: "HIPOPS_" in head.tables, _ROCM),
    Format(
        "a rocprof database",
        lambda head: bool({"KERN", "rocTX", "OPS", "COPY"} & set(head.tables.split())),
        _ROCM,
    ),
    Format(
        "an Nsight Systems database",
        lambda head: any(name in head.tables for name in ("CUPTI_", "TARGET_INFO_", "NVTX_EVENTS")),
        _OTHER,
    ),
    Format("an SQLite database", _starts(b"SQLite format 3\x00"), _OTHER),
    # Tables of text, by their first line
    Format(
        "rocprofv3 CSV",
        lambda head: (
            bool({"kind", "domain", "counter_name"} & head.columns)
            and bool({"start_timestamp", "counter_value"} & head.columns)
        ),
        _ROCM,
    ),
    Format("rocprofv3 CSV", lambda head: head.columns >= {"node_id", "agent_type"}, _ROCM),
    Format(
        "CSV of rocprof or hipprof",
        lambda head: (
            bool({"kernelname", "kernel-name"} & head.columns)
            and bool({"gpu-id", "beginns"} & head.columns)
        ),
        _ROCM,
    ),
    Format(
        "a table of totals by rocprof or hipprof",
        lambda head: head.columns >= {"name", "calls", "totaldurationns", "percentage"},
        _ROCM,
    ),
    Format(
        "a table of Nsight Systems or Nsight Compute",
        lambda head: any(
            head.columns >= names
            for names in ({"time (%)", "total time (ns)"}, {"kernel name", "metric name"})
        ),
        _OTHER,
    ),
    Format(
        "stacks for a flame graph",
        lambda head: _FOLDED.match(head.text[:65536]) is not None,
        f"export_stacks keeps no events; torch.profiler's {_EXPORT}",
    ),
    # By how they begin
    Format("an Nsight Compute report", _starts(b"NVR\x00"), _OTHER),
    Format(
        "an Nsight Systems report",
        lambda head: (
            b"\x00" in head.data[:65536]
            and any(name in head.data[:65536] for name in (b"QDSTRM", b"Nsight Systems", b"QuadD"))
        ),
        _OTHER,
    ),
    Format(
        "a web page",
        lambda head: re.match(rb"(?i)<(!doctype html|html|head|!--)", head.text) is not None,
        f"the download may have failed, or it is a report; torch.profiler's {_EXPORT}",
    ),
    Format(
        "a pointer of Git LFS",
        _starts(b"version https://git-lfs.github.com"),
        "git lfs pull fetches the file itself",
    ),
    Format("a PyTorch checkpoint", lambda head: head.first_member.endswith("/data.pkl"), _OTHER),
    Format("a PyTorch checkpoint", _starts(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), _OTHER),
    Format(
        "a NumPy file",
        lambda head: head.data.startswith(b"\x93NUMPY") or head.first_member.endswith(".npy"),
        _OTHER,
    ),
    Format("a zip archive", _starts(b"PK\x03\x04", b"PK\x05\x06"), _ARCHIVE),
    Format("a tar archive", lambda head: head.data[257:262] == b"ustar", _ARCHIVE),
    Format("compressed twice", _starts(b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"), "decompress it once"),
    Format("a Parquet file", _starts(b"PAR1"), "if it is part of a run, name the run's folder"),
    Format("a program or library", _starts(b"\x7fELF"), _OTHER),
    Format(
        "a Python pickle",
        lambda head: re.match(rb"\x80[\x02-\x05][\x28-\x95]", head.data) is not None,
        _OTHER,
    ),
    Format(
        "nothing but zeros",
        lambda head: not head.data.strip(b"\x00"),
        "the machine went down before the file was written; record it again",
    ),
    # Protobuf says least of itself
    Format(
        "an XLA profile (xplane)",
        lambda head: any(
            name.startswith((b"/host:", b"/device:", b"Task Environment")) for name in head.inner(2)
        ),
        _OTHER,
    ),
    Format("a pprof profile", lambda head: _is_pprof(head.data), _OTHER),
    Format(
        "a Perfetto trace",
        lambda head: len(head.messages) > 1 and all(list(_fields(m, 1)) for m in head.messages),
        f"profilers that write it can write JSON as well; {_OTHER}",
    ),
    # A trace whose events begin beyond the block, were cut off with it, or come after text that is
    # escaped wrongly.
    Format(
        KINETO,
        lambda head: (
            head.text.startswith(b"{")
            and (head.is_without_end or _EVENTS.search(head.text) is not None)
        ),
    ),
)
"""What is recognised, the first that matches."""


def _is_pprof(data: bytes) -> bool:
    """Tell by the sample types, which come first: each is a pair of numbers."""
    fields = [*_fields(data, limit=2)]
    if len(fields) < 2 or fields[0][0] != (1, 2):
        return False
    inside = [field for field, _ in _fields(fields[0][1], limit=3)]
    return inside == [(1, 0), (2, 0)]


def recognise(head: bytes) -> Format | None:
    """Tell what a file is whose first block this is; None where it is nothing known."""
    seen = Head(head)
    return next((one for one in FORMATS if one.matches(seen)), None)
