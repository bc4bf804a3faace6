"""The report about a collection: what it is, how it was made, what it found, and how far that can be trusted."""

from collections.abc import Iterator

from cranfield.report.page import Block, Callout, Fold, Literal, Page, Prose, Section, TableBlock
from cranfield.report.reports.collection_facts import CollectionFacts, JudgingPart, PoolPart
from cranfield.report.reports.collection_scores import leaderboard, topics_section
from cranfield.report.reuse_tables import groups_table, hold_out_table, verdicts_table
from cranfield.report.table import Column, facts_table, table_of
from cranfield.text import counted

_TONES = {"fair": "good", "with care": "care", "unfair": "bad"}
_SHOWN_OF_HASH = 16


def collection_page(facts: CollectionFacts) -> Page:
    """Arrange the facts into sections."""
    sections: tuple[Section, ...] = (
        _what(facts),
        _pool(facts),
        _judging(facts),
        leaderboard(facts),
        topics_section(facts),
        _bias(facts),
    )
    curves = facts.drawings.get("curves", ())
    if curves:
        lead = "How much of what a run returns is relevant, while more and more of the relevant documents are found."
        sections += (Section("Precision and recall", curves, lead),)
    return Page(
        title=facts.name or "A test collection",
        subtitle=_subtitle(facts),
        facts=tuple(_headline(facts)),
        sections=(*sections, _reproduce(facts)),
        foot=(f"Made by {facts.made_by} on {facts.made[:10]}. The page is complete in itself: it asks no server.",),
    )


def _subtitle(facts: CollectionFacts) -> str:
    runs = len(facts.board.scores.run_names) if facts.board else 0
    told = f"{counted(facts.documents, 'document')}, {counted(len(facts.topics), 'topic')}"
    return f"A test collection: {told}" + (f", {counted(runs, 'run')}" if runs else "")


def _headline(facts: CollectionFacts) -> Iterator[tuple[str, str]]:
    yield "documents", f"{facts.documents:,}"
    yield "topics", f"{len(facts.topics):,}"
    if facts.board:
        yield "runs", f"{len(facts.board.scores.run_names):,}"
    yield "judged", f"{sum(topic.judged for topic in facts.topics):,}"
    yield "relevant", f"{sum(topic.relevant for topic in facts.topics):,}"
    if facts.bias is not None:
        yield "to outsiders", facts.bias.fairness


def _what(facts: CollectionFacts) -> Section:
    blocks: list[Block] = [
        Callout(sentence[:1].upper() + sentence[1:] + ".", "care", "Not here:") for sentence in facts.missing
    ]
    scale = facts.scale
    rows = [
        (step.grade, step.label, step.gain, step.grade >= scale.relevant_from, step.text) for step in scale.grades
    ]
    columns = [Column("grade", numeric=True), Column("label"), Column("gain", digits=1, numeric=True)]
    columns += [Column("relevant"), Column("text", "what it means")]
    shown = columns if any(step.text for step in scale.grades) else columns[:4]
    cells = [row[: len(shown)] for row in rows]
    blocks.append(TableBlock("scale", table_of(shown, cells, caption="The scale that documents are judged on")))
    if facts.duplicate_clusters:
        blocks.append(Prose(f"{counted(facts.duplicate_clusters, 'group')} of near-duplicate documents are known."))
    if facts.guidelines:
        text = Literal(facts.guidelines, "the guidelines")
        blocks.append(Fold("What assessors were told", (text,), f"guidelines, version {facts.guidelines_version}"))
    else:
        blocks.append(Prose("There are no written guidelines."))
    lead = f"{facts.name or 'This collection'} has {counted(facts.documents, 'document')} and"
    return Section("What it is", tuple(blocks), f"{lead} {counted(len(facts.topics), 'topic')}.")


def _pool(facts: CollectionFacts) -> Section:
    pool = facts.pool
    if pool is None:
        return Section("The pool", (Prose("No pool was built here."),))
    spread = f"{counted(pool.documents, 'document')} of {counted(pool.topics, 'topic')} were chosen to be judged"
    lead = f"{spread}, from {counted(len(pool.runs), 'run')} of {counted(len(pool.groups), 'group')}."
    made = {"plan": pool.plan, "seed": str(pool.seed), "content hash": pool.content_hash}
    made |= {"made": pool.made[:10], "made by": pool.made_by}
    warned = tuple(Callout(f"{warning}.", "care", "Mind:") for warning in pool.warnings)
    in_full = Literal(pool.plan_in_full, "the plan in full")
    blocks = (*warned, TableBlock("pool", facts_table(made, caption="How the pool was made")), *_brought(pool))
    return Section("The pool", (*blocks, Fold("The plan with every option", (in_full,))), lead)


