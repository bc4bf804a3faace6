"""Small collections for simulations: one worked by hand, and random ones."""

from collections.abc import Mapping

import pytest
from hypothesis import strategies as st
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import own_measures, parse_measures
from cranfield.pool.candidates import runs_of
from cranfield.simulate.study import Known

Lists = Mapping[str, Mapping[str, list[str]]]
"""By run, then by topic: documents, best first."""

Judged = Mapping[str, Mapping[str, int]]

WORKED: Lists = {
    "A": {"1": ["a", "b", "c", "d"], "2": ["e", "f", "g"]},
    "B": {"1": ["b", "a", "e", "d"], "2": ["f", "h", "e"]},
    "C": {"1": ["c", "x", "a"], "2": ["g", "e", "h"]},
}
"""Nobody judged x, and h was pooled and not judged."""

GRADES: Judged = {"1": {"a": 1, "b": 0, "c": 1, "d": 1, "e": 0}, "2": {"e": 1, "f": 0, "g": 1, "h": -1}}
GROUPS = {"A": "first", "B": "second", "C": "third"}


def field(
    lists: Lists, grades: Judged, groups: Mapping[str, str] | None = None, *, new: tuple[str, ...] = ()
) -> Known:
    """Bring small lists and grades together; runs that are `new` feed nothing."""
    runs = [ranking_from(some, tag=name) for name, some in lists.items()]
    feeding = [run for run in runs if run.tag not in new]
    qrels = qrels_from(grades)
    return Known(qrels, runs, runs_of(feeding, groups=groups), align(qrels, runs, keep_rows=True))


def measures(*words: str) -> tuple[object, ...]:
    return tuple(own_measures(parse_measures(words)))


@st.composite
def fields(draw: st.DrawFn, *, judge_all: bool = False) -> tuple[dict, dict]:
    """Runs of up to six documents for two topics, with grades for some or all of the documents."""
    ids = [f"d{number}" for number in range(9)]
    lists = {
        f"r{number}": {
            topic: draw(st.permutations(ids))[: draw(st.integers(1, 6))]
            for topic in ("1", "2")
            if topic == "1" or number == 0 or draw(st.integers(0, 5))
        }
        for number in range(draw(st.integers(3, 5)))
    }
    lowest = 0 if judge_all else -2
    grades: dict[str, dict[str, int]] = {}
    for topic in ("1", "2"):
        seen = sorted({document for some in lists.values() for document in some.get(topic, [])})
        drawn = {document: draw(st.integers(lowest, 2)) for document in seen}
        grades[topic] = {document: grade for document, grade in drawn.items() if grade >= -1}
    if not any(grade >= 0 for some in grades.values() for grade in some.values()):
        grades["1"][lists["r0"]["1"][0]] = 1
    return lists, {topic: some for topic, some in grades.items() if some}


class Toolbox:
    """The functions above, for tests that cannot import them."""

    worked, grades, groups = WORKED, GRADES, GROUPS
    field = staticmethod(field)
    fields = staticmethod(fields)
    measures = staticmethod(measures)


@pytest.fixture(scope="session")
def toolbox() -> type[Toolbox]:
    return Toolbox


@pytest.fixture
def worked() -> Known:
    return field(WORKED, GRADES, GROUPS)
