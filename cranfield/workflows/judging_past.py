"""What an assessor may look at beside his queue: his own answers, and the whole collection by searching."""

from collections.abc import Mapping

from cranfield.judge.events import WITH_GRADE, Event
from cranfield.records import GradeScale
from cranfield.workflows.desk import Answer, Found, Past
from cranfield.workflows.judging_line import Seat
from cranfield.workflows.judging_work import Work
from cranfield.store.answers import own_grades, own_past
from cranfield.store.events import event_with_uuid
from cranfield.store.found import found_documents
from cranfield.store.scales import other_scales
from cranfield.store.search import search


def answer_of(event: Event, older: Mapping[int, GradeScale]) -> Answer:
    """Give what an event says, as the assessor sees it; the reason of a refusal stands as its note.

    `older` are the versions of the scale that say something else than the present one.
    """
    kind = "judged" if event.kind in WITH_GRADE else event.kind
    said = kind, event.grade, event.note or event.reason, event.evidence, event.uuid, event.happened
    return Answer(*said, older.get(event.scale))


def past_answers(seat: Seat, words: str, *, limit: int) -> list[Past]:
    """Give the assessor's standing answers, latest first, whose topic, document, title or note has all the words."""
    wanted, older = words.casefold().split(), other_scales(seat.store)[0]
    found: list[Past] = []
    for uuid, title in own_past(seat.store, seat.layer, assessor=seat.assessor):
        if len(found) == limit:
            break
        event = event_with_uuid(seat.store, uuid)
        if event is None:
            continue
        text = "\n".join([event.topic, event.document, title, event.note, event.reason]).casefold()
        if all(word in text for word in wanted):
            found.append(Past(event.topic, event.document, title, answer_of(event, older)))
    return found


def searched(seat: Seat, work: Work, topic: str, words: str, *, limit: int) -> list[Found]:
    """Search the whole collection; of each hit it is told whether he has judged it, or whether it will be judged."""
    grades = own_grades(seat.store, seat.layer, topic, assessor=seat.assessor, other_than=other_scales(seat.store)[0])
    pooled = {entry.document for entry in work.members(topic)} | set(found_documents(seat.store, topic))
    return [
        Found(hit.document, hit.title, hit.snippet, "judged", grades[hit.document])
        if hit.document in grades
        else Found(hit.document, hit.title, hit.snippet, "pooled" if hit.document in pooled else "new")
        for hit in search(seat.store, words, limit=limit)
    ]
