import re
from collections import Counter
from functools import cache

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis import siblings
from fgtrace.analysis.aligning import ALIGNED, TREE_NODES, align


def forest(text):
    """Make a frame of `step(add(launch) k:kernel) copy`: names, some with kinds, and children."""
    parents, names, kinds, around = [], [], [], [None]
    for token in re.findall(r"[^() ]+|[()]", text):
        if token == "(":
            around.append(len(names) - 1)
        elif token == ")":
            around.pop()
        else:
            name, _, kind = token.partition(":")
            parents.append(around[-1])
            names.append(name)
            kinds.append(kind or "op")
    return pl.DataFrame(
        {"parent": parents, "name": names, "kind": kinds}, schema={**TREE_NODES, "kind": pl.String}
    )


def aligned(a, b):
    rows = align(a, b)
    assert rows.schema == ALIGNED
    return rows


def changes(a, b):
    """Name what is not matched, in the order of the rows."""
    one, other = forest(a), forest(b)
    named = aligned(one, other).filter(pl.col("status") != "matched")
    return [
        (status, *(frame["name"][row] for frame, row in ((one, a), (other, b)) if row is not None))
        for a, b, status in named.iter_rows()
    ]


def test_one_more_kernel_shifts_nothing():
    a = "step(add(k1) mul(k2) add(k1)) step(add(k1) mul(k2) add(k1))"
    b = "step(add(k1) mul(new k2) add(k1)) step(add(k1) mul(k2) add(k1))"
    assert changes(a, b) == [("added", "new")]


def test_rows_are_in_the_order_of_a_and_then_what_is_added_in_that_of_b():
    rows = aligned(forest("a(b) c d"), forest("x a(b) d y"))
    assert rows.rows() == [
        (0, 1, "matched"),
        (1, 2, "matched"),
        (2, None, "removed"),
        (3, 3, "matched"),
        (None, 0, "added"),
        (None, 4, "added"),
    ]


def test_what_lies_below_tells_which_of_equal_names_is_the_new_one():
    assert changes("add(k1)", "add add(k1 k2)") == [("added", "add"), ("added", "k2")]
    assert changes("add(k1)", "add(k1 k2) add") == [("added", "k2"), ("added", "add")]


def test_no_match_of_names_is_given_up_for_what_lies_below():
    assert changes("x(k k k) y z q", "y z x(k k k) r") == [
        *[("moved", name, name) for name in ("x", "k", "k", "k")],
        ("renamed", "q", "r"),
    ]


@pytest.mark.parametrize(
    ("b", "row"),
    [
        ("z call(k k) call(k k m) z", 1),
        ("z call(k k m) call(k k) z", 5),
        ("z call(k k m) call z", 1),
        ("z call call(k k m) z", 2),
    ],
)
def test_where_nothing_more_is_compared_equal_subtrees_match_and_else_large_ones(
    monkeypatch, b, row
):
    monkeypatch.setattr(siblings, "_STEPS", 0)
    assert (1, row, "matched") in aligned(forest("y call(k k) y"), forest(b)).rows()


def test_a_subtree_is_removed_with_all_that_is_below():
    assert changes("a b(c(d)) e", "a e") == [("removed", name) for name in "bcd"]


def test_a_name_of_another_kind_is_another_name():
    assert changes("copy:memcpy", "copy:op") == [("removed", "copy"), ("added", "copy")]


@pytest.mark.parametrize("kinds", [("op", None), (None, "op"), (None, None)])
def test_kinds_are_ignored_where_only_one_frame_has_them(kinds):
    a, b = (
        forest("copy").with_columns(kind=pl.lit(kind)) if kind else forest("copy").drop("kind")
        for kind in kinds
    )
    assert aligned(a, b).rows() == [(0, 0, "matched")]


def test_the_only_different_leaf_between_two_matches_is_renamed():
    assert changes("mm(launch(k1:kernel))", "mm(launch(k2:kernel))") == [("renamed", "k1", "k2")]
    assert changes("a b c", "a x c") == [("renamed", "b", "x")]
    assert changes("a b c d", "a x y d") == [("renamed", "b", "x"), ("renamed", "c", "y")]


def test_what_is_below_a_renamed_operator_is_aligned():
    assert changes("addmm(launch(k) free)", "linear(launch(k) drop)") == [
        ("renamed", "addmm", "linear"),
        ("renamed", "free", "drop"),
    ]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a b c", "a x y c"),  # more of them
        ("a b", "x a"),  # not at the same place
        ("b:kernel", "x:memcpy"),  # of another kind
        ("b:kernel c:op", "x:op y:kernel"),  # in another order
        ("b", "x(k)"),  # not a leaf
        ("b(k)", "x(k k)"),  # with more below
        ("b(k:kernel)", "x(c:memcpy)"),  # with another kind below
    ],
)
def test_what_may_be_something_else_is_not_renamed(a, b):
    assert {status for status, *_ in changes(a, b)} <= {"removed", "added", "moved"}


