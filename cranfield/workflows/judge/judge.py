"""`Judge`: what can be done with judging, for Python and for the command line: its methods are the subcommands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cranfield.base.errors import InputError, UsageError, check_known, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import MAIN
from cranfield.base.registry import deferred
from cranfield.base.text import Changed, Listing, counted, moment, table_of
from cranfield.judge import queue as rules
from cranfield.store import Store, documents, judging
from cranfield.workflows import collection

with deferred:
    from cranfield.workflows.judge import agreement, external, imports, organise, packets
    from cranfield.workflows.judge import queue as queues
    from cranfield.workflows.judge import session as sessions


class Judge:
    """Judging in one collection."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # Sessions

    @property
    def packet_assessor(self) -> str:
        """The name a packet was made for; empty where the file is no packet."""
        facts = judging.packet_facts(self._store)
        return "" if facts is None else facts.assessor

    def session(
        self,
        assessor: str,
        *,
        pool: str = "",
        queue: str = "",
        layer: str = "",
        topics: Sequence[str] = (),
        rejudge: bool = False,
        clock: Callable[[], float] = moment,
    ) -> sessions.StoredSession:
        """Begin to judge a pool (the latest by default), a queue, or one's own judgments under older versions.

        In a packet it is the packet's own queue. The layer is `main`, or that of the queue. With `topics` only these
        are judged.
        """
        if queue and (pool or rejudge):
            raise UsageError("--queue cannot be combined with --pool or --rejudge")
        name, packet = sessions.checked_name(self._store, assessor), judging.packet_facts(self._store)
        if packet is not None:
            # What could not be merged is refused: another name, or another layer.
            if name != packet.assessor:
                raise UsageError(
                    f"this packet is for {quoted(packet.assessor)}, not for {quoted(name)}: judge it with"
                    f" -a {packet.assessor!r}, or request a packet of your own"
                )
            if layer and layer != packet.layer:
                raise UsageError(f"this packet is for the layer {quoted(packet.layer)}: omit --layer")
            queue = queue if queue or pool or rejudge else judging.PACKET
        rejudged_by = name if rejudge else ""
        source = queues.choose_source(self._store, pool=pool, queue=queue, rejudged_by=rejudged_by, layer=layer)
        if topics:
            check_known("topic assigned to you", topics, source.roles(name))
        return sessions.StoredSession(replace(source, only=tuple(topics)), name, clock=clock)

    def closing_notes(self, ended: sessions.StoredSession) -> list[str]:
        """What is left for an assessor at the end of a judging session."""
        progress, name = ended.progress(), ended.assessor
        decided = [f"decided: {progress.decided}"] if progress.decided else []
        if not progress.of:
            return [f"{name}: no documents assigned to you", *decided, *ended.beyond()]
        left = f"{counted(progress.left, 'document')} left for you" if progress.left else "nothing left for you"
        told = [f"{name}: {counted(progress.today, 'answer')} today; {left}"]
        if not progress.left:
            told += [*decided, *ended.beyond()] or ["progress of all assessors: cranfield judge progress"]
        older = ended.older()
        if older:
            again = f"{counted(older, 'judgment')} of yours predate the current scale or guidelines"
            told.append(f"{again}; judge again with: cranfield judge --rejudge")
        return told

    def begin_trial(self, topic: str, author: str) -> sessions.StoredSession:
        """Let the author judge a sample of the hits of a draft topic; it is drawn once and kept."""
        store, name = self._store, sessions.checked_name(self._store, author)
        titles = {one.id: one.title for one in documents.topics(store)}
        check_known("topic", [topic], titles)
        known = judging.draft_of(store, topic)
        if known is not None and known.author != name:
            raise InputError(f"topic {quoted(topic)} can be tried only by its author, {quoted(known.author)}")
        if known is None:
            title = titles[topic]
            hits = [document for document, _ in documents.rank(store, title, limit=rules.DEEPEST)]
            if not hits:
                raise InputError(f"no document matches the title of topic {quoted(topic)} ({quoted(title)})")
            with store.write():
                tried = rules.sample_of_hits(topic, hits)
                judging.put_draft(store, judging.Draft(topic, name), tried=tried)
        return sessions.StoredSession(
            queues.Source(store, "try", queues.TRY_LAYER, assessor=name, only=(topic,)), name
        )

    def adjudicate(
        self, adjudicator: str, *, layer: str = MAIN, across: bool = False, topics: Sequence[str] = ()
    ) -> organise.StoredAdjudication:
        """Begin to decide where assessors disagree."""
        return organise.StoredAdjudication(self._store, adjudicator, layer=layer, across=across, only=topics)

    def cases(self, *, layer: str = MAIN, across: bool = False, topics: Sequence[str] = ()) -> Listing:
        """List the open cases of adjudication: each document with its grades, without names."""
        rows = [
            (*pair, tuple(one.grade or 0 for one in organise.opinions_on(self._store, layer, pair)))
            for pair in organise.open_cases(self._store, layer=layer, across=across, only=topics)
        ]
        table = table_of(["topic", "document", "grades"], rows)
        return Listing(table, remarks=(f"{counted(len(rows), 'case')} open",))

    # What the organiser does

    def try_(self, topic: str, *, accept: bool = False, refuse: str | None = None) -> organise.Trial:
        """Accept a draft topic (its author is primary then) or refuse it, or estimate its relevant documents."""
        store = self._store
        if accept and refuse is not None:
            raise UsageError("a topic is either accepted or refused, not both")
        if refuse is not None and not refuse.strip():
            raise InputError("a reason is required to refuse a topic")
        check_known("topic", [topic], documents.topic_ids(store))
        draft = judging.draft_of(store, topic)
        if draft is None:
            raise InputError(f"topic {quoted(topic)} has not been tried; start with: cranfield judge try {topic}")
        tried = judging.tried_hits(store, topic)
        made = rules.estimate(tried, judging.own_relevance(store, queues.TRY_LAYER, topic, draft.author))
        if accept or refuse is not None:
            state: judging.DraftState = "accepted" if accept else "refused"
            draft = replace(draft, state=state, reason=(refuse or "").strip(), expected=made.expected)
            with store.write():
                judging.put_draft(store, draft)
                if accept:
                    others = [one for one in judging.assigned(store) if one.topic == topic]
                    kept = [replace(one, role="share") if one.role == "primary" else one for one in others]
                    primary = rules.Assigned(topic, draft.author, "primary")
                    assigned = [primary, *(one for one in kept if one.assessor != draft.author)]
                    judging.put_assignments(store, assigned, topics=[topic])
        return organise.Trial(draft, made, len(tried))

    def assign(self, assessors: Sequence[str] = (), **options: Any) -> organise.Assignments:
        """Assign topics to assessors in equal shares; plan overlap and probes; list the assignments.

        The options are those of `cranfield judge assign`.
        """
        return organise.assign(self._store, assessors, **options)

    def progress(self, **options: str) -> organise.JudgingProgress:
        """Progress by topic or assessor, or the documents that cannot be judged, as `judging_progress` has it."""
        return organise.judging_progress(self._store, **options)

    def guidelines(self, file: Path) -> Changed:
        """Replace the guidelines."""
        return collection.change_guidelines(self._store, file)

    def scale(self, scale: str, *, relevant_from: int | None = None) -> Changed:
        """Replace the scale."""
        return collection.change_scale(self._store, collection.parse_scale(scale, relevant_from=relevant_from))

    def agreement(self, *, by: str | None = None, layers: Sequence[str] = (MAIN,)) -> agreement.AgreementReport:
        """Inter- and intra-assessor agreement."""
        found = agreement.agreement_report(self._store, by=by, layers=layers)
        return found if by else replace(found, effect=agreement.effect_on_rankings(self._store, layers))

    # What goes in and out

    def import_(self, file: Path, **options: Any) -> Changed:
        """Import judgments made elsewhere; the options are those of `import_judgments`."""
        return imports.import_judgments(self._store, file, **options)

    def propagate(self, *, layer: str = MAIN) -> imports.Propagated:
        """Propagate grades to the near-duplicates of judged documents."""
        return imports.propagate(self._store, layer=layer)

    def packet(self, assessor: str, output: Path, **options: Any) -> Changed:
        """Write a judging packet; the options are those of `make_packet`."""
        return packets.make_packet(self._store, output, assessor=assessor, **options)

    def merge(self, file: Path, *, trust: bool = False) -> packets.MergedPacket:
        """Merge the judgments of a packet; with `trust` also of one that was not issued here, or of a copy."""
        return packets.merge_packet(self._store, file, trust=trust)

    def with_(
        self, command: str, judge: str, *, progress: Progress = silent, **options: Any
    ) -> external.MachineJudged:
        """Let an external judge label documents; the options are those of `judge_with`."""
        return external.judge_with(self._store, command, judge, progress=progress, **options)
