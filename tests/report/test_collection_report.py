"""The report about a collection says what `evaluate` and `reuse` say, and nothing that should not leave the house."""

import csv
import io
import json
import re
import subprocess
import sys
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.base.tables import Table
from cranfield.report.page import Fold, Prose, blocks_of, render_html, render_page_markdown, tables_of
from cranfield.store.store import open_store
from cranfield.workflows.report import sections
from cranfield.workflows.report.material import ReportRequest
from cranfield.workflows.report.report import Report, card_json, collection_card, report_on

MEASURES = ("nDCG@10", "AP", "P@10")
ASSESSORS = ("Ada Lovelace", "Bob Hostile")
SECTIONS = (
    *("Overview", "Pool", "Judging", "Leaderboard", "Topics", "Pool bias and reusability"),
    *("Precision and recall", "Cite and reproduce"),
)


def reported(path: Path, **wanted: object) -> Report:
    with open_store(path) as store:
        return report_on(store, ReportRequest(**wanted))


@pytest.fixture(scope="session")
def made(judged: Path) -> Report:
    return reported(judged)


@pytest.fixture(scope="session")
def public(judged: Path) -> Report:
    return reported(judged, public=True)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def options() -> list[str]:
    return [word for measure in MEASURES for word in ("-m", measure)]


def test_the_leaderboard_has_the_scores_and_letters_of_evaluate(made: Report, judged: Path):
    said = rows(call("evaluate", *options(), "--letters", "tukey", "-f", "csv", "-C", judged).out)
    expected = {(one["run"], one["measure"]): (float(one["value"]), one["letters"]) for one in said}
    board = tables_of(made.page)["leaderboard"].records()
    names = {one["measure"] for one in said}
    assert {(row["run"], name): (row[name], row[f"letters_{name}"]) for row in board for name in names} == expected


def test_the_leaderboard_has_the_best_run_first(made: Report):
    scores = [row[MEASURES[0]] for row in tables_of(made.page)["leaderboard"].records()]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[-1]


def test_the_topics_have_the_scores_of_evaluate(made: Report, judged: Path):
    said = rows(call("evaluate", *options(), "--by-topic", "-f", "csv", "-C", judged).out)
    expected = {
        (one["run"], one["topic"], one["measure"]): float(one["value"]) for one in said if one["topic"] != "all"
    }
    found = {}
    for name, table in tables_of(made.page).items():
        if match := re.fullmatch(r"topic-(T\d+)", name):
            for row in table.records():
                found |= {(row["run"], match[1], measure): row[measure] for measure in row if measure != "run"}
    assert found == expected


def title_of(row: dict[str, str]) -> str:
    """A verdict as people read it: of a measure that looks below the pool it holds down to a rank."""
    holds = row["to_rank"] and row["verdict"] in ("POOLED", "SAFE")
    return f"{row['verdict']} to rank {row['to_rank']}" if holds else row["verdict"]


def test_the_verdicts_are_those_of_reuse(made: Report, judged: Path):
    said = rows(call("reuse", *options(), "-f", "csv", "-C", judged).out)
    expected = {
        (one["run"], one["measure"]): (float(one["score"]), one["loss"], title_of(one), one["reason"]) for one in said
    }
    found = {}
    for name, table in tables_of(made.page).items():
        if name.startswith("trust-"):
            measure = table.columns[1].heading
            for row in table.records():
                loss = "" if row["loss"] is None else str(row["loss"])
                found[row["run"], measure] = (row["score"], loss, row["verdict"], row["reason"])
    assert found == expected


def test_the_hold_outs_are_those_of_reuse(made: Report, judged: Path):
    told = call("reuse", *options(), "-f", "markdown", "-C", judged).out
    from cranfield.report.renderers.markdown import render_markdown

    tables = tables_of(made.page)
    for name in ("fairness", "hold-out-groups", "groups-alone", "hold-out-runs", "hold-out-families"):
        assert render_markdown(tables[name]) in told


def test_all_sections_are_there_in_order(made: Report):
    assert tuple(section.title for section in made.page.sections) == SECTIONS


def test_a_topic_with_nothing_relevant_is_flagged(made: Report):
    topics = {row["topic"]: row for row in tables_of(made.page)["topics"].records()}
    assert topics["T03"]["flags"] == "nothing relevant"
    assert topics["T03"]["relevant"] == 0
    assert [topic for topic, row in topics.items() if row["flags"] == "nothing relevant"] == ["T03"]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.text = 0, ""

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"

    def handle_data(self, data):
        self.text += data


def test_a_document_titled_script_stays_text(made: Report):
    seen = Tags()
    seen.feed(render_html(made.page))
    assert seen.scripts == 1
    assert "<script>alert('title')</script>" in seen.text


