"""What was opened and found shows itself: in a line, with rich, and as HTML where hostile names stay text."""

import io
from pathlib import Path

import pytest
from kept import Kept
from rich.console import Console

import cranfield as cf

HOSTILE = "<script>alert(1)</script>"


def drawn(thing: object, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(thing)
    return console.file.getvalue()  # type: ignore[attr-defined]


def hostile() -> cf.Opened:
    qrels = {str(topic): {"a": 1, "b": 0} for topic in range(1, 9)}
    runs = {
        HOSTILE: {str(topic): {"a": 2.0, "z": 1.0} for topic in range(1, 9)},
        "[bold]x\x1b[31m": {str(topic): {"b": 2.0} for topic in range(1, 9)},
    }
    return cf.open_files(qrels=qrels, runs=runs, groups={HOSTILE: "us", "[bold]x\x1b[31m": "them"}, pool_depth=1)


def test_files_say_in_a_line_what_they_are_and_read_nothing_for_it(
    pool: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    monkeypatch.chdir(pool)
    opened = cf.open_files(qrels="qrels", runs=["r1.run", "r9.run"], groups="groups.tsv", pool_depth=3)
    monkeypatch.setattr("cranfield.evaluate.reading.read_short", None)
    kept(repr(opened))
    assert ">2: r1.run, r9.run</td>" in opened._repr_html_()


def test_a_collection_says_what_it_holds_and_when_it_is_closed(kitchen: Path, kept: Kept):
    with cf.open_collection(kitchen) as opened:
        kept(repr(opened))
        html = opened._repr_html_()
        kept(html)
    assert repr(opened) == "Opened(closed: yes)"
    assert "closed" in opened._repr_html_()


def test_verdicts_are_shown_with_rich_and_as_html(kitchen: Path, kept: Kept):
    with cf.open_collection(kitchen) as opened:
        found = opened.reuse("mortar-dense", "whisk-bm25", measures="nDCG@5")
    kept(repr(found))
    shown = drawn(found)
    kept(shown)
    html = found._repr_html_()
    kept(html)


def test_names_from_outside_stay_text_everywhere():
    opened = hostile()
    found = opened.reuse(measures="P@1")
    for html in (opened._repr_html_(), found._repr_html_()):
        assert HOSTILE not in html
        assert "\x1b" not in html
        assert "&lt;script&gt;" in html
    shown = drawn(found)
    assert "[bold]x" in shown
    assert "\x1b" not in shown
    assert "\x1b" not in repr(opened)


def test_a_long_table_is_cut_and_says_so(kept: Kept):
    runs = {f"r{number}": {"1": {"a": 1.0}} for number in range(70)}
    html = cf.open_files(qrels={"1": {"a": 1}}, runs=runs).reuse(measures="P@1")._repr_html_()
    kept(html.rsplit("</table>", 1)[1])
