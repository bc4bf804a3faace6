"""Score runs, from files or from a collection, against qrels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError, UsageError
from cranfield.base.progress import Progress, silent
from cranfield.store.scales import current_scale
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import (
    Asked,
    KeptAlignment,
    Read,
    align_as_asked,
    grade_notes,
    measures_asked,
    on_scale,
    read_aligned,
    read_with_subtopics,
)
from cranfield.workflows.evaluate.tables import LEVELS, copies_note, expected_note, sample_notes, tag_notes

if TYPE_CHECKING:
    import numpy as np

    from cranfield.evaluate.align import Alignment
    from cranfield.evaluate.expression import AnyMeasure
    from cranfield.evaluate.scores import RankChange, Scores
    from cranfield.evaluate.ties import Moved
    from cranfield.workflows.evaluate.tables import Letters


SEED = 1
"""Where the random orders of an expected score begin, so that it comes out the same every time."""


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """Scores, and what is to be told with them.

    `moved` are the summaries that hang on the order of tied documents. With novelty `plain` are the scores without
    it, and `changes` the places of the runs in both. `curve` are scores at the eleven recall levels. `letters` are
    those of the runs under each measure.
    """

    scores: Scores
    moved: tuple[Moved, ...] = ()
    plain: Scores | None = None
    changes: tuple[RankChange, ...] = ()
    curve: Scores | None = None
    letters: Letters | None = None
    notes: tuple[str, ...] = ()


def evaluate(asked: Asked, *, store: Store | None = None, progress: Progress = silent) -> Scores:
    """Read, align and score."""
    return evaluate_and_tell(asked, store=store, progress=progress).scores


def evaluate_and_tell(
    asked: Asked,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    kept: KeptAlignment | None = None,
    read: Read | None = None,
) -> Evaluated:
    """Read, align and score; gives the scores, and what should be known about them.

    Whoever evaluates the same runs again and again hands in `kept`: then they are read and aligned once. Whoever has
    read and aligned them already hands in `read`.
    """
    measures = measures_asked(asked.measures, store)
    if not measures:
        raise UsageError("no measure was given; see cranfield measures")
    found = _evaluated(asked, measures, store, lambda: read or read_aligned(asked, store, progress, kept), progress)
    found = replace(found, notes=(*found.notes, *grade_notes(measures, store)))
    if asked.letters is None:
        return found
    from cranfield.workflows.evaluate.tables import letters_of

    return replace(found, letters=letters_of(found.scores, asked.letters))


def _evaluated(
    asked: Asked,
    measures: list[AnyMeasure],
    store: Store | None,
    reading: Callable[[], Read],
    progress: Progress,
) -> Evaluated:
    from cranfield.evaluate.expression import Measure

    if not all(isinstance(measure, Measure) for measure in measures):
        return _with_foreign(asked, measures, store, progress)
    if asked.duplicates == "novelty":
        if asked.ties != "trec":
            said = "with --duplicates novelty ties stay as they are: which copy is first hangs on their order"
            raise UsageError(said)
        from cranfield.workflows.corpus import clusters_for

        clusters = clusters_for(asked.clusters, store)
        return _by_novelty(asked, measures, reading(), clusters, store)
    return _plainly(asked, measures, reading(), store)


def _plainly(asked: Asked, measures: list[AnyMeasure], read: Read, store: Store | None) -> Evaluated:
    from cranfield.evaluate.ties import moved_by_ties, score_with_ties

    notes = [*tag_notes(read.runs), *sample_notes(read.qrels, read.aligned)]
    if asked.ties == "expected":
        from cranfield.evaluate.scores import score
        from cranfield.evaluate.ties import expected_scores

        plain = score(read.aligned, measures, rounding=asked.like or "exact")
        found = expected_scores(read.aligned, plain, rng=_generator())
        scores, notes = found.scores, [*notes, expected_note(found)]
    else:
        scores = score_with_ties(read.aligned, measures, ties=asked.ties, rounding=asked.like or "exact")
    return Evaluated(
        scores=scores,
        moved=tuple(moved_by_ties(read.aligned, scores)) if asked.ties == "trec" else (),
        curve=_curve(asked, read.aligned, store),
        notes=tuple(notes),
    )


def _generator() -> np.random.Generator:
    """Give the generator of random orders; numpy's take a while to be imported."""
    import numpy as np

    return np.random.default_rng(SEED)


def _by_novelty(
    asked: Asked,
    measures: list[AnyMeasure],
    read: Read,
    clusters: Mapping[str, Hashable],
    store: Store | None,
) -> Evaluated:
    from cranfield.evaluate.scores import by_novelty, rank_changes, score

    novel = by_novelty(read.aligned, read.qrels, read.runs, clusters)
    scores, plain = (score(one, measures, rounding=asked.like or "exact") for one in (novel, read.aligned))
    return Evaluated(
        scores=scores,
        plain=plain,
        changes=tuple(rank_changes(scores, plain)),
        curve=_curve(asked, novel, store),
        notes=(*tag_notes(read.runs), copies_note(read.aligned, novel)),
    )


def _curve(asked: Asked, aligned: Alignment, store: Store | None) -> Scores | None:
    """Score at the recall levels of a precision–recall curve, with ties as asked, where one is asked for."""
    from cranfield.evaluate.ties import score_with_ties

    if not asked.curve:
        return None
    levels = measures_asked(LEVELS, store)
    rng = _generator() if asked.ties == "expected" else None
    return score_with_ties(aligned, levels, ties=asked.ties, rng=rng, rounding=asked.like or "exact")


def _with_foreign(asked: Asked, measures: list[AnyMeasure], store: Store | None, progress: Progress) -> Evaluated:
    """Score by our own measures and by those of ir_measures, which sees documents and subtopics."""
    import numpy as np

    from cranfield.evaluate.expression import ForeignMeasure, Measure, foreign_values
    from cranfield.evaluate.scores import score

    ours = [measure for measure in measures if isinstance(measure, Measure)]
    theirs = [measure for measure in measures if isinstance(measure, ForeignMeasure)]
    if asked.ties != "trec" or asked.duplicates != "plain":
        raise UsageError(f"{theirs[0]} is computed by ir_measures, which has neither --ties nor --duplicates")
    judged, qrels, qrels_hash, runs = read_with_subtopics(asked, store, progress)
    if ours and qrels_hash != qrels.content_hash:
        raise InputError(f"{qrels.name}: documents are judged for several subtopics; {ours[0]} needs one grade each")
    highest = 0 if store is None else current_scale(store)[1].highest
    aligned = replace(on_scale(align_as_asked(asked, qrels, runs), highest), qrels_hash=qrels_hash)
    own = score(aligned, ours, rounding=asked.like or "exact")
    parts = iter(own.values), iter(foreign_values(theirs, judged, runs, aligned))
    values = np.array([next(parts[isinstance(measure, ForeignMeasure)]) for measure in measures])
    named = iter(own.measures)
    shown = tuple(next(named) if isinstance(measure, Measure) else measure for measure in measures)
    scores = replace(own, measures=shown, values=values)
    return Evaluated(scores=scores, curve=_curve(asked, aligned, store), notes=tuple(tag_notes(runs)))


def with_measures(asked: Asked, measures: Sequence[str]) -> Asked:
    """Give the same request with other measures."""
    return replace(asked, measures=tuple(measures))
