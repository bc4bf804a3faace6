"""Corrections for many tests, against statsmodels and by hand."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from cranfield.compare.comparison import corrections

PEERS = {"bonferroni": "bonferroni", "holm": "holm", "benjamini-hochberg": "fdr_bh"}


def test_all_corrections_are_found_by_name():
    assert corrections.names() == ["benjamini-hochberg", "bonferroni", "holm", "none"]
    assert corrections.get("bh") is corrections.get("benjamini-hochberg")


@pytest.mark.parametrize(("name", "peer"), PEERS.items())
@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_adjusted_p_values_are_those_of_statsmodels(name, peer, size):
    rng = np.random.default_rng(size)
    p = np.concatenate([rng.random(size) ** 3, np.repeat(0.01, size % 3)])
    np.testing.assert_allclose(corrections.get(name)(p), multipletests(p, method=peer)[1], rtol=1e-12)


def test_by_hand():
    p = [0.01, 0.04, 0.03]
    assert corrections.get("none")(p).tolist() == p
    assert corrections.get("bonferroni")(p) == pytest.approx([0.03, 0.12, 0.09])
    assert corrections.get("holm")(p) == pytest.approx([0.03, 0.06, 0.06])
    assert corrections.get("benjamini-hochberg")(p) == pytest.approx([0.03, 0.04, 0.04])


@pytest.mark.parametrize("name", ["benjamini-hochberg", "bonferroni", "holm", "none"])
def test_no_tests_need_no_correction(name):
    assert corrections.get(name)([]).tolist() == []
