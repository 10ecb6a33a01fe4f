"""The alignment of two forests of named nodes: what is in both, and what in one of them only."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import polars as pl

from fgtrace.analysis.forests import TREE_NODES, Forest, numbered
from fgtrace.analysis.siblings import Siblings
from fgtrace.analysis.subsequence import Pair

__all__ = ["ALIGNED", "STATUS", "TREE_NODES", "align"]

STATUS = pl.Enum(["matched", "added", "removed", "renamed", "moved"])

ALIGNED = pl.Schema(
    {
        "row_a": pl.Int64(),  # null where added
        "row_b": pl.Int64(),  # null where removed
        "status": STATUS,
    }
)


def align(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Pair the rows of two forests (TREE_NODES): each row of either is in one row of the result.

    - matched: the same name at the same place. Roots are aligned with roots, then the children of
      each pair: by a longest common subsequence of names, of these one with the most matches below.
    - moved: the same subtree at another place: among its siblings, and what is left then anywhere,
      the largest first, in order of occurrence. All its rows are paired.
    - renamed: the same place by another name. Between two neighbouring matches among siblings, as
      many are missing as are additional, those that moved not counted, and in order each is of the
      same kind as its counterpart, with as many children, of the same kinds. These are aligned like
      the children of a match.
    - removed, added: on one side only, with all that is below but for what moved from or to there.

    Exchanging the sides exchanges them in the result. Its order is that of `row_a`, then of
    `row_b`, nulls last. The effort for "the most" is bounded: among siblings with tens of thousands
    of candidates, or with tens of thousands of differences in all, it may be fewer.
    """
    alignment = _Alignment(*numbered(a, b))
    alignment.align_families()
    alignment.find_moves()
    return alignment.frame()


@dataclass(frozen=True)
class _Rest:
    """What has no match in one of the forests."""

    forest: Forest
    nodes: list[int] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)

    def keep(self, siblings: range, paired: Iterable[int]) -> None:
        """Take the siblings that are neither paired nor moved."""
        self.nodes.extend(self.unmoved(sorted(set(siblings).difference(paired))))

    def unmoved(self, nodes: Iterable[int]) -> list[int]:
        """Leave out what moved."""
        return [node for node in nodes if node not in self.moved]

    def complete(self) -> None:
        """Add what is below, and sort by size, the largest first, then by row."""
        sizes, rows = self.forest.sizes, self.forest.rows
        self.nodes[:] = self.forest.with_descendants(self.nodes)
        self.nodes.sort(key=lambda node: (-sizes[node], rows[node]))

    def frame(self, row: str, status: str) -> pl.DataFrame:
        """Make a row of each node that did not move."""
        rows = [self.forest.rows[node] for node in self.unmoved(self.nodes)]
        return pl.DataFrame(
            {row: rows, "status": status}, schema={row: pl.Int64(), "status": STATUS}
        )


