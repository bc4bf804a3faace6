"""The page as a browser shows it: it asks nobody, complains of nothing, sorts, filters, and serves everybody."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import call

from cranfield.base.text import table_of
from cranfield.report.page import Page, Section, TableBlock, render_html

CACHE = Path(__file__).parents[2] / "build" / "axe"
WIDTHS = (1300, 390)
BOARD = "trust-nDCG-5"


def missing(what: str) -> Any:
    """Skip where something is not installed; where everything must be, fail."""
    if os.environ.get("CRANFIELD_CI"):
        pytest.fail(f"{what} is missing, and here it must not be")
    pytest.skip(f"{what} is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        missing("chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def page_file(judged: Path) -> Path:
    path = judged.with_name("browsed.html")
    call("report", "-o", path, "-C", judged)
    return path


class Opened:
    """A page with everything that it said and asked for."""

    def __init__(self, browser: Any, path: Path, *, width: int = 1300, scheme: str = "light") -> None:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def column(self, table: str, place: int) -> list[str]:
        script = """([name, place]) => Array.from(
            document.querySelector(`[data-name="${name}"] tbody`).rows).filter((row) => !row.hidden)
            .map((row) => row.cells[place].textContent)"""
        return list(self.page.evaluate(script, [table, place]))


@pytest.fixture(scope="module")
def opened(browser: Any, page_file: Path) -> Opened:
    return Opened(browser, page_file)


def test_nothing_is_complained_of_and_nobody_is_asked(opened: Opened, page_file: Path):
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith("data:")] == [page_file.as_uri()]


def test_a_click_on_a_heading_sorts_and_a_second_turns_it_round(browser: Any, page_file: Path):
    shown = Opened(browser, page_file)
    button = shown.page.locator(f'[data-name="{BOARD}"] thead button').first
    button.click()
    names = shown.column(BOARD, 0)
    assert names == sorted(names)
    button.press("Enter")
    assert shown.column(BOARD, 0) == names[::-1]
    assert shown.page.locator(f'[data-name="{BOARD}"] th[aria-sort]').get_attribute("aria-sort") == "descending"


def test_the_filter_of_a_long_table_leaves_the_rows_with_all_words(browser: Any, tmp_path: Path):
    rows = [(f"run {number}", number, "even" if number % 2 == 0 else "odd") for number in range(30)]
    long = Page("p", (Section("s", (TableBlock("long", table_of(["run", "value", "kind"], rows)),)),))
    (tmp_path / "long.html").write_text(render_html(long), encoding="utf-8")
    shown = Opened(browser, tmp_path / "long.html")
    shown.page.locator('[data-name="long"] input').fill("EVEN 28")
    assert shown.column("long", 0) == ["run 28"]
    assert shown.page.locator('[data-name="long"] [role=status]').text_content() == "1 of 30 rows"


def test_the_switch_shows_one_measure_at_a_time_also_without_a_script(browser: Any, page_file: Path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    boards = [f'[data-name="{name}"]' for name in (BOARD, "trust-AP-rel-2", "trust-P-rel-2-5", "leaderboard")]
    assert [page.locator(board).is_visible() for board in boards] == [True, False, False, False]
    page.get_by_text("AP", exact=True).first.click()
    assert [page.locator(board).is_visible() for board in boards] == [False, True, False, False]
    page.emulate_media(media="print")
    assert all(page.locator(board).is_visible() for board in boards)
    context.close()


@pytest.mark.parametrize(("width", "height", "screens"), [(1300, 900, 1), (390, 844, 2)])
def test_both_questions_are_answered_before_anybody_scrolls_far(
    browser: Any, page_file: Path, width: int, height: int, screens: int
):
    shown = Opened(browser, page_file, width=width)
    ends = """Array.from(document.querySelectorAll('.answers section')).map((one) => [
        one.querySelector('h2').textContent, one.getBoundingClientRect().bottom])"""
    answers = shown.page.evaluate(ends)
    assert [title for title, _ in answers] == ["Which scores can be used?", "What to judge next?"]
    assert all(bottom <= screens * height for _, bottom in answers)


def test_the_point_of_a_score_stands_at_its_number_on_the_axis(opened: Opened):
    places = """Array.from(document.querySelectorAll('[data-name="NAME"] tbody tr')).map((row) => [
        Number(row.cells[1].dataset.value), Number(row.cells[2].querySelector('i').style.getPropertyValue('--s'))])"""
    axis = """Array.from(document.querySelectorAll('[data-name="NAME"] .axis i')).map((tick) => [
        Number(tick.textContent), Number(tick.style.getPropertyValue('--s'))])"""
    (low, start), *_, (high, end) = opened.page.evaluate(axis.replace("NAME", BOARD))
    assert (start, end) == (0, 100)
    drawn = opened.page.evaluate(places.replace("NAME", BOARD))
    assert len(drawn) == 11
    for score, place in drawn:
        assert place == pytest.approx(100 * (score - low) / (high - low), abs=0.06)


def test_nothing_but_its_own_script_is_run(opened: Opened):
    assert opened.page.locator("script").count() == 1


def test_on_a_phone_a_run_has_its_score_its_verdict_and_its_range_below_each_other_and_nothing_is_cut(
    browser: Any, page_file: Path
):
    shown = Opened(browser, page_file, width=390)
    shown.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    cut = """Array.from(document.querySelectorAll('.scroll')).filter((box) => box.clientWidth
        && box.scrollWidth > box.clientWidth).map((box) => box.parentElement.dataset.name)"""
    assert shown.page.evaluate(cut) == []
    tops = """Array.from(document.querySelector('[data-name="NAME"] tbody tr').cells)
        .map((cell) => cell.getBoundingClientRect().top)"""
    run, score, drawn, verdict, *_ = shown.page.evaluate(tops.replace("NAME", BOARD))
    assert run == score == verdict < drawn


def test_why_a_verdict_is_given_is_seen_without_scrolling(browser: Any, page_file: Path):
    shown = Opened(browser, page_file, width=1200)
    hidden = """Array.from(document.querySelectorAll('[data-name^="trust-"]')).filter((box) => {
        const cells = Array.from(box.querySelector('thead tr').cells);
        const why = cells.find((cell) => cell.innerText.trim() === 'reason');
        return why.getBoundingClientRect().right > box.getBoundingClientRect().right; }).length"""
    assert shown.page.locator('[data-name^="trust-"]').count() > 0
    assert shown.page.evaluate(hidden) == 0


def test_no_figure_is_cut_and_no_option_broken(browser: Any, page_file: Path):
    seen = """[Array.from(document.querySelectorAll('.drawing')).map((box) => box.scrollWidth > box.clientWidth),
        Array.from(document.querySelectorAll('pre span')).map((word) => word.getClientRects().length > 1)]"""
    for width in WIDTHS:
        cut, broken = Opened(browser, page_file, width=width).page.evaluate(seen)
        assert (set(cut), set(broken)) == ({False}, {False})


def test_the_line_of_a_row_is_drawn_once_and_for_all_of_its_cells(opened: Opened):
    borders = """Array.from(document.querySelectorAll('tbody th, tbody td')).map((cell) => getComputedStyle(cell))
        .filter((style) => style.borderBottomWidth !== '0px' && style.borderBottomColor !== 'rgba(0, 0, 0, 0)')
        .length"""
    assert opened.page.evaluate(borders) == 0
    assert "inset" in opened.page.evaluate("getComputedStyle(document.querySelector('tbody tr')).boxShadow")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_the_screen(browser: Any, page_file: Path, tmp_path: Path, width: int, scheme: str):
    shown = Opened(browser, page_file, width=width, scheme=scheme)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    picture = Path(os.environ.get("CRANFIELD_SCREENSHOTS", tmp_path)) / f"report-{width}-{scheme}.png"
    shown.page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 10_000


def test_on_paper_folds_are_open_and_no_table_is_cut(browser: Any, page_file: Path):
    shown = Opened(browser, page_file, width=680)
    shown.page.emulate_media(media="print")
    closed = "document.querySelectorAll('details:not([open])').length"
    before = shown.page.evaluate(closed)
    assert before
    shown.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert shown.page.evaluate(closed) == 0
    wide = """Array.from(document.querySelectorAll('.scroll')).filter((box) => box.scrollWidth > box.clientWidth)
        .map((box) => box.parentElement.dataset.name)"""
    assert shown.page.evaluate(wide) == []
    shown.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert shown.page.evaluate(closed) == before


def axe() -> str:
    """Give the source of axe-core, fetched once."""
    source = CACHE / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        if shutil.which("npm") is None:
            missing("npm")
        CACHE.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(CACHE), "axe-core@4"]
        if subprocess.run(words, capture_output=True, timeout=120).returncode:
            missing("axe-core")
    return source.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_an_accessibility_checker_finds_nothing_serious(browser: Any, page_file: Path, width: int, scheme: str):
    source = axe()
    shown = Opened(browser, page_file, width=width, scheme=scheme)
    # Topics are all alike: one of them stands for the others, and the checker is slow.
    few = "details:not(#topics details details + details)"
    opening = f"for (const part of document.querySelectorAll('{few}')) part.open = true"
    shown.page.evaluate(opening)
    shown.page.evaluate(source)
    # Numbers in figures are drawings: each figure has a text of its own.
    found = shown.page.evaluate("axe.run({exclude: ['.drawing']})")
    assert len(found["passes"]) > 10
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []
