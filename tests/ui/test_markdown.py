"""Guidelines in Markdown, as the sheet of guidelines shows them."""

from fakes import FakeJudging
from kept import Kept
from seat import Chair, seated

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


@seated(size=(60, 60), judging=lambda: FakeJudging(guidelines=EVERYTHING))
async def test_all_of_markdown_stands_on_the_sheet(chair: Chair, kept: Kept):
    await chair.press("g")
    kept(chair.text)


@seated(
    size=(60, 30),
    judging=lambda: FakeJudging(guidelines="# [bold]not markup[/]\n\n&#x1b;[31m and [x](file:///etc/passwd)"),
)
async def test_guidelines_are_text_and_neither_markup_nor_commands(chair: Chair, kept: Kept):
    await chair.press("g")
    assert "\x1b" not in chair.text
    kept(chair.text)
