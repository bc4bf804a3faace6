"""Many opinions become one grade: the rule, word by word, and the layers."""

from collections import Counter

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import UnknownName, UsageError
from cranfield.judge.events import Event
from cranfield.qrels.merge import OpinionRow, binary_by_scale, merged, opinions_in_text, opinions_of, row_of
from cranfield.qrels.release import DEFAULT_RULE, RULE_WORDS, parse_rule


def row(
    document: str,
    assessor: str,
    grade: int,
    event: int,
    *,
    topic: str = "1",
    layer: str = "main",
    decided: bool = False,
    propagated: bool = False,
    scale: int = 1,
) -> OpinionRow:
    return topic, document, layer, assessor, int(decided), int(propagated), grade, event, scale


CONTESTED = [row("d", "ada", 3, 1), row("d", "bob", 0, 2), row("d", "cy", 0, 3), row("d", "di", 1, 4)]


def grade_of(rows: list[OpinionRow], rule: str, primary: dict[str, list[str]] | None = None) -> int | None:
    found = [grade for _, _, grade in merged(opinions_of(rows), rule=parse_rule(rule), primary=primary).qrels]
    return found[0] if found else None


def test_each_word_of_a_rule_chooses_in_its_own_way():
    decided = [*CONTESTED, row("d", "eve", 2, 5, decided=True), row("d", "ada", 1, 6, decided=True)]
    assert {word: grade_of(decided, word, {"1": ["bob"]}) for word in RULE_WORDS} == {
        "adjudicated": 1,
        "primary": 0,
        "majority": None,
        "latest": 1,
        "highest": 3,
        "lowest": 0,
        "median": 0,
    }


def test_the_majority_is_more_than_half():
    three = CONTESTED[:3]
    assert grade_of(three, "majority") == 0
    assert grade_of(CONTESTED, "majority") is None
    assert grade_of(three[:1], "majority") == 3


def test_the_first_word_that_gives_a_grade_decides():
    assert grade_of(CONTESTED, "adjudicated, else majority, else latest") == 1
    assert grade_of(CONTESTED, "adjudicated primary majority latest", {"1": ["ada"]}) == 3
    assert grade_of(CONTESTED[:1], "adjudicated") is None
    assert grade_of(CONTESTED[:1], "primary", {"2": ["ada"]}) is None


def test_a_decision_is_not_counted_among_the_opinions():
    rows = [row("d", "ada", 1, 1), row("d", "bob", 2, 2), row("d", "bob", 1, 3, decided=True)]
    assert grade_of(rows, "majority,lowest") == 1
    assert grade_of(rows, "majority") is None


def test_a_propagated_grade_counts_only_where_nobody_looked():
    rows = [row("d", "ada", 3, 5, propagated=True), row("d", "bob", 0, 2), row("e", "ada", 2, 6, propagated=True)]
    assert list(merged(opinions_of(rows)).qrels) == [("1", "d", 0), ("1", "e", 2)]


def test_a_later_layer_adds_pairs_and_overrides_nothing():
    rows = [row("d", "ada", 1, 1), row("d", "x", 3, 2, layer="after"), row("e", "x", 2, 3, layer="after")]
    rows.append(row("f", "m@1", 2, 4, layer="machine/m@1"))
    assert list(merged(opinions_of(rows)).qrels) == [("1", "d", 1)]
    assert list(merged(opinions_of(rows), layers=["main", "after"]).qrels) == [("1", "d", 1), ("1", "e", 2)]
    assert list(merged(opinions_of(rows), layers=["after", "main"]).qrels) == [("1", "d", 3), ("1", "e", 2)]
    assert list(merged(opinions_of(rows), layers=["nothing"]).qrels) == []


def test_a_rule_of_unknown_words_or_of_none_is_refused(kept: Kept):
    with kept.raises(UnknownName):
        parse_rule("majority,lastest")
    with kept.raises(UsageError):
        parse_rule("")


def test_the_help_names_every_word_of_a_rule():
    words = " ".join(call("qrels", "export", "--help").out.split())
    assert f"{', '.join(RULE_WORDS)}." in words


def test_an_event_becomes_a_row():
    event = Event(
        uuid="u", kind="adjudicated", topic="1", document="d", assessor="ada", happened="now", grade=2, sequence=7
    )
    assert row_of(event) == ("1", "d", "main", "ada", 1, 0, 2, 7, 1)