def test_the_public_page_has_no_names_no_titles_and_no_notes(made: Report, public: Report):
    private, shown = render_html(made.page), render_html(public.page)
    assert all(name in private for name in ASSESSORS)
    for word in (*ASSESSORS, "alert(", "a private note"):
        assert word not in shown
        assert word not in render_page_markdown(public.page)
    assert "assessor 1" in shown
    assert "assessor 2" in shown


def test_notes_of_assessors_are_on_no_page(made: Report):
    assert "a private note" not in render_html(made.page)


def test_agreement_speed_and_drift_are_told(made: Report):
    tables = tables_of(made.page)
    assert {name for name in tables if name.startswith("agreement")} == {
        *("agreement", "agreement-pairs", "agreement-topics", "agreement-over-time"),
    }
    assert [row[0] for row in tables["assessors"].rows] == list(ASSESSORS)


def test_every_figure_has_words_and_all_but_the_strips_have_numbers(made: Report):
    names = {picture.name for picture in made.drawings}
    assert {"by-topic", "precision-recall", "coverage", "relevant-by-depth", "intervals-nDCG-10"} <= names
    assert all(picture.alternative and picture.caption.endswith(".") for picture in made.drawings)
    assert [picture.name for picture in made.drawings if picture.data is None] == ["by-topic"]


def test_markdown_has_the_same_headings_and_numbers(made: Report):
    text = render_page_markdown(made.page)
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^## (.*)$", outside, re.MULTILINE) == list(SECTIONS)
    best = max(row["nDCG@10"] for row in tables_of(made.page)["leaderboard"].records())
    assert f"{best:.4f}" in text
    assert "<script>" not in text


