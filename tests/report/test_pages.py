"""Pages in HTML and Markdown: everything is there, in order, and nothing from outside is markup."""

import re
from html.parser import HTMLParser

import pytest
from pages import tables_of

from cranfield.base.text import Column, table_of
from cranfield.report.page import (
    Callout,
    Drawing,
    Fold,
    Legend,
    Literal,
    Page,
    Prose,
    Section,
    Switch,
    TableBlock,
    render_html,
    render_page_markdown,
    themed,
)

HOSTILE = "<script>alert('x')</script> & \x1b[31m | `*"
TABLE = table_of(
    ["run", Column("AP", kind="number"), Column("verdict", kind="verdict")],
    [["a", 0.123456, "SAFE"], [HOSTILE, 0.5, "UNRELIABLE"]],
    caption="Scores",
    notes=["a note"],
)
RANGED = table_of(
    ["run", Column("AP", kind="number"), Column("possible", "interval"), Column("verdict", kind="verdict")],
    [["a", 0.25, "0.2500–0.3500", "SAFE to rank 5"], [HOSTILE, 0.1, "", "UNRELIABLE"]],
    caption="Scores",
    notes=["a note"],
)
BOARD = TableBlock("scores", RANGED, ranges=((0.25, 0.25, 0.3, 0.35, 0.25), (0.1, 0.1, 0.2, 0.4, 0.1)))
SVG = '<?xml version="1.0"?><svg><metadata>when</metadata><path id="p" style="fill: #000000"/><use href="#p"/></svg>'
PAGE = Page(
    title=f"Kitchen {HOSTILE}",
    subtitle="fifteen topics",
    answers=(Section("Which?", (Legend((("SAFE", "hardly any change"),)),)),),
    sections=(
        Section("What it is", (Prose("text", points=("one", "two")), Callout("mind this", "care", "Mind:"))),
        Section(
            "Scores & more",
            (
                TableBlock("plain", TABLE),
                Switch("Measure", (Fold("AP", (BOARD,)), Fold("P@5", (Prose("nothing"),)))),
                Drawing("bars", SVG, "two bars", "look left"),
            ),
        ),
        Section("Topics", (Fold("T01", (Literal("depth 5\n```", "the plan"),)),)),
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
    assert '<span class="verdict safe">SAFE to rank 5</span>' in html


def test_a_range_is_drawn_on_an_axis_of_round_numbers_and_stands_there_in_words():
    html = render_html(PAGE)
    assert re.findall(r'<i style="--s:([0-9.]+)">([0-9.]+)</i>', html) == [
        *(("0.0", "0.1"), ("33.3", "0.2"), ("66.7", "0.3"), ("100.0", "0.4"))
    ]
    first = '<span>0.2500–0.3500</span><i class="safe" style="--l:50.0;--a:50.0;--b:66.7;--h:83.3;--s:50.0"></i>'
    assert f'<td class="range">{first}</td>' in html


def test_of_the_parts_of_a_switch_the_first_is_chosen():
    chosen = re.findall(r'<input type="radio" name="measure" id="(.*?)"( checked)?>', render_html(PAGE))
    assert chosen == [("measure-0", " checked"), ("measure-1", "")]


def test_a_drawing_gets_ids_of_its_own_and_the_ink_of_the_page():
    assert themed(SVG, "My bars") == (
        '<svg><path id="my-bars-p" style="fill: var(--ink)"/><use href="#my-bars-p"/></svg>'
    )


def test_long_tables_can_be_filtered_and_short_ones_need_not():
    rows = [[f"run {number}", number, "group"] for number in range(25)]
    long = Page("p", (Section("s", (TableBlock("t", table_of(["run", "value", "group"], rows)),)),))
    assert 'type="search"' in render_html(long)
    assert 'type="search"' not in render_html(PAGE)


def test_markdown_has_the_same_content_in_the_same_order():
    text = render_page_markdown(PAGE)
    wanted = [
        "# Kitchen",
        "fifteen topics",
        "## Which?",
        "- **SAFE**: hardly any change",
        "## What it is",
        "- two",
        "> **Mind:** mind this",
    ]
    wanted += ["## Scores & more", "| a | 0.1235 | SAFE |", "- a note", "### AP", "| a | 0.2500 | 0.2500–0.3500 |"]
    wanted += ["### P@5", "*Figure: look left* two bars"]
    wanted += ["### T01", "````text\ndepth 5\n```\n````", "made today"]
    places = [text.index(part) for part in wanted]
    assert places == sorted(places)
    assert "<script>" not in text.replace("\\<script\\>", "")


def test_named_tables_are_found_behind_switches_and_folds_too():
    assert tables_of(PAGE) == {"plain": TABLE, "scores": RANGED}


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
