"""Grades that pass from a judged document to its near-duplicates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passed:
    """A grade that passes from one document of a topic to another."""

    topic: str
    document: str
    grade: int
    source: str


@dataclass(frozen=True, slots=True)
class Torn:
    """A cluster whose judged members have different grades: nothing passes, and somebody should look at it."""

    topic: str
    grades: tuple[tuple[str, int], ...]


def propagated(
    grades: Mapping[tuple[str, str], int], clusters: Mapping[str, Iterable[str]]
) -> tuple[list[Passed], list[Torn]]:
    """Find what passes on. `grades` are those that were given, by topic and document; `clusters` hold documents.

    Within a topic all judged members of a cluster must have the same grade; the source is the first judged member,
    in the order of the cluster. A document that was judged itself never gets another's grade.
    """
    cluster_of = {document: name for name, members in clusters.items() for document in members}
    found: dict[tuple[str, str], dict[str, int]] = {}
    for (topic, document), grade in grades.items():
        if document in cluster_of:
            found.setdefault((topic, cluster_of[document]), {})[document] = grade
    passed, torn = [], []
    for (topic, name), judged in sorted(found.items()):
        members = list(clusters[name])
        if len(set(judged.values())) > 1:
            torn.append(Torn(topic, tuple(sorted(judged.items()))))
            continue
        source = next(document for document in members if document in judged)
        passed += [Passed(topic, one, judged[source], source) for one in members if one not in judged]
    return passed, torn
