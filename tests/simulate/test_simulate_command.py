"""`cranfield simulate`, on bare files and in the shipped collection."""

import contextlib
import csv
import io
from pathlib import Path

import pytest
from command import call
from kept import Kept

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def files(tmp_path: Path, toolbox) -> Path:
    for name, lists in toolbox.worked.items():
        lines = [
            f"{topic} Q0 {document} {place} {9 - place} {name}\n"
            for topic, documents in lists.items()
            for place, document in enumerate(documents, start=1)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    judged = [
        f"{topic} 0 {document} {grade}\n"
        for topic, some in toolbox.grades.items()
        for document, grade in some.items()
    ]
    (tmp_path / "qrels").write_text("".join(judged))
    (tmp_path / "groups.tsv").write_text(
        "".join(f"{run}\t{group}\tpooled\n" for run, group in toolbox.groups.items())
    )
    return tmp_path


BARE = ("simulate", "--qrels", "qrels", "A.run", "B.run", "C.run")


def test_plans_on_bare_files_are_told_in_tables_and_sentences(files: Path, kept: Kept):
    _, shown, told = call(*BARE, "--plan", "depth 1", "--plan", "depth 2", "-m", "AP", folder=files)
    assert [line.split()[:10] for line in shown.splitlines() if line.startswith("depth")] == [
        ["depth", "1", "6", "3.0", "3", "3", "0", "4", "0.800", "0"],
        ["depth", "2", "8", "4.0", "4", "4", "2", "4", "0.800", "0"],
        ["depth", "1", "0.333", "0.000", "1", "A"],
        ["depth", "2", "0.333", "0.000", "1", "A"],
    ]
    *said, mind = told.splitlines()
    kept(said)
    kept(mind)


def test_data_formats_have_one_row_for_each_plan_and_measure(files: Path, kept: Kept):
    words = ("--plan", "depth 1", "--plan", "rrf 2", "-m", "AP", "-m", "P@1", "--groups", "groups.tsv", "-f", "csv")
    _, shown, told = call(*BARE, *words, folder=files)
    found = rows(shown)
    assert [(row["plan"], row["measure"]) for row in found] == [
        ("depth 1", "AP"),
        ("depth 1", "P@1"),
        ("rrf 2", "AP"),
        ("rrf 2", "P@1"),
    ]
    first = found[0]
    assert {name: first[name] for name in ("documents", "topics", "unknown", "relevant", "known_relevant")} == {
        "documents": "6",
        "topics": "2",
        "unknown": "0",
        "relevant": "4",
        "known_relevant": "5",
    }
    assert float(first["hours"]) == pytest.approx(0.05)
    assert float(first["loss_mean"]) == pytest.approx((0.6 + 6 / 11) / 3)
    assert (first["budget"], first["losing"], found[2]["loss_mean"]) == ("", "A", "")
    kept(told)


def test_a_new_run_of_the_groups_is_ranked_and_feeds_nothing(files: Path, kept: Kept):
    (files / "groups.tsv").write_text("A\tfirst\tpooled\nB\tsecond\tpooled\nC\tthird\tnew\nD\tfourth\tpooled\n")
    _, shown, told = call(*BARE, "--plan", "depth 1", "-m", "AP", "--groups", "groups.tsv", "-f", "csv", folder=files)
    assert rows(shown)[0]["documents"] == "4"
    kept(told)


def test_budgets_give_a_curve_and_say_what_is_too_small(files: Path, kept: Kept):
    words = ("--plan", "depth 1; mtf", "--plan", "depth 9", "--budgets", "4, 7,8", "-m", "AP", "-f", "csv")
    _, shown, told = call(*BARE, *words, folder=files)
    assert [(row["plan"], row["strategy"], row["budget"], row["documents"]) for row in rows(shown)] == [
        ("depth 1; mtf budget 7", "depth 1; mtf", "7", "7"),
        ("depth 1; mtf budget 8", "depth 1; mtf", "8", "8"),
        ("take budget 4", "take", "4", "4"),
        ("take budget 7", "take", "7", "7"),
        ("take budget 8", "take", "8", "8"),
    ]
    kept(told)


def test_without_plans_depths_are_played_down_to_what_was_judged(files: Path):
    by_depth = rows(call(*BARE, "-m", "AP", "-f", "csv", folder=files).out)
    assert [row["plan"] for row in by_depth] == ["depth 1", "depth 2", "depth 4"]
    by_budget = rows(call(*BARE, "-m", "AP", "--budgets", "4", "-f", "csv", folder=files).out)
    assert [row["strategy"] for row in by_budget] == ["take", "rrf", "mtf", "max-mean-ns"]


@pytest.mark.parametrize(
    "words",
    [
        ("--budgets", "4,many"),
        ("--budgets", "0"),
        ("--plan", "depht 3"),
        ("--forecast", "3"),
        ("--difference", "0.2"),
        ("--outsiders",),
        ("--plot", "found.svg"),
        ("--plan", "depth 1; cap 1", "--budgets", "3"),
        ("--seconds-per-document", "60"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(files: Path, words: tuple[str, ...], kept: Kept):
    told = call(*BARE, *words, status=2, folder=files).err
    kept(told)


@pytest.mark.parametrize("words", [("--plan", "depth 1; mtf", "--budgets", "2,3"), ("--plan", "depth 40")])
def test_plans_that_these_runs_cannot_feed_are_a_problem_of_the_data(files: Path, words: tuple[str, ...], kept: Kept):
    told = call(*BARE, *words, status=1, folder=files).err
    kept(told)


@pytest.mark.parametrize("rows", ["1 0 a -1\n", "9 0 a 1\n"])
def test_judgments_against_which_nothing_can_be_replayed_are_a_problem_of_the_data(
    files: Path, tmp_path: Path, rows: str, kept: Kept
):
    (tmp_path / "qrels").write_text(rows)
    words = [str(tmp_path / word) if word == "qrels" else word for word in BARE]
    kept(call(*words, "--plan", "depth 1", status=1, folder=files).err)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen")
    call("init", "kitchen", "--scale", f"{KITCHEN / 'scale.toml'}", folder=folder)
    call("corpus", "add", f"{KITCHEN / 'documents.jsonl'}", folder=folder)
    call("corpus", "topics", f"{KITCHEN / 'topics.trec'}", folder=folder)
    call("runs", "submit", f"{KITCHEN / 'runs.toml'}", folder=folder)
    call("pool", "build", "depth 5", folder=folder)
    call("judge", "import", f"{KITCHEN / 'judgments.csv'}", folder=folder)
    call("judge", "assign", "reader-1", "reader-2", "--together", folder=folder)
    return folder


def test_a_collection_plays_its_contributing_runs_and_ranks_all(kitchen: Path, kept: Kept):
    _, shown, told = call("simulate", "-m", "nDCG@5", "-f", "csv", folder=kitchen)
    found = {row["plan"]: row for row in rows(shown)}
    assert {plan: (row["documents"], row["relevant"], row["unknown"]) for plan, row in found.items()} == {
        "depth 1": ("55", "41", "0"),
        "depth 2": ("83", "58", "0"),
        "depth 5": ("130", "82", "0"),
    }
    kept(told)


def test_the_pool_of_the_collection_changes_nothing_and_loses_what_reuse_says(kitchen: Path):
    (pool,) = rows(call("simulate", "--plan", "depth 5", "-m", "nDCG@5", "-f", "csv", folder=kitchen).out)
    assert (pool["share"], pool["tau_b"], pool["tau_ap"], pool["fall"]) == ("1.0", "1.0", "1.0", "0")
    shown = call("reuse", "mortar-dense", "-m", "nDCG@5", folder=kitchen).out
    told = next(line.split() for line in shown.splitlines() if line.startswith("nDCG@5"))
    assert f"{float(pool['loss_mean']):.4f}" == told[2]


def test_measures_and_labels_have_the_threshold_of_the_scale(kitchen: Path):
    (row,) = rows(call("simulate", "--plan", "depth 5", "-m", "AP", "-f", "csv", folder=kitchen).out)
    assert (row["measure"], row["known_relevant"]) == ("AP(rel=2)", "82")
    words = ("--plan", "depth 5", "-m", "AP", "--relevant-from", "1", "-f", "csv")
    (low,) = rows(call("simulate", *words, folder=kitchen).out)
    assert (low["measure"], int(low["known_relevant"]) > 82) == ("AP", True)


def test_plans_that_learn_and_read_are_played_in_a_collection(kitchen: Path):
    words = ("--plan", "depth 1; cal until 6", "--plan", "depth 2; mtf until 7", "-m", "P@5")
    for row in rows(call("simulate", *words, "-f", "csv", folder=kitchen).out):
        assert 55 < int(row["documents"]) <= 15 * 8
        assert not row["loss_mean"]


def test_some_runs_of_a_collection_can_be_named(kitchen: Path, kept: Kept):
    named = ("larder-bm25", "stove-tfidf", "mortar-dense")
    told = call("simulate", *named, "--plan", "depth 1", "-m", "P@5", folder=kitchen).err
    kept(told)
    told = call("simulate", "mortar-dense", "--plan", "depth 1", status=1, folder=kitchen).err
    kept(told)


def test_the_collection_is_not_written_to(kitchen: Path):
    before = call("status", "-f", "json", folder=kitchen).out
    call("simulate", "--plan", "depth 2; mtf until 6", "-m", "P@5", folder=kitchen)
    assert call("status", "-f", "json", folder=kitchen).out == before


def test_from_python_it_is_the_same_rows(files: Path, kitchen: Path, kept: Kept):
    import cranfield as cf

    with contextlib.chdir(files):
        words = ("--plan", "depth 1", "--plan", "rrf 2", "-m", "AP", "--groups", "groups.tsv", "-f", "csv")
        typed_rows = rows(call(*BARE, *words, folder=files).out)
        opened = cf.open_files(qrels="qrels", runs=["A.run", "B.run", "C.run"], groups="groups.tsv")
        frame = opened.simulate("depth 1", "rrf 2", measures="AP")
    assert list(frame.columns) == list(typed_rows[0])
    assert frame["plan"].tolist() == [row["plan"] for row in typed_rows]
    assert frame["loss_mean"][0] == float(typed_rows[0]["loss_mean"])
    kept(frame.attrs["notes"][0])
    with cf.open_collection(kitchen / "collection.db") as collection:
        found = collection.simulate("take", budgets=[60, 90], measures="AP")
    assert found[["strategy", "budget", "documents"]].values.tolist() == [["take", 60, 60], ["take", 90, 90]]


def test_a_plan_whose_words_became_runs_says_what_is_missing(kitchen: Path):
    assert "--plan 'depth 5'" in call("simulate", "--plan", "depth", "5", status=2, folder=kitchen).err
