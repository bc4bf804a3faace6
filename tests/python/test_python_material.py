"""What may be given beside qrels and runs, and what the words about a collection give."""

from pathlib import Path
from shutil import copy

import pandas as pd
import pytest

import cranfield as cf

NAMES = ("r1", "r2", "r3", "r4", "r5", "r9")


def opened(pool: Path, **options: object) -> cf.Opened:
    runs = [pool / f"{name}.run" for name in NAMES]
    return cf.open_files(qrels=pool / "qrels", runs=runs, **options)  # type: ignore[arg-type]


def by_file(pool: Path) -> object:
    return pool / "groups.tsv"


def by_mapping(pool: Path) -> object:
    return {f"r{run}": f"g{run}" for run in range(1, 6)}


def by_frame(pool: Path) -> object:
    rows = [(f"r{run}", f"g{run}", "pooled") for run in range(1, 6)]
    return pd.DataFrame([*rows, ("r9", "new group", "new")], columns=["run", "group", "role"])


@pytest.mark.parametrize("groups", [by_mapping, by_frame])
def test_groups_are_a_file_a_frame_or_a_mapping(pool: Path, groups):
    usual = opened(pool, groups=by_file(pool), pool_depth=3).evaluate("P@3")
    pd.testing.assert_frame_equal(opened(pool, groups=groups(pool), pool_depth=3).evaluate("P@3"), usual)


def test_runs_at_hand_teach_those_that_are_asked_for(pool: Path):
    files = opened(pool, groups=by_file(pool), pool_depth=3)
    together = files.evaluate("P@3").set_index("run")
    alone = files.evaluate("P@3", runs=["r9"]).set_index("run")
    pd.testing.assert_frame_equal(alone, together.loc[["r9"]])
    pd.testing.assert_frame_equal(
        files.reuse("r9", measures="P@3").runs,
        files.reuse(measures="P@3").runs.query("run == 'r9'").reset_index(drop=True),
    )


def test_common_topics_are_those_of_the_runs_that_are_asked_for(pool: Path, tmp_path: Path):
    short = tmp_path / "short.run"
    short.write_text("t1 Q0 d0 1 9 short\n")
    runs = [*(pool / f"{name}.run" for name in NAMES), short]
    files = cf.open_files(qrels=pool / "qrels", runs=runs, groups=by_file(pool), pool_depth=3)
    assert "r9: 12 topics scored" in files.evaluate("P@3", runs=["r9"], topics="common").attrs["notes"]
    assert "12 topics scored" in files.evaluate("P@3", runs=["r1", "r9"], topics="common").attrs["notes"][0]
    assert ": 1 topic scored" in files.evaluate("P@3", runs=["r9", "short"], topics="common").attrs["notes"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 3}, "groups are a file, a frame, or a mapping of run -> group, not int"),
        ({"groups": {}}, "the groups name no run"),
        ({"groups": {"r1": ""}}, "a run and its group are words"),
        ({"groups": pd.DataFrame({"run": ["r1"]})}, "has no column group; it has run"),
        (
            {"groups": pd.DataFrame({"run": ["r1", "r1"], "group": "g", "role": ["old", "new"]})},
            "groups:1: a run is pooled or new: 'old'\n  groups:2: a run is named twice: 'r1'",
        ),
        ({"groups": "nowhere"}, "no such file"),
        ({"pool_depth": 0}, "pool_depth is the rank that the pool went down to, from 1, not 0"),
        ({"pool_depth": True}, "not True"),
        ({"card": "nowhere"}, "nowhere: no such file"),
    ],
)
def test_what_is_told_wrongly_about_the_pool_is_refused_at_once(pool: Path, options: dict[str, object], message: str):
    with pytest.raises(cf.CranfieldError) as refused:
        opened(pool, **options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda files: files.pool(), "a pool is about a collection, and these are files"),
        (lambda files: files.judgments(), "a judgment is about a collection"),
        (lambda files: files.agreement(), "agreement is about a collection"),
        (lambda files: files.report(), "a report is about a collection"),
        (lambda files: files.settle("r1", "r9", queue="q"), "a queue is about a collection"),
        (lambda files: files.settle("r1", "r0"), "unknown run 'r0'"),
        (lambda files: files.reuse("r0"), "unknown run 'r0'"),
        (lambda files: files.reuse(closure="all"), "closure is one of 'at-k', 'list', 'open', not 'all'"),
        (lambda files: files.reuse(thresholds={"tolerence": 1.0}), "tolerence"),
    ],
)
def test_a_wrong_call_is_told(pool: Path, call, message: str):
    with pytest.raises(cf.CranfieldError) as refused:
        call(opened(pool))
    assert message in str(refused.value)


