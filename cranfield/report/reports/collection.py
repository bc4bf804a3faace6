"""The report about a collection: what it is, how it was made, what it found, and how far that can be trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.records import GradeScale, Topic
from cranfield.base.tables import Column, Table, Value, facts_table, table_of, with_best
from cranfield.base.text import counted
from cranfield.report.page import Block, Callout, Drawing, Fold, Literal, Page, Prose, Section, TableBlock
from cranfield.reuse.tables import groups_table, hold_out_table, verdicts_table

if TYPE_CHECKING:
    from cranfield.evaluate.lists import Values
    from cranfield.evaluate.scores import Scores
    from cranfield.reuse.collection import CollectionReport


# What a report about a collection is made from: plain facts, gathered by whoever knows where they lie.

Rows = tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPart:
    """How the pool was made, and what each run and group brought to it.

    `runs` are (run, group, documents, only this group); `groups` are (group, runs, documents, only this group).
    """

    plan: str
    plan_in_full: str
    seed: int
    content_hash: str
    made: str
    made_by: str
    documents: int
    topics: int
    runs: Rows
    groups: Rows
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QrelsPart:
    """The qrels behind the numbers; `layers` and `rule` are empty where they came from a file."""

    name: str
    content_hash: str
    layers: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingPart:
    """Who judged how much and how fast, and how far they agree.

    `assessors` are (assessor, judged, cannot judge, postponed, median seconds, last seen). `agreement` are tables,
    by name; without overlap `no_agreement` says why there are none.
    """

    documents: int
    judged: int
    missing: int
    seconds: float | None
    assessors: Rows
    agreement: Mapping[str, Table]
    no_agreement: str = ""


@dataclass(frozen=True, slots=True)
class TopicPart:
    """A topic with what is judged for it; `found` are relevant ones: (document, title, grade, runs, best rank)."""

    topic: Topic
    judged: int
    relevant: int
    not_exhausted: bool = False
    found: Rows = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Board:
    """Scores of all runs, and how far each can be trusted.

    `groups` gives a run's group and whether it fed the pool; `letters` has one mapping per measure; `best` are the
    runs that are level with the best, where there are too many for letters; `trust` has one table per measure;
    `verdicts` the worst verdict of each run. `notes` is what should be known with the scores.
    """

    scores: Scores
    groups: Mapping[str, tuple[str, bool]]
    letters: tuple[Mapping[str, str], ...] = ()
    letters_said: str = ""
    best: frozenset[str] = frozenset()
    best_said: str = ""
    trust: Mapping[str, Table]
    verdicts: Mapping[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectionFacts:
    """Everything that the report says. What is not known is None or empty, and `missing` says why.

    `drawings` belong to the sections `bias`, `scores` or `curves`. `bias_said` are sentences about the pool.
    `checksums` are (what, SHA-256), `commands` what makes the numbers again.
    """

    name: str
    made: str
    made_by: str
    documents: int
    duplicate_clusters: int
    scale: GradeScale
    guidelines: str = ""
    guidelines_version: int = 0
    topics: tuple[TopicPart, ...] = ()
    pool: PoolPart | None = None
    judging: JudgingPart | None = None
    board: Board | None = None
    bias: CollectionReport | None = None
    bias_said: tuple[str, ...] = ()
    drawings: Sequence[Drawing] = ()
    missing: tuple[str, ...] = ()
    licence: str = ""
    qrels: QrelsPart | None = None
    checksums: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()

    def drawn(self, section: str) -> tuple[Drawing, ...]:
        """Give the figures of a section."""
        return tuple(one for one in self.drawings if one.section == section)


# The leaderboard of a collection, and what its averages hide, topic by topic.

MOST_RUNS = 150
"""How many runs a topic lists; of more, only the best and the worst."""

ENDS = 20
MOST_TOPICS = 500
"""How many topics are laid open; of more, those that tell runs apart most."""

_HARD = 0.1
_FLAGS = (
    "nothing relevant: all runs score 0 and the topic tells nothing;"
    " very many relevant: more than half of what was judged, the pool probably ended too early;"
    " still yielding: the last depth of the pool still brought relevant documents;"
    f" hard: no run reaches {_HARD}"
)


def leaderboard(facts: CollectionFacts) -> Section:
    """Give the scores of all runs with their verdicts, then measure by measure how far they can be trusted."""
    board = facts.board
    if board is None:
        return Section("Leaderboard", (Prose("There are no scores: it takes runs and judgments."),))
    lead = "Means over topics. A verdict says how far a score can be trusted, given what nobody judged."
    blocks: list[Block] = [TableBlock("leaderboard", _board_table(board))]
    blocks += [TableBlock(f"trust-{slug(name)}", _verdict_first(table)) for name, table in board.trust.items()]
    blocks += [Prose(points=board.notes)] if board.notes else []
    return Section("Leaderboard", (*blocks, *facts.drawn("scores")), lead)


def _verdict_first(table: Table) -> Table:
    """Give the table with verdict and why beside the score: a page is read from the left, and cut at the right."""
    names = [column.name for column in table.columns]
    first = [place for place, name in enumerate(names) if place < 2 or name in ("verdict", "reason")]
    order = [*first, *(place for place in range(len(names)) if place not in first)]
    rows = tuple(tuple(row[place] for place in order) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in order), rows=rows)


def _board_table(board: Board) -> Table:
    """Give the leaderboard: a run, its first score and its verdict stand first, where a phone shows them."""
    scores = board.scores
    order = np.argsort(-np.nan_to_num(scores.summary[0]), kind="stable").tolist()
    columns = [Column("run")]
    for place, measure in enumerate(scores.measures):
        columns.append(Column(str(measure), str(measure), kind="number"))
        if place == 0:
            columns.append(Column("verdict", "worst verdict", kind="verdict"))
        if _lettered(board, place):
            columns.append(Column(f"letters_{measure}", f"{measure} letters"))
        if place == 0 and board.best:
            columns.append(Column("level_with_best", "level with the best"))
    columns += [Column("group"), Column("pooled", "fed the pool")]
    rows = [tuple(_board_row(board, run)) for run in order]
    best = [place for place, column in enumerate(columns) if any(column.name == str(one) for one in scores.measures)]
    notes = [f"letters: {board.letters_said}"] if board.letters_said else []
    notes += [board.best_said] if board.best_said else []
    return with_best(table_of(columns, rows, caption="All runs, the best first", notes=notes), best)


def _lettered(board: Board, place: int) -> bool:
    return bool(board.letters) and bool(board.letters[place])


def _board_row(board: Board, run: int) -> Iterator[Value]:
    name = board.scores.run_names[run]
    group, pooled = board.groups.get(name, ("", False))
    yield name
    for place in range(len(board.scores.measures)):
        yield float(board.scores.summary[place, run])
        if place == 0:
            yield board.verdicts.get(name, "")
        if _lettered(board, place):
            yield board.letters[place].get(name, "")
        if place == 0 and board.best:
            yield name in board.best
    yield from (group, pooled)


def topics_section(facts: CollectionFacts) -> Section:
    """Give one table of all topics, and behind each topic its runs and its relevant documents."""
    if facts.board is None:
        rows = [(part.topic.id, part.topic.title, part.judged, part.relevant) for part in facts.topics]
        columns = [
            Column("topic"),
            Column("title"),
            Column("judged", kind="number"),
            Column("relevant", kind="number"),
        ]
        return Section("Topics", (TableBlock("topics", table_of(columns, rows, caption="Topics")),))
    scores = facts.board.scores
    lead = "What the means hide: which topics are hard, which tell runs apart, and which tell nothing."
    places = {topic: place for place, topic in enumerate(scores.topic_ids)}
    blocks: list[Block] = [TableBlock("topics", _topics_table(facts, places))]
    if len(scores.run_names) > MOST_RUNS:
        blocks.append(Prose(f"Each topic shows the best and the worst {ENDS} of {len(scores.run_names):,} runs."))
    opened = _opened(np.nan_to_num(scores.values[0].std(axis=0)), facts.topics, places)
    if len(opened) < len(facts.topics) and len(opened) == MOST_TOPICS:
        blocks.append(Prose(f"The {MOST_TOPICS} topics that tell runs apart most are laid open below."))
    blocks += [
        _topic_fold(facts.board, part, places.get(part.topic.id), number)
        for number, part in enumerate(facts.topics, start=1)
        if part.topic.id in opened
    ]
    return Section("Topics", tuple(blocks), lead)


def _opened(spread: Values, topics: Sequence[TopicPart], places: dict[str, int]) -> set[str]:
    """Give the topics that are laid open: all that say something, of very many those with the largest spread."""
    told = [part.topic.id for part in topics if part.topic.id in places or part.found]
    told.sort(key=lambda topic: -float(spread[places[topic]]) if topic in places else 0.0)
    return set(told[:MOST_TOPICS])


def _topics_table(facts: CollectionFacts, places: dict[str, int]) -> Table:
    assert facts.board is not None
    scores = facts.board.scores
    columns = [Column("topic"), Column("title")]
    names = (("mean", "mean"), ("best", "best"), ("worst", "worst"), ("spread", "spread over runs"))
    columns += [Column(name, heading, digits=3, kind="number") for name, heading in names]
    columns += [Column("relevant", kind="number"), Column("judged", kind="number"), Column("flags", "mind")]
    rows: list[tuple[Value, ...]] = []
    for part in facts.topics:
        place = places.get(part.topic.id)
        told = (None,) * 4 if place is None else _difficulty(scores.values[0][:, place])
        best = told[1]
        rows.append((part.topic.id, part.topic.title, *told, part.relevant, part.judged, _flags(part, best)))
    caption = f"Topics by {scores.measures[0]} over all runs"
    return table_of(columns, rows, caption=caption, notes=["spread: standard deviation over runs", _FLAGS])


def _difficulty(values: Values) -> tuple[float | None, ...]:
    if not len(values):
        return (None,) * 4
    return float(values.mean()), float(values.max()), float(values.min()), float(values.std())


def _flags(part: TopicPart, best: float | None) -> str:
    if not part.judged:
        return "nothing judged"
    if not part.relevant:
        return "nothing relevant"
    told = ["very many relevant"] if 2 * part.relevant > part.judged else []
    told += ["still yielding"] if part.not_exhausted else []
    told += ["hard"] if best is not None and best < _HARD else []
    return ", ".join(told)


def _topic_fold(board: Board, part: TopicPart, place: int | None, number: int) -> Fold:
    name, topic = f"topic-{_file_name(part.topic.id, number)}", part.topic
    blocks: list[Block] = [
        Prose(" ".join(text.split())) for text in (topic.description, topic.narrative) if text.strip()
    ]
    if place is not None:
        blocks.append(TableBlock(name, _runs_of_topic(board, topic.id, place)))
    if part.found:
        blocks.append(TableBlock(f"{name}-relevant", _found(part)))
    hint = f"{part.relevant:,} of {part.judged:,} judged are relevant"
    return Fold(f"{topic.id}: {topic.title}" if topic.title else topic.id, tuple(blocks), hint)


def _runs_of_topic(board: Board, topic: str, place: int) -> Table:
    scores = board.scores
    order: Sequence[int] = np.argsort(-scores.values[0][:, place], kind="stable").tolist()
    cut = len(order) > MOST_RUNS
    shown = [*order[:ENDS], *order[-ENDS:]] if cut else order
    columns = [Column("run"), *(Column(str(one), str(one), kind="number") for one in scores.measures)]
    rows = [(scores.run_names[run], *scores.values[:, run, place].tolist()) for run in shown]
    notes = [f"the best and the worst {ENDS} of {counted(len(order), 'run')}"] if cut else []
    return table_of(columns, rows, caption=f"Topic {topic}: the runs", notes=notes)


def _found(part: TopicPart) -> Table:
    columns = [Column("document"), Column("title"), Column("grade", kind="number")]
    columns += [Column("runs", "runs that brought it", kind="number"), Column("rank", "best rank", kind="number")]
    rows: list[tuple[Value, ...]] = list(part.found)
    if not any(row[1] for row in rows):
        rows = [(row[0], *row[2:]) for row in rows]
        columns = [columns[0], *columns[2:]]
    left = part.relevant - len(rows)
    notes = [f"the {len(rows)} that fewest runs brought; {left:,} more are relevant"] if left > 0 else []
    caption = f"Topic {part.topic.id}: relevant documents, those that fewest runs brought first"
    return table_of(columns, rows, caption=caption, notes=notes)


def _file_name(topic: str, number: int) -> str:
    """Give the id of a topic where it can be part of a file's name, else its place."""
    return topic if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", topic) else f"number-{number}"


def slug(text: str) -> str:
    """Give text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")


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
    curves = facts.drawn("curves")
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
    columns = [Column("grade", kind="number"), Column("label"), Column("gain", digits=1, kind="number")]
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
    numbers = [Column("documents", kind="number"), Column("unique", "only this group", kind="number")]
    note = "only this group: documents of the pool that no other group brought; without the group nobody judged them"
    groups = [Column("group"), Column("runs", kind="number"), *numbers]
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
    columns = [Column("assessor"), *(Column(name, kind="number") for name in ("judged", "cannot_judge", "postponed"))]
    columns += [Column("seconds", "median seconds", digits=0, kind="number"), Column("last", "last seen")]
    if part.assessors:
        yield TableBlock("assessors", table_of(columns, part.assessors, caption="Who judged how much, and how fast"))
    if part.no_agreement:
        yield Prose(f"Agreement is not known: {part.no_agreement}.")
    for name, table in part.agreement.items():
        yield TableBlock(name, table, folded=name in ("agreement-pairs", "agreement-topics"))


def _bias(facts: CollectionFacts) -> Section:
    title, bias, drawings = "Pool bias and reusability", facts.bias, facts.drawn("bias")
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
