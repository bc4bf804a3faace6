"""Every promise of the page on security names the tests behind it, and they are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_has_a_test_that_exists():
    lines = (ROOT / "docs/security.md").read_text("utf-8").splitlines()
    promises = [line for line in lines if line.startswith("| ") and not line.startswith("| promise")]
    assert len(promises) > 30
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)`", promise)
        assert named, promise
        assert [name for name in named if "def test_" not in (ROOT / name).read_text("utf-8")] == []
