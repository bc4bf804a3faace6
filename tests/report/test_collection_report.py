"""The report about a collection says what `evaluate` and `reuse` say, and nothing that should not leave the house."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean

import pytest
from command import call
from kept import Kept
from pages import blocks_of, tables_of

import cranfield as cf
from cranfield.base.text import Table
from cranfield.judge.queue import Speed
from cranfield.report.page import Callout, Drawing, Literal, Page, render_html, render_page_markdown
from cranfield.report.renderers.csv import render_csv
from cranfield.report.renderers.markdown import render_markdown
from cranfield.reuse.card import card_text
from cranfield.store.store import open_store
from cranfield.workflows.report import sections
from cranfield.workflows.report.report import Report, ReportRequest, collection_card, report_on

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"
ASSESSORS = ("Ada Lovelace", "Bob Hostile")
SECTIONS = ("Leaderboard", "Topics", "Pool", "Judging", "Agreement", "How it was made")
ANSWERS = ("Which scores can be used?", "What to judge next?")


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


def test_the_leaderboard_is_what_evaluate_shows_with_the_best_run_first(made: Report, judged: Path):
    told = call("evaluate", "-f", "markdown", "-C", judged).out
    board = tables_of(made.page)["leaderboard"]
    lines = render_markdown(replace(board, caption="", notes=())).splitlines()
    assert lines == told.splitlines()[: len(lines)]
    assert len(board.rows) == 11


def test_the_topics_have_the_scores_of_evaluate(made: Report, judged: Path):
    said = rows(call("evaluate", "--by-topic", "-f", "csv", "-C", judged).out)
    scores: dict[str, list[float]] = {}
    for one in said:
        if one["topic"] != "all" and one["measure"] == said[0]["measure"]:
            scores.setdefault(one["topic"], []).append(float(one["value"]))
    found = {row["topic"]: (row["mean"], row["best"]) for row in tables_of(made.page)["topics"].records()}
    assert found == {topic: (pytest.approx(fmean(some)), max(some)) for topic, some in scores.items()}


def title_of(row: dict[str, str]) -> str:
    """A verdict as people read it: of a measure that looks below the pool it holds down to a rank."""
    holds = row["to_rank"] and row["verdict"] in ("POOLED", "SAFE")
    return f"{row['verdict']} to rank {row['to_rank']}" if holds else row["verdict"]


def test_the_verdicts_are_those_of_reuse(made: Report, judged: Path):
    said = rows(call("reuse", "-f", "csv", "-C", judged).out)
    expected = {
        (one["run"], one["measure"].replace("(rel=2)", "")): (
            float(one["score"]),
            one["loss"],
            title_of(one),
            one["reason"],
        )
        for one in said
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
    tables = tables_of(made.page)
    for name, part in (("fairness", "collection"), ("groups-alone", "groups")):
        told = call("reuse", "--table", part, "-f", "csv", "-C", judged).out
        assert set(render_csv(tables[name]).splitlines()) <= set(told.splitlines())


def test_all_sections_are_there_in_order(made: Report):
    assert tuple(section.title for section in made.page.sections) == SECTIONS
    assert tuple(section.title for section in made.page.answers) == ANSWERS


def test_a_topic_with_nothing_relevant_is_flagged(made: Report):
    topics = {row["topic"]: row for row in tables_of(made.page)["topics"].records()}
    assert topics["T03"]["flags"] == "nothing relevant"
    assert topics["T03"]["relevant"] == 0
    assert [topic for topic, row in topics.items() if row["flags"] == "nothing relevant"] == ["T03"]


def answers(page: Page) -> str:
    """Give what the page says before its sections."""
    return render_page_markdown(replace(page, sections=(), foot=()))


def test_the_answers_say_which_scores_can_be_used_and_what_to_judge_next(made: Report, kept: Kept):
    kept(answers(made.page))


def test_a_run_that_is_underrated_is_told_with_its_likely_score(tmp_path: Path, kept: Kept):
    path = kitchen_judged_by("judgments.csv", tmp_path)
    kept(answers(reported(path, measures=("nDCG@5", "P@5")).page))
    kept(answers(reported(path, measures=("nDCG@5", "AP", "P@10")).page))


def test_while_the_pool_is_judged_all_scores_are_provisional_and_judging_goes_on(tmp_path: Path, kept: Kept):
    lines = (KITCHEN / "judgments.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "some.csv").write_text("".join(lines[:60]), encoding="utf-8")
    kept(answers(reported(kitchen_judged_by(tmp_path / "some.csv", tmp_path)).page))


def kitchen_judged_by(file: str | Path, folder: Path) -> Path:
    path = folder / "collection.db"
    call("init", "kitchen", "--scale", KITCHEN / "scale.toml", "-C", path)
    call("corpus", "add", KITCHEN / "documents.jsonl", "-C", path)
    call("corpus", "topics", KITCHEN / "topics.trec", "-C", path)
    call("runs", "submit", KITCHEN / "runs.toml", "-C", path)
    call("pool", "build", "depth 5", "-C", path)
    call("judge", "import", KITCHEN / file, "-C", path)
    return path


def test_the_commands_that_top_up_an_underrated_run_work_and_make_its_score_usable(tmp_path: Path):
    path = kitchen_judged_by("judgments.csv", tmp_path)
    page = reported(path, measures=("nDCG@5",)).page
    commands = [block.text for block in page.answers[1].blocks if isinstance(block, Literal)]
    top_up, judging = commands[0].splitlines()
    call(*top_up.split()[1:], "-C", path)
    with open_store(path) as store:
        pairs = store.rows("SELECT topic, document FROM queue_entries")
    assert len(pairs) == 18
    assert judging == "cranfield judge --queue top-up-mortar-dense"
    (tmp_path / "more.csv").write_text(
        "topic,document,grade,assessor\n" + "".join(f"{topic},{document},3,me\n" for topic, document in pairs)
    )
    call("judge", "import", tmp_path / "more.csv", "-C", path)
    assert page.answers[0] != (after := reported(path, measures=("nDCG@5",)).page.answers[0])
    assert isinstance(after.blocks[0], Callout)
    assert after.blocks[0].heading == "All 11 scores can be used."


@pytest.mark.parametrize(("timed", "told"), [(0, False), (20, True)])
def test_the_speed_of_judging_is_told_where_it_was_measured(
    made: Report, monkeypatch: pytest.MonkeyPatch, timed: int, told: bool
):
    monkeypatch.setattr(made.material.pool, "speed", Speed(12.5, timed))
    section = sections.judging_section(made.material)
    assert any("12.5 seconds" in getattr(block, "text", "") for block in section.blocks) is told


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.text = 0, ""

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"

    def handle_data(self, data):
        self.text += data


def test_nothing_that_others_wrote_is_a_script(made: Report):
    seen = Tags()
    seen.feed(render_html(made.page))
    assert seen.scripts == 1


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


def test_agreement_is_told_and_nothing_of_speed_or_drift_where_judgments_were_imported(made: Report):
    tables = tables_of(made.page)
    assert {name for name in tables if name.startswith("agreement")} == {"agreement", "agreement-pairs"}
    assert [row[0] for row in tables["assessors"].rows] == list(ASSESSORS)
    text = render_page_markdown(made.page)
    assert "median" not in text
    assert "drift" not in text


def test_every_figure_has_words(made: Report):
    pictures = [block for block in blocks_of(made.page) if isinstance(block, Drawing)]
    names = [picture.name for picture in pictures]
    assert names == ["precision-recall", "by-topic", "coverage", "relevant-by-depth"]
    assert all(picture.alternative and picture.caption.endswith(".") for picture in pictures)


def test_markdown_has_the_same_headings_and_numbers(made: Report):
    text = render_page_markdown(made.page)
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^## (.*)$", outside, re.MULTILINE) == [*ANSWERS, *SECTIONS]
    best = max(row["score"] for row in tables_of(made.page)["trust-nDCG-5"].records())
    assert f"{best:.4f}" in text
    assert "<script>" not in text


def test_without_matplotlib_the_page_says_so(judged: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = reported(judged).page
    assert [section.title for section in page.sections] == list(SECTIONS)
    assert "pip install matplotlib" in render_html(page)


def test_an_empty_collection_has_a_report_too(tmp_path: Path, kept: Kept):
    path = tmp_path / "young.db"
    call("init", "young", "-C", path)
    call("report", "-C", path)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    kept(re.findall(r">([^<>{}]{12,})<", re.sub("</?span>", "", html)))


def test_the_command_writes_page_and_card(judged: Path, tmp_path: Path):
    call("report", "-o", tmp_path / "page.md", "-m", "P@5", "--card", tmp_path / "card.json", "-C", judged)
    assert (tmp_path / "page.md").read_text(encoding="utf-8").startswith("# kitchen\n")
    assert json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["kind"] == "cranfield-collection-card"


@pytest.mark.parametrize("option", ["--tables", "--figures", "--figure-format", "-f"])
def test_a_dropped_option_says_what_to_type_instead(option: str, judged: Path, kept: Kept):
    kept(call("report", option, "csv", "-C", judged, status=2).err)


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


def test_a_card_that_cannot_be_written_is_told_before_the_page_is_written(judged: Path, kept: Kept):
    kept(call("report", "--card", "/", "-C", judged, status=2).err)
    assert not judged.with_name("report.html").exists()


@pytest.mark.parametrize("words", ["report -o", "report --card", "reuse --write-card"])
def test_a_collection_is_never_overwritten(judged: Path, tmp_path: Path, words: str, kept: Kept):
    shutil.copy(judged, file := tmp_path / "collection.db")
    before = file.read_bytes()
    kept(call(*words.split(), file, "-C", file, status=2).err)
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["collection.db"]


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
    kept(re.findall(r">([^<>{}]{12,})<", re.sub("</?span>", "", html)))
    reusability = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["reusability"]
    assert reusability == {"collection": None, "card": None}


def test_the_card_counts_what_the_page_counts_and_names_nobody(made: Report):
    text = card_text(collection_card(made.material))
    card = json.loads(text)
    counts = card["counts"]
    size = f"{counts['documents']} documents, {counts['topics']} topics and {counts['runs']} runs"
    told = f"{counts['judged']} documents judged, {counts['relevant']} of them relevant"
    assert made.page.subtitle == f"A test collection of {size} of {counts['groups']} groups; {told}."
    assert card["pools"][0]["plan"] == "depth 5"
    assert card["reusability"]["collection"]["fairness"] == "with care"
    assert card["reusability"]["card"]["kind"] == "cranfield-reuse-card"
    assert card["qrels"]["content_hash"] == card["checksums"]["qrels"]
    assert not any(name in text for name in ASSESSORS)


SCORED = ("-m", "AP", "-m", "nDCG@10", "-f", "csv")


def told(scores: list[dict[str, str]]) -> list[tuple[str, ...]]:
    return [(row["measure"], row["value"], row["low"], row["verdict"]) for row in scores]


def pack_archives(folder: Path) -> None:
    with tarfile.open(folder.with_suffix(".tar.gz"), "w:gz") as packed:
        packed.add(folder, arcname=folder.name)
    with zipfile.ZipFile(folder.with_suffix(".zip"), "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"{folder.name}/{path.name}")


def test_a_bundle_can_be_published_and_used(judged: Path, tmp_path: Path):
    copy = tmp_path / "copy.db"
    call("backup", copy, "-C", judged)
    folder = tmp_path / "bundle"
    call("qrels", "release", "first", "--bundle", folder, "-C", copy)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("SHA256SUMS", "card.json", "guidelines.md", "pool.csv", "qrels.txt", "runs.csv", "topics.trec")
    ]
    sums = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name != "SHA256SUMS"
    }
    assert not any(name.encode() in path.read_bytes() for path in folder.iterdir() for name in ASSESSORS)
    run = Path(__file__).parents[2] / "collections" / "kitchen" / "runs" / "mortar-dense.run"
    pack_archives(folder)
    inside = rows(call("evaluate", "mortar-dense", *SCORED, "-C", copy).out)
    for bundle in (folder, tmp_path / "bundle.tar.gz", tmp_path / "bundle.zip"):
        alone = rows(call("evaluate", bundle, run, *SCORED).out)
        assert told(alone) == told(inside)
    by_hand = ["--qrels", folder / "qrels.txt", "--pool", folder / "card.json", "-m", "AP(rel=2)", "-m", "nDCG@10"]
    assert told(rows(call("evaluate", *by_hand, "-f", "csv", run).out)) == told(inside)
    frame = cf.open_files(qrels=folder, runs=[run]).evaluate(["AP", "nDCG@10"])
    assert list(frame["verdict"]) == [row["verdict"] for row in inside]
    others = [run.with_name("whisk-bm25.run"), "-m", "P@5", "-f", "csv"]
    (compared,) = rows(call("compare", folder, run, *others).out)
    assert (compared["measure"], compared["verdict_a"]) == ("P(rel=2)@5", "UNRELIABLE")
    assert rows(call("reuse", folder, run, *others).out)[0]["verdict"] == "UNRELIABLE"
    pairs = {(row["topic"], row["document"]) for row in rows((folder / "pool.csv").read_text(encoding="utf-8"))}
    assert {tuple(line.split()[::2]) for line in (folder / "qrels.txt").read_text().splitlines()} == pairs


def test_what_is_no_bundle_or_was_changed_since_its_release_is_refused(judged: Path, tmp_path: Path, kept: Kept):
    run = Path(__file__).parents[2] / "collections" / "kitchen" / "runs" / "mortar-dense.run"
    copy, folder = tmp_path / "copy.db", tmp_path / "bundle"
    call("backup", copy, "-C", judged)
    call("qrels", "release", "first", "--bundle", folder, "-C", copy)
    (tmp_path / "other").mkdir()
    (tmp_path / "broken.tar.gz").write_bytes(b"not an archive")
    kept(call("evaluate", "other", run, folder=tmp_path, status=1).err)
    kept(call("evaluate", "broken.tar.gz", run, folder=tmp_path, status=1).err)
    kept(call("evaluate", "bundle", run, "-C", copy, folder=tmp_path, status=2).err)
    (folder / "qrels.txt").write_text("T01 0 K003 3\n")
    (folder / "pool.csv").unlink()
    kept(call("evaluate", "bundle", run, folder=tmp_path, status=1).err)


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


def test_tables_have_names_that_are_files_and_differ(made: Report):
    tables = tables_of(made.page)
    assert all(re.fullmatch(r"[A-Za-z0-9-]+", name) for name in tables)
    assert all(isinstance(table, Table) and table.caption for table in tables.values())
