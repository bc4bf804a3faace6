"""Real runs, with the defects that are known of them."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cranfield.base.files import Source
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows, run_formats
from cranfield.runs.run import ranked, tie_groups, ties

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
TREC_2 = SHARED / "trec-2-adhoc"
TOPICS = frozenset(str(topic) for topic in range(101, 151))

pytestmark = pytest.mark.shared


def listed() -> list[dict[str, str]]:
    if not TREC_2.is_dir():
        return []
    with (TREC_2 / "judged.tsv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


BAD_LINES = {"input.UREKA3": 1, "input.citymf": 1253}
"""Lines without exactly six columns. The list beside the runs counts the one of UREKA3 twice."""


@pytest.mark.parametrize("expected", listed(), ids=lambda row: row["run"])
def test_every_known_defect_is_found_with_the_right_count(expected):
    rows = read_rows(Source(TREC_2 / "runs" / f"{expected['run']}.gz"))
    problems = {problem.code: problem for problem in check(rows, Expectations(topics=TOPICS))}
    counts = {code: problem.count for code, problem in problems.items()}
    run = ranked(rows)
    bad = counts.get("too-few-columns", 0) + counts.get("too-many-columns", 0)
    assert {
        "lines": len(rows) + counts.get("too-few-columns", 0),
        "max_depth": int(np.diff(rows.by_topic.offsets).max()),
        "topics_in_run": 50 - counts.get("missing-topic", 0),
        "dup_docs": counts.get("repeated-document", 0),
        "topics_with_ties": tie_groups(ties(run.scores, run.offsets), run.offsets)[1],
    } == {key: int(expected[key]) for key in ("lines", "max_depth", "topics_in_run", "dup_docs", "topics_with_ties")}
    assert bad == BAD_LINES.get(expected["run"], 0)
    assert ("too-many-documents" in problems) == (int(expected["max_depth"]) > 1000)


def test_all_38_are_there():
    assert len(listed()) == 38


@pytest.mark.parametrize(
    ("name", "rows_left", "sentences"),
    [
        (
            "UREKA3",
            48914,
            [
                "dropped 1 line with too few columns",
                "dropped 1,015 rows that repeated a document; the best-ranked row is kept",
            ],
        ),
        (
            "citymf",
            50000,
            [
                "dropped the extra columns of 1,253 lines",
                "dropped 32 rows that repeated a document; the best-ranked row is kept",
                "dropped 1,221 rows beyond rank 1,000 of a topic",
            ],
        ),
    ],
)
def test_the_broken_runs_are_mended(tmp_path, name, rows_left, sentences):
    rows = read_rows(Source(TREC_2 / "runs" / f"input.{name}.gz"))
    mended, done = repair(rows, check(rows, Expectations(topics=TOPICS)), name=rows.name)
    assert mended is not None
    assert (mended.row_count, done) == (rows_left, sentences)
    with (tmp_path / "mended.run").open("wb") as stream:
        run_formats.get("trec").write(mended, stream)
    again = read_rows(Source(tmp_path / "mended.run"))
    assert not [found for found in check(again, Expectations(topics=TOPICS)) if found.severity == "error"]
    assert ranked(again) == mended


@pytest.mark.parametrize("name", ["results.test", "results.trunc", "results-302.test", "results.comment.test"])
def test_the_runs_of_trec_eval_itself_are_accepted(name):
    path = SHARED / "trec_eval-tests" / name
    rows = read_rows(Source(path))
    assert len(rows) == sum(1 for line in path.read_bytes().splitlines() if line.strip())
    wide = {"results.trunc": ["too-many-columns"]}
    assert [found.code for found in rows.problems if found.severity == "error"] == wide.get(name, [])


@pytest.mark.parametrize("number", range(8))
def test_the_order_of_awkward_runs_is_the_slow_and_obvious_one(number):
    path = SHARED / "trec_eval-goldens" / f"{number}.run"
    lines = [line.split() for line in path.read_text().splitlines()]
    expected = {}
    for topic in sorted({line[0] for line in lines}, key=str.encode):
        mine = sorted((line for line in lines if line[0] == topic), key=lambda line: line[2].encode(), reverse=True)
        expected[topic] = [line[2] for line in sorted(mine, key=lambda line: -float(line[4]))]
    assert {topic: documents for topic, documents, _ in ranked(read_rows(Source(path)))} == expected
