"""Guidelines in Markdown become one text of lines."""

from hypothesis import given
from hypothesis import strategies as st

from assessor_ui.page import cells_of
from assessor_ui.screens.sheets import markdown_content

EVERYTHING = """# The scale

A grade is a *number*, **not** `text`;
see [the page](https://example.org/a) or <https://example.org/b>.\\
Next line.

- first
  - inside
- second

3. three

   more of it
4. four

> said

```
code  stays
```
---

| Grade | Meaning |
|---|---|
| 0 | not relevant, even where the words are the same |
| 10 | relevant |

<b>raw</b>
"""


def test_all_of_markdown_becomes_lines_of_the_width_at_hand():
    assert [line.rstrip() for line in markdown_content(EVERYTHING, 40).plain.splitlines()] == [
        "The scale",
        "",
        "A grade is a number, not text; see the",
        "page (https://example.org/a) or",
        "https://example.org/b.",
        "Next line.",
        "",
        "• first",
        "  • inside",
        "• second",
        "",
        "3. three",
        "",
        "   more of it",
        "",
        "4. four",
        "",
        "│ said",
        "",
        "  code  stays",
        "",
        "─" * 40,
        "",
        "Grade  Meaning",
        "0      not relevant, even where the",
        "       words are the same",
        "10     relevant",
        "",
        "<b>raw</b>",
    ]


def test_a_table_without_room_has_its_cells_one_below_the_other():
    table = "| name | meaning |\n|---|---|\n| relevant | helps |\n"
    assert markdown_content(table, 20).plain.splitlines() == ["name", "meaning", "relevant", "helps"]


def test_looks_are_kept():
    spans = [(span.start, span.end, str(span.style)) for span in markdown_content("# a\n\n*b* **c** `d`", 40).spans]
    assert spans == [(0, 1, "bold $key"), (3, 4, "italic"), (5, 6, "bold"), (7, 8, "$soft")]


def test_markup_of_the_terminal_library_in_guidelines_is_text():
    assert (
        markdown_content("[bold red]x[/] [@click=app.quit]y[/]", 60).plain == "[bold red]x[/] [@click=app.quit]y[/]"
    )


@given(st.text(alphabet="ab *_#->|`\n1.[]()<&漢👍", max_size=80), st.integers(20, 60))
def test_whatever_stands_there_no_line_is_too_wide(text: str, width: int):
    assert all(cells_of(line.rstrip()) <= width for line in markdown_content(text, width).plain.split("\n"))
