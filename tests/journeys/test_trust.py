"""Scores that say how far they can be trusted, from bare files and in a collection."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from command import call
from kept import Kept

TOPICS = [f"t{number}" for number in range(1, 13)]
DEPTH = 3


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def ranking(run: int, topic: int) -> list[str]:
    """Five contributors share documents and have one of their own; the outsider (9) has two that nobody has."""
    shared = [f"d{(run + topic + step) % 4}" for step in range(3)]
    own = [f"own{run}"] if run != 9 else ["far1", "far2"]
    listed = [*own, *shared] if (run + topic) % 2 else [shared[0], *own, *shared[1:]]
    return [*dict.fromkeys(listed), f"tail{run}a", f"tail{run}b"]


def documents(folder: Path) -> set[tuple[str, ...]]:
    return {tuple(line.split()[:3:2]) for file in folder.glob("*.run") for line in file.read_text().splitlines()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pooled: set[tuple[str, str]] = set()
    for run in (1, 2, 3, 4, 5, 9):
        rows = []
        for number, topic in enumerate(TOPICS):
            for place, document in enumerate(ranking(run, number), start=1):
                rows.append(f"{topic} Q0 {document} {place} {10 - place} r{run}\n")
                if run != 9 and place <= DEPTH:
                    pooled.add((topic, document))
        (tmp_path / f"r{run}.run").write_text("".join(rows))
    relevant = {"d0", "d1", "own1", "own2", "own4"}
    (tmp_path / "qrels").write_text(
        "".join(f"{topic} 0 {document} {int(document in relevant)}\n" for topic, document in sorted(pooled))
    )
    groups = [f"r{run}\tg{run}\tpooled\n" for run in range(1, 6)]
    (tmp_path / "groups.tsv").write_text("".join([*groups, "r9\tnew group\tnew\n"]))
    return tmp_path


RUNS = [f"r{run}.run" for run in (1, 2, 3, 4, 5, 9)]
POOL = ["--qrels", "qrels", "--groups", "groups.tsv", "--pool-depth", "3"]


def test_a_score_with_holes_is_never_printed_without_its_flag(folder: Path, kept: Kept):
    _, shown, told = call("evaluate", *RUNS, *POOL, "-m", "P@3", folder=folder)
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.startswith("r")}
    assert rows["r1"][-1] == "POOLED"
    assert rows["r9"][-1] == "UNRELIABLE"
    assert rows["r9"][1] == "!"
    kept(told)


def test_a_measure_that_skips_unjudged_documents_says_that_it_ignores_them(folder: Path, kept: Kept):
    kept(call("evaluate", *RUNS, *POOL, "-m", "Bpref", folder=folder).err)


def test_without_verdicts_the_table_is_scores_alone(folder: Path):
    shown = call("evaluate", *RUNS, *POOL, "-m", "P@3", "--no-verdict", folder=folder).out
    assert shown.split()[:2] == ["run", "P@3"]
    assert "POOLED" not in shown


def test_one_run_is_judged_by_the_contributors_of_a_collection_that_are_not_asked_for(folder: Path):
    together = table(call("evaluate", *RUNS, *POOL, "-m", "P@3", "-f", "csv", folder=folder).out)
    call("init", "trial", folder=folder)
    contributing = [f"r{run}.run" for run in range(1, 6)]
    for run in contributing:
        call("runs", "submit", run, "--group", f"g{run[1]}", "--contributing", folder=folder)
    call("pool", "build", "depth 3", folder=folder)
    call("judge", "import", "qrels", folder=folder)
    alone = table(call("evaluate", "r9.run", "-m", "P@3", "-f", "csv", folder=folder).out)
    assert [row["run"] for row in alone] == ["r9"]
    same = next(row for row in together if row["run"] == "r9")
    assert {name: alone[0][name] for name in ("value", "low", "high", "judged", "verdict")} == {
        name: same[name] for name in ("value", "low", "high", "judged", "verdict")
    }


def test_the_next_step_can_be_typed_and_ends_the_doubt(folder: Path, kept: Kept):
    def typed(said: str) -> list[str]:
        return shlex.split(said.splitlines()[-1].rpartition(": cranfield ")[2])

    (folder / "documents.jsonl").write_text(
        "".join(f'{{"id": "{one}", "text": "{one}"}}\n' for one in sorted({one for *_, one in documents(folder)}))
    )
    call("init", "--scale", "binary", folder=folder)
    call("corpus", "add", "documents.jsonl", folder=folder)
    for run in range(1, 6):
        call("runs", "submit", f"r{run}.run", "--group", f"g{run}", folder=folder)
    call("pool", "build", "depth 3", folder=folder)
    call("judge", "import", "qrels", "--assessor", "ann", folder=folder)
    assert "UNRELIABLE" not in call("evaluate", folder=folder).out
    # Deeper than the pool even its own runs are in doubt.
    _, shown, said = call("evaluate", "-m", "nDCG@10", "-m", "AP", "-m", "P@10", folder=folder)
    assert "UNRELIABLE" in shown
    kept(said.splitlines()[-1])
    assert "UNRELIABLE" not in call(*typed(said), folder=folder).out
    said = call("evaluate", "r9.run", "-m", "P@3", folder=folder).err
    kept(said.splitlines()[-1])
    said = call(*typed(said), folder=folder).err
    call(*typed(said.replace("next:", "next: :")), "--plain", "-a", "ann", answers="1\n" * 24, folder=folder)
    assert "SAFE" in call("evaluate", "r9.run", "-m", "P@3", folder=folder).out


def test_a_card_gives_a_verdict_where_the_runs_are_not_at_hand(folder: Path):
    call("reuse", *RUNS, *POOL, "-m", "P@3", "--write-card", "card.json", folder=folder)
    assert json.loads((folder / "card.json").read_text())["kind"] == "cranfield-reuse-card"
    (with_runs,) = [
        row
        for row in table(call("reuse", *RUNS, *POOL, "-m", "P@3", "-f", "csv", folder=folder).out)
        if row["run"] == "r9"
    ]
    (alone,) = table(
        call(
            "evaluate", "r9.run", "--qrels", "qrels", "--pool", "card.json", "-f", "csv", "-m", "P@3", folder=folder
        ).out
    )
    assert (alone["verdict"], float(alone["loss"])) == (with_runs["verdict"], pytest.approx(float(with_runs["loss"])))


def test_without_card_and_runs_it_is_untestable_or_worse_and_the_interval_is_there(folder: Path):
    (alone,) = table(call("evaluate", "r9.run", "--qrels", "qrels", "-m", "P@3", "-f", "csv", folder=folder).out)
    assert alone["verdict"] in ("UNTESTABLE", "UNRELIABLE")
    assert float(alone["low"]) < float(alone["high"])
    assert alone["loss"] == ""


def test_a_note_says_that_contributing_runs_were_inferred(folder: Path, kept: Kept):
    kept(call("reuse", *RUNS, "--qrels", "qrels", "-m", "P@3", folder=folder).err.splitlines()[0])


def test_what_settles_a_pair_does_settle_it(folder: Path):
    _, shown, told = call("settle", "r9.run", "r1.run", *POOL, "-m", "P@3", "--all", "-f", "csv", folder=folder)
    queue = table(shown)
    assert "OPEN" in told
    with (folder / "qrels").open("a") as qrels:
        qrels.writelines(f"{row['topic']} 0 {row['document']} 1\n" for row in queue)
    told = call("settle", "r9.run", "r1.run", *POOL, "-m", "P@3", folder=folder).err
    assert "ROBUST" in told


def test_a_group_file_that_names_other_runs_is_refused(folder: Path, kept: Kept):
    (folder / "other.tsv").write_text("someone\tg\tpooled\n")
    told = call(
        "evaluate", *RUNS, "--qrels", "qrels", "--groups", "other.tsv", "--pool-depth", "3", status=1, folder=folder
    ).err
    kept(told)


def test_thresholds_are_shown_set_for_a_call_and_kept(folder: Path):
    call("init", "trial", folder=folder)
    shown = table(call("reuse", "--thresholds", "--threshold", "tolerance=0.05", "-f", "csv", folder=folder).out)
    assert next(row for row in shown if row["threshold"] == "tolerance")["value"] == "0.05"
    call("reuse", "--thresholds", "--threshold", "tolerance=0.02", "--keep", folder=folder)
    shown = table(call("reuse", "--thresholds", "-f", "csv", folder=folder).out)
    assert next(row for row in shown if row["threshold"] == "tolerance")["value"] == "0.02"
    told = call("reuse", "--thresholds", "--threshold", "tolerant=1", status=1, folder=folder).err
    assert "tolerance" in told


def test_pairs_say_what_unjudged_documents_leave_of_them(folder: Path):
    rows = table(call("compare", "r9.run", "r1.run", "r3.run", *POOL, "-m", "P@3", "-f", "csv", folder=folder).out)
    claims = {(row["a"], row["b"]): row["claim"] for row in rows}
    assert claims["r1", "r3"] == "robust"
    assert "open" in claims.values()


def test_files_are_files_whatever_collection_lies_beside_them(folder: Path, kept: Kept):
    before = call("evaluate", *RUNS, *POOL, "-m", "P@3", "-f", "csv", folder=folder).out
    call("init", "other", "--scale", "0=no,1=perhaps,2=yes", "--relevant-from", "2", folder=folder)
    _, after, told = call("evaluate", *RUNS, *POOL, "-m", "P@3", "-f", "csv", folder=folder)
    assert after == before
    kept(told)
    assert (
        "P(rel=2)@3"
        in call("evaluate", *RUNS, *POOL, "-m", "P@3", "-f", "csv", "-C", "collection.db", folder=folder).out
    )


def test_what_is_expected_stays_within_what_is_possible(folder: Path):
    for row in table(
        call("reuse", *RUNS, *POOL, "-m", "P@3", "-m", "nDCG@3", "-m", "AP", "-f", "csv", folder=folder).out
    ):
        if row["loss"] and row["low"]:
            score, low, high = (float(row[name]) for name in ("score", "low", "high"))
            for loss in (float(row["loss"]), float(row["loss_upper"])):
                assert low - 1e-9 <= score + loss <= high + 1e-9, row


def test_a_live_pool_that_has_not_ended_is_provisional(folder: Path):
    call("init", "trial", folder=folder)
    for run in range(1, 6):
        call("runs", "submit", f"r{run}.run", "--group", f"g{run}", "--contributing", folder=folder)
    call("pool", "build", "depth 1; mtf until 12", folder=folder)
    call("judge", "import", "qrels", folder=folder)
    rows = table(call("evaluate", "-m", "P@2", "-f", "csv", folder=folder).out)
    assert {row["verdict"] for row in rows} == {"PROVISIONAL"}


PARTS = ("collection", "hold-outs", "groups", "runs")


@pytest.mark.parametrize("part", PARTS)
def test_each_table_can_be_had_alone_as_data(folder: Path, part: str):
    rows = table(
        call("reuse", *RUNS, *POOL, "-m", "P@3", "-m", "AP", "--table", part, "-f", "csv", folder=folder).out
    )
    kept = json.loads(
        call("reuse", *RUNS, *POOL, "-m", "P@3", "-m", "AP", "--table", part, "-f", "json", folder=folder).out
    )
    found = kept if isinstance(kept, list) else kept["rows"]
    assert len(rows) == len(found) > 0
    if part != "pool":
        assert {row["measure"] for row in rows} == {"P@3", "AP"}


def test_hold_outs_as_data_have_every_level_and_say_what_was_done(folder: Path):
    rows = table(call("reuse", *RUNS, *POOL, "-m", "P@3", "--table", "hold-outs", "-f", "csv", folder=folder).out)
    assert [(row["level"], row["method"], row["runs"], row["reversals"]) for row in rows] == [
        ("group", "deletion", "5", "0"),
        ("run", "deletion", "5", "0"),
    ]


@pytest.mark.parametrize(
    "words",
    [
        *("reuse --estimates", "reuse --by-topic", "reuse --describe", "reuse --plot x", "reuse --closure open"),
        *("reuse --further 5", "settle r9.run --to-safe", "settle r9.run --closure list"),
        *("compare --system S=r1,r2", "compare --difference 0.1", "compare --by-topic"),
    ],
)
def test_a_dropped_option_says_what_to_type_instead(folder: Path, kept: Kept, words: str):
    kept(call(*words.split(), *POOL, "-m", "P@3", status=2, folder=folder).err)


def test_a_pool_that_cannot_be_tested_shows_no_hold_outs(folder: Path, kept: Kept):
    (folder / "two.tsv").write_text("r1\tg1\tpooled\nr2\tg2\tpooled\n")
    words = ["--qrels", "qrels", "--groups", "two.tsv", "--pool-depth", "3"]
    _, shown, told = call("reuse", *RUNS, *words, "-m", "P@3", folder=folder)
    kept(shown)
    kept(told)


def test_what_counts_as_fair_stands_in_the_table_of_thresholds_and_can_be_set(folder: Path):
    shown = table(call("reuse", "--thresholds", "-f", "csv", folder=folder).out)
    assert {"fair", "unfair", "most_orphans", "enough_groups"} <= {row["threshold"] for row in shown}
    words = ["reuse", *RUNS, *POOL, "-m", "P@3", "--table", "collection", "-f", "csv"]
    strict = table(call(*words, "--threshold", "fair=0", "--threshold", "unfair=0", folder=folder).out)
    lenient = table(call(*words, "--threshold", "fair=1", "--threshold", "unfair=1", folder=folder).out)
    assert [row["fairness"] for row in strict] == ["unfair"]
    assert lenient[0]["fairness"] in ("fair", "with care")


def test_verdicts_on_a_guess_say_so_where_they_stand(folder: Path, kept: Kept):
    shown = call("reuse", *RUNS, "--qrels", "qrels", "-m", "P@3", folder=folder).out
    kept(shown)
    shown = call("reuse", *RUNS, *POOL, "-m", "P@3", folder=folder).out
    kept(shown)


def test_qrels_of_positives_alone_are_told_in_evaluate_too(folder: Path, kept: Kept):
    rows = [line for line in (folder / "qrels").read_text().splitlines(True) if line.split()[3] != "0"]
    (folder / "positives").write_text("".join(rows))
    told = call("evaluate", *RUNS, "--qrels", "positives", "-m", "P@3", folder=folder).err
    kept(told)


def test_a_plan_is_played_again_without_the_group_that_alone_has_long_lists(folder: Path):
    call("init", "trial", folder=folder)
    documents = sorted({document for run in (1, 2, 3, 4) for topic in range(12) for document in ranking(run, topic)})
    (folder / "d.jsonl").write_text("".join(json.dumps({"id": one, "text": one}) + "\n" for one in documents))
    (folder / "t.tsv").write_text("".join(f"{topic}\tabout {topic}\n" for topic in TOPICS))
    call("corpus", "add", "d.jsonl", folder=folder)
    call("corpus", "topics", "t.tsv", folder=folder)
    for run in (2, 3, 4):
        lines = [line for line in (folder / f"r{run}.run").read_text().splitlines(True) if int(line.split()[3]) <= 2]
        (folder / f"r{run}.run").write_text("".join(lines))
    for run in (1, 2, 3, 4):
        call("runs", "submit", f"r{run}.run", "--group", f"g{run}", folder=folder)
    call("pool", "build", "depth 4; rrf until 9", folder=folder)
    pooled = call("qrels", "export", "--unjudged", folder=folder).out.splitlines()
    judged = [f"{topic} 0 {name} {int(name[-1] in '0124')}\n" for topic, _, name, _ in map(str.split, pooled)]
    (folder / "judged").write_text("".join(judged))
    call("judge", "import", "judged", "--assessor", "x", folder=folder)
    rows = table(call("reuse", "-m", "P@3", "--table", "hold-outs", "-f", "csv", folder=folder).out)
    assert [(row["level"], row["method"], row["runs"]) for row in rows] == [("group", "replay", "4")]
