import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.text.tables import render
from fgtrace.units import printable, text_width
from fgtrace.views.fitting import cut
from fgtrace.views.model import Column, Table

MATRIX = Table(
    title="Routes of repeat_values_known",
    columns=(
        Column("route", "left"),
        Column("throughput"),
        Column("95 %", drop=1),
        Column("latency", drop=2),
        Column("result", "left"),
    ),
    rows=(
        ("aten", "45.1 µs", "44.2–46.0 µs", "61.0 µs", "ok"),
        ("triton-readback", "158 µs", "151–166 µs", "171 µs", "ok"),
        ("flaggems", "—", "—", "—", "not run"),
    ),
    banners=("quick: one generation only",),
    footnotes=("95 % is an interval.",),
)

NAMES = st.text().map(printable)


def table_of(*names):
    columns = (Column("count"), Column("name", "left"))
    return Table("Kernels", columns, tuple(("1", name) for name in names))


def body(text):
    """The heading, the rule and the rows."""
    return text.split("\n\n")[1].splitlines()


def test_a_table_is_laid_out_under_its_title_with_numbers_to_the_right():
    assert render(MATRIX) == (
        "Routes of repeat_values_known\n"
        "quick: one generation only\n"
        "\n"
        "route            throughput          95 %  latency  result\n"
        "───────────────────────────────────────────────────────────\n"
        "aten                45.1 µs  44.2–46.0 µs  61.0 µs  ok\n"
        "triton-readback      158 µs    151–166 µs   171 µs  ok\n"
        "flaggems                  —             —        —  not run\n"
        "\n"
        "95 % is an interval.\n"
    )


def test_a_terminal_that_is_wide_enough_changes_nothing():
    assert render(MATRIX, 59) == render(MATRIX)


def test_a_narrow_terminal_leaves_out_the_most_droppable_columns_and_says_so():
    lines = render(MATRIX, 58).splitlines()
    assert lines[3] == "route            throughput          95 %  result"
    assert lines[-1] == "Left out in 58 columns: latency."
    lines = render(MATRIX, 40).splitlines()
    assert lines[3] == "route            throughput  result"
    assert lines[-1] == "Left out in 40 columns: 95 %, latency."


def test_names_are_cut_in_the_middle_before_columns_are_left_out():
    table = Table(
        "Kernels",
        (Column("kernel", "left"), Column("max", drop=1)),
        (("void at::native::elementwise_kernel<4, float>", "1.20 µs"),),
    )
    assert body(render(table, 40))[2] == "void at::native…ernel<4, float>  1.20 µs"


def test_numbers_are_never_cut_even_when_they_do_not_fit():
    table = Table("Kernels", (Column("total"), Column("share")), (("41.3 µs", "87.2 %"),))
    assert body(render(table, 5))[2] == "41.3 µs  87.2 %"


def test_output_that_is_no_terminal_gets_names_in_full():
    name = "k" * 4000
    assert body(render(table_of(name)))[2].endswith(f"  {name}")


@pytest.mark.parametrize("width", [20, 37, 80])
@pytest.mark.parametrize("name", ["k" * 4000, "核" * 4000, "e\u0301" * 4000, "[bold]" * 700])
def test_a_long_name_of_any_script_fits_the_terminal(name, width):
    for line in body(render(table_of(name, "short"), width)):
        assert text_width(line) <= width


def test_wide_characters_and_accents_keep_the_columns_straight():
    table = Table(
        "Kernels",
        (Column("name", "left"), Column("count")),
        (("核函数", "1"), ("cafe\u0301", "22"), ("[bold]x", "333")),
    )
    assert body(render(table)) == [
        "name     count",
        "──────────────",
        "核函数       1",
        "cafe\u0301        22",
        "[bold]x    333",
    ]


def test_a_table_without_rows_still_has_its_headings():
    assert body(render(table_of()))[0] == "count  name"


@given(st.lists(NAMES, min_size=1, max_size=4), st.integers(min_value=12, max_value=60))
def test_no_row_is_ever_wider_than_the_terminal(names, width):
    lines = body(render(table_of(*names), width))
    assert len(lines) == 2 + len(names)
    assert max(map(text_width, lines)) <= width


@given(NAMES.filter(lambda name: "…" not in name), st.integers(min_value=1, max_value=30))
def test_a_cut_name_keeps_its_beginning_and_its_end(name, width):
    shown = cut(name, width)
    if text_width(name) <= width:
        assert shown == name
        return
    head, tail = shown.split("…")
    assert name.startswith(head)
    assert name.endswith(tail)
    # A wide character can leave a column free on either side.
    assert width - 2 <= text_width(shown) <= width


def test_a_sentence_in_the_last_column_goes_on_below_itself():
    columns = (Column("saving"), Column("finding", "left", wrap=True))
    table = Table("Findings", columns, (("12 µs", "the quick brown fox jumps over the dog"),))
    lines = render(table, 30).splitlines()[2:]
    assert lines[2:] == [" 12 µs  the quick brown fox", "        jumps over the dog"]
    assert all(text_width(line) <= 30 for line in lines)
