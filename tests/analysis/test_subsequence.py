from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis import subsequence
from fgtrace.analysis.subsequence import LongestCommonSubsequence, heaviest

few = st.lists(st.integers(0, 3), max_size=30)
many = st.lists(st.integers(-(2**70), 2**70) | st.integers(0, 9), max_size=30)
lists = few | many


def most(a, b, weight):
    """Give the most that pairs of equal places can weigh, by the textbook."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            pair = table[i][j] + weight(i, j) if one == other else 0
            table[i + 1][j + 1] = max(pair, table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def increases(pairs):
    return all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))


@given(lists, lists)
def test_it_is_as_long_as_the_textbook_says_and_a_subsequence_of_both(a, b):
    common = LongestCommonSubsequence(a, b)
    pairs = common.pairs()
    assert common.length == len(pairs) == most(a, b, lambda i, j: 1)
    assert increases(pairs)
    assert [a[i] for i, _ in pairs] == [b[j] for _, j in pairs]


@given(few, few)
def test_masks_that_are_not_kept_are_made_again(a, b):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsequence, "_KEPT_MASKS", 1)
        pairs = LongestCommonSubsequence(a, b).pairs()
    assert pairs == LongestCommonSubsequence(a, b).pairs()


@given(lists, lists, st.integers(0, 20))
def test_it_is_as_long_without_a_table_however_many_edits_are_few(a, b, few_edits):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsequence, "_LARGE_TABLE", 0)
        patch.setattr(subsequence, "_FEW_EDITS", few_edits)
        common = LongestCommonSubsequence(a, b)
        pairs = common.pairs()
    assert common.length == len(pairs) == LongestCommonSubsequence(a, b).length
    assert increases(pairs)
    assert [a[i] for i, _ in pairs] == [b[j] for _, j in pairs]


@given(lists, lists)
def test_the_candidates_are_enough_for_every_choice(a, b):
    common = LongestCommonSubsequence(a, b)
    candidates = common.candidates(1000)
    assert all(a[i] == b[j] for i, j in candidates)
    # Of those that are as long, the pairs that any weights may prefer.
    for i in range(len(a)):
        for j in range(len(b)):
            through = most(a[:i], b[:j], lambda i, j: 1) + most(
                a[i + 1 :], b[j + 1 :], lambda i, j: 1
            )
            if a[i] == b[j] and through + 1 == common.length:
                assert (i, j) in candidates


def test_too_many_candidates_are_none():
    common = LongestCommonSubsequence([7, 7, 7], [7, 7])
    assert common.candidates(3) is None
    assert common.candidates(4) == [(1, 0), (0, 0), (2, 1), (1, 1)]


@given(few, few, st.lists(st.integers(1, 9), min_size=900, max_size=900))
def test_the_heaviest_weighs_what_the_textbook_says(a, b, weights):
    pairs = [
        (i, j) for j, other in enumerate(b) for i, one in reversed([*enumerate(a)]) if one == other
    ]
    weight = {pair: weights[30 * pair[0] + pair[1]] for pair in pairs}
    chosen = heaviest(pairs, list(weight.values()))
    assert sum(map(weight.get, chosen)) == most(a, b, lambda i, j: weight[i, j])
    assert increases(chosen)


def test_a_long_chain_is_no_deep_recursion():
    places = range(100_000)
    assert heaviest([(place, place) for place in places], [1] * len(places))[-1] == (99_999, 99_999)