def test_wrong_words_about_a_collection_are_told(kitchen: Path):
    with cf.open_collection(kitchen) as collection:
        with pytest.raises(cf.CranfieldError, match="unknown table of a pool 'runs'; did you mean 'run'"):
            collection.pool(by="runs")  # type: ignore[arg-type]
        with pytest.raises(cf.CranfieldError, match="unknown table 'pairs'; did you mean 'pair'"):
            collection.agreement("pairs")  # type: ignore[arg-type]
        with pytest.raises(cf.CranfieldError, match="these qrels were given"):
            cf.open_collection(kitchen, qrels={"T01": {"K003": 1}}).report()


def test_the_documents_of_a_pool_say_why_they_are_in_it(kitchen: Path):
    with cf.open_collection(kitchen) as collection:
        documents, runs = collection.pool(), collection.pool(by="run")
    assert documents.columns.tolist() == [
        *("topic", "document", "position", "stratum", "probability", "version", "runs", "best_rank", "best_run")
    ]
    assert len(documents) == 130
    assert documents["runs"].sum() == runs["documents"].sum()
    assert documents["best_rank"].between(1, 5).all()
    assert documents.attrs["plan"] == "depth 5"
    assert (documents.groupby("topic")["position"].max() == documents.groupby("topic").size()).all()


def test_judgments_are_those_that_count_or_every_event(kitchen: Path):
    with cf.open_collection(kitchen) as collection:
        standing, every, other = (
            collection.judgments(),
            collection.judgments(every=True),
            collection.judgments(layers="x"),
        )
        qrels = collection.qrels()
    pairs = set(zip(standing["topic"], standing["document"], strict=True))
    assert set(zip(qrels["topic"], qrels["document"], strict=True)) <= pairs
    assert len(every) >= len(standing)
    assert set(standing["assessor"]) == {"reader-1", "reader-2"}
    assert (len(other), other.columns.tolist()) == (0, standing.columns.tolist())


def test_what_is_judged_meanwhile_is_seen_by_the_next_question(kitchen: Path, tmp_path: Path, typed):
    copy(kitchen, tmp_path / "copy.db")
    with cf.open_collection(tmp_path / "copy.db") as collection:
        before = collection.evaluate("nDCG@5", runs=["mortar-dense"])
        settling = collection.settle("mortar-dense", "stove-rocchio", measures="nDCG@5", queue="decide")
        rows = [
            f"{topic} 0 {document} 3\n"
            for topic, document in zip(settling["topic"], settling["document"], strict=True)
        ]
        (tmp_path / "more").write_text("".join(rows))
        typed(tmp_path, "judge", "import", "more", "-C", "copy.db", "--assessor", "reader-1")
        after = collection.evaluate("nDCG@5", runs=["mortar-dense"])
    assert after["value"].item() > before["value"].item()
    assert after["judged"].item() > before["judged"].item()


def test_another_pool_is_seen_by_the_next_question(kitchen: Path, tmp_path: Path, typed):
    copy(kitchen, tmp_path / "copy.db")
    typed(tmp_path, "qrels", "release", "v1", "-C", "copy.db")
    with cf.open_collection(tmp_path / "copy.db", qrels="v1") as collection:
        before = collection.evaluate("AP")
        typed(tmp_path, "pool", "build", "depth 2", "--name", "shallow", "-C", "copy.db")
        after = collection.evaluate("AP")
    with cf.open_collection(tmp_path / "copy.db", qrels="v1") as collection:
        pd.testing.assert_frame_equal(after, collection.evaluate("AP"))
    with cf.open_collection(tmp_path / "copy.db", qrels="v1", pool="pool") as collection:
        pd.testing.assert_frame_equal(before, collection.evaluate("AP"))
    assert not before.equals(after)


def test_a_queue_is_kept_for_the_assessors(kitchen: Path, tmp_path: Path):
    copy(kitchen, tmp_path / "copy.db")
    with cf.open_collection(tmp_path / "copy.db") as collection:
        frame = collection.settle("mortar-dense", "stove-rocchio", measures="nDCG@5", queue="decide")
        store = collection._work.collection("a test")
        queued = store.rows("SELECT topic, document FROM queue_entries ORDER BY topic, document")
    assert sorted(frame[["topic", "document"]].itertuples(index=False, name=None)) == queued


def test_unjudged_documents_of_the_pool_are_in_the_qrels_where_asked_for(kitchen: Path, tmp_path: Path, typed):
    copy(kitchen, tmp_path / "copy.db")
    typed(tmp_path, "pool", "build", "depth 7", "--name", "deeper", "-C", "copy.db")
    with cf.open_collection(tmp_path / "copy.db") as collection:
        judged, everything = collection.qrels(), collection.qrels(unjudged=True)
    assert (judged["grade"] >= 0).all()
    assert len(everything) > len(judged) == (everything["grade"] >= 0).sum()