def _brought(pool: PoolPart) -> Iterator[Block]:
    numbers = [Column("documents", numeric=True), Column("unique", "only this group", numeric=True)]
    note = "only this group: documents of the pool that no other group brought; without the group nobody judged them"
    groups = [Column("group"), Column("runs", numeric=True), *numbers]
    yield TableBlock("pool-groups", table_of(groups, pool.groups, caption="What each group brought", notes=[note]))
    runs = [Column("run"), Column("group"), *numbers]
    yield TableBlock("pool-runs", table_of(runs, pool.runs, caption="What each run brought"), folded=True)


def _judging(facts: CollectionFacts) -> Section:
    part = facts.judging
    if part is None:
        return Section("Judging", (Prose("Nothing was judged here; the grades came from elsewhere."),))
    share = f" ({100 * part.judged / part.documents:.0f} %)" if part.documents else ""
    lead = f"{part.judged:,} of {counted(part.documents, 'pooled document')}{share} have a grade"
    lead += f"; {counted(part.missing, 'answer')} missing." if part.missing else "."
    return Section("Judging", tuple(_judged(part)), lead)


def _judged(part: JudgingPart) -> Iterator[Block]:
    if part.seconds is not None:
        yield Prose(f"Half of all judgments took at most {counted(round(part.seconds), 'second')}.")
    columns = [Column("assessor"), *(Column(name, numeric=True) for name in ("judged", "cannot_judge", "postponed"))]
    columns += [Column("seconds", "median seconds", digits=0, numeric=True), Column("last", "last seen")]
    if part.assessors:
        yield TableBlock("assessors", table_of(columns, part.assessors, caption="Who judged how much, and how fast"))
    if part.no_agreement:
        yield Prose(f"Agreement is not known: {part.no_agreement}.")
    for name, table in part.agreement.items():
        yield TableBlock(name, table, folded=name in ("agreement-pairs", "agreement-topics"))


def _bias(facts: CollectionFacts) -> Section:
    title, bias, drawings = "Pool bias and reusability", facts.bias, facts.drawings.get("bias", ())
    if bias is None:
        unknown = "How fair the pool is to systems from outside cannot be told here: it is not known who fed it."
        return Section(title, (Prose(unknown), *drawings))
    verdict = f"{'; '.join(f'{one.measure}: {one.fairness}, {one.reason}' for one in bias.verdicts)}."
    tables = {"fairness": verdicts_table(bias), "hold-out-groups": hold_out_table(bias, level="group")}
    tables |= {"groups-alone": groups_table(bias), "hold-out-runs": hold_out_table(bias, level="run")}
    tables |= {"hold-out-families": hold_out_table(bias, level="family")}
    folded = ("hold-out-runs", "hold-out-families")
    blocks = [TableBlock(name, table, name in folded) for name, table in tables.items() if table is not None]
    callout = Callout(
        verdict, _TONES.get(bias.fairness, "plain"), f"To systems that were not in the pool: {bias.fairness}."
    )
    lead = "Would a system that came too late for the pool be scored fairly? Each group is held out to see."
    said = tuple(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in facts.bias_said)
    return Section(title, (callout, Prose(points=said), *blocks, *drawings), lead)


def _reproduce(facts: CollectionFacts) -> Section:
    qrels = f"qrels {facts.qrels.content_hash[:_SHOWN_OF_HASH]}" if facts.qrels else "no qrels"
    pool = f", pool {facts.pool.plan!r} with seed {facts.pool.seed}" if facts.pool else ""
    cite = f"{facts.name or 'collection'}: {counted(facts.documents, 'document')}, "
    cite += f"{counted(len(facts.topics), 'topic')}, {qrels}{pool}; {facts.made_by}."
    columns = [Column("what"), Column("sha256", "SHA-256")]
    caption = "Hashes of the content: the same content has the same hash in any file format"
    blocks: tuple[Block, ...] = (
        Prose("Name the collection and the hash of the qrels: scores of other qrels cannot be compared with these."),
        Literal(cite, "how to cite it"),
        Prose(f"Licence: {facts.licence.rstrip('.')}." if facts.licence else "No licence is named."),
        *_origin(facts),
        Prose("These commands make the numbers of this page again:"),
        Literal("\n".join(f"$ {command}" for command in facts.commands), "commands"),
        TableBlock("checksums", table_of(columns, facts.checksums, caption=caption)),
    )
    return Section("Cite and reproduce", blocks)


def _origin(facts: CollectionFacts) -> Iterator[Block]:
    """Say which qrels the numbers are of, and how they were made."""
    qrels = facts.qrels
    if qrels is None:
        return
    told = {"qrels": qrels.name, "content hash": qrels.content_hash}
    told |= {"layers": ", ".join(qrels.layers), "rule": ", else ".join(qrels.rule)} if qrels.rule else {}
    yield TableBlock("qrels", facts_table(told, caption="The qrels behind all numbers"))
