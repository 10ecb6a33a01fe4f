import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fgtrace.text.markdown import inline, render
from fgtrace.units import printable
from fgtrace.views.model import Column, Table

HOSTILE = [
    "a|b",
    "a\\|b",
    "`code` and ``more``",
    "[bold]",
    "[text](http://example.org)",
    "<img src=x onerror=alert(1)>",
    "**strong** _emphasis_ __both__",
    "@everyone",
    "#1234",
    ":tada:",
    "www.example.org",
    "http://example.org",
    "&amp; &lt;",
    "~~gone~~",
    "$x$",
    "\\*",
    "void f<4, at::X>(int*)",
    "核函数",
    "trailing\\",
]


def shown_cells(markdown):
    """What a reader of the page sees in the cells of the first row, and the tags around it."""
    page = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown)
    row = re.search(r"<tbody>\s*<tr>(.*?)</tr>", page, re.DOTALL)[1]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
    tags = {tag for cell in cells for tag in re.findall(r"<(\w+)", cell)}
    return [html.unescape(re.sub(r"</?code>", "", cell)) for cell in cells], tags


def table_of(*cells):
    return Table("T", tuple(Column(f"c{n}", "left") for n in range(len(cells))), (cells,))


def test_a_table_is_written_as_github_reads_it():
    table = Table(
        title="Routes of repeat_values_known",
        columns=(Column("route", "left"), Column("throughput"), Column("95 %")),
        rows=(("triton-readback", "45.1 µs", "44.2–46.0 µs"), ("flaggems", "—", "—")),
        banners=("quick: one generation only",),
        footnotes=("95 % is an interval.",),
    )
    assert render(table) == (
        "**Routes of repeat_values_known**\n"
        "\n"
        "> quick: one generation only\n"
        "\n"
        "| route | throughput | 95 % |\n"
        "| :--- | ---: | ---: |\n"
        "| triton-readback | 45.1 µs | 44.2–46.0 µs |\n"
        "| flaggems | — | — |\n"
        "\n"
        "95 % is an interval.\n"
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_shown_as_it_is_and_never_as_markup(name):
    cells, tags = shown_cells(render(table_of(name, "next")))
    assert cells == [name, "next"]
    assert tags <= {"code"}


@pytest.mark.parametrize("name", ["@everyone", "#1234", ":tada:", "www.example.org"])
def test_what_only_github_would_act_on_stands_in_a_code_span(name):
    assert inline(name) == f"`{name}`"


@given(st.text(st.characters(codec="ascii"), min_size=1, max_size=12).map(printable))
def test_any_name_comes_back_from_the_page(name):
    cells, tags = shown_cells(render(table_of(name, "next")))
    assert [cell.strip() for cell in cells] == [name.strip(), "next"]
    assert tags <= {"code"}


def test_an_indented_name_stays_indented_on_the_page():
    cells, _ = shown_cells(render(table_of("a", "  b", "    c::d", "  e|f")))
    assert [cell.replace("\u00a0", "_") for cell in cells] == ["a", "__b", "____c::d", "__e|f"]
