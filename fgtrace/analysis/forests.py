"""Forests of named nodes, numbered so that equal subtrees are equal numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

TREE_NODES = pl.Schema(
    {
        # The row number of the parent in the same frame; null for a root. A node's whole subtree
        # stands directly below it.
        "parent": pl.Int64,
        "name": pl.String,  # or Categorical
    }
)
"""Where both frames have `kind` (String, Enum) too, a name of another kind is another name."""


@dataclass(frozen=True)
class Forest:
    """Nodes of a forest, where siblings stand side by side: those of an earlier parent first.

    A node is its place in that order; the roots are the first. Numbers are comparable between
    forests that were numbered together.
    """

    roots: int
    rows: list[int]
    """The row in its frame."""
    labels: list[int]
    """Equal where the names are, and the kinds."""
    kinds: list[str | None]
    """The kind of each label; null where a frame has none."""
    subtrees: list[int]
    """Equal where the whole subtrees are."""
    sizes: list[int]
    """The number of nodes in the subtree."""
    starts: list[int]
    """The first child."""
    ends: list[int]
    """Behind the last child. Equal to the start where there are none."""

    def children(self, node: int) -> range:
        """Give the children of a node, in order."""
        return range(self.starts[node], self.ends[node])

    def shape(self, node: int) -> list[str | None]:
        """Give the kinds of a node and of its children."""
        children = self.labels[self.starts[node] : self.ends[node]]
        return [self.kinds[label] for label in (self.labels[node], *children)]

    def with_descendants(self, nodes: Iterable[int]) -> list[int]:
        """Give some nodes, none of which is below another, and what is below them."""
        found = list(nodes)
        for node in found:  # which grows meanwhile
            found += self.children(node)
        return found


def numbered(a: pl.DataFrame, b: pl.DataFrame) -> tuple[Forest, Forest]:
    """Number the nodes of two forests (TREE_NODES) together.

    Labels are in the order of the names, so they do not depend on which forest is the first.
    """
    identity = ["name", "kind"] if "kind" in a.columns and "kind" in b.columns else ["name"]
    both = pl.concat([nodes.select(pl.col(identity).cast(pl.Categorical())) for nodes in (a, b)])
    known = both.unique().sort(pl.col(identity).cast(pl.String)).with_row_index("label")
    labels = both.join(known, on=identity, how="left", nulls_equal=True, maintain_order="left")
    kinds = known["kind"].to_list() if "kind" in identity else [None] * known.height
    numbers: dict[tuple[int, ...], int] = {}
    first, second = (
        _forest(nodes["parent"], labels["label"].slice(start, nodes.height), kinds, numbers)
        for nodes, start in ((a, 0), (b, a.height))
    )
    return first, second


def _forest(
    parents: pl.Series,
    labels: pl.Series,
    kinds: list[str | None],
    numbers: dict[tuple[int, ...], int],
) -> Forest:
    nodes = (
        pl.DataFrame({"parent": parents, "label": labels})
        .with_row_index("row")
        .sort("parent", maintain_order=True)
    )
    families = nodes.select(pl.col("parent").rle()).unnest("parent")
    families = families.with_columns(end=pl.col("len").cum_sum()).drop_nulls("value").reverse()
    family = (
        nodes["row"].arg_sort().gather(families["value"]),
        families["end"] - families["len"],
        families["end"],
    )
    forest = Forest(
        roots=parents.null_count(),
        rows=nodes["row"].to_list(),
        labels=nodes["label"].to_list(),
        kinds=kinds,
        subtrees=nodes["label"].to_list(),
        sizes=[1] * len(nodes),
        starts=[0] * len(nodes),
        ends=[0] * len(nodes),
    )
    rows, subtrees, sizes = forest.rows, forest.subtrees, forest.sizes
    # Children stand below their parents, so that from the last parent up their numbers are known.
    # The number of a leaf is its label; the others follow on the labels.
    for node, start, end in zip(*(column.to_list() for column in family), strict=True):
        content = (subtrees[node], *subtrees[start:end])
        subtrees[node] = numbers.setdefault(content, len(kinds) + len(numbers))
        sizes[node] = rows[end - 1] + sizes[end - 1] - rows[node]
        forest.starts[node] = start
        forest.ends[node] = end
    return forest
