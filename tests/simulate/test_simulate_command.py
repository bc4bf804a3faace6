"""`cranfield simulate`, on bare files and in the shipped collection."""

import contextlib
import csv
import io
import json
from pathlib import Path

import pytest

from cranfield.cli import main

KITCHEN = Path(__file__).parents[2] / "collections" / "kitchen"


def typed(folder: Path, *words: str, status: int = 0) -> tuple[str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = main._status(list(words))
        out.flush()
    assert ended == status, err.getvalue()
    return out.buffer.getvalue().decode(), err.getvalue()


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


def test_plans_on_bare_files_are_told_in_tables_and_sentences(files: Path):
    shown, told = typed(files, *BARE, "--plan", "depth 1", "--plan", "depth 2", "-m", "AP")
    assert [line.split()[:10] for line in shown.splitlines() if line.startswith("depth")] == [
        ["depth", "1", "6", "3.0", "3", "3", "0", "4", "0.800", "0"],
        ["depth", "2", "8", "4.0", "4", "4", "2", "4", "0.800", "0"],
        ["depth", "1", "0.333", "0.000", "1", "A", "0.1389", "C"],
        ["depth", "2", "0.333", "0.000", "1", "A", "0.1389", "C"],
    ]
    *said, mind = told.splitlines()
    assert said == [
        "8 judged documents of 2 topics, 5 of them relevant; 3 runs feed the plans",
        "hours at 30 seconds a document (assumed, not measured)",
        "'depth 2' asked for 2 documents that nobody judged; counted as not relevant",
    ]
    assert mind.startswith(
        "mind: where nobody judged more than 10% of its documents, a plan goes beyond the old pool"
    )


def test_data_formats_have_one_row_for_each_plan_and_measure(files: Path):
    words = ("--plan", "depth 1", "--plan", "rrf 2", "-m", "AP", "-m", "P@1", "--groups", "groups.tsv", "-f", "csv")
    shown, told = typed(files, *BARE, *words, "--seconds-per-document", "60")
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
    assert float(first["hours"]) == pytest.approx(0.1)
    assert float(first["loss_mean"]) == pytest.approx((0.6 + 6 / 11) / 3)
    assert (first["budget"], first["losing"], found[2]["loss_mean"]) == ("", "A", "")
    assert "--outsiders also plays each plan without each group: 3 more times" in told


def test_with_outsiders_every_plan_tells_what_they_lose(files: Path):
    words = ("--plan", "rrf 2", "-m", "AP", "--groups", "groups.tsv", "--outsiders", "-f", "json")
    shown, told = typed(files, *BARE, *words)
    (row,) = json.loads(shown)
    assert isinstance(row["loss_mean"], float)
    assert "--outsiders" not in told


def test_a_new_run_of_the_groups_is_ranked_and_feeds_nothing(files: Path):
    (files / "groups.tsv").write_text("A\tfirst\tpooled\nB\tsecond\tpooled\nC\tthird\tnew\nD\tfourth\tpooled\n")
    shown, told = typed(files, *BARE, "--plan", "depth 1", "-m", "AP", "--groups", "groups.tsv", "-f", "csv")
    assert rows(shown)[0]["documents"] == "4"
    assert "2 runs of 2 groups feed the plans, 1 more run only ranked" in told
    assert "1 pooled run of the groups not here: D" in told
    assert "2 groups feed the plans: too few to say what an outsider must expect" in told


def test_budgets_give_a_curve_and_say_what_is_too_small(files: Path):
    words = ("--plan", "depth 1; mtf", "--plan", "depth 9", "--budgets", "4, 7,8", "-m", "AP", "-f", "csv")
    shown, told = typed(files, *BARE, *words)
    assert [(row["plan"], row["strategy"], row["budget"], row["documents"]) for row in rows(shown)] == [
        ("depth 1; mtf budget 7", "depth 1; mtf", "7", "7"),
        ("depth 1; mtf budget 8", "depth 1; mtf", "8", "8"),
        ("take budget 4", "take", "4", "4"),
        ("take budget 7", "take", "7", "7"),
        ("take budget 8", "take", "8", "8"),
    ]
    assert "'depth 1; mtf' not at 4: its first steps take more" in told


def test_without_plans_depths_are_played_down_to_what_was_judged(files: Path):
    by_depth = rows(typed(files, *BARE, "-m", "AP", "-f", "csv")[0])
    assert [row["plan"] for row in by_depth] == ["depth 1", "depth 2", "depth 4"]
    by_budget = rows(typed(files, *BARE, "-m", "AP", "--budgets", "4", "-f", "csv")[0])
    assert [row["strategy"] for row in by_budget] == ["take", "rrf", "mtf", "max-mean-ns"]


def test_a_difference_tells_the_topics_that_each_plan_would_need(files: Path):
    shown, _ = typed(files, *BARE, "--plan", "depth 1", "-m", "AP", "--difference", "0.2", "-f", "csv")
    (row,) = rows(shown)
    assert int(row["needed_documents"]) == 3 * int(row["needed_topics"])
    table, _ = typed(files, *BARE, "--plan", "depth 1", "-m", "AP", "--difference", "0.2")
    assert "AP: the topics that the difference would need, judged by each plan" in table


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_figure_is_drawn_and_is_the_same_each_time(files: Path, kind: str):
    words = (*BARE, "--plan", "rrf", "--plan", "mtf", "--budgets", "2,4,6", "-m", "AP")
    typed(files, *words, "--plot", f"one.{kind}")
    _, told = typed(files, *words, "--plot", f"two.{kind}")
    assert (files / f"one.{kind}").read_bytes() == (files / f"two.{kind}").read_bytes()
    assert f"into two.{kind}" in told


def test_the_figure_names_its_plans_and_its_measure(files: Path):
    typed(
        files, *BARE, "--plan", "rrf", "--plan", "depth 1; mtf", "--budgets", "6", "-m", "AP", "--plot", "found.svg"
    )
    drawn = (files / "found.svg").read_text(encoding="utf-8")
    for word in ("rrf", "depth 1; mtf", "tau-b of the ranking by AP", "share of the known relevant documents found"):
        assert word in drawn


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budgets", "4,many"), "--budgets takes numbers from 1 up, as in 500,1000,2000; not 'many'"),
        (("--budgets", "0"), "not '0'"),
        (("--plan", "depht 3"), "did you mean 'depth'"),
        (("--forecast", "3", "--plan", "depth 1"), "--forecast stands alone"),
        (("--pool-depth", "3"), "--pool-depth is for --forecast"),
        (("--outsiders",), "tell it with --groups FILE"),
        (("--plot", "found.gif"), "a figure is written as"),
        (("--plan", "depth 1; cap 1", "--budgets", "3"), "a budget needs a step that chooses documents"),
        (("--seconds-per-document", "0"), "a number above 0"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(files: Path, words: tuple[str, ...], said: str):
    _, told = typed(files, *BARE, *words, status=2)
    assert said in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--plan", "depth 1; mtf", "--budgets", "2,3"),
            "every budget is below what the first steps of the plans take",
        ),
        (
            (
                "--plan",
                "depth 40",
            ),
            "goes beyond the runs",
        ),
    ],
)
def test_plans_that_these_runs_cannot_feed_are_a_problem_of_the_data(files: Path, words: tuple[str, ...], said: str):
    _, told = typed(files, *BARE, *words, status=1)
    assert said in told


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kitchen")
    typed(folder, "init", "kitchen", "--scale", f"{KITCHEN / 'scale.toml'}")
    typed(folder, "corpus", "add", f"{KITCHEN / 'documents.jsonl'}")
    typed(folder, "corpus", "topics", f"{KITCHEN / 'topics.trec'}")
    typed(folder, "runs", "submit", f"{KITCHEN / 'runs.toml'}")
    typed(folder, "pool", "build", "depth 5")
    typed(folder, "judge", "import", f"{KITCHEN / 'judgments.csv'}")
    typed(folder, "judge", "assign", "reader-1", "reader-2", "--together")
    return folder


