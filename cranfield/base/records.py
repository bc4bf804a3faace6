"""The frozen nouns that all stages share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from cranfield.base.errors import InputError, refuse

MEASURES = ("nDCG@10", "AP", "P@10")
"""What runs are scored by where nobody says: by `evaluate`, `reuse` and `report`."""


@dataclass(frozen=True, slots=True)
class Document:
    """Something that can be retrieved and judged. `metadata` holds what the source said beyond title and text."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def content_hash(self) -> str:
        """SHA-256 over id, title, text and metadata: what an assessor saw, and under which name."""
        return _hash_of([self.id, self.title, self.text, dict(self.metadata)])


@dataclass(frozen=True, slots=True)
class Topic:
    """An information need: a title (the query), a sentence that describes it, a narrative that draws its limits."""

    id: str
    title: str
    description: str = ""
    narrative: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def content_hash(self) -> str:
        """SHA-256 over all of it."""
        return _hash_of([self.id, self.title, self.description, self.narrative, dict(self.metadata)])


HIGHEST_GRADE = 1000

Pair = tuple[str, str]
"""A topic and a document, by their ids."""

MAIN = "main"
"""The layer of judgments that the official qrels are made from."""


@dataclass(frozen=True)
class Grade:
    """One step of a scale: the number that is stored, what it is worth, and what it is called."""

    grade: int
    label: str
    gain: float
    text: str = ""


@dataclass(frozen=True)
class GradeScale:
    """The grades an assessor chooses from, lowest first, and the lowest that counts as relevant.

    The lowest grade is not always 0: some scales run from 1 to 3. `own_gains` are the gains of those grades that are
    not worth their own number. A grade that the scale skips is worth what the step below it is, where its own number
    is more than the step above is worth: nobody can give it, but bounds ask what every grade could bring.
    """

    grades: tuple[Grade, ...]
    relevant_from: int
    lowest: int = field(init=False, repr=False, compare=False)
    highest: int = field(init=False, repr=False, compare=False)
    own_gains: tuple[tuple[int, float], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = [step.grade for step in self.grades]
        labels = [step.label for step in self.grades]
        steps = zip(self.grades, self.grades[1:], strict=False)
        rules = {
            f"a scale needs at least two grades, this one has {len(numbers)}": len(numbers) < 2,
            f"grades must be strictly increasing, not {numbers}": numbers != sorted(set(numbers)),
            "grades below 0 are reserved for documents that were not judged": min(numbers, default=0) < 0,
            f"the highest possible grade is {HIGHEST_GRADE}": max(numbers, default=0) > HIGHEST_GRADE,
            "a label must be printable text": not all(label.isprintable() for label in labels),
            f"every grade needs a different label, not {labels}": len(set(labels)) != len(labels) or not all(labels),
            "a higher grade must not have a lower gain": any(later.gain < earlier.gain for earlier, later in steps),
            "a gain must be a number of at least 0": not all(0 <= step.gain < float("inf") for step in self.grades),
            f"'relevant from' must be a grade above the lowest, not {self.relevant_from}": (
                self.relevant_from not in numbers[1:]
            ),
        }
        if wrong := [sentence for sentence, is_broken in rules.items() if is_broken]:
            refuse("invalid grade scale", "bad-scale", wrong)
        named, below = [], 0.0
        gains = {step.grade: step.gain for step in self.grades}
        for grade in range(numbers[-1] + 1):
            above = next(step.gain for step in self.grades if step.grade >= grade)
            below = gains.get(grade, below)
            if below != grade and (grade in gains or grade > above):
                named.append((grade, below))
        # A scale is frozen, and these are asked for with every score: so they are found once, here.
        known = {"lowest": numbers[0], "highest": numbers[-1], "own_gains": tuple(named)}
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def named(self, grade: int) -> Grade:
        """The step with this number."""
        for step in self.grades:
            if step.grade == grade:
                return step
        known = ", ".join(str(step.grade) for step in self.grades)
        raise InputError(f"grade {grade} is not on the scale (it has {known})")


class OutsideSource(NamedTuple):
    """Where documents are that a collection does not hold: the kind of the source, and its place.

    `columns` is what it calls the parts of a document, `documents` how many there were when it was added.
    """

    kind: str
    place: str
    columns: Mapping[str, str]
    documents: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}"


def _hash_of(content: list[object]) -> str:
    # These hashes stand in collections: neither the order of the fields nor a blank of this form may ever change.
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


BINARY = GradeScale((Grade(0, "not relevant", 0.0), Grade(1, "relevant", 1.0)), relevant_from=1)
