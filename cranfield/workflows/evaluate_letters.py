"""Significance letters beside scores."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.errors import UsageError
from cranfield.workflows.evaluate_asked import LetterTest
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.scores import Scores

ALPHA = 0.05
SEED = 1
LEVEL = "="
"""What marks runs that do not differ significantly from the best, where there are too many for letters."""

MOST_LETTERS = 12
"""Where a run has more letters than this, nobody sees from them whom it differs from."""


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of each run under each measure, what they mean, and the test behind them, by name and in words.

    A measure whose topics are not averaged has none.
    """

    by_measure: tuple[Mapping[str, str], ...]
    meaning: str
    test: LetterTest
    tested: str

    @property
    def said(self) -> str:
        """The sentence that stands above a table."""
        return f"{self.meaning} ({self.tested})"

    def for_people(self, scores: "Scores") -> "Letters":
        """Give what a table has room for: where runs have very many letters, a mark at those level with the best."""
        if max((len(one) for given in self.by_measure for one in given.values()), default=0) <= MOST_LETTERS:
            return self
        level = []
        for place, given in enumerate(self.by_measure):
            best = scores.run_names[int(scores.summary[place].argmax())]
            shared = set(given.get(best, ""))
            level.append({run: LEVEL if shared & set(letters) else "" for run, letters in given.items()})
        meaning = f"{LEVEL} not significantly different from the best; csv has letters"
        return replace(self, by_measure=tuple(level), meaning=meaning)


@dataclass(frozen=True, slots=True)
class BestGroup:
    """The runs that do not differ significantly from the best under one measure, and the sentence that says so."""

    runs: frozenset[str]
    said: str


def best_group(scores: "Scores") -> BestGroup | None:
    """Find who is level with the best under the first measure, by the test that letters are made with.

    None where the runs are not all on the same topics, or the measure is not a mean.
    """
    from cranfield.compare.drawing import seeded
    from cranfield.compare.result import significant
    from cranfield.compare.scored_letters import SAID
    from cranfield.compare.tukey import tukey

    measure, values = scores.measures[0], scores.values[0]
    if len(values) < 2 or not scores.scored.all() or measure.aggregate != "mean" or not measure.quality:
        return None
    best = int(values.mean(axis=1).argmax())
    different = significant(tukey(values, rng=seeded(SEED)).p[best], alpha=ALPHA)
    level = frozenset(name for place, name in enumerate(scores.run_names) if place == best or not different[place])
    said = f"level with the best: not significantly below it in {measure} ({SAID['tukey']}, alpha {ALPHA:g})"
    return BestGroup(level, said)


def letters_of(scores: "Scores", test: LetterTest) -> Letters:
    """Find the letters of scores that are on the same topics for all runs."""
    from cranfield.compare.drawing import seeded
    from cranfield.compare.scored_letters import SAID, letters_of_scores

    if not scores.scored.all():
        raise UsageError("letters need all runs on the same topics; use --topics qrels or common")
    found = [
        letters_of_scores(scores.run_names, values, test=test, alpha=ALPHA, rng=seeded(SEED))
        if measure.aggregate == "mean" and measure.quality
        else {}
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]
    tested = f"{SAID[test]}, alpha {ALPHA:g}, {counted(len(scores.topic_ids), 'topic')}"
    return Letters(tuple(found), "runs that share a letter do not differ significantly", test, tested)
