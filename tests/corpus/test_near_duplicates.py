"""Exact copies and near-duplicates."""

import random
from itertools import combinations, pairwise
from unittest.mock import patch

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.corpus import near_duplicates
from cranfield.corpus.near_duplicates import Cluster, find_clusters, rows_per_band, shingles_of, similarity

WORDS = [f"w{number}" for number in range(500)]


def prose(seed: int, length: int = 100) -> list[str]:
    return random.Random(seed).choices(WORDS, k=length)


def test_copies_that_differ_in_case_and_space_are_exact():
    found = find_clusters(
        [("b", "One two\nthree"), ("x", "other words"), ("a", "ONE  two three "), ("c", "one two three")]
    )
    assert found == [Cluster("exact", "b", (("b", 1.0), ("a", 1.0), ("c", 1.0)))]


def test_marks_make_a_copy_near_and_not_exact():
    assert find_clusters([("a", "one two three"), ("b", "one, two, three!")]) == [
        Cluster("near", "a", (("a", 1.0), ("b", 1.0)))
    ]


def test_a_changed_word_gives_a_near_duplicate_with_its_true_similarity():
    words = prose(1)
    changed = [*words[:50], "changed", *words[51:]]
    assert find_clusters([("a", " ".join(words)), ("b", " ".join(prose(2))), ("c", " ".join(changed))]) == [
        Cluster("near", "a", (("a", 1.0), ("c", 91 / 101)))
    ]


def test_below_the_threshold_there_is_no_cluster():
    words = prose(1)
    pair = [("a", " ".join(words)), ("b", " ".join([*words[:80], *prose(2, 20)]))]
    assert similarity(*(shingles_of(text) for _, text in pair)) < 0.7
    assert find_clusters(pair, threshold=0.7) == []
    assert len(find_clusters(pair, threshold=0.6)) == 1


def test_clusters_are_connected_components_and_members_keep_their_distance_from_the_first():
    words = prose(1, 200)
    versions = [[*[f"new{n}" for n in range(start)], *words[start:]] for start in (0, 15, 30)]
    found = find_clusters([(str(place), " ".join(version)) for place, version in enumerate(versions)], threshold=0.8)
    sets = [shingles_of(" ".join(version)) for version in versions]
    assert similarity(sets[0], sets[2]) < 0.8
    expected = (("0", 1.0), ("1", similarity(sets[0], sets[1])), ("2", similarity(sets[0], sets[2])))
    assert found == [Cluster("near", "0", expected)]


def test_copies_of_a_near_duplicate_are_in_its_cluster():
    words = prose(1)
    text, other = " ".join(words), " ".join([*words[:-1], "end"])
    (cluster,) = find_clusters([("a", text), ("b", other), ("c", text.upper()), ("d", other)])
    assert cluster == Cluster("near", "a", (("a", 1.0), ("b", 95 / 97), ("c", 1.0), ("d", 95 / 97)))


def test_texts_without_words_are_in_no_cluster():
    assert find_clusters([("a", ""), ("b", " \n"), ("c", "..."), ("d", "..."), ("e", "")]) == []


def test_texts_shorter_than_a_shingle_are_one_shingle():
    assert find_clusters([("a", "soda water"), ("b", "soda-water"), ("c", "water soda")]) == [
        Cluster("near", "a", (("a", 1.0), ("b", 1.0)))
    ]


def test_hundreds_of_versions_of_one_text_make_one_cluster():
    base = prose(3, 300)
    versions = [(f"v{n}", " ".join([*base, f"version{n}"])) for n in range(400)]
    others = [(f"o{n}", " ".join(prose(n + 10))) for n in range(50)]
    (cluster,) = find_clusters([*versions, *others])
    assert [id for id, _ in cluster.members] == [id for id, _ in versions]


def test_of_a_large_bucket_the_first_and_neighbours_are_compared():
    def pairs(count: int) -> set[tuple[int, int]]:
        alike = near_duplicates._Texts(signatures=bytearray(4 * near_duplicates.PERMUTATIONS * count))
        return set(near_duplicates._candidates(alike, rows=6))

    assert pairs(100) == {(0, other) for other in range(1, 100)} | set(pairwise(range(100)))
    assert pairs(50) == set(combinations(range(50), 2))


def test_nearly_all_pairs_at_the_threshold_become_candidates():
    rows = rows_per_band(0.8)
    assert rows == 6
    assert 1 - (1 - 0.8**rows) ** (128 // rows) >= near_duplicates.RECALL


@pytest.mark.parametrize("threshold", [0, 1.1])
def test_thresholds_that_mean_nothing_are_refused(threshold, kept: Kept):
    with kept.raises(UsageError):
        find_clusters([("a", "b")], threshold=threshold)


@patch.multiple(near_duplicates, SHINGLE=2, PERMUTATIONS=256, rows_per_band=lambda threshold: 1)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=8).map(" ".join), max_size=12))
def test_with_every_pair_a_candidate_the_clusters_are_those_of_comparing_all(texts):
    documents = [(f"d{place}", text) for place, text in enumerate(texts)]
    linked = {id: {id} for id, _ in documents}
    for (one, first), (other, second) in combinations(documents, 2):
        if similarity(shingles_of(first), shingles_of(second)) >= 0.5:
            merged = linked[one] | linked[other]
            linked |= dict.fromkeys(merged, merged)
    expected = {frozenset(group) for group in linked.values() if len(group) > 1}
    found = find_clusters(documents, threshold=0.5)
    assert {frozenset(id for id, _ in cluster.members) for cluster in found} == expected


@pytest.mark.parametrize("option", ["--shingle", "--permutations", "--seed"])
def test_options_of_minhash_that_were_dropped_say_what_to_do_instead(option: str, kept: Kept):
    kept(call("corpus", "duplicates", option, 0, status=2).err)
