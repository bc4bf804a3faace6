"""`Pool`: what can be done with pools, for Python and for the command line: its methods are the subcommands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from cranfield.base.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.base.records import MAIN
from cranfield.base.registry import deferred
from cranfield.base.text import Changed, Listing, Value, counted, few, table_of
from cranfield.pool import candidates
from cranfield.pool import plan as plans
from cranfield.pool import pool as pooling
from cranfield.runs import baseline
from cranfield.store import Store, events, judging, live_pools, pools
from cranfield.store import documents as stored_documents
from cranfield.store import runs as stored_runs
from cranfield.workflows import outside
from cranfield.workflows.pool.show import PoolView, judging_speed

with deferred:
    from cranfield.evaluate import reading
    from cranfield.pool import build, extend, live
    from cranfield.qrels import qrels
    from cranfield.workflows import corpus
    from cranfield.workflows import inputs as workflow_inputs
    from cranfield.workflows.judge import queue as queues
    from cranfield.workflows.pool import inputs
    from cranfield.workflows.pool import verify as verification

CONTRIBUTING = "contributing"
_NAMES_SHOWN = 5


class Pool:
    """The pools of one collection."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(
        self,
        text: str,
        *,
        name: str = "pool",
        runs: Sequence[str] = (),
        priority: int | None = None,
        topics: Sequence[str] = (),
        seed: int = 0,
        order: pooling.JudgingOrder = "plan",
        one_per_cluster: bool = False,
    ) -> Changed:
        """Build and store a pool by a plan; everything wrong is reported before anything is written.

        Without names all contributing runs are pooled; `priority` takes those a group ranked so far. Without topics,
        every topic that some run has, but for those that were refused when they were tried. Of a plan with an
        adaptive step the warm-up is stored; the rest comes as it is judged (`cranfield.workflows.pool.live`).
        """
        store, parsed = self._store, plans.parse(text)
        self._refuse_known_name(name)
        clusters = corpus.known_clusters(store) if one_per_cluster else None
        named = [stored_runs.find(store, word) for word in dict.fromkeys(runs)]
        named = named or [one for one in stored_runs.facts(store) if one.role == CONTRIBUTING]
        if not named:
            raise InputError("no contributing run to pool; submit runs with --contributing, or name some with --run")
        chosen = [one for one in named if priority is None or one.priority <= priority]
        if not chosen:
            raise InputError(f"no run has a priority up to {priority}")
        pooled = inputs.pooled_runs(store, chosen)
        wanted = topics or None
        if not topics and (refused := judging.refused_topics(store)):
            wanted = [topic for topic in build.checked_topics(parsed, pooled, None) if topic not in refused]
        built = build.build(
            parsed, pooled, topics=wanted, seed=seed, order=order, clusters=clusters, refuse_idle=True
        )
        if parsed.adaptive is not None:
            self._check_live(built, pooled, clusters)
            _, step = parsed.adaptive
            least = min(built.sizes.values(), default=-1)
            if step.amount.kind == "until" and least >= step.amount.number:
                before = f"the steps before it give every topic at least {least:,} documents"
                remedy = "raise the number, or make the steps before it smaller"
                pooling.refuse("budget-below-warm-up", f"'{step}' would select nothing: {before}", remedy)
        with store.write():
            self._refuse_known_name(name)
            pools.put_version(store, name, built, clusters=clusters)
        from_runs = f"for {counted(len(built.topics), 'topic')}, from {counted(len(built.sources), 'run')}"
        notes = [f"{name}: {counted(len(built), 'document')} to judge {from_runs}; plan: {built.plan}"]
        notes += self._state_notes(name)
        if built.plan.adaptive:
            notes.append("this is the warm-up; further documents are selected as judgments come in")
        if count := len(built.duplicates):
            notes.append(f"{counted(count, 'near-duplicate')} left out, each represented by a document of the pool")
        return _changed(name, built, notes)

    def extend(self, name: str = "", *, runs: Sequence[str] = (), topics: Sequence[str] = ()) -> Changed:
        """Add later runs to a pool, as a new version; without names, the contributing runs that it does not have."""
        store = self._store
        with store.write():
            facts = pools.facts_of_pool(store, name)
            new = self._new_runs(facts.name, runs)
            before = pools.stored_pool(store, facts.name)
            together = inputs.pooled_runs(store, new, pool=facts.name)
            clusters = corpus.known_clusters(store) if facts.one_per_cluster else None
            grown = extend.extend(before, together, topics=topics, clusters=clusters)
            if grown.plan.adaptive:
                self._check_live(grown, together, clusters)
            pools.put_version(store, facts.name, grown, clusters=clusters)
        names = [one.name for one in new]
        left_out = [topic for topic in together.chosen(names).codes_by_topic if topic not in grown.topics]
        added = counted(len(grown) - len(before), "document")
        from_runs = f"from {counted(len(names), 'more run')} ({few(names, _NAMES_SHOWN)}); {len(grown):,} in all"
        notes = [f"{facts.name}, version {grown.version}: {added} more to judge, {from_runs}"]
        notes += self._state_notes(facts.name)
        if left_out:
            missing = counted(len(left_out), "topic")
            notes.append(
                f"{missing} of the new runs not in the pool ({few(left_out, _NAMES_SHOWN)}): add them with --topic"
            )
        return _changed(facts.name, grown, notes)

    def top_up(self, run: str, *, depth: int, name: str = "", topics: Sequence[str] = ()) -> Changed:
        """Queue what is unjudged in the first `depth` documents of a run, stored or in a file, to be judged by name.

        Documents that an assessor could not judge are not queued again.
        """
        store = self._store
        request = reading.Request(qrels=qrels.qrels_of([]), runs=(run,), collection=workflow_inputs.run_store(store))
        _, (ranked,) = reading.read_in_full(request)
        tag, runs = ranked.tag, candidates.runs_of([ranked])
        top = build.build(plans.parse(f"depth {depth}"), runs, topics=topics or None)
        with store.write():
            pairs = []
            for topic in top.topics:
                judged = {one.document for one in live_pools.standing_answers(store, topic)}
                pairs += [(topic, document) for document in top.documents_of(topic) if document not in judged]
            if unknown := sorted(stored_documents.unknown(store, {document for _, document in pairs})):
                some = ", ".join(quoted(document) for document in unknown[:3])
                raise InputError(
                    f"{len(unknown):,} documents of {quoted(tag)} are not in the collection, for example {some}"
                )
            queue = name or f"top-up-{tag}"
            if pairs:
                reason = f"unjudged in the first {depth} of {tag}"
                queued = [judging.Queued(topic, document, reason) for topic, document in pairs]
                judging.add_queue(store, queue, queued, purpose="top-up")
        count = len({topic for topic, _ in pairs})
        notes = [f"nothing to judge: the top {depth} of {run} are all judged; no queue was created"]
        if pairs:
            where = f"{counted(len(pairs), 'document')} in {counted(count, 'topic')}"
            cost = judging_speed(store).cost(len(pairs))
            notes = [f"{queue}: {where} to judge, {cost}", *queues.split_notes(store, queue)]
            notes.append(f"next: cranfield judge --queue {shlex.quote(queue)}")
        return Changed({"queue": queue, "documents": len(pairs), "topics": count}, tuple(notes))

    def show(self, name: str = "", *, by: str = "run") -> PoolView:
        """A pool in numbers, as one of its tables."""
        return PoolView(self._store, name, by=by)

    def explain(self, topic: str, document: str, *, name: str = "") -> Listing:
        """The runs that retrieved a document, and the step that added it; an error says why it is not there."""
        store = self._store
        facts = pools.facts_of_pool(store, name)
        for position, step, stratum, probability, version in pools.story(store, facts.name, topic, document):
            text = plans.parse_stored(facts.plan_in_full).steps[step - 1]
            chance = "" if probability is None else f" with probability {probability:g}"
            since = f" in version {version}" if version > 1 else ""
            place = f"{document} is document {position:,} of topic {topic} in {facts.name}"
            notes = [f"{place}: added by step {step} ({text}){since}{chance}, stratum {stratum}"]
            for choice in live_pools.choices(store, pools.pool_number(store, facts.name), pair=(topic, document)):
                moment = choice.chosen[:19].replace("T", " ")
                made = f"choice {choice.number:,}, made {moment} UTC from the judgments up to event {choice.known:,}"
                notes.append(f"{made}: {choice.reason}")
            if others := pools.represented_by(store, facts.name, topic, document):
                notes.append(f"it represents its near-duplicates, which are not pooled: {', '.join(others)}")
            found = pools.runs_of_entry(store, facts.name, topic, document)
            return Listing(table_of(["run", "rank"], found), notes=notes)
        if topic not in pools.pool_topics(store, facts.name):
            raise InputError(f"topic {quoted(topic)} is not in the pool {quoted(facts.name)}")
        why = "no contributing run retrieved it"
        runs = inputs.pooled_runs(store, pool=facts.name)
        some = candidates.candidates_of(runs, topic) if topic in runs.codes_by_topic else None
        if representative := pools.stands_for(store, facts.name, topic, document):
            why = f"its near-duplicate {quoted(representative)} represents it"
        elif strata := pools.passed_over_by(store, facts.name, topic, document):
            why = f"it was not sampled (stratum {strata[0]})"
        elif some is not None and document in some.numbers:
            best, run = min((rank, run) for run, rank in some.ranks_of(document))
            why = f"its best rank is {best:,}, in {run}"
        where = f"in the pool {quoted(facts.name)} of topic {quoted(topic)}"
        raise InputError(f"{quoted(document)} is not {where}; {why}")

    def verify(self, name: str = "") -> verification.Verified:
        """Build a pool again from the stored runs, and say what differs."""
        return verification.verify_pool(self._store, name)

    def _state_notes(self, name: str) -> list[str]:
        """What of a pool is judged already, and what cannot be shown to an assessor."""
        store, pooled = self._store, events.pooled_documents(self._store, pool=name)
        judged = len(events.answered_pairs(store, MAIN).intersection(pooled))
        notes = [f"{judged:,} of them judged already, {len(pooled) - judged:,} left to judge"] if judged else []
        return notes + outside.nowhere(store, ask=True)

    def _refuse_known_name(self, name: str) -> None:
        if not name.strip() or not name.isprintable():
            raise InputError(f"a pool needs a printable name, not {quoted(name)}")
        if pools.pool_number(self._store, name):
            raise InputError(
                f"a pool named {quoted(name)} already exists; pool extend adds later runs to it, --name creates"
                " another"
            )

    def _check_live(self, built: pooling.Pool, runs: candidates.PooledRuns, clusters: dict[str, int] | None) -> None:
        """Refuse a live pool that cannot begin: its budget, its floors, its texts, its library."""
        store = self._store
        words = inputs.words(store)
        started = live.LivePool(built.plan, runs, pool=built, clusters=clusters, words=words)
        started.at(started.topics[0])
        if not any(step.strategy.reads_text for _, step in built.plan.selections):
            return
        # A topic that cannot be read is refused now, not when it is judged. To read everything takes long; a topic
        # with words has some, so that only the documents of the others are read.
        for topic in started.topics:
            documents = candidates.candidates_of(runs, topic).ids
            if unknown := set(documents) - stored_documents.content_hashes(store, documents).keys():
                raise InputError(
                    f"the plan reads document texts, and {quoted(min(unknown))} is not in the collection"
                )
            if not baseline.words_of(words.queries.get(topic, "")):
                started.at(topic)
                started.drop(topic)

    def _new_runs(self, name: str, names: Sequence[str]) -> list[stored_runs.RunFacts]:
        """The runs that a pool does not have yet; an error says everything that keeps one of them out."""
        pooled = pools.pooled_runs(self._store, name)
        by_content = {one.content_hash: one.run for one in pooled}
        found = [stored_runs.find(self._store, word) for word in dict.fromkeys(names)]
        if not names:
            found = [
                one
                for one in stored_runs.facts(self._store)
                if one.role == CONTRIBUTING and one.content_hash not in by_content
            ]
        problems = []
        for one in found:
            if one.content_hash in by_content:
                message = f"run {quoted(one.name)} is already in the pool, as {quoted(by_content[one.content_hash])}"
                problems.append(Problem("pooled-already", message, remedy="name runs that are not in the pool"))
            elif one.name in by_content.values():
                message = f"the pool already has a run named {quoted(one.name)}, with other content"
                remedy = "submit it under another name; the documents of the earlier run stay in the pool"
                problems.append(Problem("name-pooled", message, remedy=remedy))
        if problems:
            raise ProblemsFound(f"the pool {quoted(name)} cannot be extended", problems)
        if not found:
            raise InputError(
                f"the pool {quoted(name)} has every contributing run: submit another, or name runs with --run"
            )
        return found


def _changed(name: str, built: pooling.Pool, notes: Sequence[str]) -> Changed:
    facts: dict[str, Value] = {
        "name": name,
        "version": built.version,
        "documents": len(built),
        "topics": len(built.topics),
        "runs": len(built.sources),
        "plan": str(built.plan),
        "content_hash": built.content_hash,
    }
    return Changed(facts, (*notes, f"content hash {built.content_hash}"))
