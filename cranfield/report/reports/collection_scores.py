"""The leaderboard of a collection, and what its averages hide, topic by topic."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.report.page import Block, Fold, Prose, Section, TableBlock
from cranfield.report.reports.collection_facts import Board, CollectionFacts, TopicPart
from cranfield.report.table import Column, Table, Value, table_of, with_best
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.lists import Values

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
    return Section("Leaderboard", (*blocks, *facts.drawings.get("scores", ())), lead)


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
        columns.append(Column(str(measure), str(measure), numeric=True))
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
        columns = [Column("topic"), Column("title"), Column("judged", numeric=True), Column("relevant", numeric=True)]
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


def _opened(spread: "Values", topics: Sequence[TopicPart], places: dict[str, int]) -> set[str]:
    """Give the topics that are laid open: all that say something, of very many those with the largest spread."""
    told = [part.topic.id for part in topics if part.topic.id in places or part.found]
    told.sort(key=lambda topic: -float(spread[places[topic]]) if topic in places else 0.0)
    return set(told[:MOST_TOPICS])


def _topics_table(facts: CollectionFacts, places: dict[str, int]) -> Table:
    assert facts.board is not None
    scores = facts.board.scores
    columns = [Column("topic"), Column("title")]
    names = (("mean", "mean"), ("best", "best"), ("worst", "worst"), ("spread", "spread over runs"))
    columns += [Column(name, heading, digits=3, numeric=True) for name, heading in names]
    columns += [Column("relevant", numeric=True), Column("judged", numeric=True), Column("flags", "mind")]
    rows: list[tuple[Value, ...]] = []
    for part in facts.topics:
        place = places.get(part.topic.id)
        told = (None,) * 4 if place is None else _difficulty(scores.values[0][:, place])
        best = told[1]
        rows.append((part.topic.id, part.topic.title, *told, part.relevant, part.judged, _flags(part, best)))
    caption = f"Topics by {scores.measures[0]} over all runs"
    return table_of(columns, rows, caption=caption, notes=["spread: standard deviation over runs", _FLAGS])


def _difficulty(values: "Values") -> tuple[float | None, ...]:
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
    columns = [Column("run"), *(Column(str(one), str(one), numeric=True) for one in scores.measures)]
    rows = [(scores.run_names[run], *scores.values[:, run, place].tolist()) for run in shown]
    notes = [f"the best and the worst {ENDS} of {counted(len(order), 'run')}"] if cut else []
    return table_of(columns, rows, caption=f"Topic {topic}: the runs", notes=notes)


def _found(part: TopicPart) -> Table:
    columns = [Column("document"), Column("title"), Column("grade", numeric=True)]
    columns += [Column("runs", "runs that brought it", numeric=True), Column("rank", "best rank", numeric=True)]
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
