"""Options of a system, set from words."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from kept import Kept

from cranfield.base.errors import UnknownName, UsageError
from cranfield.base.registry import DescribedOption, Option, configured, described_options
from cranfield.runs.baseline import systems


@dataclass(frozen=True)
class Part:
    size: Annotated[int, Option("how large", at_least=1)] = 3
    share: Annotated[float, Option("how much", at_least=0, at_most=1)] = 0.5
    colour: Annotated[Literal["red", "green"], Option("which")] = "red"
    loud: bool = False
    name: str = "x"


def test_words_become_the_values_that_the_fields_are_annotated_with():
    options = {"size": "7", "share": "0.25", "colour": "green", "loud": "yes", "name": "abc"}
    assert configured(Part, options) == Part(7, 0.25, "green", True, "abc")


def test_without_words_everything_has_its_default():
    assert configured(Part, {}) == Part()


def test_a_dash_in_a_name_means_an_underscore():
    assert configured(systems.get("rm3"), {"fb-docs": "3"}).keywords == {"fb_docs": 3}


def test_an_unknown_option_names_the_nearest_and_all(kept: Kept):
    with kept.raises(UnknownName):
        configured(systems.get("bm25"), {"stemer": "none"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "3.5"}, "option 'size' must be an integer, not '3.5'"),
        ({"share": "much"}, "option 'share' must be a number, not 'much'"),
        ({"share": ""}, "option 'share' must be a number, not ''"),
        ({"size": "0"}, "option 'size' must be a number at least 1, not 0"),
        ({"share": "1.5"}, "option 'share' must be a number at least 0 and at most 1, not 1.5"),
        ({"share": "nan"}, "option 'share' must be a number at least 0 and at most 1, not nan"),
        ({"share": "-inf"}, "option 'share' must be a number at least 0 and at most 1, not -inf"),
        ({"colour": "blue"}, "unknown value of option 'colour': 'blue' (known: green, red)"),
        ({"loud": "perhaps"}, "option 'loud' must be yes or no, not 'perhaps'"),
    ],
)
def test_a_value_that_cannot_be_meant_is_explained(options, message):
    with pytest.raises(UsageError) as raised:
        configured(Part, options)
    assert str(raised.value) == message


def test_values_given_from_python_are_checked_too(kept: Kept):
    with kept.raises(UsageError):
        configured(systems.get("bm25"), {"b": 2})
    with kept.raises(UsageError):
        configured(systems.get("bm25"), {"variant": "bm26"})


def test_the_shortest_piece_cannot_be_longer_than_the_longest(kept: Kept):
    with kept.raises(UsageError):
        list(configured(systems.get("chargrams"), {"shortest": "6"})(None, [], 10))


def test_options_are_described_from_the_fields():
    assert described_options(Part) == [
        DescribedOption("size", "integer at least 1", "3", "how large"),
        DescribedOption("share", "number at least 0 and at most 1", "0.5", "how much"),
        DescribedOption("colour", "red, green", "red", "which"),
        DescribedOption("loud", "yes, no", "False", ""),
        DescribedOption("name", "string", "x", ""),
    ]


def test_every_option_of_every_system_has_a_help_text():
    assert [
        (name, option) for name, system in systems.items() for option in described_options(system) if not option.help
    ] == []