def test_a_collection_plays_its_contributing_runs_and_ranks_all(kitchen: Path):
    shown, told = typed(kitchen, "simulate", "-m", "nDCG@5", "-f", "csv")
    found = {row["plan"]: row for row in rows(shown)}
    assert {plan: (row["documents"], row["relevant"], row["unknown"]) for plan, row in found.items()} == {
        "depth 1": ("55", "41", "0"),
        "depth 2": ("83", "58", "0"),
        "depth 5": ("130", "82", "0"),
    }
    assert "9 runs of 6 groups feed the plans, 2 more runs only ranked" in told


def test_the_pool_of_the_collection_changes_nothing_and_loses_what_reuse_says(kitchen: Path):
    (pool,) = rows(typed(kitchen, "simulate", "--plan", "depth 5", "-m", "nDCG@5", "-f", "csv")[0])
    assert (pool["share"], pool["tau_b"], pool["tau_ap"], pool["fall"], pool["change"]) == (
        "1.0",
        "1.0",
        "1.0",
        "0",
        "0.0",
    )
    shown, _ = typed(kitchen, "reuse", "mortar-dense", "-m", "nDCG@5")
    told = next(line.split() for line in shown.splitlines() if line.startswith("nDCG@5"))
    assert f"{float(pool['loss_mean']):.4f}" == told[2]


