"""What a newcomer meets on the way from judging to a published collection."""

import csv
import io
import shutil
from pathlib import Path

import pytest
from command import call
from kept import Kept

from cranfield.qrels.release import open_bundle

KITCHEN = Path(__file__).parents[2] / "collections/kitchen"


@pytest.fixture(scope="module")
def judged_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of three groups whose pool is judged completely."""
    folder = tmp_path_factory.mktemp("kitchen")
    pool(folder)
    judge(folder, "ana", (0, 2))
    return folder


def pool(folder: Path) -> None:
    """Make a collection of three groups with a pool, and judge nothing."""
    call("init", "kitchen", "--scale", str(KITCHEN / "scale.toml"), folder=folder)
    call("corpus", "add", str(KITCHEN / "documents.jsonl"), folder=folder)
    call("corpus", "topics", str(KITCHEN / "topics.trec"), folder=folder)
    for name, group in (("larder-bm25", "red"), ("stove-tfidf", "blue"), ("trivet-lsa", "green")):
        call("runs", "submit", str(KITCHEN / f"runs/{name}.run"), "--group", group, folder=folder)
    call("pool", "build", "depth 5", folder=folder)


def judge(folder: Path, assessor: str, grades: tuple[int, int], *, share: float = 1.0) -> None:
    """Judge the pool, or the first of it, with these grades in turn."""
    told = call("pool", "show", "--by", "document", "-f", "csv", folder=folder).out
    pooled = [*csv.DictReader(io.StringIO(told))]
    pooled = pooled[: round(share * len(pooled))]
    rows = [f"{one['topic']},{one['document']},{grades[place % 2]},{assessor}" for place, one in enumerate(pooled)]
    (folder / "judged.csv").write_text("\n".join(["topic,document,grade,assessor", *rows]))
    call("judge", "import", "judged.csv", folder=folder)


@pytest.fixture
def judged(judged_once: Path, tmp_path: Path) -> Path:
    shutil.copy(judged_once / "collection.db", tmp_path)
    return tmp_path


def test_a_bundle_of_a_pool_that_is_judged_completely_scores_a_new_run(judged: Path, kept: Kept):
    call("qrels", "release", "first", folder=judged)
    made = call("qrels", "release", "first", "--bundle", "bundle", folder=judged)
    assert "was released on" in made.out + made.err
    told = call("evaluate", "bundle", str(KITCHEN / "runs/mortar-dense.run"), "-m", "P@5", folder=judged)
    assert "mortar-dense" in told.out
    kept(told.err)


def test_a_release_of_a_pool_that_is_partly_judged_is_provisional_wherever_it_is_used(tmp_path: Path, kept: Kept):
    folder = tmp_path
    pool(folder)
    judge(folder, "ana", (0, 2), share=0.6)
    call("qrels", "release", "early", folder=folder)
    run = str(KITCHEN / "runs/mortar-dense.run")
    here = call("evaluate", run, "--qrels", "early", "-m", "P@5", folder=folder)
    assert "PROVISIONAL" in here.out
    judge(folder, "ana", (0, 2))
    assert "PROVISIONAL" in call("evaluate", run, "--qrels", "early", "-m", "P@5", folder=folder).out
    assert "PROVISIONAL" not in call("evaluate", run, "-m", "P@5", folder=folder).out
    call("qrels", "release", "early", "--bundle", "bundle", folder=folder)
    kept(call("evaluate", "bundle", run, "-m", "P@5", folder=folder).err)


def test_a_release_is_as_provisional_as_its_judgments_were_where_one_topic_is_not_finished(tmp_path: Path):
    pool(tmp_path)
    judge(tmp_path, "ana", (0, 2), share=0.97)
    call("reuse", "--threshold", "finished-pool=0.5", "--keep", "--thresholds", folder=tmp_path)
    call("qrels", "release", "early", "--bundle", "bundle", folder=tmp_path)
    said = "of the pool judged in some topic"
    assert said in call("evaluate", "larder-bm25", "-m", "P@5", folder=tmp_path).err
    assert said in call("evaluate", "larder-bm25", "--qrels", "early", "-m", "P@5", folder=tmp_path).err
    pool_judged, topic_judged = open_bundle(tmp_path / "bundle").judged
    assert 0.5 < topic_judged < 0.9 < pool_judged < 1


def test_a_submitted_file_is_the_stored_run(judged: Path):
    scores = call("evaluate", str(KITCHEN / "runs/larder-bm25.run"), "-m", "P@5", "-f", "csv", folder=judged).out
    assert "POOLED" in scores


def test_the_next_step_is_to_judge_the_queue_that_is_open(judged: Path):
    run = str(KITCHEN / "runs/mortar-dense.run")
    told = call("evaluate", run, "-m", "P@5", folder=judged).err
    assert f"pool top-up {run} --depth 5" in told
    call("pool", "top-up", run, "--depth", "5", folder=judged)
    assert "judge --queue top-up-mortar-dense" in call("evaluate", run, "-m", "P@5", folder=judged).err
    again = call("pool", "top-up", run, "--depth", "5", status=1, folder=judged).err
    assert "judge --queue top-up-mortar-dense" in again


def test_what_settles_two_runs_is_judged_before_another_queue_is_made(judged: Path, kept: Kept):
    pair = [str(KITCHEN / f"runs/{name}.run") for name in ("mortar-dense", "whisk-bm25")]
    call("runs", "submit", *pair, "--group", "new", "--new", folder=judged)
    kept(call("settle", *pair, "-m", "P@5", "--queue", "close", folder=judged).err.splitlines()[-1])
    kept(call("evaluate", "mortar-dense", "-m", "P@5", folder=judged).err.splitlines()[-1])


def test_while_the_pool_is_not_judged_the_next_step_is_that_of_status(judged: Path, kept: Kept):
    call("runs", "submit", str(KITCHEN / "runs/mortar-dense.run"), "--group", "new", folder=judged)
    call("pool", "extend", folder=judged)
    (last,) = call("evaluate", "-m", "P@5", folder=judged).err.splitlines()[-1:]
    assert last == call("status", folder=judged).err.splitlines()[-1]
    kept(last)


def test_two_runs_are_settled_with_a_bundle_as_they_are_evaluated(judged: Path, kept: Kept):
    call("qrels", "release", "first", "--bundle", "bundle", folder=judged)
    pair = [str(KITCHEN / f"runs/{name}.run") for name in ("mortar-dense", "whisk-bm25")]
    told = call("settle", "bundle", *pair, "-m", "P@5", "-f", "csv", folder=judged).out
    assert told == call("settle", "--qrels", "bundle", *pair, "-m", "P@5", "-f", "csv", folder=judged).out
    assert "mortar-dense" in told
    kept(call("settle", "bundle", pair[0], status=2, folder=judged).err.partition("Error: ")[2])


def test_what_a_group_contributed_is_told_once_and_in_each_row_of_data(judged: Path, kept: Kept):
    words = ("reuse", "-m", "P@5", "-m", "nDCG@5", "--table", "groups")
    kept(call(*words, folder=judged).out)
    rows = csv.DictReader(io.StringIO(call(*words, "-f", "csv", folder=judged).out))
    assert all(row["unique_judged"] for row in rows)


def test_a_screen_has_the_first_documents_to_settle_a_pair(judged: Path, kept: Kept):
    words = ["settle", str(KITCHEN / "runs/mortar-dense.run"), "larder-bm25", "-m", "AP", "-m", "P@10"]
    shown, piped = (call(*words, folder=judged, terminal=one) for one in (True, False))
    whole = call(*words, "--all", folder=judged, terminal=True)
    assert len(shown.out.splitlines()) < 16 < len(piped.out.splitlines()) <= len(whole.out.splitlines())
    kept(shown.err)


def test_status_leaves_out_what_there_is_none_of(judged: Path, kept: Kept):
    kept(call("status", folder=judged).out)


def test_disagreements_come_before_a_release(judged: Path):
    call("judge", "assign", "ana", "ben", "--together", "--again", folder=judged)
    judge(judged, "ben", (2, 0))
    assert "judge adjudicate" in call("status", folder=judged).err


def test_two_groups_are_said_to_be_too_few_before_anything_is_judged(tmp_path: Path):
    call("init", "kitchen", folder=tmp_path)
    call("corpus", "add", str(KITCHEN / "documents.jsonl"), folder=tmp_path)
    call("corpus", "topics", str(KITCHEN / "topics.trec"), folder=tmp_path)
    call("runs", "submit", str(KITCHEN / "runs/larder-bm25.run"), "--group", "red", folder=tmp_path)
    assert "verdicts on later runs need 3" in call("status", folder=tmp_path).err