def test_a_subtree_at_another_place_of_its_family_is_moved_with_all_that_is_below():
    assert changes("a(k) b c d", "b c a(k) d") == [("moved", "a", "a"), ("moved", "k", "k")]


def test_two_that_change_places_are_moved_and_not_renamed():
    assert changes("a m n b", "b m n a") == [("moved", "a", "a"), ("moved", "b", "b")]


def test_a_kernel_launched_by_another_operator_is_moved():
    a = "add(k:kernel) mul(m:kernel)"
    assert changes(a, "add mul(m:kernel k:kernel)") == [("moved", "k", "k")]
    assert changes("k", "wrapper(k)") == [("moved", "k", "k"), ("added", "wrapper")]


def test_the_largest_subtree_moves_first_and_then_what_is_left():
    a, b = "p(x(k) k) q r", "p q(k) r(x(k) k)"
    moved = [("moved", "x", "x"), ("moved", "k", "k"), ("moved", "k", "k")]
    assert changes(a, b) == [*moved, ("added", "k")]
    assert changes(b, a) == [moved[2], *moved[:2], ("removed", "k")]


def test_moves_prefer_their_own_family():
    rows = aligned(forest("p q(k m m)"), forest("p(k) q(m m k)"))
    assert (2, 5, "moved") in rows.rows()
    assert (None, 1, "added") in rows.rows()


def test_equal_ones_move_in_order_of_occurrence():
    rows = aligned(forest("p(k k) q"), forest("p q(k k k)")).filter(status="moved")
    assert rows.select("row_a", "row_b").rows() == [(1, 2), (2, 3)]
    # Also where the first lies deeper.
    rows = aligned(forest("p(k) k q q"), forest("q q(k)")).filter(status="moved")
    assert rows.select("row_a", "row_b").rows() == [(1, 2)]


@pytest.mark.parametrize("size", [0, 3])
def test_nothing_aligns_with_nothing(size):
    rows = forest("a(b) c").head(size)
    nothing = forest("")
    assert aligned(nothing, rows)["status"].to_list() == ["added"] * size
    assert aligned(rows, nothing)["status"].to_list() == ["removed"] * size


def test_names_are_data_also_where_they_are_strange_or_unknown():
    names = [None, "", "\0", "\ud7ff", "null"]
    rows = pl.DataFrame({"parent": [None] * 5, "name": names}, schema=TREE_NODES)
    assert aligned(rows, rows.reverse())["status"].to_list().count("matched") == 1
    assert aligned(rows, rows)["status"].to_list() == ["matched"] * 5


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["kernel", "op"]), pl.String])
def test_names_and_kinds_are_text_of_any_type(kind):
    rows = forest("a(k:kernel)").with_columns(
        pl.col("name").cast(pl.Categorical()), pl.col("kind").cast(kind)
    )
    assert aligned(rows, forest("a(k:kernel)"))["status"].to_list() == ["matched"] * 2


@pytest.mark.parametrize("step", ["f(", "f f(", "f(g) f("])
def test_trees_may_be_deeper_than_pythons_stack(step):
    a = forest(step * 3000 + "x")
    b = forest("f " + step * 1500 + "f " + step * 1500 + "y")
    assert Counter(aligned(a, b)["status"]) == {
        "matched": len(a) - 1, "added": 2, "renamed": 1
    }  # fmt: skip


NAMES = st.sampled_from("abc")
Trees = st.recursive(
    st.just(()),
    lambda below: st.lists(st.tuples(NAMES, below), max_size=5).map(tuple),
    max_leaves=20,
)
"""Tuples of (name, children)."""


def written(trees):
    return " ".join(f"{name}({written(below)})" for name, below in trees)


def frame(trees):
    return forest(written(trees))


def counts(a, b):
    return Counter(aligned(frame(a), frame(b))["status"])


def size(trees):
    return sum(1 + size(below) for _, below in trees)


@given(Trees)
def test_a_forest_matches_itself_row_by_row(trees):
    assert aligned(frame(trees), frame(trees)).rows() == [
        (row, row, "matched") for row in range(size(trees))
    ]


@st.composite
def with_leaves(draw):
    """Draw a forest, the same with leaves of new or known names at any place, and their number."""
    trees = draw(Trees)
    names = draw(st.lists(NAMES | st.just("new"), max_size=6))
    more = trees
    for name in names:
        more = inserted(more, name, draw(st.integers(0, inner_places(more) - 1)))
    return trees, more, len(names)


def inner_places(trees):
    return len(trees) + 1 + sum(inner_places(below) for _, below in trees)


def inserted(trees, name, place):
    if place <= len(trees):
        return (*trees[:place], (name, ()), *trees[place:])
    place -= len(trees) + 1
    for at, (parent, below) in enumerate(trees):
        if place < inner_places(below):
            return (*trees[:at], (parent, inserted(below, name, place)), *trees[at + 1 :])
        place -= inner_places(below)
    raise AssertionError


