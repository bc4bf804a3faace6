"""The qrels of a collection whose pool is a sample: each document has its stratum, and estimates can be made."""

import io
from pathlib import Path

import numpy as np
import pytest

from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import score
from cranfield.judge.events import Event
from cranfield.qrels.qrels import BESIDE
from cranfield.qrels.reading import read_qrels
from cranfield.runs.reading import read_rows
from cranfield.runs.run import ranked
from cranfield.store.events import Found, add_found, append_events
from cranfield.store.store import Store
from cranfield.workflows.qrels import UNEVEN, Qrels, Selection, qrels_for, scoring_warnings

NOW = "2026-01-01T00:00:00.000Z"
FIXED, UPPER, LOWER = "depth 2", "stratified strata=3-6:50,7-12:25 3-6", "stratified strata=3-6:50,7-12:25 7-12"
WORDS = {FIXED: "1:depth_2", UPPER: f"2:{UPPER.replace(' ', '_')}", LOWER: f"2:{LOWER.replace(' ', '_')}"}
STRATA = {
    **{f"d{number:02}": FIXED for number in (1, 2)},
    **{f"d{number:02}": UPPER for number in range(3, 7)},
    **{f"d{number:02}": LOWER for number in range(7, 13)},
}
DRAWN = {"d01": 2, "d02": 0, "d03": 3, "d05": 0, "d08": 2, "d11": 1}
"""What is to be judged of t1, and its grades."""


def put(store: Store, table: str, **values: object) -> None:
    """Insert a row; columns that are not named get an empty value of their type."""
    columns = store.rows(f"SELECT name, type FROM pragma_table_info('{table}') WHERE \"notnull\"")
    row = {**{name: 0 if kind == "INTEGER" else "" for name, kind in columns}, **values}
    marks = ", ".join("?" * len(row))
    store.connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def judged(document: str, grade: int) -> Event:
    fields = {"topic": "t1", "assessor": "ana", "happened": NOW}
    return Event(uuid=f"u-{document}", kind="judged", document=document, grade=grade, **fields)


@pytest.fixture
def sampled(judging: Store) -> Store:
    """The pool of t1 is a sample in two strata after a depth of 2."""
    with judging.write():
        for table in ("pool_entries", "pool_topics"):
            judging.connection.execute(f"DELETE FROM {table}")
        put(judging, "pool_topics", pool=1, topic="t1")
        for place, (document, stratum) in enumerate(STRATA.items(), start=1):
            where = {"pool": 1, "topic": "t1", "document": document, "step": 1 if stratum == FIXED else 2}
            if document in DRAWN:
                chance = {FIXED: 1.0, UPPER: 0.5, LOWER: 1 / 3}[stratum]
                put(judging, "pool_entries", **where, stratum=stratum, position=place, probability=chance)
            else:
                put(judging, "pool_undrawn", **where, stratum=stratum)
        append_events(judging, [judged(document, grade) for document, grade in DRAWN.items()])
    return judging


def strata_of(qrels) -> dict[str, str]:  # type: ignore[no-untyped-def]
    return {row[1]: qrels.stratum_names[code] for row, code in zip(qrels, qrels.strata.tolist(), strict=True)}


def test_what_was_drawn_and_what_was_passed_over_has_its_stratum(sampled: Store):
    qrels = qrels_for(sampled, None, Selection(unjudged=True))
    assert strata_of(qrels) == {document: WORDS[stratum] for document, stratum in STRATA.items()}
    assert {row[1]: row[2] for row in qrels} == {document: DRAWN.get(document, -1) for document in STRATA}
    assert qrels_for(sampled).strata is None, "without what was not drawn there is no sample to see"


def test_a_pool_without_a_sample_has_no_strata(judging: Store):
    assert qrels_for(judging, "now", Selection(unjudged=True)).strata is None


