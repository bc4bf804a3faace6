"""Bounds: the exact interval of scores that are consistent with the judgments.

Every unjudged document that counts (a hole) may turn out to have any grade. The interval goes from the lowest to the
highest score over all ways to grade the holes, with R and the ideal ranking recomputed each time. Which documents
count is the closure:

- `at-k`: the holes within the depth that matters for the measure. The interval of verdicts and tables.
- `list`: all holes of the list; those below the cutoff can still raise R or the ideal.
- `open`: those, and up to `further` relevant documents that the list does not have.

That the truth lies inside, as long as no label changes, is certain for P, Success, RR, DCG and RBP. For AP, nDCG,
recall and R-precision it needs the open form, with as many further documents as are found elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment, AnyRun, Reference
from cranfield.evaluate.expression import AnyMeasure, Measure
from cranfield.evaluate.lists import THREADS, Counts, Found, Lists, Values
from cranfield.evaluate.measure import aggregated_rows
from cranfield.reuse.completions import (
    Ends,
    Freedom,
    Reach,
    binary_g_ends,
    eleven_point_ends,
    enumerated_ends,
    gains_possible,
    holes_within,
    interpolated_ends,
    monotone_ends,
    persistence_ends,
    preference_ends,
    reciprocal_ends,
)
from cranfield.reuse.extremes import (
    average_ends,
    inferred_ends,
    logit_ends,
    normalized_gain_ends,
    q_ends,
    r_precision_ends,
)
from cranfield.runs.order import order_as_float32, taken
from cranfield.runs.run import Codes, Run

_ROWS_AT_ONCE = 1 << 19
"""How many rows of lists are worked on at once: what is made of them on the way takes many times their room."""

Closure = Literal["at-k", "list", "open"]
Tail = Literal["residual", "none"]
Kind = Literal["exact", "loose", "none"]
Depth = Mapping[AnyMeasure, Reach] | Callable[[AnyMeasure], Reach]

_FACTS = "a fact about the judgments, not a score that holes could change"
_SAMPLED = "an estimate from a sample: what was not drawn is accounted for, and has no worst case"
_FOREIGN = "computed by ir_measures from documents"
_NEGATIVE = "gains below 0: the ratio to the ideal has no bounds"
_ALL_RELEVANT = "with a threshold below 1 every judged document is relevant"
_LOOSE = "{count} of {lists} lists have too many holes to try all; their bounds are true, but not the narrowest"

_ENDS: dict[str, Callable[[Freedom], Ends]] = {
    "AP": average_ends,
    "RR": reciprocal_ends,
    "YAAP": logit_ends,
    "infAP": inferred_ends,
    "nDCG": normalized_gain_ends,
    "Rprec": r_precision_ends,
    "BinG": binary_g_ends,
    "IPrec": interpolated_ends,
    "IPrecAvg": eleven_point_ends,
    "Bpref": preference_ends,
    "Q": q_ends,
}
_ONE_WAY = frozenset(
    (
        *("P", "R", "RelativeP", "F", "Accuracy", "Success", "SetP", "SetR", "SetF", "SetAP", "Utility"),
        *("ERR", "CG", "DCG", "IdealDCG", "NumQ", "NumRet", "NumRel", "NumRelRet", "NumJudgedNonrel"),
    )
)
_WHOLE_LISTS = frozenset(("RBP", "RR", "ERR", "CG", "DCG", "NumRelRet"))
_WITHOUT = {
    **dict.fromkeys(("Judged", "Unjudged", "FirstUnjudged", "RBPResidual"), _FACTS),
    **dict.fromkeys(("xinfAP", "infNDCG", "statP", "statAP"), _SAMPLED),
}
_PASS_HOLES_OVER = frozenset(("Bpref", "infAP"))
"""Measures for which a hole is something else than a document judged not relevant: the score may lie outside."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """The score of measure m for run r and topic t lies between `lower[m, r, t]` and `upper[m, r, t]`; NaN for none.

    `values` are the scores as they stand, unjudged taken as not relevant. `kinds` says of each measure whether its
    bounds are exact, only true (loose), or none, and `reasons` why, where they are not exact. `depths` are the
    depths that mattered, None for the whole list; they count at-k only. Scores of Bpref, infAP and condensed lists
    may lie outside: they take a hole for something else than a document judged not relevant.
    """

    measures: tuple[AnyMeasure, ...]
    run_names: tuple[str, ...]
    topic_ids: tuple[str, ...]
    values: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    scored: NDArray[np.bool_]
    kinds: tuple[Kind, ...]
    reasons: tuple[str, ...]
    depths: tuple[Reach, ...]
    closure: Closure
    further: int = 0

    @cached_property
    def lowest(self) -> NDArray[np.float64]:
        """The lower bound of each measure's summary, for each run: every way to put topics together is monotone."""
        return self._summary(self.lower)

    @cached_property
    def highest(self) -> NDArray[np.float64]:
        """The upper bound of each measure's summary, for each run."""
        return self._summary(self.upper)

    @cached_property
    def score(self) -> NDArray[np.float64]:
        """Each measure's summary as it stands, for each run."""
        return self._summary(self.values)

    def _summary(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        summaries = [
            aggregated_rows(rows, self.scored, measure.aggregate)
            for measure, rows in zip(self.measures, values, strict=True)
        ]
        return np.array(summaries, dtype=float).reshape(values.shape[:2])


def depth_that_matters(measure: AnyMeasure, *, pool_depth: Reach) -> Reach:
    """Give the depth down to which holes matter: the cutoff, else the depth of the pool; None for the whole list.

    The whole list counts where a relevant document can only raise the value: then the truth is surely inside.
    """
    cutoff = getattr(measure, "cutoff", None)
    if isinstance(cutoff, int):
        return cutoff
    return None if isinstance(measure, Measure) and measure.name in _WHOLE_LISTS else pool_depth


def bounds(
    alignment: Alignment,
    measures: Sequence[AnyMeasure],
    *,
    depth: Depth,
    closure: Closure = "at-k",
    further: int = 0,
    highest: int | None = None,
    tail: Tail = "residual",
) -> Bounds:
    """Give the bounds of all runs of an alignment by all measures.

    `depth` gives the depth that matters of each measure, one for all topics or one for each; RBP without a cutoff has
    none: its weights say themselves how much a rank matters. `highest` is the highest grade of the scale, if that is
    not the highest that was given; measures that divide by it then divide by this. `tail` says whether what lies
    beyond the end of a list counts in RBP, as in its residual, or there is nothing.
    """
    check_further(closure, further)
    lists = with_highest_grade(alignment.lists, highest)
    depths = [_depth(one, depth) for one in measures]
    reaches = [deep if closure == "at-k" else None for deep in depths]
    with ThreadPoolExecutor(THREADS) as threads:
        parts_of = partial(_parts, measures, reaches=reaches, further=further, tail=tail)
        pieces = list(threads.map(parts_of, lists.pieces(_ROWS_AT_ONCE)))
    parts = [_joined(of_measure) for of_measure in zip(*pieces, strict=True)]
    shape = (len(measures), *alignment.shape)
    return Bounds(
        measures=tuple(measures),
        run_names=alignment.run_names,
        topic_ids=alignment.topic_ids,
        values=np.array([part.values for part in parts]).reshape(shape),
        lower=np.array([part.ends.lower for part in parts]).reshape(shape),
        upper=np.array([part.ends.upper for part in parts]).reshape(shape),
        scored=alignment.scored,
        kinds=tuple(part.kind for part in parts),
        reasons=tuple(part.reason for part in parts),
        depths=tuple(depths),
        closure=closure,
        further=further,
    )


def _parts(
    measures: Sequence[AnyMeasure], lists: Lists, reaches: Sequence[Reach], further: int, tail: Tail
) -> list[Part]:
    """Give the ends of all measures; the holes down to one depth are looked for once."""
    found: dict[bytes | None, Found] = {}
    parts = []
    for measure, reach in zip(measures, reaches, strict=True):
        key = None if reach is None else np.asarray(reach, dtype=np.int64).tobytes()
        if key not in found:
            found[key] = holes_within(lists, reach)
        parts.append(part_of(measure, lists, found[key], further=further, tail=tail))
    return parts


def _depth(measure: AnyMeasure, depth: Depth) -> Reach:
    reach = depth[measure] if isinstance(depth, Mapping) else depth(measure)
    if reach is not None and np.min(reach, initial=1) < 1:
        raise UsageError(f"the depth that matters is a number from 1 up, not {np.min(reach)}")
    return None if has_no_depth(measure) else reach


def has_no_depth(measure: AnyMeasure) -> bool:
    """Say whether all holes of a list count for a measure, whatever depth is asked for: RBP without a cutoff."""
    return isinstance(measure, Measure) and measure.name == "RBP" and measure.cutoff is None


@dataclass(frozen=True, eq=False)
class Part:
    """What is known of one measure: the score and the ends of each list, whether these are exact, and why not."""

    values: NDArray[np.float64]
    ends: Ends
    kind: Kind
    reason: str


def check_further(closure: Closure, further: int) -> None:
    """Refuse further documents where the form is not open."""
    if further < 0 or (further and closure != "open"):
        raise UsageError(
            f"further relevant documents are for the open form, and at least 0: not {further} with {closure}"
        )


def with_highest_grade(lists: Lists, highest: int | None) -> Lists:
    """Give the lists with the highest grade that a hole can have."""
    if highest is not None and highest < lists.highest_grade:
        raise UsageError(f"the qrels hold grade {lists.highest_grade}, above the highest of the scale, {highest}")
    wanted = max(lists.highest_grade if highest is None else highest, 1)
    return lists if wanted == lists.highest_grade else replace(lists, highest_grade=wanted)


def part_of(
    measure: AnyMeasure,
    lists: Lists,
    holes: Found,
    *,
    further: int = 0,
    beside: Counts | None = None,
    tail: Tail = "none",
) -> Part:
    """Give the ends of one measure when some rows of the lists are free, as `Freedom` says."""
    if not isinstance(measure, Measure):
        return _none(np.full(len(lists), np.nan), _FOREIGN)
    values = measure.values(lists)
    reason = _no_interval(measure, lists)
    if reason:
        return _none(values, reason)
    nothing = np.zeros(len(lists), dtype=np.int64)
    others = nothing if beside is None else beside
    freedom = Freedom(measure, lists, holes, further, others, lists.highest_grade, values)
    if dict(measure.settings).get("judged_only"):
        freedom = _condensed(freedom)
    ends = _ends(freedom, tail)
    if counts_holes_as_nonrelevant(measure, lists.highest_grade):
        ends = replace(ends, lower=np.minimum(ends.lower, values), upper=np.maximum(ends.upper, values))
    return _told(values, ends)


def _told(values: NDArray[np.float64], ends: Ends) -> Part:
    count = 0 if ends.loose is None else int(ends.loose.sum())
    reason = _LOOSE.format(count=count, lists=len(values)) if count else ""
    return Part(values, ends, "loose" if count else "exact", reason)


def _joined(parts: Sequence[Part]) -> Part:
    """Put what is known of lists piece by piece into one."""
    if len(parts) == 1:
        return parts[0]
    values, lower, upper = (
        np.concatenate(each)
        for each in zip(*((part.values, part.ends.lower, part.ends.upper) for part in parts), strict=True)
    )
    if parts[0].kind == "none":
        return replace(parts[0], values=values, ends=Ends(lower, upper))
    loose = [np.zeros(len(part.values), dtype=bool) if part.ends.loose is None else part.ends.loose for part in parts]
    return _told(values, Ends(lower, upper, np.concatenate(loose)))


def _none(values: NDArray[np.float64], reason: str) -> Part:
    nothing = np.full(len(values), np.nan)
    return Part(values, Ends(nothing, nothing), "none", reason)


def _no_interval(measure: Measure, lists: Lists) -> str:
    """Say why a measure has no interval; nothing where it has one."""
    if measure.name in _WITHOUT:
        return _WITHOUT[measure.name]
    if measure.rel is not None and measure.rel < 1 and measure.name != "NumRet":
        return _ALL_RELEVANT
    if measure.name == "nDCG" and (gains_possible(measure, lists.highest_grade) < 0).any():
        return _NEGATIVE
    return ""


def counts_holes_as_nonrelevant(measure: Measure, highest: int) -> bool:
    """Say whether a hole counts as one judged not relevant would, so that the score is one of those possible."""
    if "gains" in measure.kind.parameters and float(gains_possible(measure, highest)[0]) != 0.0:
        return False
    return measure.name not in _PASS_HOLES_OVER and not dict(measure.settings).get("judged_only")


def _ends(freedom: Freedom, tail: Tail) -> Ends:
    measure = freedom.measure
    if measure.name == "RBP":
        return persistence_ends(freedom, tail=tail == "residual")
    if measure.name in _ONE_WAY:
        return monotone_ends(freedom)
    if measure.rel is not None and measure.rel > freedom.highest:
        return Ends(freedom.values, freedom.values)
    ends = _ENDS.get(measure.name, enumerated_ends)(freedom)
    # Where nothing is free the score stands, to its last digit.
    lower, upper = (np.where(freedom.is_free, end, freedom.values) for end in (ends.lower, ends.upper))
    return replace(ends, lower=lower, upper=upper)


def _condensed(freedom: Freedom) -> Freedom:
    """Give the freedom of a measure that is taken on condensed lists: what may get a grade stays, the rest goes.

    With its holes judged the list has them; those that stay unjudged are taken out, as in the score itself.
    """
    lists = freedom.lists
    kept = lists.grades >= 0
    kept[lists.offsets[freedom.holes.cell] + freedom.holes.rank - 1] = True
    running = np.concatenate([[0], np.cumsum(kept)])
    fewer = replace(lists, grades=lists.grades[kept], offsets=running[lists.offsets], stratified=None, _relevant={})
    plain = freedom.measure.with_setting("judged_only", value=False)
    return replace(freedom, measure=plain, lists=fewer, holes=fewer.unjudged, values=plain.values(fewer))


# What judging a document is good for: by how much it narrows an interval if it turns out not to be relevant.

_ROWS_AT_ONCE_NARROWING = 1 << 21


def widths(
    alignment: Alignment, measure: AnyMeasure, *, depth: Reach, closure: Closure, further: int, highest: int
) -> Values:
    """Give the width of the interval of each cell."""
    found = bounds(
        alignment,
        [measure],
        depth=lambda _: depth,
        closure=closure,
        further=further,
        highest=highest,
        tail="none",
    )
    width: Values = (found.upper[0] - found.lower[0]).ravel()
    return width


def narrowings(
    alignment: Alignment,
    measure: AnyMeasure,
    cells: Counts,
    ranks: Counts,
    *,
    depth: Reach,
    closure: Closure = "at-k",
    further: int = 0,
    highest: int,
) -> Values:
    """Give for each hole, by its cell and rank, by how much its cell's interval narrows when it alone is judged 0."""
    options = {"closure": closure, "further": further, "highest": highest}
    before = widths(alignment, measure, depth=depth, **options)[cells]  # type: ignore[arg-type]
    longest = max(int(alignment.lists.length.max(initial=1)), 1)
    size = max(_ROWS_AT_ONCE_NARROWING // longest, 1)
    parts = []
    for start in range(0, len(cells), size):
        some = cells[start : start + size]
        made = _each_judged(alignment, some, ranks[start : start + size])
        reach = depth[alignment.lists.topics[some]] if isinstance(depth, np.ndarray) else depth
        parts.append(widths(made, measure, depth=reach, **options))  # type: ignore[arg-type]
    return before - np.concatenate(parts) if parts else np.zeros(0)


def _each_judged(alignment: Alignment, cells: Counts, ranks: Counts) -> Alignment:
    """Give one list per hole, with that hole judged 0, each as the answer of one run to a topic of its own."""
    lists: Lists = alignment.lists.chosen(cells)
    grades = lists.grades.copy()
    grades[lists.offsets[:-1] + ranks - 1] = 0
    levels = np.union1d(lists.levels, [0]).astype(np.int32)
    counts = np.zeros((len(cells), len(levels)), dtype=np.int64)
    counts[:, np.searchsorted(levels, lists.levels)] = lists.level_counts[lists.topics]
    counts[:, 0] += 1
    made = replace(
        lists,
        grades=grades,
        topics=np.arange(len(cells)),
        levels=levels,
        level_counts=counts,
        pooled_count=None,
        stratified=None,
        _relevant={},
    )
    return replace(
        alignment,
        run_names=("",),
        topic_ids=tuple(str(number) for number in range(len(cells))),
        lists=made,
        present=np.ones((1, len(cells)), dtype=bool),
        scored=np.ones((1, len(cells)), dtype=bool),
        extra_topics=((),),
        tied=np.zeros(len(grades), dtype=bool),
        qrels_row=None,
    )


# Which document stands where: the same hole in two runs gets one label.


@dataclass(frozen=True, eq=False)
class Identities:
    """The document at each row of the lists: `codes[i]` into `document_ids`, one code for a document in all runs."""

    codes: Codes
    document_ids: pa.Array

    def names(self, codes: Codes) -> list[str]:
        """Give the ids of some documents."""
        return list(self.document_ids.take(pa.array(codes)).to_pylist())


def identities(alignment: Alignment, runs: Sequence[AnyRun]) -> Identities:
    """Give the documents of an alignment from the runs it was made of, in the same order."""
    whole = [run for run in runs if isinstance(run, Run)]
    if len(whole) != len(runs):
        raise UsageError("documents that two runs share can be told only from runs that were read with their ids")
    document_ids, tables = _common_codes(whole)
    parts = [
        table[_documents(run, alignment.topic_ids, alignment.reference)]
        for run, table in zip(whole, tables, strict=True)
    ]
    codes = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    if tuple(run.tag for run in runs) != alignment.run_names or len(codes) != len(alignment.lists.grades):
        raise UsageError("these are not the runs that were aligned")
    return Identities(codes, document_ids)


def _documents(run: Run, topic_ids: tuple[str, ...], reference: Reference) -> Codes:
    """Give the documents of the aligned rows of a run, as codes of its own."""
    documents = taken(run.documents, order_as_float32(run)) if reference == "9" else run.documents
    known = set(topic_ids)
    wanted = np.array([topic in known for topic in run.topic_ids.to_pylist()], dtype=bool)
    return documents if wanted.all() else documents[np.repeat(wanted, np.diff(run.offsets))]


def _common_codes(runs: Sequence[Run]) -> tuple[pa.Array, list[Codes]]:
    """Give the distinct ids of all runs, and for each run the code of each of its own."""
    distinct = {id(run.document_ids): run.document_ids for run in runs}
    joined = pa.concat_arrays([ids.cast(pa.large_string()) for ids in distinct.values()]).dictionary_encode()
    codes = joined.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    ends = np.cumsum([len(ids) for ids in distinct.values()])[:-1]
    tables = dict(zip(distinct, np.split(codes, ends), strict=True))
    return joined.dictionary, [tables[id(run.document_ids)] for run in runs]


def keys_of_rows(lists: Lists, codes: Codes) -> NDArray[np.int64]:
    """Give one number for the topic and document of each row."""
    return (np.repeat(lists.topics, lists.length) << 32) | codes


def with_judgments(
    alignment: Alignment, documents: Identities, topics: Counts, codes: Codes, grades: NDArray[np.int32]
) -> Alignment:
    """Give an alignment as it would be with some unjudged documents judged. `topics` are places in its topics."""
    lists = alignment.lists
    asked = (topics.astype(np.int64) << 32) | codes
    order = np.argsort(asked)
    keys = keys_of_rows(lists, documents.codes)
    places = np.minimum(np.searchsorted(asked[order], keys), max(len(asked) - 1, 0))
    found = asked[order][places] == keys if len(asked) else np.zeros(len(keys), dtype=bool)
    changed = lists.grades.copy()
    changed[found] = grades[order][places[found]] if len(asked) else 0
    levels = np.union1d(lists.levels, grades).astype(np.int32)
    counts = np.zeros((len(lists.level_counts), len(levels)), dtype=np.int64)
    counts[:, np.searchsorted(levels, lists.levels)] = lists.level_counts
    np.add.at(counts, (topics, np.searchsorted(levels, grades)), 1)
    highest = max(lists.highest_grade, int(levels.max(initial=0)))
    new = replace(
        lists,
        grades=changed,
        levels=levels,
        level_counts=counts,
        highest_grade=highest,
        stratified=None,
        _relevant={},
    )
    return replace(alignment, lists=new)


def of_runs(alignment: Alignment, documents: Identities, runs: Sequence[int]) -> tuple[Alignment, Identities]:
    """Give the alignment of some runs alone."""
    count = len(alignment.topic_ids)
    cells = np.concatenate([np.arange(run * count, (run + 1) * count) for run in runs])
    lists = alignment.lists
    rows = np.concatenate([np.arange(lists.offsets[run * count], lists.offsets[(run + 1) * count]) for run in runs])
    chosen = replace(
        alignment,
        run_names=tuple(alignment.run_names[run] for run in runs),
        lists=lists.chosen(cells),
        present=alignment.present[list(runs)],
        scored=alignment.scored[list(runs)],
        extra_topics=tuple(alignment.extra_topics[run] for run in runs),
        tied=alignment.tied[rows],
        qrels_row=None,
    )
    return chosen, Identities(documents.codes[rows], documents.document_ids)