class _Alignment:
    """Pairs of nodes of two forests, and the rest of both."""

    def __init__(self, a: Forest, b: Forest) -> None:
        self._a = a
        self._b = b
        self._missing = _Rest(a)
        self._additional = _Rest(b)
        # Slices of rows that are paired one by one.
        self._rows_a: list[int] = []
        self._rows_b: list[int] = []
        self._counts: list[int] = []
        self._statuses: list[str] = []

    def align_families(self) -> None:
        """Pair the nodes family by family, from the roots down."""
        a, b = self._a, self._b
        siblings = Siblings(a, b)
        families = [(range(a.roots), range(b.roots))]
        while families:
            of_a, of_b = families.pop()
            head, tail = siblings.equal_ends(of_a, of_b)
            if head:
                self._match_all(of_a[:head], of_b[:head])
                of_a, of_b = of_a[head:], of_b[head:]
            if tail:
                self._match_all(of_a[-tail:], of_b[-tail:])
                of_a, of_b = of_a[:-tail], of_b[:-tail]
            pairs = siblings.pairs(of_a, of_b) if of_a and of_b else []
            renamed = self._renamed(of_a, of_b, pairs)
            for one, other in pairs:
                if a.subtrees[one] == b.subtrees[other]:
                    self._pair("matched", one, other, a.sizes[one])
                else:
                    self._pair("matched", one, other, 1)
                    families.append((a.children(one), b.children(other)))
            for one, other in renamed:
                self._pair("renamed", one, other, 1)
                families.append((a.children(one), b.children(other)))
            pairs += renamed
            if len(pairs) < len(of_a):
                self._missing.keep(of_a, (one for one, _ in pairs))
            if len(pairs) < len(of_b):
                self._additional.keep(of_b, (other for _, other in pairs))

    def find_moves(self) -> None:
        """Pair equal subtrees of the rest, wherever they are."""
        self._missing.complete()
        self._additional.complete()
        self._move(self._missing.nodes, self._additional.nodes)

    def frame(self) -> pl.DataFrame:
        """Make the rows of ALIGNED."""
        slices = pl.DataFrame(
            {
                "row_a": self._rows_a,
                "row_b": self._rows_b,
                "count": self._counts,
                "status": self._statuses,
            },
            schema={**ALIGNED, "count": pl.Int64()},
        )
        rows = (pl.int_ranges(row, pl.col(row) + pl.col("count")) for row in ("row_a", "row_b"))
        frames = (
            ALIGNED.to_frame(),
            slices.select(*rows, "status").explode("row_a", "row_b"),
            self._missing.frame("row_a", "removed"),
            self._additional.frame("row_b", "added"),
        )
        return pl.concat(frames, how="diagonal").sort("row_a", "row_b", nulls_last=True)

    def _pair(self, status: str, one: int, other: int, count: int) -> None:
        self._rows_a.append(self._a.rows[one])
        self._rows_b.append(self._b.rows[other])
        self._counts.append(count)
        self._statuses.append(status)

    def _match_all(self, of_a: range, of_b: range) -> None:
        # The subtrees of neighbouring siblings are one slice of rows.
        first, last = of_a[0], of_a[-1]
        count = self._a.rows[last] + self._a.sizes[last] - self._a.rows[first]
        self._pair("matched", first, of_b[0], count)

    def _renamed(self, of_a: range, of_b: range, matches: list[Pair]) -> list[Pair]:
        """Pair the siblings between the matches that have moved; give those that are renamed."""
        renamed: list[Pair] = []
        if len(matches) in (len(of_a), len(of_b)):
            return renamed
        ends = [(of_a.start - 1, of_b.start - 1), *matches, (of_a.stop, of_b.stop)]
        gaps = [
            (range(one + 1, next_one), range(other + 1, next_other))
            for (one, other), (next_one, next_other) in pairwise(ends)
            if next_one - one > 1 or next_other - other > 1
        ]
        self._move(
            [one for gap, _ in gaps for one in gap], [other for _, gap in gaps for other in gap]
        )
        shape_a, shape_b = self._a.shape, self._b.shape
        for gap_a, gap_b in gaps:
            missing, additional = self._missing.unmoved(gap_a), self._additional.unmoved(gap_b)
            if list(map(shape_a, missing)) == list(map(shape_b, additional)):
                renamed += zip(missing, additional, strict=True)
        return renamed

    def _move(self, missing: list[int], additional: list[int]) -> None:
        """Pair equal subtrees, in the order given, but for what moved with a larger one."""
        a, b = self._a, self._b
        places: defaultdict[int, deque[int]] = defaultdict(deque)
        for other in additional:
            places[b.subtrees[other]].append(other)
        for one in missing:
            others = places.get(a.subtrees[one])
            while others and one not in self._missing.moved:
                other = others.popleft()
                if other not in self._additional.moved:
                    self._pair("moved", one, other, a.sizes[one])
                    self._missing.moved.update(a.with_descendants([one]))
                    self._additional.moved.update(b.with_descendants([other]))