def test_estimates_are_those_of_the_exported_file(sampled: Store, tmp_path: Path):
    (tmp_path / "one.run").write_text(
        "".join(f"t1 Q0 {name} 0 {20 - place} one\n" for place, name in enumerate(STRATA))
    )
    now = qrels_for(sampled, None, Selection(unjudged=True))
    stream = io.BytesIO()
    Qrels(sampled).export("now", selection=Selection(unjudged=True)).write(stream)
    (tmp_path / "qrels.txt").write_bytes(stream.getvalue())
    assert stream.getvalue().splitlines()[2].decode() == f"t1 0 d03 {WORDS[UPPER]} 3"
    Qrels(sampled).release("r", selection=Selection(unjudged=True))
    run = ranked(read_rows(Source(tmp_path / "one.run")))
    measures = parse_measures(["xinfAP", "infNDCG", "statAP", "statP@5"], threshold=2)
    values = [
        score(align(qrels, [run]), measures).values
        for qrels in (now, read_qrels(Source(tmp_path / "qrels.txt")), qrels_for(sampled, "r"))
    ]
    assert np.array_equal(values[0], values[1])
    assert np.array_equal(values[0], values[2])
    plain = score(align(qrels_for(sampled), [run]), measures).values
    assert not np.array_equal(values[0], plain)
    # 1 of 2 drawn above is relevant, and each stands for 2; 1 of 2 below, and each stands for 3; and d01 for itself.
    relevant = score(align(now, [run]), parse_measures(["statP@12"], threshold=2)).values[0, 0, 0] * 12
    assert relevant == pytest.approx(1 + 2 + 3)


def test_what_somebody_went_for_stands_for_itself_alone(sampled: Store):
    with sampled.write():
        add_found(sampled, Found("t1", "d20", "ana", "soup", NOW))
        append_events(sampled, [judged("d20", 3), judged("d04", 3), judged("d30", 1)])
    found = strata_of(qrels_for(sampled, None, Selection(unjudged=True)))
    assert {name: stratum for name, stratum in found.items() if stratum == BESIDE} == {
        "d04": BESIDE,  # passed over by the sample, and judged all the same
        "d20": BESIDE,
        "d30": BESIDE,
    }
    assert sum(stratum == WORDS[UPPER] for stratum in found.values()) == 3


def test_what_another_pool_has_for_certain_leaves_the_sample(sampled: Store):
    with sampled.write():
        kept = {"plan": "depth 1", "plan_in_full": "depth 1 by=run", "judging_order": "plan"}
        put(sampled, "pools", number=2, name="second one", **kept)
        for document in ("d03", "d04"):
            put(
                sampled,
                "pool_entries",
                pool=2,
                topic="t1",
                document=document,
                step=1,
                stratum="depth 1",
                probability=1.0,
            )
    found = strata_of(qrels_for(sampled, None, Selection(unjudged=True)))
    assert (found["d03"], found["d04"]) == ("second_one/1:depth_1",) * 2
    assert (found["d05"], found["d06"]) == (f"pool/{WORDS[UPPER]}",) * 2


def test_binary_qrels_of_a_sample_keep_their_strata(sampled: Store):
    found = Qrels(sampled).export("now", binary=True, selection=Selection(unjudged=True)).qrels
    assert found.strata is not None
    assert {row[1]: row[2] for row in found if row[2] > 0} == {"d01": 1, "d03": 1, "d08": 1}


def test_a_release_made_before_the_pool_changed_is_no_longer_told_by_it(sampled: Store):
    Qrels(sampled).release("r", selection=Selection(unjudged=True))
    assert qrels_for(sampled, "r").strata is not None
    with sampled.write():
        sampled.connection.execute("UPDATE pools SET content_hash = 'another'")
    assert qrels_for(sampled, "r").strata is None


def test_a_sample_with_different_probabilities_in_a_stratum_is_warned_of(sampled: Store):
    def warnings(*, unjudged: bool) -> list[str]:
        qrels = qrels_for(sampled, None, Selection(unjudged=unjudged))
        return list(scoring_warnings(sampled, None, ["main"], qrels))

    assert warnings(unjudged=True) == []
    with sampled.write():
        sampled.connection.execute("UPDATE pool_entries SET probability = 0.9 WHERE document = 'd03'")
    assert warnings(unjudged=True) == [UNEVEN]
    assert warnings(unjudged=False) == []