def test_relevant_or_not_goes_by_the_scale_of_the_deciding_grade():
    rows = [row("d", "ada", 1, 1), row("d", "bob", 1, 2, scale=2), row("e", "ada", 1, 3), row("f", "ada", 2, 4)]
    opinions = opinions_of([*rows, row("e", "bob", 1, 5, topic="0", scale=2)])
    chosen = merged(opinions, rule=("latest",))
    assert list(binary_by_scale(opinions, chosen, {1: 2, 2: 1})) == [
        ("0", "e", 1),
        ("1", "d", 1),
        ("1", "e", 0),
        ("1", "f", 1),
    ]


opinion_rows = st.lists(
    st.tuples(
        st.sampled_from(["1", "2"]),
        st.sampled_from(["a", "b", "ä"]),
        st.sampled_from(["main", "after"]),
        st.sampled_from(["ada", "bob", "cy", "di"]),
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from([0, 0, 1]),
        st.integers(0, 3),
        st.sampled_from([1, 2]),
    ),
    unique_by=lambda one: one[:5],
    max_size=40,
).map(
    lambda rows: [
        (*one[:5], 0 if one[4] else one[5], one[6], place, one[7]) for place, one in enumerate(rows, start=1)
    ]
)
rules = st.lists(st.sampled_from(list(RULE_WORDS)), min_size=1, max_size=4, unique=True).map(tuple)
layers = st.lists(st.sampled_from(["main", "after"]), min_size=1, unique=True)


@given(opinion_rows, rules, layers)
def test_merging_is_what_it_says_pair_by_pair(rows: list[OpinionRow], rule: tuple[str, ...], order: list[str]):
    primary = {"1": ["ada"], "2": ["bob", "cy"]}
    expected = []
    for topic, document in sorted({one[:2] for one in rows}, key=lambda pair: (pair[0], pair[1].encode())):
        grades = [
            _by_hand([one for one in rows if one[:3] == (topic, document, layer)], rule, primary) for layer in order
        ]
        expected += [(topic, document, grade) for grade in grades if grade is not None][:1]
    found = merged(opinions_of(rows), rule=rule, primary=primary, layers=order)
    assert list(found.qrels) == expected
    deciding = {one[:2]: one for one in (rows[place] for place in found.rows)}
    assert {pair: one[6] for pair, one in deciding.items()} == {row[:2]: row[2] for row in expected}
    relevant_from = {1: 2, 2: 1}
    assert list(binary_by_scale(opinions_of(rows), found, relevant_from)) == [
        (*pair, int(deciding[pair][6] >= relevant_from[deciding[pair][8]])) for pair in (row[:2] for row in expected)
    ]


def _by_hand(rows: list[OpinionRow], rule: tuple[str, ...], primary: dict[str, list[str]]) -> int | None:
    seen = [one for one in rows if not one[5]] or rows
    said, decisions = [one for one in seen if not one[4]], [one for one in seen if one[4]]
    grades = sorted(one[6] for one in said)
    often = Counter(grades).most_common(1)
    own = [one for one in said if one[3] in primary[one[0]]]
    ways = {
        "adjudicated": lambda: decisions and max(decisions, key=lambda one: one[7])[6],
        "primary": lambda: own and max(own, key=lambda one: one[7])[6],
        "majority": lambda: often and often[0][1] * 2 > len(grades) and often[0][0],
        "latest": lambda: said and max(said, key=lambda one: one[7])[6],
        "highest": lambda: grades and grades[-1],
        "lowest": lambda: grades and grades[0],
        "median": lambda: grades and grades[(len(grades) - 1) // 2],
    }
    found = [ways[word]() for word in rule]
    return next((int(grade) for grade in found if grade is not False and grade != []), None)


@given(opinion_rows)
def test_opinions_in_text_are_the_same_as_in_rows(rows: list[OpinionRow]):
    by_topic: dict[str, list[OpinionRow]] = {}
    for one in rows:
        by_topic.setdefault(one[0], []).append(one)
    parts = [
        (topic, len(of_topic), "\n".join("\t".join(str(cell) for cell in one[1:]) for one in of_topic))
        for topic, of_topic in by_topic.items()
    ]
    text = opinions_in_text(parts)
    assert text is None or sorted(text.scales.tolist()) == sorted(one[8] for one in rows)
    for rule in (DEFAULT_RULE, ("median",)):
        plain = merged(opinions_of(rows), rule=rule, layers=["main", "after"])
        assert (
            text is None
            if not rows
            else list(merged(text, rule=rule, layers=["main", "after"]).qrels) == list(plain.qrels)
        )


@pytest.mark.parametrize("name", ["a\tb", "a\nb"])
def test_opinions_whose_names_break_the_text_are_left_to_the_rows(name: str):
    assert opinions_in_text([("1", 1, f"d\tmain\t{name}\t0\t0\t1\t1\t1")]) is None
