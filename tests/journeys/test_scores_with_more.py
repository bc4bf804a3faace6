"""`evaluate` beyond plain scores, as a user would type it: figures, near-duplicates, samples, narrow terminals."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from command import call
from kept import Kept

QRELS = "".join(
    f"{topic} 0 {name} {grade}\n" for topic in "12" for name, grade in zip("abcdn", (1, 1, 1, 2, 0), strict=True)
)


def run_file(path: Path, tag: str, ranked: str) -> None:
    rows = [f"{topic} Q0 {name} {place} {20 - place} {tag}\n" for topic in "12" for place, name in enumerate(ranked)]
    path.write_text("".join(rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    run_file(tmp_path / "copies.run", "copies", "abnxy")
    run_file(tmp_path / "new.run", "new", "cxyzd")
    (tmp_path / "clusters.tsv").write_text("a\tfirst\nb\tfirst\nx\tfirst\n")
    return tmp_path


BOTH = ("evaluate", "copies.run", "new.run", "--qrels", "qrels", "--no-verdict")
NOVELTY = (*BOTH, "--duplicates", "clusters.tsv")


@pytest.mark.parametrize(("kind", "beginning"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
@pytest.mark.parametrize("measure", ["AP", "iprec_at_recall"])
def test_scores_are_drawn_the_same_each_time(folder: Path, kind: str, beginning: bytes, measure: str):
    call(*BOTH, "-m", measure, "--plot", f"first.{kind}", folder=folder)
    told = call(*BOTH, "-m", measure, "--plot", f"second.{kind}", folder=folder).err
    assert f"plotted {'AP of each run' if measure == 'AP' else 'precision-recall curves'}" in told
    drawn = (folder / f"first.{kind}").read_bytes()
    assert drawn.startswith(beginning)
    assert drawn == (folder / f"second.{kind}").read_bytes()


def test_a_figure_of_an_unknown_kind_is_refused_before_anything_is_read(folder: Path, kept: Kept):
    kept(call(*BOTH, "nowhere.run", "--plot", "x.gif", status=2, folder=folder).err)
    kept(call(*BOTH, "--curve", status=2, folder=folder).err)


def test_the_plain_score_stands_beside_that_of_novelty(folder: Path, kept: Kept):
    _, out, told = call(*NOVELTY, "-m", "AP", "-m", "P@5", "--no-verdict", folder=folder)
    rows = [line.split() for line in out.splitlines() if line.strip() and "──" not in line]
    assert rows == [
        ["run", "AP", "P@5", "plain", "AP", "plain", "P@5"],
        ["new", "0.4667", "0.4000", "0.3500", "0.4000"],
        ["copies", "0.3333", "0.2000", "0.5000", "0.4000"],
        ["qrels", "af675684ea26f93c,", "tie", "order", "as", "in", "trec_eval", "10"],
    ]
    kept(told)


def test_novelty_as_data_has_the_plain_score_beside_it_and_a_hash_of_its_own(folder: Path):
    rows = list(csv.DictReader(io.StringIO(call(*NOVELTY, "-m", "AP", "--by-topic", "-f", "csv", folder=folder).out)))
    plain = list(csv.DictReader(io.StringIO(call(*BOTH, "-m", "AP", "--by-topic", "-f", "csv", folder=folder).out)))
    assert [row["plain"] for row in rows] == [row["value"] for row in plain]
    assert {row["qrels"] for row in rows}.isdisjoint({row["qrels"] for row in plain})


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--duplicates", "novelty"], 2),
        (["--clusters", "clusters.tsv"], 2),
        (["--duplicates", "clusters.tsv", "--ties", "best"], 2),
        (["--duplicates", "qrels"], 1),
        (["--duplicates", "two.tsv"], 1),
        (["--duplicates", "empty.tsv"], 1),
    ],
)
def test_clusters_that_cannot_be_used_are_told(folder: Path, words: list[str], status: int, kept: Kept):
    (folder / "two.tsv").write_text("a\tx\na\ty\n")
    (folder / "empty.tsv").write_text("\n")
    kept(call(*BOTH, *words, status=status, folder=folder).err)


def test_a_collection_brings_its_own_clusters(folder: Path, kept: Kept):
    texts = {"a": "one two three four five six seven", "b": "one two three four five six seven"}
    documents = [{"id": name, "text": texts.get(name, name * 9)} for name in "abcdnxyz"]
    (folder / "documents.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    call("init", "test", folder=folder)
    call("corpus", "add", "documents.jsonl", folder=folder)
    words = (*BOTH, "--duplicates", "novelty", "-m", "P@2", "-f", "csv", "-C", "collection.db")
    kept(call(*words, status=1, folder=folder).err)
    call("corpus", "duplicates", folder=folder)
    rows = list(csv.DictReader(io.StringIO(call(*words, folder=folder).out)))
    assert [(row["run"], row["value"], row["plain"]) for row in rows] == [
        ("copies", "0.5", "1.0"),
        ("new", "0.5", "0.5"),
    ]


def test_a_sample_is_scored_by_estimates_and_told(folder: Path, kept: Kept):
    (folder / "sampled").write_text("1 0 a top 1\n1 0 b top 0\n1 0 c rest 2\n1 0 d rest -1\n2 0 a empty -1\n")
    words = ("evaluate", "copies.run", "new.run", "--qrels", "sampled", "-m", "statP@1", "-m", "P@1", "-f", "csv")
    _, out, told = call(*words, folder=folder)
    found = {(row["run"], row["measure"]): float(row["value"]) for row in csv.DictReader(io.StringIO(out))}
    assert found == {
        ("copies", "statP@1"): 0.5, ("copies", "P@1"): 0.5, ("new", "statP@1"): 1.0, ("new", "P@1"): 0.5,
    }  # fmt: skip
    kept(told)


def test_a_narrow_terminal_gets_the_best_in_bold_and_nothing_cut(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = call(
        *BOTH, "-m", "AP P@5 RR nDCG@10 Rprec Bpref infAP NumRet", "--no-verdict", terminal=True, folder=folder
    ).out
    lines = out.replace("\x1b[1m", "<").replace("\x1b[0m", ">").splitlines()
    cells = [line.split() for line in lines if line.strip() and "──" not in line]
    assert cells[1][:2] == ["copies", "<0.5000>"]
    assert [row[0] for row in cells if row[0] in ("copies", "new")] == ["copies", "new"] * 2
    assert sum(len(row) - 1 for row in cells if row[0] == "copies") == 8


def test_comparison_by_novelty_compares_what_evaluate_scores(folder: Path, kept: Kept):
    words = ("compare", "copies.run", "new.run", "--qrels", "qrels", "-m", "AP", "-f", "csv")
    plain = next(csv.DictReader(io.StringIO(call(*words, folder=folder).out)))
    _, out, told = call(*words, "--duplicates", "clusters.tsv", folder=folder)
    novel = next(csv.DictReader(io.StringIO(out)))
    assert (plain["mean_a"], novel["mean_a"]) == ("0.5", "0.3333333333333333")
    assert plain["qrels"] != novel["qrels"]
    kept(told)
    idle = call(*words, "--clusters", "clusters.tsv", status=2, folder=folder).err
    kept(idle)


def test_a_narrow_terminal_loses_no_column_of_a_comparison_or_a_list(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    pairs = ("compare", "copies.run", "new.run", "--qrels", "qrels", "-m", "AP")
    out = call(*pairs, terminal=True, folder=folder).out
    assert all(name in out for name in ("difference", "95% from", "won/tied/lost", "effect", "corrected"))
    lists = call(
        "evaluate", "--qrels", "qrels", "--explain", "copies.run", "1", "new.run", terminal=True, folder=folder
    ).out
    plain = re.sub("\x1b\\[[0-9;]*m", "", lists)
    kept(plain)
    assert max(len(line) for line in plain.splitlines()) <= 60


PAIR = ("compare", "copies.run", "new.run", "--qrels", "qrels", "-m", "AP")


def test_a_pair_as_data_has_the_verdicts_of_the_table_beside_it(folder: Path):
    (pair,) = csv.DictReader(io.StringIO(call(*PAIR, "-f", "csv", folder=folder).out))
    shown = call(*PAIR, folder=folder).out
    verdicts = dict(re.findall(r"^(copies|new) .* ([A-Z]{4,}) *$", shown, re.M))
    assert sorted(verdicts) == ["copies", "new"]
    assert {pair["a"]: pair["verdict_a"], pair["b"]: pair["verdict_b"]} == verdicts
    assert "verdict_a" not in call(*PAIR, "--no-verdict", "-f", "csv", folder=folder).out


def test_on_one_topic_people_see_a_dash_where_there_is_no_number(folder: Path):
    (folder / "one").write_text("1\n")
    shown = call(*PAIR, "--topics", "one", folder=folder).out
    assert not {"nan", "inf", "-inf"} & set(shown.split())
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("copies  new")]
    assert row[3:7] == ["-", "-", "1/0/0", "-"]
