"""Scores together with how far each of them can be trusted."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cranfield.workflows.evaluate import Evaluated, evaluate_and_tell
from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.evaluate_reading import Read
from cranfield.workflows.measures_asked import measures_asked
from cranfield.workflows.reuse_asking import MARKS, told_of
from cranfield.workflows.reuse_field import Field, PoolTold, field_of
from cranfield.workflows.trust import WORST_FIRST, Trusted, trusted
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cranfield.evaluate.align import Alignment
    from cranfield.report.table import Value
    from cranfield.workflows.trust import Trust

TOLD_AT_MOST = 6
"""How many runs are described in sentences below a table; the rest is counted."""

COLUMNS = ("low", "high", "judged", "loss", "loss_upper", "verdict", "reason")


def evaluate_with_trust(
    asked: Asked,
    told: PoolTold,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    reading: "Callable[[], Field] | None" = None,
) -> tuple[Evaluated, Trusted | None]:
    """Score, and give a verdict on each score; None where a measure is not ours, and nothing can be said.

    Whoever asks about the same runs again and again hands in `reading`, which gives their field.
    """
    from cranfield.evaluate.expression import Measure

    measures = measures_asked(asked.measures, store)
    if not measures or not all(isinstance(measure, Measure) for measure in measures):
        found = evaluate_and_tell(asked, store=store, progress=progress)
        note = "no verdicts: measures of ir_measures see documents, and nothing is known about their holes"
        return replace(found, notes=(*found.notes, note)) if measures else found, None
    field = field_of(asked, told, store=store, progress=progress) if reading is None else reading()
    found = evaluate_and_tell(asked, store=store, read=first_runs(field.read, field.asked))
    # The measures of the scores, not those that were asked for: rounding as trec_eval 9 is part of a measure.
    trusting = partial(trusted, measures=found.scores.measures, store=store, learn="where there are holes")
    trust, note = _of_shown(asked, found, trusting(field), trusting)
    return replace(found, notes=(*found.notes, *trust.notes, *([note] if note else []))), trust


def _of_shown(
    asked: Asked, found: Evaluated, trust: Trusted, trusting: "Callable[[Field], Trusted]"
) -> tuple[Trusted, str]:
    """Give what can be said of the scores that are shown, and a note where they are not those of plain lists."""
    from cranfield.workflows.evaluate_shown import trust_by_novelty, trust_by_ties

    if asked.duplicates == "novelty":
        return trust_by_novelty(trust, found.scores)
    return trust_by_ties(trust, found.scores, trusting) if asked.ties != "trec" else (trust, "")


def first_runs(read: Read, count: int) -> Read:
    """Give what was read of the first runs only."""
    if count == len(read.runs):
        return read
    return Read(read.qrels, read.runs[:count], _first_of(read.aligned, count))


def _first_of(aligned: "Alignment", count: int) -> "Alignment":
    cells = count * len(aligned.topic_ids)
    lists = aligned.lists
    rows = int(lists.offsets[cells])
    return replace(
        aligned,
        run_names=aligned.run_names[:count],
        lists=replace(
            lists,
            grades=lists.grades[:rows],
            offsets=lists.offsets[: cells + 1],
            topics=lists.topics[:cells],
            _relevant={},
        ),
        present=aligned.present[:count],
        scored=aligned.scored[:count],
        extra_topics=aligned.extra_topics[:count],
        tied=aligned.tied[:rows],
        qrels_row=None if aligned.qrels_row is None else aligned.qrels_row[:rows],
    )


def added_to_rows(trust: Trusted, rows: "list[tuple[str, str, str, float]]") -> "dict[str, list[Value]]":
    """Give the columns about trust beside long rows: of a run as a whole, and of its topics as far as it goes."""
    cells = {key: value for one in trust.trusts for key, value in _cells(trust, one)}
    nothing: tuple[Value, ...] = (None,) * len(COLUMNS)
    found = [cells.get(row[:3], nothing) for row in rows]
    return {name: [row[place] for row in found] for place, name in enumerate(COLUMNS)}


def _cells(trust: Trusted, one: "Trust") -> "Iterator[tuple[tuple[str, str, str], tuple[Value, ...]]]":
    place, measure, assessment = trust.trusts.index(one), str(one.measure), one.assessment
    aligned = trust.field.read.aligned
    for run in range(trust.field.asked):
        evidence, verdict = assessment.evidence[run], assessment.verdicts[run]
        said = (None, None) if verdict is None else (verdict.level, verdict.reason)
        name = aligned.run_names[run]
        yield (name, "all", measure), (
            evidence.low, evidence.high, evidence.judged, evidence.loss, evidence.upper, *said
        )  # fmt: skip
        for topic, identifier in enumerate(aligned.topic_ids):
            ends = (float(side[place, run, topic]) for side in (trust.bounds.lower, trust.bounds.upper))
            low, high = (value if value == value else None for value in ends)
            covered = float(assessment.holes.judged[run, topic])
            lost = float("nan") if assessment.loss is None else float(assessment.loss.by_topic[run, topic])
            share, loss = (value if value == value else None for value in (covered, lost))
            yield (name, identifier, measure), (low, high, share, loss, None, None, None)


def sentences(trust: Trusted) -> "Iterator[str]":
    """Say what the marks mean, and of the runs that are marked what is wrong with their scores."""
    flagged = []
    for run in range(trust.field.asked):
        doubtful = [one for one in trust.trusts if (said := one.verdict(run)) is not None and MARKS[said.level]]
        if doubtful:
            worst = min(doubtful, key=lambda one: WORST_FIRST.index(_level(one, run)))
            flagged.append((WORST_FIRST.index(_level(worst, run)), run, worst))
    if not flagged:
        return
    used = {_level(one, run) for _, run, one in flagged}
    yield "; ".join(f"{MARKS[level]} {level}" for level in WORST_FIRST if level in used)
    for _, run, one in sorted(flagged, key=lambda item: item[:2])[:TOLD_AT_MOST]:
        yield told_of(trust, one, run)
    if len(flagged) > TOLD_AT_MOST:
        yield f"… and {counted(len(flagged) - TOLD_AT_MOST, 'run')} more; cranfield reuse --describe tells of all"


def _level(trust: "Trust", run: int) -> str:
    verdict = trust.verdict(run)
    return "POOLED" if verdict is None else verdict.level
