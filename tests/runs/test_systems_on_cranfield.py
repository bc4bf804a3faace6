"""The systems on the collection of 1,400 abstracts: as good as they should be, and different from each other."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from cranfield.base.records import Document
from cranfield.runs.baseline import Query, Ranking, search, systems

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "cranfield"
pytestmark = [pytest.mark.shared, pytest.mark.slow]

IN_MEMORY = [name for name in systems.names() if name != "fts5"]
LOWEST = {
    "bm25": 0.30,
    "chargrams": 0.28,
    "dirichlet": 0.28,
    "lsa": 0.33,
    "rm3": 0.32,
    "rocchio": 0.32,
    "tfidf": 0.30,
}
"""Mean average precision a little below what was measured: a mistake in a formula costs more than that."""


class Abstracts:
    def documents(self) -> Iterator[Document]:
        text = (DATA / "docs" / "cran.all.1400.xml").read_text(encoding="utf-8")
        for body in re.findall(r"<doc>(.*?)</doc>", text, re.DOTALL):
            number, title, content = (
                re.search(f"<{tag}>(.*?)</{tag}>", body, re.DOTALL)[1].strip()  # type: ignore[index]
                for tag in ("docno", "title", "text")
            )
            yield Document(number, content, title)

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        raise AssertionError("not asked")


@cache
def queries() -> list[Query]:
    text = (DATA / "topics" / "cran.qry.xml").read_text(encoding="utf-8")
    titles = re.findall(r"<title>(.*?)</title>", text, re.DOTALL)
    return [Query(str(position), title) for position, title in enumerate(titles, start=1)]


@cache
def run(name: str) -> list[Ranking]:
    return list(search(name, Abstracts(), queries(), 1000, {}))


@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_system_reaches_the_precision_it_should(name):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels: dict[str, dict[str, int]] = {}
    for line in (DATA / "qrels" / "cranqrel.trec.txt").read_text(encoding="utf-8").splitlines():
        if len(columns := line.split()) == 4:
            qrels.setdefault(columns[0], {})[columns[2]] = int(columns[3])
    scored = {ranking.topic: dict(zip(ranking.documents, ranking.scores, strict=True)) for ranking in run(name)}
    values = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(scored)
    assert len(values) == 225
    assert sum(value["map"] for value in values.values()) / 225 >= LOWEST[name]


@pytest.mark.parametrize(("one", "other"), list(combinations(IN_MEMORY, 2)))
def test_two_systems_share_less_than_nine_tenths_of_their_first_ten(one, other):
    shared = [len({*a.documents[:10]} & {*b.documents[:10]}) / 10 for a, b in zip(run(one), run(other), strict=True)]
    assert sum(shared) / len(shared) < 0.9
