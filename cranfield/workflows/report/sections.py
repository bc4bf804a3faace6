"""The report about a collection: what it is, how it was made, what it found, and how far that can be trusted.

Each section is a function of what it shows; `collection_page` puts them in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from cranfield._version import __version__
from cranfield.base.tables import Column, Number, Table, Value, facts_table, table_of, with_best
from cranfield.base.text import counted
from cranfield.evaluate.scores import Scores
from cranfield.judge.agreement import COEFFICIENTS
from cranfield.report.page import Block, Callout, Drawing, Fold, Literal, Page, Prose, Section, TableBlock
from cranfield.reuse.collection import CollectionReport
from cranfield.reuse.tables import groups_table, hold_out_table, trust_table, verdicts_table
from cranfield.workflows.evaluate.evaluate import best_group
from cranfield.workflows.pool.show import PoolView
from cranfield.workflows.report import material as materials
from cranfield.workflows.report.material import Material, TopicPart
from cranfield.workflows.reuse.reuse import about_collection

MOST_RUNS = 150
"""How many runs a topic lists; of more, only the best and the worst."""

ENDS = 20
MOST_TOPICS = 500
"""How many topics are shown in detail; of more, those on which runs differ most."""

_HARD = 0.1
_FLAGS = (
    "nothing relevant: all runs score 0, and the topic does not discriminate;"
    " very many relevant: more than half of the judged documents, the pool was probably too shallow;"
    " still yielding: the deepest rank of the pool still added relevant documents;"
    f" hard: no run reaches {_HARD}"
)
_TONES = {"fair": "good", "with care": "care", "unfair": "bad"}
_SHOWN_OF_HASH = 16


def collection_page(material: Material, drawings: Sequence[Drawing], *, missing: Sequence[str]) -> Page:
    """Arrange what is known into sections; `missing` are sentences on what is not."""
    status, topics = material.status, material.topics
    scores = None if material.evaluation is None else material.evaluation.scores

    def drawn(section: str) -> tuple[Drawing, ...]:
        return tuple(one for one in drawings if one.section == section)

    sections = [
        overview(material, missing),
        pool_section(material.pool),
        judging_section(material),
        leaderboard(material, drawn("scores")),
        topics_section(topics, scores),
        bias_section(material.bias, drawn("bias")),
    ]
    if curves := drawn("curves"):
        lead = "Precision of each run at eleven levels of recall."
        sections.append(Section("Precision and recall", curves, lead))
    size = f"{counted(status.counts.documents, 'document')}, {counted(len(topics), 'topic')}"
    facts = {"documents": status.counts.documents, "topics": len(topics)}
    facts |= {} if scores is None else {"runs": len(scores.run_names)}
    facts |= {"judged": sum(topic.judged for topic in topics), "relevant": sum(topic.relevant for topic in topics)}
    headline = [(name, f"{count:,}") for name, count in facts.items()]
    headline += [] if material.bias is None else [("non-contributing runs", material.bias.fairness)]
    made = f"Made by cranfield {__version__} on {material.made[:10]}."
    return Page(
        title=status.name or "A test collection",
        subtitle=f"A test collection: {size}"
        + ("" if scores is None else f", {counted(len(scores.run_names), 'run')}"),
        facts=tuple(headline),
        sections=(*sections, reproduce_section(material, size)),
        foot=(f"{made} The page is self-contained and needs no network.",),
    )


def overview(material: Material, missing: Sequence[str]) -> Section:
    """What the collection is, and what is not known of it."""
    status, scale = material.status, material.status.scale
    blocks: list[Block] = [
        Callout(f"{sentence[:1].upper()}{sentence[1:]}.", "care", "Not included:") for sentence in missing
    ]
    gain = Number("gain", digits=1)
    rows = [
        (step.grade, step.label, step.gain, step.grade >= scale.relevant_from, step.text) for step in scale.grades
    ]
    columns = ("grade", "label", gain, "relevant", Column("text", "meaning"))
    table = table_of(columns, rows, caption="Relevance scale")
    is_explained = any(step.text for step in scale.grades)
    blocks.append(TableBlock("scale", table if is_explained else table.select(range(4))))
    if status.counts.clusters:
        blocks.append(Prose(f"{counted(status.counts.clusters, 'cluster')} of near-duplicate documents found."))
    if material.guidelines:
        text = Literal(material.guidelines, "the guidelines")
        version = f"version {status.guidelines_version}"
        blocks.append(Fold("Guidelines for assessors", (text,), version))
    else:
        blocks.append(Prose("This collection has no written guidelines."))
    size = f"{counted(status.counts.documents, 'document')} and {counted(len(material.topics), 'topic')}"
    return Section("Overview", tuple(blocks), f"{status.name or 'This collection'} has {size}.")


def pool_section(pool: PoolView | None) -> Section:
    """How the pool was made, and what each run and group contributed to it."""
    if pool is None:
        return Section("Pool", (Prose("This collection has no pool."),))
    facts, runs, groups = pool.facts, pool.runs, pool.groups
    chosen = f"{counted(pool.documents, 'document')} for {counted(len(pool.topics), 'topic')} pooled"
    made = {"plan": facts.plan, "seed": str(facts.seed), "content hash": facts.content_hash}
    made |= {"made": facts.made[:10], "made by": facts.made_by}
    of_groups = table_of(
        ["group", "runs", "documents", "unique"],
        groups,
        caption="Contribution of each group to the pool",
        notes=["unique: pooled documents that no other group contributed; without the group they would be unjudged"],
    )
    of_runs = table_of(["run", "group", "documents", "unique"], runs, caption="Contribution of each run to the pool")
    blocks: tuple[Block, ...] = (
        TableBlock("pool", facts_table(made, caption="How the pool was made")),
        TableBlock("pool-groups", of_groups),
        TableBlock("pool-runs", of_runs, folded=True),
        Fold(
            "The pooling plan with all options", (Literal(facts.plan_in_full, "the pooling plan with all options"),)
        ),
    )
    if (warning := pool.dominance) is not None:
        blocks = (Callout(f"{warning.message}.", "care", "Warning:"), *blocks)
    lead = f"{chosen} from {counted(len(runs), 'run')} of {counted(len(groups), 'group')}."
    return Section("Pool", blocks, lead)


def judging_section(material: Material) -> Section:
    """Who judged how much and how fast, and how far they agree."""
    part = material.judging
    if part is None:
        return Section("Judging", (Prose("This collection has no pool, and so no progress of judging to report."),))
    share = f" ({part.judged / part.documents:.0%})" if part.documents else ""
    lead = f"{part.judged:,} of {counted(part.documents, 'pooled document')}{share} are judged"
    lead += f"; {counted(part.missing, 'judgment')} missing." if part.missing else "."
    blocks: list[Block] = []
    if part.seconds is not None:
        blocks.append(Prose(f"Median time per judgment: {counted(round(part.seconds), 'second')}."))
    rows = [
        (material.names.get(one.assessor, "?"), one.judged, one.cannot, one.postponed, one.seconds, one.last[:10])
        for one in part.assessors
    ]
    if rows:
        times = Number("seconds", "median seconds", digits=0), Column("last", "last active")
        columns = ("assessor", "judged", "cannot_judge", "postponed", *times)
        speed = table_of(columns, rows, caption="Judgments and speed of each assessor")
        blocks.append(TableBlock("assessors", speed))
    if material.agreement is None:
        return Section("Judging", (*blocks, Prose(f"Agreement unknown: {material.no_agreement}.")), lead)
    report = material.agreement
    if report.overall.estimates and report.pairs:
        numbers = [Number(name, digits=3) for name in ("value", "low", "high")]
        estimates = [
            (one.coefficient, one.value, one.low, one.high, one.items, COEFFICIENTS[one.coefficient])
            for one in report.overall.estimates
        ]
        overall = table_of(
            ["coefficient", *numbers, "items", Column("what", "description")],
            estimates,
            caption="Agreement of all assessors, with 95% confidence intervals",
        )
        blocks.append(TableBlock("agreement", overall))
        pairs = report.wide_table("pair", names=material.names)
        blocks.append(TableBlock("agreement-pairs", pairs, folded=True))
        blocks.append(TableBlock("agreement-topics", report.wide_table("topic"), folded=True))
        blocks.append(TableBlock("agreement-over-time", report.wide_table("time")))
    if report.probes:
        probes = report.wide_table("probes", names=material.names)
        blocks.append(TableBlock("agreement-with-oneself", probes))
    return Section("Judging", tuple(blocks), lead)


def leaderboard(material: Material, drawings: Sequence[Drawing]) -> Section:
    """The scores of all runs with their verdicts, then measure by measure how far they can be trusted."""
    evaluation = material.evaluation
    if evaluation is None:
        return Section("Leaderboard", (Prose("No scores: runs and judgments are needed."),))
    scores, letters, trust = evaluation.scores, evaluation.letters, evaluation.trust
    order = np.argsort(-np.nan_to_num(scores.summary[0]), kind="stable").tolist()
    names = [scores.run_names[run] for run in order]
    best = best_group(scores) if len(names) > materials.LETTERED else None
    groups = {run.name: run.group_name for run in material.status.runs}
    # A run, its first score and its verdict stand first, where a phone shows them.
    columns: dict[Column, Sequence[Value]] = {Column("run"): names}
    for place, measure in enumerate(map(str, scores.measures)):
        columns[Number(measure, measure)] = scores.summary[place, order].tolist()
        if place == 0:
            verdicts = [None if trust is None else trust.worst(run) for run in order]
            levels = ["" if verdict is None else verdict.short for verdict in verdicts]
            columns[Column("verdict", "worst verdict", "verdict")] = levels
        if letters is not None and letters.by_measure[place]:
            own = letters.by_measure[place]
            columns[Column(f"letters_{measure}", f"{measure} letters")] = [own.get(name, "") for name in names]
        if place == 0 and best is not None:
            columns[Column("level_with_best", "level with the best")] = [name in best.runs for name in names]
    columns[Column("group")] = [groups.get(name, "") for name in names]
    columns[Column("pooled", "pooled")] = [name in material.pooled_runs for name in names]
    notes = [] if letters is None else [f"letters: {letters.said}"]
    notes += [] if best is None else [best.said]
    rows = list(zip(*columns.values(), strict=True))
    board = table_of(list(columns), rows, caption="All runs, best first", notes=notes)
    board = with_best(board, [place for place, column in enumerate(columns) if column.kind == "number"])
    blocks: list[Block] = [TableBlock("leaderboard", board)]
    for one in () if trust is None else trust.trusts:
        table = trust_table(one, range(len(scores.run_names)))
        # Verdict and why stand beside the score: a page is read from the left, and cut at the right.
        first = [0, 1, *(at for at, column in enumerate(table.columns) if column.name in ("verdict", "reason"))]
        table = table.select([*first, *(at for at in range(len(table.columns)) if at not in first)])
        blocks.append(TableBlock(f"trust-{re.sub(r'[^A-Za-z0-9]+', '-', str(one.measure)).strip('-')}", table))
    blocks += [Prose(points=evaluation.facts)] if evaluation.facts else []
    lead = "Means over topics. The verdict says how reliable a score is, given the unjudged documents of the run."
    return Section("Leaderboard", (*blocks, *drawings), lead)


# What averages hide, topic by topic.


def topics_section(topics: Sequence[TopicPart], scores: Scores | None) -> Section:
    """One table of all topics, and behind each topic its runs and its relevant documents."""
    counts = [Number("judged"), Number("relevant")]
    if scores is None:
        rows = [(part.topic.id, part.topic.title, part.judged, part.relevant) for part in topics]
        table = table_of([Column("topic"), Column("title"), *counts], rows, caption="Topics")
        return Section("Topics", (TableBlock("topics", table),))
    lead = "What the means hide: which topics are hard, which discriminate between runs, and which do not."
    places = {topic: place for place, topic in enumerate(scores.topic_ids)}
    blocks: list[Block] = [TableBlock("topics", _topics_table(topics, scores, places))]
    if len(scores.run_names) > MOST_RUNS:
        blocks.append(Prose(f"Each topic lists the best and the worst {ENDS} of {len(scores.run_names):,} runs."))
    # All topics that say something are shown in detail; of very many those on which runs differ most.
    spread = np.nan_to_num(scores.values[0].std(axis=0))
    telling = [part.topic.id for part in topics if part.topic.id in places or part.found]
    telling.sort(key=lambda topic: -float(spread[places[topic]]) if topic in places else 0.0)
    opened = set(telling[:MOST_TOPICS])
    if len(opened) < len(topics) and len(opened) == MOST_TOPICS:
        blocks.append(Prose(f"The {MOST_TOPICS} topics on which runs differ most are shown in detail below."))
    for number, part in enumerate(topics, start=1):
        if part.topic.id in opened:
            blocks.append(_topic_fold(part, number, scores, places.get(part.topic.id)))
    return Section("Topics", tuple(blocks), lead)


def _topics_table(topics: Sequence[TopicPart], scores: Scores, places: dict[str, int]) -> Table:
    headings = {"mean": "mean", "best": "best", "worst": "worst", "spread": "spread over runs"}
    numeric = [Number(name, heading, digits=3) for name, heading in headings.items()]
    rows: list[tuple[Value, ...]] = []
    for part in topics:
        place = places.get(part.topic.id)
        values = np.full(1, np.nan) if place is None else scores.values[0][:, place]
        numbers = [
            None if place is None else float(one) for one in (values.mean(), values.max(), values.min(), values.std())
        ]
        flags = ["very many relevant"] if 2 * part.relevant > part.judged else []
        flags += ["still yielding"] if part.not_exhausted else []
        flags += ["hard"] if values.max() < _HARD else []
        if not part.relevant:
            flags = ["nothing relevant" if part.judged else "nothing judged"]
        rows.append((part.topic.id, part.topic.title, *numbers, part.relevant, part.judged, ", ".join(flags)))
    caption = f"Topics by {scores.measures[0]} over all runs"
    return table_of(
        ["topic", "title", *numeric, "relevant", "judged", "flags"],
        rows,
        caption=caption,
        notes=["spread: standard deviation over runs", _FLAGS],
    )


def _topic_fold(part: TopicPart, number: int, scores: Scores, place: int | None) -> Fold:
    topic = part.topic
    # Where the id cannot be part of a file name, the number of the topic is.
    is_plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", topic.id)
    name = f"topic-{topic.id if is_plain else f'number-{number}'}"
    blocks: list[Block] = [
        Prose(" ".join(text.split())) for text in (topic.description, topic.narrative) if text.strip()
    ]
    if place is not None:
        blocks.append(TableBlock(name, runs_of_topic(scores, place)))
    if part.found:
        places = Number("runs", "retrieved by runs"), Number("rank", "best rank")
        left = part.relevant - len(part.found)
        notes = (
            [f"the {len(part.found)} retrieved by the fewest runs; {left:,} more are relevant"] if left > 0 else []
        )
        caption = f"Topic {topic.id}: relevant documents, those retrieved by the fewest runs first"
        table = table_of(("document", "title", "grade", *places), part.found, caption=caption, notes=notes)
        is_titled = any(title for _, title, *_ in part.found)
        blocks.append(TableBlock(f"{name}-relevant", table if is_titled else table.select([0, 2, 3, 4])))
    hint = f"{part.relevant:,} of {part.judged:,} judged documents relevant"
    return Fold(f"{topic.id}: {topic.title}" if topic.title else topic.id, tuple(blocks), hint)


def runs_of_topic(scores: Scores, place: int) -> Table:
    """The runs on one topic from the best down; of very many the best and the worst."""
    order = np.argsort(-scores.values[0][:, place], kind="stable").tolist()
    cut = len(order) > MOST_RUNS
    listed = [*order[:ENDS], *order[-ENDS:]] if cut else order
    columns = [Column("run"), *(Number(str(one), str(one)) for one in scores.measures)]
    rows = [(scores.run_names[run], *scores.values[:, run, place].tolist()) for run in listed]
    notes = [f"the best and the worst {ENDS} of {counted(len(order), 'run')}"] if cut else []
    return table_of(columns, rows, caption=f"Topic {scores.topic_ids[place]}: scores of the runs", notes=notes)


def bias_section(bias: CollectionReport | None, drawings: Sequence[Drawing]) -> Section:
    """How fair the pool is to systems that did not contribute to it."""
    title = "Pool bias and reusability"
    if bias is None:
        unknown = (
            "Whether the pool is fair to non-contributing runs is not known: the contributing runs are not known."
        )
        return Section(title, (Prose(unknown), *drawings))
    verdict = f"{'; '.join(f'{one.measure}: {one.fairness}, {one.reason}' for one in bias.verdicts)}."
    tables = {"fairness": verdicts_table(bias), "hold-out-groups": hold_out_table(bias, level="group")}
    tables |= {"groups-alone": groups_table(bias), "hold-out-runs": hold_out_table(bias, level="run")}
    tables |= {"hold-out-families": hold_out_table(bias, level="family")}
    folded = ("hold-out-runs", "hold-out-families")
    blocks = [TableBlock(name, table, name in folded) for name, table in tables.items() if table is not None]
    heading = f"Non-contributing runs: {bias.fairness}."
    callout = Callout(verdict, _TONES.get(bias.fairness, "plain"), heading)
    lead = "Is the pool fair to runs that did not contribute to it? Each group is held out in turn."
    sentences = tuple(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in about_collection(bias))
    return Section(title, (callout, Prose(points=sentences), *blocks, *drawings), lead)


def reproduce_section(material: Material, size: str) -> Section:
    """How to cite the collection, which qrels the numbers are of, and the commands that make them again."""
    qrels, pool, licence = material.qrels, material.pool, material.licence
    of_qrels = "no qrels" if qrels is None else f"qrels {qrels.content_hash[:_SHOWN_OF_HASH]}"
    of_pool = "" if pool is None else f", pool {pool.facts.plan!r} with seed {pool.facts.seed}"
    cite = f"{material.status.name or 'collection'}: {size}, {of_qrels}{of_pool}; cranfield {__version__}."
    blocks: list[Block] = [
        Prose("Cite the collection with the hash of its qrels: scores from other qrels are not comparable."),
        Literal(cite, "how to cite it"),
        Prose(f"Licence: {licence.rstrip('.')}." if licence else "No licence is stated."),
    ]
    if qrels is not None:
        is_now = material.release is None and bool(material.layers)
        name = "the judgments at the time of this report" if is_now else qrels.name
        origin = {"qrels": name, "content hash": qrels.content_hash}
        if material.rule:
            origin |= {"layers": ", ".join(material.layers), "rule": ", else ".join(material.rule)}
        blocks.append(TableBlock("qrels", facts_table(origin, caption="The qrels of all scores")))
    commands = "\n".join(f"$ {command}" for command in _commands(material))
    caption = "Content hashes: the same content has the same hash in every file format"
    sums = table_of(["what", Column("sha256", "SHA-256")], list(material.checksums.items()), caption=caption)
    blocks += [
        Prose("These commands reproduce the numbers on this page:"),
        Literal(commands, "commands"),
        TableBlock("checksums", sums),
    ]
    return Section("Cite and reproduce", tuple(blocks))


def _commands(material: Material) -> Iterator[str]:
    request, evaluation = material.request, material.evaluation
    words = "".join(f" -m '{measure}'" for measure in request.measures)
    words += f" --qrels {request.qrels}" if request.qrels else ""
    words += "".join(f" --layer {layer}" for layer in request.layers if request.layers != ("main",))
    if material.pool is not None:
        yield "cranfield pool verify"
    if evaluation is not None:
        yield f"cranfield evaluate{words}" + (" --letters tukey" if evaluation.letters else "")
        if evaluation.trust is not None:
            yield f"cranfield reuse{words}"
    yield f"cranfield report{words}" + (" --public" if request.public else "")