@given(with_leaves())
def test_leaves_inserted_anywhere_are_all_that_is_added_and_the_same_if_left_out(drawn):
    trees, more, count = drawn
    matched = Counter(matched=size(trees))
    assert counts(trees, more) == matched + Counter(added=count)
    assert counts(more, trees) == matched + Counter(removed=count)


@given(Trees, Trees)
def test_exchanged_sides_give_the_exchanged_result(a, b):
    assert_exchangeable(frame(a), frame(b))


def assert_exchangeable(a, b):
    other = {"added": "removed", "removed": "added"}
    back = {(row_a, row_b, other.get(how, how)) for row_b, row_a, how in align(b, a).iter_rows()}
    assert {*align(a, b).iter_rows()} == back


@given(Trees, Trees)
def test_every_row_is_once_in_the_result_and_pairs_are_of_pairs(a, b):
    one, other = frame(a), frame(b)
    rows = aligned(one, other)
    assert rows["row_a"].drop_nulls().sort().to_list() == list(range(len(one)))
    assert rows["row_b"].drop_nulls().sort().to_list() == list(range(len(other)))
    pairs = {(row_a, row_b) for row_a, row_b, _ in rows.iter_rows()} | {(None, None)}
    for row_a, row_b, status in rows.iter_rows():
        assert (row_a is None, row_b is None) == (status == "added", status == "removed")
        if status in ("matched", "renamed"):
            assert (one["parent"][row_a], other["parent"][row_b]) in pairs
        if status in ("matched", "moved"):
            assert one["name"][row_a] == other["name"][row_b]
        if status == "renamed":
            assert one["name"][row_a] != other["name"][row_b]
    in_order = rows.filter(pl.col("status") == "matched")
    parents = one["parent"].gather(in_order["row_a"])
    for family in in_order.with_columns(parent=parents).partition_by("parent"):
        assert family["row_b"].is_sorted()


@cache
def best(a, b):
    """Count the matches of two families, and of all below, by the textbook: (here, in all)."""
    table = [[(0, 0)] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, (name_a, below_a) in enumerate(a):
        for j, (name_b, below_b) in enumerate(b):
            table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j])
            if name_a == name_b:
                here, in_all = table[i][j]
                pair = (here + 1, in_all + 1 + best(below_a, below_b)[1])
                table[i + 1][j + 1] = max(table[i + 1][j + 1], pair)
    return table[-1][-1]


def families(trees):
    """Give the children of each row, those of no row first."""
    yield trees
    for _, below in trees:
        yield from families(below)


@given(Trees, Trees)
def test_each_family_has_the_longest_common_subsequence_with_the_most_matches_below(a, b):
    one, other = frame(a), frame(b)
    status = {pair[:2]: pair[2] for pair in aligned(one, other).iter_rows()}
    of_a, of_b = list(families(a)), list(families(b))
    # A row's family is one place further in them, as the roots' is the first.
    here, in_all = Counter(), Counter()
    for row_b, row_a in sorted(((q, p) for (p, q), how in status.items() if how == "matched")):
        above = (one["parent"][row_a], other["parent"][row_b])
        here[above] += 1
        while status.get(above) == "matched":
            in_all[above] += 1
            above = (one["parent"][above[0]], other["parent"][above[1]])
        in_all[above] += 1
    pairs = [pair for pair, how in status.items() if how in ("matched", "renamed")]
    for row_a, row_b in [(None, None), *pairs]:
        family_a = of_a[0 if row_a is None else row_a + 1]
        family_b = of_b[0 if row_b is None else row_b + 1]
        found = here[row_a, row_b], in_all[row_a, row_b]
        assert found == best(family_a, family_b)


@given(Trees, Trees)
def test_what_moved_has_the_same_content_and_nothing_is_left_that_could_move(a, b):
    rows = aligned(frame(a), frame(b)).cast({"status": pl.String})
    of_a, of_b = (list(everything(trees)) for trees in (a, b))
    for row_a, row_b, status in rows.iter_rows():
        if status == "moved":
            assert of_a[row_a] == of_b[row_b]
    left = (
        {
            str(tree)
            for row, tree in enumerate(trees)
            if set(range(row, row + size([tree]))) <= set(rows.filter(status=how)[side])
        }
        for trees, side, how in ((of_a, "row_a", "removed"), (of_b, "row_b", "added"))
    )
    assert not set.intersection(*left)


def everything(trees):
    for tree in trees:
        yield tree
        yield from everything(tree[1])


@given(with_leaves(), st.sampled_from([(0, 100), (100, 0), (1, 1)]))
def test_with_too_much_to_compare_names_still_match_as_often(drawn, limits):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(siblings, "_STEPS", limits[0])
        patch.setattr(siblings, "_CANDIDATES", limits[1])
        trees, more, _ = drawn
        here = aligned(frame(trees), frame(more))
        assert_exchangeable(frame(trees), frame(more))
    roots = here.filter(pl.col("row_a").is_in(root_rows(trees)))["status"]
    assert roots.to_list() == ["matched"] * len(trees)


def root_rows(trees):
    return [size(trees[:place]) for place in range(len(trees))]
