"""The report about a collection as a story: which scores can be used, what to judge next, and what that rests on.

Each section is a function of what it shows; `collection_page` puts them in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from cranfield._version import __version__
from cranfield.base.text import Column, Number, Value, counted, facts_table, few, table_of
from cranfield.judge.queue import Speed
from cranfield.report.page import (
    Block,
    Callout,
    Drawing,
    Fold,
    Legend,
    Literal,
    Page,
    Prose,
    Range,
    Section,
    Switch,
    TableBlock,
)
from cranfield.reuse.assess import Assessment
from cranfield.reuse.collection import MeasureVerdict
from cranfield.reuse.tables import groups_table, trust_table, verdicts_table
from cranfield.reuse.verdict import MARKS, WORST_FIRST, Level
from cranfield.workflows.judge.agreement import OVERALL, AgreementReport, overall_table
from cranfield.workflows.pool.show import ASSUMED_SECONDS, dominant_group
from cranfield.workflows.reuse.reuse import about_collection

if TYPE_CHECKING:
    from cranfield.workflows.report.report import Material

_TOLD = 3
"""How many runs of one verdict are told of in words."""

_HARD = 0.1
_FLAGS = (
    "nothing relevant: no document is judged {} or higher;"
    " very many relevant: more than half of the judged documents, the pool was probably too shallow;"
    " still yielding: the deepest rank of the pool still added relevant documents;"
    " hard: no run reaches {}"
)
_FAIRNESS = {
    "fair": ("good", "A new run, which was not pooled, can be scored fairly:"),
    "with care": ("care", "A new run, which was not pooled, can be scored with care:"),
    "unfair": ("bad", "A new run, which was not pooled, cannot be scored fairly:"),
    "untestable": ("plain", "Whether a new run can be scored fairly is not known:"),
}
_DOUBTS: dict[Level, tuple[str, str]] = {
    "UNRELIABLE": ("bad", "Not to be used:"),
    "UNTESTABLE": ("care", "Not known:"),
    "PROVISIONAL": ("care", "Provisional:"),
    "CAUTION": ("care", "With care:"),
}
_MEANINGS: dict[Level, str] = {
    "POOLED": "Its top documents were all pooled and judged.",
    "SAFE": "Judging the unjudged documents would hardly change the score.",
    "CAUTION": "Unjudged documents may change the score: only large differences count.",
    "UNRELIABLE": "Unjudged documents decide the score: do not compare it.",
    "UNTESTABLE": "What unjudged documents would change cannot be estimated with this pool.",
    "PROVISIONAL": "The pool is not fully judged yet.",
}
_DRAWN = (
    "Point: the score, with unjudged documents counted as not relevant. Thick line: how far judging them would"
    " probably move it (95%). Thin line: the lowest and the highest possible score."
)
_BOARD = ("run", "score", "possible", "verdict", "reason", "judged", "holes", "loss", "complete")
_SHOWN_OF_HASH = 16


def collection_page(material: Material, drawings: Sequence[Drawing], *, missing: Sequence[str]) -> Page:
    """Arrange what is known; `missing` are sentences on what is not."""
    status, topics = material.status, material.topics

    def drawn(section: str) -> tuple[Drawing, ...]:
        return tuple(one for one in drawings if one.section == section)

    kept_outside = f" ({status.documents_outside:,} of them outside)" if status.outside else ""
    documents = counted(status.counts.documents + status.documents_outside, "document")
    size = f"{documents}{kept_outside}, {counted(len(topics), 'topic')}"
    groups = counted(status.counts.groups, "group")
    runs = f" and {counted(len(status.runs), 'run')} of {groups}" if status.runs else ""
    judged, relevant = (sum(getattr(one, name) for one in topics) for name in ("judged", "relevant"))
    told = f"{counted(judged, 'document')} judged, {relevant:,} of them relevant" if judged else "nothing judged yet"
    agreement = [] if material.agreement is None else [agreement_section(material, material.agreement)]
    return Page(
        title=status.name or "A test collection",
        subtitle=f"A test collection of {size}{runs}; {told}.",
        answers=(usable_scores(material, missing), next_steps(material)),
        sections=(
            leaderboard(material, drawn("scores")),
            topics_section(material, drawn("topics")),
            pool_section(material, drawn("pool")),
            judging_section(material),
            *agreement,
            made_section(material, size),
        ),
        foot=(f"Made by cranfield {__version__} on {material.made[:10]}.",),
    )


# The two questions that everybody has first.


def usable_scores(material: Material, missing: Sequence[str]) -> Section:
    """How many scores can be used, and what is wrong with the others; measures that agree on it are one statement."""
    alike: dict[tuple[Level, ...], list[Assessment]] = {}
    if (trust := material.trust) is not None:
        for one in trust.trusts:
            alike.setdefault(tuple(verdict.level for verdict in one.verdicts[: trust.field.asked]), []).append(one)
    blocks: list[Block] = []
    told: set[tuple[int, Level]] = set()
    for levels, ones in alike.items():
        total, usable = len(levels), sum(not MARKS[level] for level in levels)
        part = f"{usable:,} of {total:,}" if 0 < usable < total else f"{'all' if usable else 'none of the'} {total:,}"
        count = f"{part} scores can be used" if total > 1 else f"the score {'can' if usable else 'cannot'} be used"
        count = f"{_names(material, ones)}: {count}" if len(alike) > 1 else f"{count[:1].upper()}{count[1:]}"
        deep = [one for one in ones if usable and one.evidence[0].to_rank]
        only = f"{_names(material, deep)} is judged down to rank {deep[0].evidence[0].to_rank} only." if deep else ""
        blocks.append(Callout(only, "good" if usable and not deep else "care", f"{count}."))
        for level in filter(MARKS.get, WORST_FIRST):
            if runs := [run for run, known in enumerate(levels) if known == level and (run, level) not in told]:
                tone, heading = _DOUBTS[level]
                blocks.append(Callout(f"{'; '.join(_about_runs(material, ones[0], runs))}.", tone, heading))
                told |= {(run, level) for run in runs}
    # A pool is not praised by a measure by which no score can be used.
    bad = {one.measure for levels, ones in alike.items() if all(map(MARKS.get, levels)) for one in ones}
    verdicts = () if material.bias is None else material.bias.verdicts
    if fair := [one for one in verdicts if one.measure not in bad or one.fairness in ("unfair", "untestable")]:
        worst = max(fair, key=lambda one: [*_FAIRNESS].index(one.fairness))
        tone, heading = _FAIRNESS[worst.fairness]
        blocks.append(Callout(f"{_short(material, worst)}: {worst.reason}.", tone, heading))
    if material.evaluation is None:
        blocks.append(Prose("None yet: scores need runs and judgments."))
    blocks += [Callout(f"{sentence}.", "care", "Not included:") for sentence in missing]
    return Section("Which scores can be used?", tuple(blocks))


def _names(material: Material, ones: Sequence[Assessment]) -> str:
    return ", ".join(_short(material, one) for one in ones)


def _short(material: Material, one: Assessment | MeasureVerdict) -> str:
    """A measure without what the scale of the collection says anyway."""
    return str(one.measure).replace(f"(rel={material.status.scale.relevant_from})", "")


def _about_runs(material: Material, one: Assessment, runs: Sequence[int]) -> Iterator[str]:
    """What is wrong with the scores of some runs with the same verdict; of many, of those that may be best."""
    if len(runs) > 1 and len(reasons := {one.verdicts[run].reason for run in runs}) == 1:
        yield f"{counted(len(runs), 'score')}, {reasons.pop()}"
        return
    runs = sorted(runs, key=lambda run: -_range(one, run)[2])
    for run in runs if len(runs) <= _TOLD else runs[:1]:
        evidence, verdict, name = one.evidence[run], one.verdicts[run], one.run_names[run]
        values = (float(one.score[run]) + more for more in (0.0, evidence.loss or 0.0))
        score, likely = (f"{one:.2f}".removeprefix("0") if one < 1 else f"{one:,.2f}" for one in values)
        if verdict.level == "UNRELIABLE" and evidence.unjudged and score != likely:
            documents = counted(evidence.unjudged, "document")
            never = (
                f"{documents} in its top {evidence.depth} {'was' if evidence.unjudged == 1 else 'were'} never judged"
            )
            rated = "underrated" if (evidence.loss or 0.0) > 0 else "overrated"
            yield f"{name} is {rated}: {never}, and its {_short(material, one)} is likely {likely}, not {score}"
        else:
            yield f"{name}: {verdict.reason}"
    if len(runs) > _TOLD:
        yield f"also {few([one.run_names[run] for run in runs[1:]], _TOLD)}"


def next_steps(material: Material) -> Section:
    """What to judge next, and the commands for it."""
    blocks: list[Block] = []
    for number, (what, command) in enumerate(_steps(material), start=1):
        blocks += [Prose(what), Literal(command, f"commands of step {number}")]
    nothing = Prose("Nothing: the pool is judged, and all scores can be used.")
    return Section("What to judge next?", tuple(blocks or [nothing]))


def _steps(material: Material) -> Iterator[tuple[str, str]]:
    status, pool, evaluation = material.status, material.pool, material.evaluation
    speed = Speed(ASSUMED_SECONDS) if pool is None else pool.speed
    unjudged = status.counts.unjudged
    if pool is None or evaluation is None or unjudged or status.unfinished:
        what, command = status.next_step
        what = f"judge {counted(unjudged, 'unjudged pooled document')}: {speed.cost(unjudged)}" if unjudged else what
        yield f"{what[:1].upper()}{what[1:]}.", f"cranfield {command}"
        return
    doubtful, below = dict[int, Assessment](), list[str]()
    if (trust := material.trust) is not None:
        for one in trust.trusts:
            unjudged_in = [run for run in trust.marks(one) if one.evidence[run].unjudged]
            doubtful = dict.fromkeys((run for run in unjudged_in if not trust.field.contributed(run)), one) | doubtful
            below += [_short(material, one)] * any(map(trust.field.contributed, unjudged_in))
    if status.queues:
        name = next(iter(status.queues))
        yield f"Finish the queue {name}.", f"cranfield judge --queue {quote(name)}"
    elif doubtful:
        likely = {
            run: (WORST_FIRST.index(one.verdicts[run].level), -_range(one, run)[2]) for run, one in doubtful.items()
        }
        run = min(doubtful, key=lambda run: likely[run])
        one, name = doubtful[run], doubtful[run].run_names[run]
        depth, count = int(one.coverage.depth.max()), one.evidence[run].unjudged
        what = f"Judge the {counted(count, 'unjudged document')} in the top {depth} of {name}: {speed.cost(count)}."
        what += f" {counted(len(doubtful) - 1, 'more run')} in the same way." if len(doubtful) > 1 else ""
        queue = quote(f"top-up-{name}")
        yield what, f"cranfield pool top-up {quote(name)} --depth {depth}\ncranfield judge --queue {queue}"
    if material.disputed:
        differ = counted(material.disputed, "document")
        yield (
            f"Decide on {differ} that one assessor finds relevant and another does not.",
            "cranfield judge adjudicate --across",
        )
    deeper = [f"{', '.join(below)} {'looks' if len(below) == 1 else 'look'} below its depth"] if below else []
    if going_on := sum(part.very_many or part.not_exhausted for part in material.topics):
        deeper.append(f"more relevant documents are likely in {counted(going_on, 'topic')}")
    if deeper:
        what = f"Consider a deeper pool: {'; '.join(deeper)}. What each depth would cost:"
        yield what, "cranfield pool show --by depth"


# The scores.


def leaderboard(material: Material, drawings: Sequence[Drawing]) -> Section:
    """The scores of all runs with intervals and verdicts, one measure at a time, and all side by side."""
    evaluation = material.evaluation
    if evaluation is None:
        return Section("Leaderboard", (Prose("No scores: runs and judgments are needed."),))
    trust, parts = material.trust, list[Fold]()
    for one in () if trust is None else trust.trusts:
        table = trust_table(one, range(len(evaluation.scores.run_names)))
        names = {column.name: place for place, column in enumerate(table.columns)}
        table = table.select([names[name] for name in _BOARD if name in names])
        headed = replace(table.columns[1], heading=_short(material, one))
        table = replace(table, columns=(table.columns[0], headed, *table.columns[2:]))
        runs = {name: run for run, name in enumerate(one.run_names)}
        ranges = tuple(_range(one, runs[str(row[0])]) for row in table.rows)
        name = f"trust-{re.sub(r'[^A-Za-z0-9]+', '-', str(one.measure)).strip('-')}"
        parts.append(Fold(_short(material, one), (TableBlock(name, table, ranges=ranges),)))
    whole = replace(evaluation.tables()[0], caption="All runs, best first")
    parts.append(Fold("all measures", (TableBlock("leaderboard", whole),)))
    blocks: list[Block] = [Switch("Measure", tuple(parts))]
    if trust is not None and trust.trusts:
        given = {verdict.level for one in trust.trusts for verdict in one.verdicts[: trust.field.asked]}
        meanings = tuple((level, what) for level, what in _MEANINGS.items() if level in given)
        blocks = [Legend(meanings), *blocks, Prose(_DRAWN)]
    blocks += [Prose(points=tuple(f"{fact}." for fact in evaluation.facts))] if evaluation.facts else []
    return Section("Leaderboard", (*blocks, *drawings))


def _range(one: Assessment, run: int) -> Range:
    score, evidence = float(one.score[run]), one.evidence[run]
    low, high = (score if end is None else end for end in evidence.interval)
    likely = score + (evidence.upper or 0.0)
    return low, min(score, likely), max(score, likely), high, score


# What averages hide, topic by topic.


def topics_section(material: Material, drawings: Sequence[Drawing]) -> Section:
    """One table of all topics."""
    topics, evaluation = material.topics, material.evaluation
    counts = [Number("judged"), Number("relevant")]
    if evaluation is None:
        rows = [(part.topic.id, part.topic.title, part.judged, part.relevant) for part in topics]
        table = table_of([Column("topic"), Column("title"), *counts], rows, caption="Topics")
        return Section("Topics", (TableBlock("topics", table),))
    lead = "What the means hide: which topics are hard, which discriminate between runs, and which do not."
    scores = evaluation.scores
    places = {topic: place for place, topic in enumerate(scores.topic_ids)}
    headings = {"mean": "mean", "best": "best", "spread": "spread over runs"}
    numeric = [Number(name, heading, digits=3) for name, heading in headings.items()]
    lines: list[tuple[Value, ...]] = []
    for part in topics:
        place = places.get(part.topic.id)
        values = np.full(1, np.nan) if place is None else scores.values[0][:, place]
        numbers = [None if place is None else float(one) for one in (values.mean(), values.max(), values.std())]
        flags = ["very many relevant"] if part.very_many else []
        flags += ["still yielding"] if part.not_exhausted else []
        flags += ["hard"] if values.max() < _HARD else []
        if not part.relevant:
            flags = ["nothing relevant" if part.judged else "nothing judged"]
        lines.append((part.topic.id, part.topic.title, *numbers, part.relevant, part.judged, ", ".join(flags)))
    caption = f"Topics by {scores.measures[0]} over all runs"
    notes = ["spread: standard deviation over runs", _FLAGS.format(material.status.scale.relevant_from, _HARD)]
    columns = [Column("topic"), Column("title"), *numeric, *map(Number, ("relevant", "judged")), Column("flags")]
    table = table_of(columns, lines, caption=caption, notes=notes)
    return Section("Topics", (TableBlock("topics", table), *drawings), lead)


# What the scores rest on: the pool, the judging, and how both were made.


def pool_section(material: Material, drawings: Sequence[Drawing]) -> Section:
    """What each group contributed to the pool, and how fair it is to runs that did not contribute."""
    pool, bias = material.pool, material.bias
    blocks: list[Block] = []
    lead = "This collection has no pool."
    if pool is not None:
        documents, topics = counted(pool.documents, "document"), counted(len(pool.topics), "topic")
        lead = f"{documents} for {topics} by the plan {pool.facts.plan}."
        if (warning := dominant_group(material.pool_groups)) is not None:
            blocks.append(Callout(f"{warning.message}.", "care", "Warning:"))
    if bias is None:
        unknown = "Whether a new run can be scored fairly is not known: the contributing runs are not known."
        return Section("Pool", (*blocks, Prose(unknown), *drawings), lead)
    blocks.append(
        Prose(points=tuple(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in about_collection(bias)))
    )
    blocks.append(TableBlock("fairness", verdicts_table(bias)))
    if "group" in bias.levels:
        blocks.append(TableBlock("groups-alone", groups_table(bias)))
    return Section("Pool", (*blocks, *drawings), lead)


def judging_section(material: Material) -> Section:
    """Who judged how much; how fast where enough was timed."""
    part = material.judging
    if part is None:
        return Section("Judging", (Prose("This collection has no pool, and so no progress of judging to report."),))
    share = f" ({part.judged / part.documents:.0%})" if part.documents else ""
    lead = f"{part.judged:,} of {counted(part.documents, 'pooled document')}{share} are judged"
    lead += f"; {counted(part.missing, 'judgment')} missing." if part.missing else "."
    blocks: list[Block] = []
    if material.pool is not None and material.pool.speed.measured_on:
        blocks.append(Prose(f"Judging took {material.pool.speed.pace}."))
    rows = [
        (material.names.get(one.assessor, "?"), one.judged, one.cannot, one.postponed, one.last[:10])
        for one in part.assessors
    ]
    if rows:
        columns = ("assessor", "judged", "cannot_judge", "postponed", Column("last", "last active"))
        blocks.append(TableBlock("assessors", table_of(columns, rows, caption="Judgments of each assessor")))
    if material.agreement is None:
        blocks.append(Prose(f"Agreement unknown: {material.no_agreement}."))
    return Section("Judging", tuple(blocks), lead)


def agreement_section(material: Material, report: AgreementReport) -> Section:
    """How far assessors agree, with each other and with themselves."""
    blocks: list[Block] = []
    if report.compared["pair"]:
        blocks.append(TableBlock("agreement", overall_table(report.compared["overall"], OVERALL)))
        pairs = report.wide_table("pair", names=material.names)
        blocks.append(Fold(pairs.caption, (TableBlock("agreement-pairs", pairs),)))
    if report.compared["probes"]:
        probes = report.wide_table("probes", names=material.names)
        blocks.append(TableBlock("agreement-with-oneself", probes))
    return Section("Agreement", tuple(blocks))


def made_section(material: Material, size: str) -> Section:
    """Scale, guidelines, plan, qrels and hashes; how to cite it, and the commands that make the numbers again."""
    status, qrels, pool, licence = material.status, material.qrels, material.pool, material.licence
    of_qrels = "no qrels" if qrels is None else f"qrels {qrels.content_hash[:_SHOWN_OF_HASH]}"
    of_pool = "" if pool is None else f", pool {pool.facts.plan!r} with seed {pool.facts.seed}"
    cite = f"{status.name or 'collection'}: {size}, {of_qrels}{of_pool}; cranfield {__version__}."
    scale = table_of(
        ("grade", "label", Number("gain", digits=1), "relevant", Column("text", "meaning")),
        [
            (one.grade, one.label, one.gain, one.grade >= status.scale.relevant_from, one.text)
            for one in status.scale.grades
        ],
        caption="Relevance scale",
    )
    is_explained = any(step.text for step in status.scale.grades)
    blocks: list[Block] = [TableBlock("scale", scale if is_explained else scale.select(range(4)))]
    if material.guidelines:
        title = f"Guidelines for assessors (version {status.guidelines_version})"
        blocks.append(Fold(title, (Literal(material.guidelines, "the guidelines"),)))
    if status.counts.clusters:
        blocks.append(Prose(f"{counted(status.counts.clusters, 'cluster')} of near-duplicate documents found."))
    facts = {}
    if pool is not None:
        facts = {
            "pooling plan": pool.facts.plan,
            "with all options": pool.facts.plan_in_full,
            "seed": str(pool.facts.seed),
            "pool made": f"{pool.facts.made[:10]} by {pool.facts.made_by}",
        }
    if qrels is not None:
        is_now = material.release is None and bool(material.layers)
        facts |= {
            "qrels": "the judgments at the time of this report" if is_now else qrels.name,
            "content hash of the qrels": qrels.content_hash,
            "layers": ", ".join(material.layers if material.rule else ()),
            "rule": ", else ".join(material.rule),
        }
    facts["licence"] = licence.rstrip(".") or "none stated"
    facts |= {"citation": material.citation, "description": material.description}
    facts = {name: fact for name, fact in facts.items() if fact}
    caption = "Content hashes: the same content has the same hash in every file format"
    sums = table_of(["what", Column("sha256", "SHA-256")], list(material.checksums.items()), caption=caption)
    blocks += [
        TableBlock("made", facts_table(facts, caption="Pool and qrels")),
        Prose("Cite the collection with the hash of its qrels: scores from other qrels are not comparable."),
        Literal(cite, "how to cite it"),
        Prose("These commands reproduce the numbers on this page:"),
        Literal("\n".join(_commands(material)), "commands"),
        Fold(caption, (TableBlock("checksums", sums),)),
    ]
    return Section("How it was made", tuple(blocks))


def _commands(material: Material) -> Iterator[str]:
    request = material.request
    words = "".join(f" -m '{measure}'" for measure in request.measures)
    words += f" --qrels {request.qrels}" if request.qrels else ""
    words += "".join(f" --layer {layer}" for layer in request.layers if request.layers != ("main",))
    if material.pool is not None:
        yield "cranfield pool verify"
    if material.evaluation is not None:
        yield f"cranfield evaluate{words}"
    if material.trust is not None:
        yield f"cranfield reuse{words}"
    yield f"cranfield report{words}" + (" --public" if request.public else "")
