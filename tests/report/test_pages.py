"""Pages in HTML and Markdown: everything is there, in order, and nothing from outside is markup."""

import re
from html.parser import HTMLParser

import pytest

from cranfield.base.tables import Column, table_of
from cranfield.report.page import (
    Callout,
    Drawing,
    Fold,
    Literal,
    Page,
    Prose,
    Section,
    TableBlock,
    render_html,
    render_page_markdown,
    tables_of,
    themed,
)

HOSTILE = "<script>alert('x')</script> & \x1b[31m | `*"
TABLE = table_of(
    ["run", Column("AP", kind="number"), Column("verdict", kind="verdict")],
    [["a", 0.123456, "SAFE"], [HOSTILE, 0.5, "UNRELIABLE"]],
    caption="Scores",
    notes=["a note"],
)
SVG = '<?xml version="1.0"?><svg><metadata>when</metadata><path id="p" style="fill: #000000"/><use href="#p"/></svg>'
PAGE = Page(
    title=f"Kitchen {HOSTILE}",
    subtitle="fifteen topics",
    facts=(("documents", "240"),),
    sections=(
        Section("What it is", (Prose("text", points=("one", "two")), Callout("mind this", "care", "Mind:"))),
        Section("Scores & more", (TableBlock("scores", TABLE), Drawing("bars", SVG, "two bars", "look left", TABLE))),
        Section("Topics", (Fold("T01", (Literal("depth 5\n```", "the plan"),), hint="easy"),)),
    ),
    foot=("made today",),
)


class Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in {"meta", "input", "path", "use", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def seen(html: str) -> Seen:
    parser = Seen()
    parser.feed(html)
    return parser


def test_every_tag_is_closed_in_its_order():
    assert seen(render_html(PAGE)).open == []


def test_what_came_from_outside_stays_text():
    parser = seen(render_html(PAGE))
    assert parser.tags.count("script") == 1
    assert "".join(parser.text).count("<script>alert('x')</script> & ␛[31m | `*") == 4
    assert "\x1b" not in render_html(PAGE)


def test_the_page_may_ask_nobody_for_anything():
    html = render_html(PAGE)
    assert "default-src 'none'" in html
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*", html) == []


def test_a_verdict_stands_out_and_numbers_keep_all_their_digits_for_sorting():
    html = render_html(PAGE)
    assert '<span class="verdict unreliable">UNRELIABLE</span>' in html
    assert '<td class="number" data-value="0.123456">0.1235</td>' in html


def test_a_drawing_gets_ids_of_its_own_and_the_ink_of_the_page():
    assert themed(SVG, "My bars") == (
        '<svg><path id="my-bars-p" style="fill: var(--ink)"/><use href="#my-bars-p"/></svg>'
    )


def test_long_tables_can_be_filtered_and_short_ones_need_not():
    rows = [[f"run {number}", number, "group"] for number in range(8)]
    long = Page("p", (Section("s", (TableBlock("t", table_of(["run", "value", "group"], rows)),)),))
    assert 'type="search"' in render_html(long)
    assert 'type="search"' not in render_html(PAGE)


def test_markdown_has_the_same_content_in_the_same_order():
    text = render_page_markdown(PAGE)
    wanted = ["# Kitchen", "fifteen topics", "documents: **240**", "## What it is", "- two", "> **Mind:** mind this"]
    wanted += ["## Scores & more", "| a | 0.1235 | SAFE |", "- a note", "*Figure: look left* two bars"]
    wanted += ["### T01 (easy)", "````text\ndepth 5\n```\n````", "made today"]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)
    assert "<script>" not in text.replace("\\<script\\>", "")


def test_named_tables_are_found_behind_folds_and_figures_too():
    assert tables_of(PAGE) == {"scores": TABLE, "figure-bars": TABLE}


@pytest.mark.parametrize(("title", "anchor"), [("Pool & bias", "pool-bias"), ("日本", "section")])
def test_a_section_can_be_linked_to(title, anchor):
    assert Section(title, ()).anchor == anchor


def test_long_text_is_folded_and_a_badge_is_not_long():
    table = table_of(
        [Column("run"), Column("verdict", kind="verdict"), Column("why")], [["a", "UNRELIABLE", "x" * 60]]
    )
    html = render_html(Page("t", (Section("s", (TableBlock("one", table),)),)))
    assert '<td><span class="verdict unreliable">UNRELIABLE</span></td>' in html
    assert f'<td class="long">{"x" * 60}</td>' in html
