"""What two sequences have in common, in order: the longest, and the heaviest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from math import isqrt

Pair = tuple[int, int]
"""A place in the one sequence, and the place in the other that it is paired with."""

_LARGE_TABLE = 2**30
"""Cells of the textbook's table from which on it is tried first to do without."""

_FEW_EDITS = 1000
"""Differences with which the table can be done without."""

_KEPT_MASKS = 4096
"""Masks have a bit a place, so those of very many values would not fit in memory."""


class LongestCommonSubsequence:
    """A longest common subsequence, exact, of any two sequences.

    A row of the textbook's table is one integer, whose bit is 0 where the length grows with that
    column: Hyyrö, "Bit-parallel LCS-length computation revisited" (AWOCA 2004), after Crochemore
    et al., "A fast and practical bit-vector algorithm for the longest common subsequence problem"
    (IPL 80, 2001). So the time is that of len(b) additions of len(a) bits. Of the rows, the square
    root is kept; the others are made again where the way back needs them. Long sequences that
    differ in few places need no table.
    """

    def __init__(self, a: Sequence[int], b: Sequence[int]) -> None:
        self._a = a
        self._b = b
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        for place, value in enumerate(a):
            self._places[value].append(place)
        self._masks: dict[int, int] = {}
        self._step = isqrt(len(b)) + 1
        self._kept = [(1 << len(a)) - 1]
        large = len(a) * len(b) >= _LARGE_TABLE
        self._of_few_edits = _with_few_edits(a, b) if large else None
        if self._of_few_edits is not None:
            self.length = len(self._of_few_edits)
            return
        for start in range(0, len(b), self._step):
            *_, last = self._rows(start)
            self._kept.append(last)
        self.length = len(a) - self._kept[-1].bit_count()

    def candidates(self, limit: int) -> list[Pair] | None:
        """Give all pairs that a longest common subsequence may have, or None if over `limit`.

        Only len(a) - length places of the one are left out and len(b) - length of the other, so a
        pair lies at most that far off the diagonal. The order is by the place in `b`, then from
        the last place in `a` to the first. There are never fewer than `length`; when there are as
        many, they are the only longest common subsequence.
        """
        found = list(islice(self._near_the_diagonal(), limit + 1))
        return found if len(found) <= limit else None

    def pairs(self) -> list[Pair]:
        """Give one longest common subsequence, in order."""
        if self._of_few_edits is not None:
            return self._of_few_edits
        found = []
        column = len(self._a)
        for start in reversed(range(0, len(self._b), self._step)):
            rows = [self._kept[start // self._step], *self._rows(start)]
            column, of_block = _way_back(rows, start, column)
            found += of_block
        return found[::-1]

    def _near_the_diagonal(self) -> Iterator[Pair]:
        before, after = len(self._b) - self.length, len(self._a) - self.length
        for row, value in enumerate(self._b):
            places = self._places.get(value, ())
            first, end = bisect_left(places, row - before), bisect_right(places, row + after)
            for place in reversed(places[first:end]):
                yield place, row

    def _rows(self, start: int) -> Iterator[int]:
        # The rows of the block that begins at `start`, from the row that was kept before it.
        ones = self._kept[0]
        row = self._kept[start // self._step]
        for value in self._b[start : start + self._step]:
            fits = row & self._mask(value)
            row = ((row + fits) | (row - fits)) & ones
            yield row

    def _mask(self, value: int) -> int:
        mask = self._masks.get(value)
        if mask is None:
            mask = sum(1 << place for place in self._places.get(value, ()))
            if len(self._masks) < _KEPT_MASKS:
                self._masks[value] = mask
        return mask


def _way_back(rows: list[int], start: int, column: int) -> tuple[int, list[Pair]]:
    """Go back through a block of rows: the column that is left over, and the pairs, last first."""
    found = []
    row = len(rows) - 1
    while row and column:
        bit = 1 << (column - 1)
        if rows[row] & bit:
            column -= 1  # the length is the same without this column
            continue
        row -= 1
        if rows[row] & bit:
            column -= 1
            found.append((column, start + row))
        # Otherwise the length is the same without this row.
    return column, found


def _with_few_edits(a: Sequence[int], b: Sequence[int]) -> list[Pair] | None:
    """Give a longest common subsequence, or None if more than _FEW_EDITS places are not in it.

    Myers, "An O(ND) difference algorithm and its variations" (Algorithmica 1, 1986): how far into
    `a` each diagonal leads, with one place left out more at a time.
    """
    furthest = [0] * (2 * _FEW_EDITS + 3)  # by diagonal; the negative ones count from the end
    history = []
    for edits in range(_FEW_EDITS + 1):
        history.append(furthest.copy())
        for diagonal in range(-edits, edits + 1, 2):
            _, place = _after_edit(furthest, diagonal, edits)
            other = place - diagonal
            while place < len(a) and other < len(b) and a[place] == b[other]:
                place += 1
                other += 1
            furthest[diagonal] = place
            if place >= len(a) and other >= len(b):
                return _along_diagonals(history, place, diagonal)
    return None


def _along_diagonals(history: list[list[int]], place: int, diagonal: int) -> list[Pair]:
    found: list[Pair] = []
    for edits in reversed(range(len(history))):
        before, start = _after_edit(history[edits], diagonal, edits)
        found.extend((one, one - diagonal) for one in range(place - 1, start - 1, -1))
        place, diagonal = history[edits][before], before
    return found[::-1]


def _after_edit(furthest: list[int], diagonal: int, edits: int) -> tuple[int, int]:
    """Give the diagonal that an edit leads from to this one, and the place in `a` behind it."""
    below, above = furthest[diagonal - 1], furthest[diagonal + 1]
    if diagonal == -edits or (diagonal != edits and below < above):
        return diagonal + 1, above
    return diagonal - 1, below + 1


def heaviest(pairs: Sequence[Pair], weights: Sequence[int]) -> list[Pair]:
    """Choose pairs that increase on both sides, whose (positive) weights add up to the most.

    `pairs` are in the order of LongestCommonSubsequence.candidates. The method is that of Jacobson
    and Vo, "Heaviest increasing/common subsequence problems" (CPM 1992): the best chain that ends
    at or before each column, of which only those are kept that weigh more than all before them.
    """
    columns, totals, lasts = [-1], [0], [-1]  # of each chain: its last column, its weight, its end
    before = []  # of each pair: the one before it in its chain
    for place, ((column, _), weight) in enumerate(zip(pairs, weights, strict=True)):
        # The columns of a row come from the last to the first: none follows another of its row.
        at = bisect_left(columns, column)
        total = totals[at - 1] + weight
        before.append(lasts[at - 1])
        beaten = at
        while beaten < len(columns) and totals[beaten] <= total:
            beaten += 1
        if beaten > at or at == len(columns) or columns[at] > column:
            columns[at:beaten], totals[at:beaten], lasts[at:beaten] = [column], [total], [place]
    chosen = []
    place = lasts[-1]
    while place >= 0:
        chosen.append(pairs[place])
        place = before[place]
    return chosen[::-1]
