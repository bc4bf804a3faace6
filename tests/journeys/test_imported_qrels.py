"""A collection of others: qrels and runs come from files, and judging goes on from there."""

import csv
import io
import shutil
from pathlib import Path

import pytest
from command import Ended, call
from kept import Kept

KITCHEN = Path(__file__).parents[2] / "collections/kitchen"
DENSE = str(KITCHEN / "runs/mortar-dense.run")


def told(ended: Ended) -> str:
    return ended.out + ended.err


def rows(ended: Ended) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ended.out)))


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """The topics, documents, qrels and three runs of the kitchen; nobody has judged here."""
    call("init", "theirs", "--scale", str(KITCHEN / "scale.toml"), folder=tmp_path)
    call("corpus", "add", str(KITCHEN / "documents.jsonl"), folder=tmp_path)
    call("corpus", "topics", str(KITCHEN / "topics.trec"), folder=tmp_path)
    shutil.copy(KITCHEN / "qrels.txt", tmp_path)
    call("qrels", "import", "qrels.txt", "--name", "official", folder=tmp_path)
    for name in ("larder-bm25", "stove-tfidf", "trivet-lsa"):
        group = name.partition("-")[0]
        call("runs", "submit", str(KITCHEN / f"runs/{name}.run"), "--group", group, folder=tmp_path)
    return tmp_path


def test_imported_qrels_are_judged_documents_and_own_judgments_are_merged_with_them(imported: Path, kept: Kept):
    kept(told(call("status", folder=imported)))
    official = {
        (one["topic"], one["document"]) for one in rows(call("qrels", "export", "--to", "csv", folder=imported))
    }
    kept(told(call("pool", "top-up", DENSE, "--depth", "5", folder=imported)))
    kept(call("judge", "--plain", "--assessor", "ana", status=2, folder=imported).err)
    queue = ["judge", "--queue", "top-up-mortar-dense", "--plain", "--assessor", "ana"]
    call(*queue, folder=imported, answers="2\n" * 18 + "q\n")
    kept(told(call("status", folder=imported)))
    changes = rows(call("qrels", "diff", "official", "now", "-f", "csv", folder=imported))
    assert [one["what"] for one in changes] == ["added"] * 18
    assert not official & {(one["topic"], one["document"]) for one in changes}
    now = rows(call("evaluate", DENSE, "-m", "judged@5", "-f", "csv", folder=imported))
    assert [float(one["value"]) for one in now] == [1.0]


def test_a_grade_by_an_assessor_counts_instead_of_the_imported_one_and_is_no_dispute(imported: Path):
    topic, _, document, grade = (imported / "qrels.txt").read_text().splitlines()[0].split()
    other = "0" if grade != "0" else "3"
    # A majority of the two others would have the imported grade.
    for assessor, own in (("ana", other), ("ben", "1")):
        (imported / "own.csv").write_text(f"topic,document,grade,assessor\n{topic},{document},{own},{assessor}\n")
        call("judge", "import", "own.csv", folder=imported)
        if assessor == "ana":
            assert rows(call("judge", "adjudicate", "--list", "-f", "csv", folder=imported)) == []
    changes = rows(call("qrels", "diff", "official", "now", "-f", "csv", folder=imported))
    assert [(one["topic"], one["document"], one["after"]) for one in changes] == [(topic, document, "1")]


def test_a_pool_counts_what_is_judged_and_a_release_what_is_not(imported: Path, kept: Kept):
    kept(told(call("pool", "build", "depth 8", folder=imported)))
    kept(call("qrels", "release", "first", folder=imported).err)


def test_qrels_that_cannot_be_merged_are_there_by_their_name_only(imported: Path, kept: Kept):
    lines = (imported / "qrels.txt").read_text().splitlines()
    (imported / "other.txt").write_text("\n".join(f"{line[:-1]}1" for line in lines))
    (imported / "wide.txt").write_text("T01 0 K240 7\n")
    (imported / "more.txt").write_text("T01 0 K240 1\n")
    for name in ("other", "wide", "more", "more"):
        kept(told(call("qrels", "import", f"{name}.txt", "--name", name, folder=imported)))
    (imported / "own.csv").write_text("topic,document,grade,assessor\nT01,K239,1,ana\n")
    call("judge", "import", "own.csv", folder=imported)
    (imported / "late.txt").write_text("T01 0 K238 1\n")
    kept(told(call("qrels", "import", "late.txt", "--name", "late", folder=imported)))
    now = rows(call("qrels", "export", "--to", "csv", folder=imported))
    assert {"K238", "K239", "K240"} & {one["document"] for one in now if one["topic"] == "T01"} == {"K239", "K240"}


def test_documents_that_are_nowhere_are_announced(tmp_path: Path, kept: Kept):
    folder = tmp_path / "campaign"
    for team, run in (("ann", "larder-bm25"), ("ben", "larder-bm25"), ("cy", "whisk-bm25")):
        (folder / "runs" / team).mkdir(parents=True)
        shutil.copy(KITCHEN / f"runs/{run}.run", folder / "runs" / team)
    shutil.copy(KITCHEN / "runs/whisk-bm25.run", folder / "runs/cy/copy.run")
    for name in ("topics.trec", "qrels.txt"):
        shutil.copy(KITCHEN / name, folder)
    kept(told(call("init", "campaign", "--from", "campaign", folder=tmp_path)))
    kept(call("runs", "list", folder=tmp_path).out)
    kept(told(call("pool", "build", "depth 5", folder=tmp_path)))
    kept(told(call("judge", "--plain", "--assessor", "ana", folder=tmp_path, answers="q\n")))


def test_a_run_in_a_set_is_the_stored_one_and_a_table_without_names_is_no_run_to_repair(imported: Path, kept: Kept):
    from pyarrow import parquet

    runs = [str(KITCHEN / f"runs/{name}.run") for name in ("larder-bm25", "mortar-dense")]
    call("runs", "pack", *runs, "-o", "both.parquet", folder=imported)
    scored = rows(call("evaluate", "both.parquet", "-m", "P@5", "-f", "csv", folder=imported))
    assert {one["run"] for one in scored} == {"larder-bm25", "mortar-dense"}
    parquet.write_table(
        parquet.read_table(imported / "both.parquet").drop_columns(["run"]), imported / "nameless.parquet"
    )
    kept(told(call("runs", "submit", "nameless.parquet", status=1, folder=imported)))
