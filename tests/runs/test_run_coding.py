"""Ids of many runs become codes at once, whatever is there already."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cranfield.runs.encoding import as_ids, codes_of

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6)


@given(IDS, st.lists(IDS, max_size=5))
def test_known_ids_keep_their_codes_and_new_ones_follow_each_once(known, lists):
    codes, new = codes_of(as_ids(known), [as_ids(ids) for ids in lists])
    everything = [*known, *new.to_pylist()]
    assert len(set(everything)) == len(everything)
    assert set(everything) == set(known).union(*lists)
    assert [[everything[code] for code in np.asarray(found)] for found in codes] == lists
    assert new.type == pa.large_string()
