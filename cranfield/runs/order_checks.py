"""What there is to say about the order of a run: ties, and ranks that tell another story than the scores."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cranfield.errors import Problem, quoted
from cranfield.runs.order import Ties, ranking, taken, tie_groups, tie_groups_only_in_float32
from cranfield.runs.problems import problem
from cranfield.runs.run import NO_RANK, Order, Rows
from cranfield.text import counted


@dataclass(frozen=True, slots=True)
class RankStory:
    """What the rank column says against the scores.

    `contradicted` counts the topics in which a document with a better rank has a lower score; `reordered_ties` the
    further topics in which the ranks only order equal scores in another way than the tie rule.
    """

    contradicted: int = 0
    reordered_ties: int = 0
    topic: str = ""
    line: int = 0


def order_problems(rows: Rows, *, order: Order) -> Iterator[Problem]:
    """Look at ranks and ties. Neither matters where the file's own order is meant.

    Rows without a usable score have no part in it, but the ranks that are meant must be there in all rows.
    """
    if order == "file":
        return
    if order == "rank":
        yield from _unusable_ranks(rows)
    scored = rows.scored
    story = rank_story(scored)
    if story.contradicted:
        yield _contradiction(story, order)
    if order == "score":
        yield from _tie_problems(scored, story)


def rank_story(rows: Rows) -> RankStory:
    """Compare the rank column with the order by score.

    Put in order of rank, the scores of a topic must not rise; where they do, the ranks contradict them. A topic in
    which a row has no usable rank is left out.
    """
    if rows.ranks is None:
        return RankStory()
    without = np.unique(rows.topics[rows.ranks == NO_RANK])
    if len(without):
        kept = np.flatnonzero(~np.isin(rows.topics, without))
        return rank_story(rows.only(kept)) if len(kept) else RankStory()
    groups, by_score = rows.by_topic, rows.by_score.places
    inner = groups.offsets[1:-1] - 1
    ranks = taken(rows.ranks, by_score)
    rises = ranks[1:] > ranks[:-1]
    rises[inner] = True
    if rises.all():
        return RankStory()
    by_rank, scores = (found := ranking(rows, order="rank")).places, found.scores
    wrong = scores[1:] > scores[:-1]
    wrong[inner] = False
    topic_of = np.repeat(np.arange(len(groups.topics)), np.diff(groups.offsets))
    moved = taken(rows.documents, by_rank) != taken(rows.documents, by_score)
    contradicted = np.unique(topic_of[1:][wrong])
    reordered = np.setdiff1d(topic_of[moved], contradicted)
    if not len(contradicted):
        return RankStory(reordered_ties=len(reordered))
    at = np.flatnonzero(wrong) + 1
    row = int((at if by_rank is None else by_rank[at]).min())
    topic = rows.topic_ids[int(rows.topics[row])].as_py()
    return RankStory(len(contradicted), len(reordered), topic, rows.lines.at(row))


def _contradiction(story: RankStory, order: Order) -> Problem:
    used = "scores are used" if order == "score" else "ranks are used"
    return problem(
        "rank-disagrees",
        f"ranks contradict the scores in {counted(story.contradicted, 'topic')}, "
        f"first in topic {quoted(story.topic)}; the {used}",
        lines=[story.line],
        count=story.contradicted,
        topic=story.topic,
        remedy="" if order == "score" else "leave out --order rank if the scores are meant",
    )


def _tie_problems(rows: Rows, story: RankStory) -> Iterator[Problem]:
    scores, offsets = rows.by_score.scores, rows.by_topic.offsets
    exact = tie_groups(scores, offsets)
    if exact.documents:
        ranks = f"; in {counted(story.reordered_ties, 'topic')} the ranks order them otherwise than the tie rule"
        text = f"{_number(exact)} share their score with another of their topic"
        yield problem("ties", text + (ranks if story.reordered_ties else ""), count=exact.documents)
    rounded = tie_groups_only_in_float32(scores, offsets)
    if rounded.documents:
        text = f"{_number(rounded)} are tied only once scores are rounded to 32 bits"
        yield problem("ties-in-32-bits", text, count=rounded.documents)


def _unusable_ranks(rows: Rows) -> Iterator[Problem]:
    """Give errors where the ranks are meant to order the run and cannot."""
    if rows.ranks is None:
        yield problem("no-ranks", "the ranks are meant to order the run, and the file has none")
        return
    missing = np.flatnonzero(rows.ranks == NO_RANK)
    if len(missing):
        text = f"the ranks are meant to order the run, and {counted(len(missing), 'row has', 'rows have')} none"
        yield problem("no-ranks", text, lines=rows.lines.of(missing), count=len(missing))
        return
    by_rank = ranking(rows, order="rank").places
    ranks = taken(rows.ranks, by_rank)
    again = ranks[1:] == ranks[:-1]
    again[rows.by_topic.offsets[1:-1] - 1] = False
    if again.any():
        at = np.flatnonzero(again) + 1
        at = np.sort(at if by_rank is None else by_rank[at])
        text = f"{counted(len(at), 'row has', 'rows have')} the rank of another document of the topic"
        yield problem("repeated-rank", text, lines=rows.lines.of(at), count=len(at))


def _number(ties: Ties) -> str:
    return f"{counted(ties.documents, 'document')} in {counted(ties.topics, 'topic')}"
