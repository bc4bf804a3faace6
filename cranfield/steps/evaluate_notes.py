"""What is said with scores: the topics behind them, the qrels, ties, copies, samples; and scores as long rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment
    from cranfield.evaluate.scores import Scores
    from cranfield.evaluate.ties import Moved
    from cranfield.qrels.qrels import Qrels
    from cranfield.steps.evaluate import Evaluated

HASH_SHOWN = 16
_MOVES_SHOWN = 10


def notes_of(found: "Evaluated") -> list[str]:
    """Give everything that should be told about an evaluation, as sentences."""
    return [*topic_notes(found.scores), *found.notes, *_tie_notes(found.moved)]


def topic_notes(scores: "Scores") -> list[str]:
    """Say what stands behind the means: topics scored, missing, extra, without anything relevant; the qrels."""
    notes = []
    for run, counts in zip(scores.run_names, scores.counts, strict=True):
        parts = [counted(counts.scored, "topic") + " scored"]
        parts += [f"{counts.missing:,} missing from the run (scored 0)"] if counts.missing else []
        parts += [f"{counts.nothing_relevant:,} with nothing relevant (scored 0)"] if counts.nothing_relevant else []
        parts += [f"{counts.extra:,} without qrels left out"] if counts.extra else []
        notes.append(f"{run}: {', '.join(parts)}")
    shared = {note.partition(": ")[2] for note in notes}
    if len(notes) > 1 and len(shared) == 1:
        notes = [f"each of {counted(len(notes), 'run')}: {shared.pop()}"]
    order = f"as in trec_eval {scores.reference}" if scores.ties == "trec" else scores.ties
    return [*notes, f"qrels {scores.qrels_hash[:HASH_SHOWN]}, order of ties {order}"]


def _tie_notes(moved: "Sequence[Moved]") -> list[str]:
    """Say which scores hang on the order of tied documents."""
    shown = [
        f"ties: {one.measure} of {one.run} is {one.value:.4f}, in other orders {one.worst:.4f} to {one.best:.4f}"
        for one in moved[:_MOVES_SHOWN]
    ]
    return [*shown, *([f"… and {len(moved) - _MOVES_SHOWN} more"] if len(moved) > _MOVES_SHOWN else [])]


def copies_note(aligned: "Alignment", novel: "Alignment") -> str:
    """Say how much novelty took away."""
    lost = int(((aligned.lists.grades > 0) & (novel.lists.grades == 0)).sum())
    return f"novelty: {counted(lost, 'retrieved document')} with a grade above 0 counted as not relevant, as copies"


def sample_notes(qrels: "Qrels", aligned: "Alignment") -> list[str]:
    """Say what qrels that are a sample mean for the scores."""
    if qrels.strata is None:
        return []
    judged = int((qrels.grades >= 0).sum())
    drawn = f"the qrels are a sample, {judged:,} of {len(qrels):,} documents drawn"
    notes = [f"{drawn}: xinfAP, infNDCG, statAP and statP estimate what others take for not relevant"]
    empty = aligned.lists.sample.strata_without_draws()
    return [*notes, *([f"nothing was drawn from {counted(empty, 'stratum', 'strata')}"] if empty else [])]
