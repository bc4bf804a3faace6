"""The protocol between Cranfield and an external judge: one JSON object per line, both ways.

A question holds the topic, the document and the scale, and nothing about runs, ranks or other judgments. An answer
names topic and document by their ids, so that answers may come in any order, and gives a grade of the scale; it may
have a note and a confidence from 0 to 1. A grade of null means that the judge cannot tell.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from cranfield.base.errors import quoted
from cranfield.base.records import Document, GradeScale, Pair, Topic


@dataclass(frozen=True, slots=True)
class Label:
    """The label of an external judge for one document; without a grade, it cannot tell."""

    topic: str
    document: str
    grade: int | None
    note: str = ""
    confidence: float | None = None


def question(topic: Topic, document: Document, scale: GradeScale, *, guidelines: str = "") -> str:
    """The line that asks for one judgment, without its line end."""
    steps = [{"grade": step.grade, "label": step.label, "text": step.text} for step in scale.grades]
    return json.dumps(
        {
            "topic": {
                "id": topic.id,
                "title": topic.title,
                "description": topic.description,
                "narrative": topic.narrative,
            },
            "document": {
                "id": document.id,
                "title": document.title,
                "text": document.text,
                "metadata": dict(document.metadata),
            },
            "scale": steps,
            "relevant_from": scale.relevant_from,
            "guidelines": guidelines,
        },
        ensure_ascii=False,
    )


def label_from(line: str, scale: GradeScale, missing: Container[Pair]) -> Label | str:
    """The label in an answer, or a sentence that says what is wrong; `missing` are the pairs without a label."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return f"not JSON: {quoted(line)}"
    if not isinstance(said, dict):
        return f"not a JSON object: {quoted(line)}"
    pair = _id(said.get("topic")), _id(said.get("document"))
    if pair not in missing:
        told = f"an answer for topic {quoted(pair[0])} and document {quoted(pair[1])}"
        return f"{told}, which was not requested or has one already"
    if "grade" not in said:  # null says that the judge cannot tell; a program that echoes its input says nothing
        return f"topic {pair[0]}, document {pair[1]}: no grade"
    grade, confidence = said["grade"], said.get("confidence")
    grades = [step.grade for step in scale.grades]
    if grade is not None and (type(grade) is not int or grade not in grades):  # true is an int, too
        known = ", ".join(str(one) for one in grades)
        return f"topic {pair[0]}, document {pair[1]}: the grade {quoted(grade)} is not on the scale ({known})"
    if confidence is not None and (type(confidence) not in (int, float) or not 0 <= confidence <= 1):
        return f"topic {pair[0]}, document {pair[1]}: the confidence {quoted(confidence)} is not between 0 and 1"
    note = said.get("note")
    sure = None if confidence is None else float(confidence)
    return Label(*pair, grade, str(note) if note is not None else "", sure)


def _id(value: object) -> str:
    """An id, alone or in an object as in the question."""
    known = value.get("id") if isinstance(value, dict) else value
    return "" if known is None else str(known)


# Grades that pass from a judged document to its near-duplicates.


def propagated(
    grades: Mapping[Pair, int], clusters: Sequence[Sequence[str]]
) -> tuple[dict[Pair, str], list[tuple[str, str, int]]]:
    """What is propagated: (topic, document) -> the judged near-duplicate whose grade it gets.

    Within a topic all judged members of a cluster must have the same grade; the source is the first judged member,
    in the order of the cluster. A document that was judged itself never gets another's grade. Second, the
    (topic, document, grade) of clusters whose judged members differ: nothing passes there.
    """
    cluster_of = {document: place for place, members in enumerate(clusters) for document in members}
    sources, differing = dict[Pair, str](), list[tuple[str, str, int]]()
    for topic, place in sorted({(topic, cluster_of[one]) for topic, one in grades if one in cluster_of}):
        judged = {one: grades[topic, one] for one in clusters[place] if (topic, one) in grades}
        if len(set(judged.values())) > 1:
            differing += [(topic, *one) for one in sorted(judged.items())]
        else:
            sources |= {(topic, one): next(iter(judged)) for one in clusters[place] if one not in judged}
    return sources, differing
