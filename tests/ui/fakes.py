"""Sessions and a clock in memory: what the interface is tested on. `log` keeps what changes something."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cranfield.base.errors import CollectionError, CranfieldError
from cranfield.base.records import Document, Grade, GradeScale, Topic
from cranfield.base.text import HIT_END, HIT_START
from cranfield.judge.events import Evidence
from cranfield.judge.queue import Count
from cranfield.judge.session import (
    HISTORY_LIMIT,
    Answer,
    Held,
    HistoryEntry,
    Item,
    Saved,
    SearchHit,
    SessionProgress,
    TopicState,
)

FOUR_GRADES = GradeScale(
    (
        Grade(0, "not relevant", 0.0, "Does not deal with what the topic asks."),
        Grade(1, "marginal", 1.0, "Touches the subject, but does not help."),
        Grade(2, "relevant", 2.0, "Helps: answers the question in part."),
        Grade(3, "highly relevant", 3.0, "Answers the question fully."),
    ),
    relevant_from=2,
)

PANS = Topic("T1", "burnt pans", "How can a burnt pan be cleaned?", "Advice on prevention alone is marginal.")
BREAD = Topic("T2", "bread storage", "How is bread kept fresh?", "Baking is not relevant.")

DOCUMENTS = (
    Document(
        "d1", "Soda cleans a burnt pan. Wait an hour. Then scrub the pans with salt.", "Burnt rice", {"kind": "tip"}
    ),
    Document("d2", "A pan is a Greek god as well.", "Pan"),
    Document("d3", "Keep bread in a linen bag. It stays fresh for days.", "Bread"),
    Document("d4", "The baker sells bread and rolls.", "The baker"),
    Document("d5", "Vinegar lifts what is burnt from a pan.", "Vinegar"),
)


@dataclass
class FakeJudging:
    """An assessor's seat without a collection. `trouble` lets calls fail, `late` makes answers late.

    `held_documents` are never given, and `held` is what the topics say of them.
    """

    assessor: str = "ada"
    changed: str = ""
    scale: GradeScale = FOUR_GRADES
    guidelines: str = "# Guidelines\n\nRead the *whole* document.\n"
    topic_list: tuple[Topic, ...] = (PANS, BREAD)
    documents: tuple[Document, ...] = DOCUMENTS
    queues: dict[str, list[str]] = field(default_factory=lambda: {"T1": ["d1", "d2"], "T2": ["d3", "d4"]})
    trouble: CranfieldError | None = None
    trouble_in: set[str] = field(default_factory=set)
    late: bool = False
    held: dict[str, Held] = field(default_factory=dict)
    held_documents: set[str] = field(default_factory=set)
    others_left: tuple[str, ...] = ()
    log: list[tuple[object, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._current = self.topic_list[0].id if self.topic_list else ""
        self._answers: dict[tuple[str, str], Answer] = {}
        self._sitting: list[tuple[tuple[str, str], Answer | None]] = []
        self._queued = {topic: len(queue) for topic, queue in self.queues.items()}

    def next_item(self) -> Item | None:
        self._check("next_item")
        order = [self._current, *(topic.id for topic in self.topic_list if topic.id != self._current)]
        for topic in order:
            answers = {document: self._answers.get((topic, document)) for document in self.queues.get(topic, [])}
            free = {document: answer for document, answer in answers.items() if document not in self.held_documents}
            fresh = [document for document, answer in free.items() if answer is None]
            later = [document for document, answer in answers.items() if answer and answer.kind == "postponed"]
            if fresh or later:
                self._current = topic
                return self._item(topic, [*fresh, *later][0])
        return None

    def judge(
        self,
        item: Item,
        grade: int | None,
        *,
        seconds: float,
        note: str = "",
        evidence: Sequence[Evidence] = (),
        reason: str = "",
    ) -> Saved:
        what = "judge" if grade is not None else "cannot" if reason else "postpone"
        return self._record(what, item, grade, seconds, note or reason, tuple(evidence))

    def note(self, item: Item, text: str) -> None:
        self._check("note")
        self.log.append(("note", item.topic.id, item.document.id, text))

    def undo(self) -> Item | None:
        self._check("undo")
        if not self._sitting:
            return None
        key, before = self._sitting.pop()
        undone = self._answers.pop(key)
        if before is not None:
            self._answers[key] = before
        self.log.append(("undo", *key))
        self._current = key[0]
        return replace(self._item(*key), before=undone)

    def topics(self) -> list[TopicState]:
        self._check("topics")
        return [self._state(topic) for topic in self.topic_list]

    def choose_topic(self, topic: str) -> None:
        self._check("choose_topic")
        self._current = topic

    def history(self, words: str = "") -> list[HistoryEntry]:
        self._check("history")
        lines = [
            HistoryEntry(topic, document, self._document(document).title, answer)
            for (topic, document), answer in reversed(self._answers.items())
        ]
        wanted = words.casefold().split()
        return [
            line
            for line in lines
            if all(
                word in f"{line.topic} {line.document} {line.title} {line.answer.note}".casefold() for word in wanted
            )
        ][:HISTORY_LIMIT]

    def reopen(self, topic: str, document: str, words: str = "") -> Item:
        self._check("reopen")
        if words:
            self.log.append(("take", topic, document, words))
            if document not in self.queues[topic]:
                self.queues[topic].append(document)
        return self._item(topic, document)

    def search(self, topic: str, words: str) -> list[SearchHit]:
        self._check("search")
        wanted = words.casefold().split()
        return [
            self._found(topic, document, wanted)
            for document in self.documents
            if any(word in f"{document.title} {document.text}".casefold() for word in wanted)
        ]

    def progress(self) -> SessionProgress:
        self._check("progress")
        done = Counter(topic for (topic, _), answer in self._answers.items() if answer.kind != "postponed")
        topics = {topic: Count(done[topic], len(queue)) for topic, queue in self.queues.items()}
        total = done.total()
        return SessionProgress(
            total, sum(map(len, self.queues.values())), total, 12.0 if total else None, topics=topics
        )

    def beyond(self) -> tuple[str, ...]:
        return self.others_left

    def keep(self, item: Item | None) -> str:
        self._check("keep")
        if item is not None:
            self.log.append(("keep", item.document.id))
        return self.changed

    def rescue(self) -> str:
        return ""

    def leave(self) -> None:
        self._check("leave")
        self.log.append(("leave",))

    def _check(self, method: str) -> None:
        if self.trouble is not None and (not self.trouble_in or method in self.trouble_in):
            raise self.trouble

    def _record(
        self,
        what: str,
        item: Item,
        grade: int | None,
        seconds: float,
        note: str = "",
        evidence: tuple[Evidence, ...] = (),
    ) -> Saved:
        self._check(what)
        kind = {"judge": "judged", "postpone": "postponed", "cannot": "cannot-judge"}[what]
        answer = Answer(kind, grade, note, evidence, f"event-{len(self.log)}", "2026-01-01T12:00:00.000Z")
        key = (item.topic.id, item.document.id)
        self._sitting.append((key, self._answers.pop(key, None)))
        self._answers[key] = answer
        self.log.append((what, *key, note if what == "cannot" else grade, seconds, note, evidence))
        return Saved(item, answer, self.late)

    def _item(self, topic: str, document: str) -> Item:
        queue = self.queues[topic]
        done = [answer.kind != "postponed" for name in queue if (answer := self._answers.get((topic, name)))]
        position = queue.index(document) + 1 if document in queue else len(queue)
        topics = {each.id: each for each in self.topic_list}
        before = self._answers.get((topic, document))
        left = len(queue) - sum(done)
        return Item(topics[topic], self._document(document), position, len(queue), left, before)

    def _document(self, name: str) -> Document:
        for document in self.documents:
            if document.id == name:
                return document
        raise CollectionError(f"there is no document {name!r}")

    def _state(self, topic: Topic) -> TopicState:
        answers = [self._answers.get((topic.id, document)) for document in self.queues[topic.id]]
        later = sum(answer is not None and answer.kind == "postponed" for answer in answers)
        done = sum(answer is not None for answer in answers) - later
        return TopicState(topic, done, len(answers), later, held=self.held.get(topic.id))

    def _found(self, topic: str, document: Document, wanted: list[str]) -> SearchHit:
        answer = self._answers.get((topic, document.id))
        words = [
            f"{HIT_START}{word}{HIT_END}" if any(each in word.casefold() for each in wanted) else word
            for word in document.text.split()[:16]
        ]
        state = "judged" if answer else "pooled" if document.id in self.queues[topic] else "new"
        return SearchHit(document.id, document.title, " ".join(words), state, answer.grade if answer else None)


class HandClock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def opinion(grade: int, note: str = "", *evidence: Evidence) -> Answer:
    return Answer("judged", grade, note, evidence)


CASES = (
    Item(
        *(PANS, DOCUMENTS[0], 1, 2, 2),
        opinions=(
            opinion(1, "", Evidence(13, 41, "a burnt pan. Wait an hour. T")),
            opinion(3, "A full method.", Evidence(0, 24, "Soda cleans a burnt pan.")),
        ),
    ),
    Item(BREAD, DOCUMENTS[2], 2, 2, 1, opinions=(opinion(0, "No."), opinion(2), opinion(3, "Yes."))),
)


@dataclass
class FakeAdjudication:
    """The seat of the one who decides, without a collection. Set `trouble` to let the next calls fail."""

    cases: tuple[Item, ...] = CASES
    scale: GradeScale = FOUR_GRADES
    guidelines: str = "# Guidelines\n\nDecide.\n"
    trouble: CranfieldError | None = None
    log: list[tuple[object, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open = list(self.cases)
        self._decided: list[Saved] = []

    def next_item(self) -> Item | None:
        self._check()
        return self._open[0] if self._open else None

    def judge(self, item: Item, grade: int | None, *, note: str = "", **_: object) -> Saved:
        self._check()
        if grade is None:
            self._open.append(self._open.pop(self._open.index(replace(item, before=None))))
            self.log.append(("postpone", item.document.id))
            return Saved(item, Answer("postponed", None))
        plain = replace(item, before=None)
        self._open.remove(plain)
        self._decided.append(Saved(plain, Answer("adjudicated", grade, note, event="e")))
        self.log.append(("decide", item.document.id, grade, note))
        return self._decided[-1]

    def undo(self) -> Item | None:
        self._check()
        if not self._decided:
            return None
        decided = self._decided.pop()
        self._open.insert(0, decided.item)
        self.log.append(("undo", decided.item.document.id))
        return replace(decided.item, before=decided.answer)

    def rescue(self) -> str:
        return ""

    def _check(self) -> None:
        if self.trouble is not None:
            raise self.trouble
