"""The table of how many judgments settle takes, on a few pairs of runs whose labels are known."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREC_2 = ROOT.parent / "shared" / "data" / "trec-2-adhoc"

pytestmark = [pytest.mark.shared, pytest.mark.slow]


def test_the_orders_need_fewer_judgments_than_chance_and_the_oracle_fewest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    script = import_module("settling")
    collection = script.binary(script.trec_2(TREC_2))
    groups = {one.run: one.group for one in collection.contributors}
    runs = list({groups[run.tag]: run for run in collection.runs}.values())
    pairs = [(0, 1), (4, 5), (9, 12)]
    found = [one for pair in pairs for one in script.courses(collection, runs, pair, 20)]
    assert [one for one in found if not one.oracle <= one.certain <= one.unjudged] == []
    assert sum(one.certain for one in found) < 0.9 * sum(one.random_certain for one in found)
    assert sum(one.is_right for one in found) >= len(found) - 1  # one pair is all but equal
