"""What may be given beside qrels and runs, and what the words about a collection give."""

from pathlib import Path
from shutil import copy

import pandas as pd
import pytest
from command import call
from kept import Kept

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


def test_common_topics_are_those_of_the_runs_that_are_asked_for(pool: Path, tmp_path: Path, kept: Kept):
    short = tmp_path / "short.run"
    short.write_text("t1 Q0 d0 1 9 short\n")
    runs = [*(pool / f"{name}.run" for name in NAMES), short]
    files = cf.open_files(qrels=pool / "qrels", runs=runs, groups=by_file(pool), pool_depth=3)
    assert "r9: 12 topics scored" in files.evaluate("P@3", runs=["r9"], topics="common").attrs["notes"]
    kept(files.evaluate("P@3", runs=["r1", "r9"], topics="common").attrs["notes"][0])
    kept(files.evaluate("P@3", runs=["r9", "short"], topics="common").attrs["notes"][0])


@pytest.mark.parametrize(
    "options",
    [
        {"groups": 3},
        {"groups": {}},
        {"groups": {"r1": ""}},
        {"groups": pd.DataFrame({"run": ["r1"]})},
        {"groups": pd.DataFrame({"run": ["r1", "r1"], "group": "g", "role": ["old", "new"]})},
        {"groups": "nowhere"},
        {"pool_depth": 0},
        {"pool_depth": True},
        {"card": "nowhere"},
    ],
)
def test_what_is_told_wrongly_about_the_pool_is_refused_at_once(pool: Path, options: dict[str, object], kept: Kept):
    with kept.raises(cf.CranfieldError):
        opened(pool, **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda files: files.pool(),
        lambda files: files.judgments(),
        lambda files: files.agreement(),
        lambda files: files.report(),
        lambda files: files.settle("r1", "r9", queue="q"),
        lambda files: files.settle("r1", "r0"),
        lambda files: files.reuse("r0"),
        lambda files: files.settle("r1", "r9", until="surely"),
        lambda files: files.reuse(thresholds={"tolerence": 1.0}),
    ],
)
def test_a_wrong_call_is_told(pool: Path, call, kept: Kept):
    with kept.raises(cf.CranfieldError):
        call(opened(pool))


def test_wrong_words_about_a_collection_are_told(kitchen: Path, kept: Kept):
    with cf.open_collection(kitchen) as collection:
        with kept.raises(cf.CranfieldError):
            collection.pool(by="runs")  # type: ignore[arg-type]
        with kept.raises(cf.CranfieldError):
            collection.agreement("pairs")  # type: ignore[arg-type]
        with kept.raises(cf.CranfieldError):
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


def test_what_is_judged_meanwhile_is_seen_by_the_next_question(kitchen: Path, tmp_path: Path):
    copy(kitchen, tmp_path / "copy.db")
    with cf.open_collection(tmp_path / "copy.db") as collection:
        before = collection.evaluate("nDCG@5", runs=["mortar-dense"])
        settling = collection.settle("mortar-dense", "stove-rocchio", measures="nDCG@5", queue="decide")
        rows = [
            f"{topic} 0 {document} 3\n"
            for topic, document in zip(settling["topic"], settling["document"], strict=True)
        ]
        (tmp_path / "more").write_text("".join(rows))
        call("judge", "import", "more", "-C", "copy.db", "--assessor", "reader-1", folder=tmp_path)
        after = collection.evaluate("nDCG@5", runs=["mortar-dense"])
    assert after["value"].item() > before["value"].item()
    assert after["judged"].item() > before["judged"].item()


def test_another_pool_is_seen_by_the_next_question(kitchen: Path, tmp_path: Path):
    copy(kitchen, tmp_path / "copy.db")
    call("qrels", "release", "v1", "-C", "copy.db", folder=tmp_path)
    with cf.open_collection(tmp_path / "copy.db", qrels="v1") as collection:
        before = collection.evaluate("AP")
        call("pool", "build", "depth 2", "--name", "shallow", "-C", "copy.db", folder=tmp_path)
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
        store = collection.results.collection("a test")
        queued = store.rows("SELECT topic, document FROM queue_entries ORDER BY topic, document")
    assert set(frame[["topic", "document"]].itertuples(index=False, name=None)) <= set(queued)


def test_unjudged_documents_of_the_pool_are_in_the_qrels_where_asked_for(kitchen: Path, tmp_path: Path):
    copy(kitchen, tmp_path / "copy.db")
    call("pool", "build", "depth 7", "--name", "deeper", "-C", "copy.db", folder=tmp_path)
    with cf.open_collection(tmp_path / "copy.db") as collection:
        judged, everything = collection.qrels(), collection.qrels(unjudged=True)
    assert (judged["grade"] >= 0).all()
    assert len(everything) > len(judged) == (everything["grade"] >= 0).sum()
