"""Which siblings of two forests are the same: by their names, in order, then by what is below."""

from __future__ import annotations

from collections.abc import Generator

from fgtrace.analysis.forests import Forest
from fgtrace.analysis.subsequence import LongestCommonSubsequence, Pair, heaviest

_NAME = 2**40
"""More than lies below any node: no pair of equal names is given up for others."""

_CANDIDATES = 100_000
"""Pairs that two families may offer; with more of them any longest common subsequence is taken."""

_STEPS = 400_000
"""What comparing unlike subtrees may take, in all. With none left their sizes have to do."""

_STEP = 2**14
"""Bits of the tables of names that are a step."""


class Siblings:
    """Pairs siblings by a longest common subsequence of names: one with the most matches below.

    In all, that is the alignment of Selkow, "The tree-to-tree editing problem" (IPL 6, 1977), where
    a node goes with its whole subtree, except that names come first. It does not depend on which
    forest is called the first.
    """

    def __init__(self, a: Forest, b: Forest) -> None:
        self._a = a
        self._b = b
        self._matches: dict[Pair, int] = {}
        self._steps_left = _STEPS

    def equal_ends(self, of_a: range, of_b: range) -> tuple[int, int]:
        """Count the siblings, from the first on and from the last, whose subtrees are equal.

        Pairing them costs no match elsewhere.
        """
        a, b = self._a.subtrees, self._b.subtrees
        head = tail = 0
        for one, other in zip(of_a, of_b, strict=False):
            if a[one] != b[other]:
                break
            head += 1
        for one, other in zip(reversed(of_a[head:]), reversed(of_b[head:]), strict=False):
            if a[one] != b[other]:
                break
            tail += 1
        return head, tail

    def pairs(self, of_a: range, of_b: range) -> list[Pair]:
        """Pair what is left of two families without the equal ends, in order."""
        choosing = self._choose(of_a, of_b)
        try:
            unlike = next(choosing)
            while True:
                unlike = choosing.send(self._count(*unlike))
        except StopIteration as chosen:
            pairs: list[Pair] = chosen.value
            return pairs

    def _choose(self, of_a: range, of_b: range) -> Generator[Pair, int, list[Pair]]:
        # Yields pairs of unlike subtrees, and is sent the number of their matches.
        names_a = self._a.labels[of_a.start : of_a.stop]
        names_b = self._b.labels[of_b.start : of_b.stop]
        if names_a == names_b:
            return list(zip(of_a, of_b, strict=True))
        if set(names_a).isdisjoint(names_b):
            return []
        # Of several best choices, which one is found depends on the side that is taken first.
        exchanged = names_b < names_a
        sides = (names_b, names_a) if exchanged else (names_a, names_b)
        common = LongestCommonSubsequence(*sides)
        found = common.candidates(_CANDIDATES)
        if found is None:
            self._steps_left -= _CANDIDATES
            found = common.pairs()
        elif len(found) > common.length:
            self._steps_left -= len(found)
            weights = []
            for first, second in found:
                one, other = (second, first) if exchanged else (first, second)
                pair = of_a[one], of_b[other]
                matches = self._known(*pair)
                if matches is None:
                    matches = yield pair
                weights.append(_NAME + matches)
            found = heaviest(found, weights)
        if exchanged:
            found = [(one, other) for other, one in found]
        return [(of_a[one], of_b[other]) for one, other in found]

    def _known(self, one: int, other: int) -> int | None:
        # The number of matches in two subtrees whose roots match, where it need not be counted.
        a, b = self._a, self._b
        if a.subtrees[one] == b.subtrees[other]:
            return a.sizes[one]
        smaller = min(a.sizes[one], b.sizes[other])
        if smaller == 1:
            return 1
        matches = self._matches.get((a.subtrees[one], b.subtrees[other]))
        if matches is None and self._steps_left <= 0:
            return smaller - 1  # less than if they were equal
        return matches

    def _count(self, one: int, other: int) -> int:
        # A stack of its own: trees are deeper than Python's.
        counting = [self._counting(one, other)]
        matches: int | None = None
        while True:
            try:
                unlike = counting[-1].send(matches)  # type: ignore[arg-type]
            except StopIteration as counted:
                matches = counted.value
                counting.pop()
                if not counting:
                    return matches
            else:
                counting.append(self._counting(*unlike))
                matches = None

    def _counting(self, one: int, other: int) -> Generator[Pair, int, int]:
        a, b = self._a, self._b
        of_a, of_b = a.children(one), b.children(other)
        self._steps_left -= len(of_a) + len(of_b) + len(of_a) * len(of_b) // _STEP
        head, tail = self.equal_ends(of_a, of_b)
        total = 1 + sum(a.sizes[of_a.start : of_a.start + head])
        total += sum(a.sizes[of_a.stop - tail : of_a.stop])
        pairs = yield from self._choose(
            of_a[head : len(of_a) - tail], of_b[head : len(of_b) - tail]
        )
        for pair in pairs:
            matches = self._known(*pair)
            if matches is None:
                matches = yield pair
            total += matches
        self._matches[a.subtrees[one], b.subtrees[other]] = total
        return total