def test_measures_and_labels_have_the_threshold_of_the_scale(kitchen: Path):
    (row,) = rows(typed(kitchen, "simulate", "--plan", "depth 5", "-m", "AP", "-f", "csv")[0])
    assert (row["measure"], row["known_relevant"]) == ("AP(rel=2)", "82")
    words = ("--plan", "depth 5", "-m", "AP", "--relevant-from", "1", "-f", "csv")
    (low,) = rows(typed(kitchen, "simulate", *words)[0])
    assert (low["measure"], int(low["known_relevant"]) > 82) == ("AP", True)


def test_plans_that_learn_and_read_are_played_in_a_collection(kitchen: Path):
    words = ("--plan", "depth 1; cal until 6", "--plan", "depth 2; mtf until 7", "--outsiders", "-m", "P@5")
    for row in rows(typed(kitchen, "simulate", *words, "-f", "csv")[0]):
        assert 55 < int(row["documents"]) <= 15 * 8
        assert row["loss_mean"]


def test_some_runs_of_a_collection_can_be_named(kitchen: Path):
    named = ("larder-bm25", "stove-tfidf", "mortar-dense")
    _, told = typed(kitchen, "simulate", *named, "--plan", "depth 1", "-m", "P@5")
    assert "2 runs of 2 groups feed the plans, 1 more run only ranked" in told
    _, told = typed(kitchen, "simulate", "mortar-dense", "--plan", "depth 1", status=1)
    assert "none of these runs was submitted as contributing" in told


def test_a_forecast_counts_what_depth_costs_and_says_why_it_foresees_nothing(kitchen: Path):
    shown, told = typed(kitchen, "simulate", "--forecast", "8", "-f", "csv")
    assert [(row["depth"], row["documents"], row["relevant"], row["foreseen"]) for row in rows(shown)] == [
        ("1", "55", "41", "false"),
        ("2", "83", "58", "false"),
        ("5", "130", "82", "false"),
    ]
    assert "the pool 'pool' is 5 deep" in told
    assert "nothing is foreseen below depth 5: the pool has 5 depths" in told


def test_a_pool_depth_that_was_never_judged_is_doubted(kitchen: Path):
    _, told = typed(kitchen, "simulate", "--forecast", "30", "--pool-depth", "20")
    assert "mind: nobody judged 81% of what depth 20 asks for" in told
    _, told = typed(kitchen, "simulate", "--forecast", "5")
    assert "mind" not in told


def test_the_collection_is_not_written_to(kitchen: Path):
    before = typed(kitchen, "status", "-f", "json")[0]
    typed(kitchen, "simulate", "--plan", "depth 2; mtf until 6", "-m", "P@5")
    assert typed(kitchen, "status", "-f", "json")[0] == before


def test_from_python_it_is_the_same_rows(files: Path, kitchen: Path):
    import cranfield as cf

    with contextlib.chdir(files):
        words = (
            "--plan",
            "depth 1",
            "--plan",
            "rrf 2",
            "-m",
            "AP",
            "--groups",
            "groups.tsv",
            "--outsiders",
            "-f",
            "csv",
        )
        typed_rows = rows(typed(files, *BARE, *words)[0])
        opened = cf.open_files(qrels="qrels", runs=["A.run", "B.run", "C.run"], groups="groups.tsv")
        frame = opened.simulate("depth 1", "rrf 2", measures="AP", outsiders=True)
    assert list(frame.columns) == list(typed_rows[0])
    assert frame["plan"].tolist() == [row["plan"] for row in typed_rows]
    assert frame["loss_mean"].tolist() == [float(row["loss_mean"]) for row in typed_rows]
    assert "3 runs of 3 groups feed the plans" in frame.attrs["notes"][0]
    with cf.open_collection(kitchen / "collection.db") as collection:
        found = collection.simulate("take", budgets=[60, 90], measures="AP")
    assert found[["strategy", "budget", "documents"]].values.tolist() == [["take", 60, 60], ["take", 90, 90]]
