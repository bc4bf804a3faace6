"""The words a merge rule is made of: how many opinions become one grade."""

from __future__ import annotations

from collections.abc import Mapping

from cranfield.base.errors import UnknownName, UsageError

Rule = tuple[str, ...]
"""Words in order: the first that gives a grade decides."""

DEFAULT_RULE: Rule = ("adjudicated", "primary", "majority", "latest")

RULE_WORDS: Mapping[str, str] = {
    "adjudicated": "the decision between assessors; the latest where there are several",
    "primary": "the grade of the topic's primary assessor",
    "majority": "the grade that more than half of the assessors gave",
    "latest": "the grade that was recorded last",
    "highest": "the highest grade that anybody gave",
    "lowest": "the lowest grade that anybody gave",
    "median": "the middle grade, of two middle ones the lower: unlike a mean it is always a grade of the scale",
}
"""Each word, and what it chooses."""


def check_rule(rule: Rule) -> Rule:
    """Give the rule back, or say which word of it names nothing."""
    if not rule:
        raise UsageError(f"a merge rule needs at least one of: {', '.join(RULE_WORDS)}")
    for word in rule:
        if word not in RULE_WORDS:
            raise UnknownName("merge rule", word, RULE_WORDS)
    return rule


def parse_rule(words: str) -> Rule:
    """Give the rule that a line like `adjudicated,majority,latest` means."""
    return check_rule(tuple(word for word in words.replace(",", " ").split() if word != "else"))
