"""Topic development: its author judges a sample of the hits of a draft, and accepts or refuses it."""

from dataclasses import dataclass, replace

from cranfield.errors import InputError, UnknownName, quoted
from cranfield.judge.assignment import Assigned
from cranfield.judge.trial import DEEPEST, Estimate, Size, estimate, sample_of_hits, size_of
from cranfield.records import Topic
from cranfield.workflows.judging import checked_name, seated
from cranfield.workflows.judging_desk import CollectionDesk
from cranfield.workflows.judging_work import TRY_LAYER, TrialWork
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.answers import own_relevance
from cranfield.store.assignments import assigned, put_assignments
from cranfield.store.drafts import Draft, DraftState, draft_of, put_draft, put_tried, tried_hits
from cranfield.store.search import ranked
from cranfield.store.topics import topics

FEW, MANY = 3, 100
"""Below the one a topic says little about a system, above the other no pool finds most of it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How a draft stands: who tries it, what is expected of it, and whether that is a good number."""

    draft: Draft
    estimate: Estimate
    size: Size
    sampled: int


def begin_trial(store: Store, topic: str, *, author: str, seed: int = 0) -> CollectionDesk:
    """Seat the author before a sample of the hits of his draft topic; it is drawn once and kept."""
    name = checked_name(store, author)
    found = _topic(store, topic)
    known = draft_of(store, topic)
    if known is not None and known.author != name:
        raise InputError(f"topic {quoted(topic)} is tried by {quoted(known.author)}, its author, and by nobody else")
    if known is None:
        hits = [document for document, _ in ranked(store, found.title, limit=DEEPEST)]
        if not hits:
            raise InputError(f"the words of topic {quoted(topic)} ({quoted(found.title)}) find no document")
        with store.write():
            put_draft(store, Draft(topic, name), now=now())
            put_tried(store, topic, sample_of_hits(topic, hits, seed=seed))
    return seated(store, TrialWork(store, topic, name), assessor=name, layer=TRY_LAYER)


def _topic(store: Store, topic: str) -> Topic:
    known = {one.id: one for one in topics(store)}
    if topic not in known:
        raise UnknownName("topic", topic, known)
    return known[topic]


def trial_of(store: Store, topic: str, *, few: int = FEW, many: int = MANY) -> Trial:
    """Give how a draft stands."""
    _topic(store, topic)
    draft = draft_of(store, topic)
    if draft is None:
        raise InputError(f"topic {quoted(topic)} was never tried; begin with: cranfield judge try {topic}")
    relevance = own_relevance(store, TRY_LAYER, topic, assessor=draft.author)
    tried = tried_hits(store, topic)
    made = estimate(tried, relevance)
    return Trial(draft, made, size_of(made, few=few, many=many), len(tried))


def accept_topic(store: Store, topic: str, *, reason: str = "") -> Trial:
    """Accept a draft; its author becomes the primary assessor of the topic."""
    return _decided(store, topic, "accepted", reason)


def refuse_topic(store: Store, topic: str, *, reason: str) -> Trial:
    """Refuse a draft: it is neither assigned nor judged any more."""
    if not reason.strip():
        raise InputError("say why the topic is refused")
    return _decided(store, topic, "refused", reason)


def _decided(store: Store, topic: str, state: DraftState, reason: str) -> Trial:
    trial = trial_of(store, topic)
    draft = replace(trial.draft, state=state, reason=reason.strip(), expected=trial.estimate.expected)
    others = [one for one in assigned(store) if one.topic == topic and one.assessor != draft.author]
    kept = [replace(one, role="share") if one.role == "primary" else one for one in others]
    with store.write():
        put_draft(store, draft, now=now())
        if draft.state == "accepted":
            put_assignments(store, [Assigned(topic, draft.author, "primary"), *kept], topics=[topic], now=now())
    return replace(trial, draft=draft)