def test_without_matplotlib_the_page_says_so(judged: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = reported(judged).page
    assert [section.title for section in page.sections] == [one for one in SECTIONS if one != "Precision and recall"]
    assert "cranfield[plots]" in render_html(page)


def test_an_empty_collection_has_a_report_too(tmp_path: Path, kept: Kept):
    path = tmp_path / "young.db"
    call("init", "young", "-C", path)
    call("report", "-C", path)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    kept(re.findall(r">([^<>{}]{12,})<", html))


def test_more_runs_than_can_be_shown_are_cut_and_it_is_said(kept: Kept):
    table = sections.runs_of_topic(wide_scores(200), 0)
    assert len(table.rows) == 2 * sections.ENDS
    kept(table.notes)
    assert [row[0] for row in table.rows[:2]] == ["run199", "run198"]


def wide_scores(runs: int):
    import numpy as np

    from cranfield.evaluate.measure import parse_measures
    from cranfield.evaluate.scores import Scores

    values = np.arange(runs, dtype=float).reshape(1, runs, 1) / runs
    names = tuple(f"run{run}" for run in range(runs))
    return Scores(tuple(parse_measures(["AP"])), names, ("1",), values, np.ones((runs, 1), dtype=bool))


def test_the_command_writes_page_tables_figures_and_card(judged: Path, tmp_path: Path):
    words = ["-o", tmp_path / "page.md", "--tables", tmp_path / "tables", "--format", "latex", "-m", "P@5"]
    words += ["--figures", tmp_path / "figures", "--figure-format", "png", "--card", tmp_path / "card.json"]
    call("report", *words, "-C", judged)
    assert (tmp_path / "page.md").read_text(encoding="utf-8").startswith("# kitchen\n")
    assert "tabular" in (tmp_path / "tables" / "leaderboard.tex").read_text(encoding="utf-8")
    assert (tmp_path / "figures" / "coverage.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["kind"] == "cranfield-collection-card"


def test_an_unknown_release_is_refused(judged: Path, tmp_path: Path):
    call("report", "-o", str(tmp_path / "r.html"), "--qrels", "nothing", "-C", str(judged), status=2)
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("option", ["-o", "--card"])
def test_a_folder_that_is_not_there_is_told_before_anything_is_done(
    judged: Path, tmp_path: Path, option: str, kept: Kept
):
    words = ["report", option, str(tmp_path / "absent" / "r.html"), "-C", str(judged)]
    ended = call(*words, status=2)
    kept(ended.err)
    assert not judged.with_name("report.html").exists()


@pytest.mark.parametrize("words", [["report", "-m", "P@5"], ["evaluate", "-m", "P@5"], ["reuse", "-m", "P@5"]])
def test_a_file_with_the_name_of_a_stored_run_stands_in_nobodys_way_where_no_run_is_named(
    judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trivet-lsa").write_text("this is no run")
    more = ["-o", "r.html"] if words[0] == "report" else []
    call(*words, *more, "-C", str(judged))
    call("evaluate", "trivet-lsa", "-C", str(judged), status=2)


def test_a_layer_without_grades_is_refused(judged: Path, tmp_path: Path):
    call("report", "-o", str(tmp_path / "r.html"), "--layer", "nothing", "-C", str(judged), status=1)
    assert not (tmp_path / "r.html").exists()


def test_one_run_and_no_pool_are_enough_for_a_report(tmp_path: Path, kept: Kept):
    path, kitchen = tmp_path / "one.db", Path(__file__).parents[2] / "collections" / "kitchen"
    (tmp_path / "qrels.txt").write_text("T01 0 K003 1\nT01 0 K146 0\nT02 0 K134 1\n")
    call("init", "one", "-C", path)
    call("corpus", "add", kitchen / "documents.jsonl", "-C", path)
    call("corpus", "topics", kitchen / "topics.trec", "-C", path)
    call("runs", "submit", kitchen / "runs" / "larder-bm25.run", "--group", "larder", "-C", path)
    call("judge", "import", tmp_path / "qrels.txt", "-C", path)
    call("report", "--card", tmp_path / "card.json", "-C", path)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    kept(re.findall(r">([^<>{}]{12,})<", html))
    reusability = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["reusability"]
    assert reusability == {"collection": None, "card": None}


def test_the_card_counts_what_the_page_counts_and_names_nobody(made: Report):
    text = card_json(collection_card(made.material))
    card = json.loads(text)
    facts = dict(made.page.facts)
    assert [str(card["counts"][name]) for name in ("documents", "topics", "runs", "judged", "relevant")] == [
        facts[name] for name in ("documents", "topics", "runs", "judged", "relevant")
    ]
    assert card["pools"][0]["plan"] == "depth 5"
    assert card["reusability"]["collection"]["fairness"] == facts["non-contributing runs"]
    assert card["reusability"]["card"]["kind"] == "cranfield-reuse-card"
    assert card["qrels"]["content_hash"] == card["checksums"]["qrels"]
    assert not any(name in text for name in ASSESSORS)


def test_a_bundle_can_be_published_and_used(judged: Path, tmp_path: Path):
    copy = tmp_path / "copy.db"
    call("backup", copy, "-C", judged)
    folder = tmp_path / "bundle"
    call("qrels", "release", "first", "--bundle", folder, "-C", copy)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("SHA256SUMS", "card.json", "guidelines.md", "pool.csv", "qrels.txt", "reuse-card.json", "runs.csv"),
        "topics.trec",
    ]
    sums = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name != "SHA256SUMS"
    }
    assert not any(name.encode() in path.read_bytes() for path in folder.iterdir() for name in ASSESSORS)
    run = Path(__file__).parents[2] / "collections" / "kitchen" / "runs" / "mortar-dense.run"
    words = ["--qrels", folder / "qrels.txt", "--pool", folder / "reuse-card.json", "-m", "nDCG@10", "-f", "csv"]
    alone = rows(call("evaluate", *words, run).out)
    inside = rows(call("evaluate", "mortar-dense", "-m", "nDCG@10", "-f", "csv", "-C", copy).out)
    assert (alone[0]["value"], alone[0]["verdict"]) == (inside[0]["value"], inside[0]["verdict"])
    pairs = {(row["topic"], row["document"]) for row in rows((folder / "pool.csv").read_text(encoding="utf-8"))}
    assert {tuple(line.split()[::2]) for line in (folder / "qrels.txt").read_text().splitlines()} == pairs


def test_a_bundle_goes_into_no_folder_that_has_something(judged: Path, tmp_path: Path):
    (tmp_path / "there").write_text("mine")
    words = ["qrels", "release", "second", "--bundle", str(tmp_path), "-C", str(judged)]
    call(*words, status=2)
    with open_store(judged) as store:
        assert store.rows("SELECT name FROM releases") == []


def test_the_help_of_report_imports_nothing_heavy():
    code = "import sys; from cranfield.cli import main; main.status_of(['report', '--help']); "
    code += "print(sorted({'numpy', 'matplotlib', 'pyarrow', 'pandas'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


def test_narratives_of_several_lines_are_one_paragraph(made: Report):
    folds = [block for block in blocks_of(made.page) if isinstance(block, Fold) and block.title.startswith("T01")]
    prose = [block.text for block in folds[0].blocks if isinstance(block, Prose)]
    assert prose
    assert not any("\n" in text for text in prose)


def test_tables_have_names_that_are_files_and_differ(made: Report):
    tables = tables_of(made.page)
    assert all(re.fullmatch(r"[A-Za-z0-9-]+", name) for name in tables)
    assert all(isinstance(table, Table) and table.caption for table in tables.values())
