"""The values of trec_eval's measures: our own where both agree, its own arithmetic where they differ.

Each function gives (name as printed, value of each list) pairs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cranfield.evaluate.aggregate import SMALLEST
from cranfield.evaluate.lists import Lists, Values
from cranfield.evaluate.measures import average, counts, gain, incomplete, precision, user_models
from cranfield.evaluate.trec_eval import parameters
from cranfield.evaluate.trec_eval.catalogue import DEFAULT_CUTOFFS, DEFAULT_LEVELS, LEVELS
from cranfield.evaluate.trec_eval.options import Refused, TrecOptions

Named = Iterator[tuple[str, Values]]
Function = Callable[["Asked"], Named]

_RESIDUAL_P = 0.9
_DEFAULT_P = 0.9
_COEFFICIENTS = 4


@dataclass(frozen=True)
class Asked:
    """One measure that is wanted: its lists, its name, its parameters as text, and the options."""

    lists: Lists
    name: str
    text: str | None
    options: TrecOptions

    @property
    def full_name(self) -> str:
        """The name as printed when parameters join it."""
        return f"{self.name}_{self.text}" if self.text else self.name

    @property
    def rel(self) -> int:
        """The lowest grade that is relevant."""
        return self.options.level


def values_of(asked: Asked) -> dict[str, Values]:
    """Give the values of a measure under the names it prints."""
    return dict(_FUNCTIONS[asked.name](asked))


def _plain(function: Callable[..., Values], **settings: object) -> Function:
    def values(asked: Asked) -> Named:
        yield asked.name, function(asked.lists, rel=asked.rel, **settings)

    return values


def _plain_without_level(function: Callable[..., Values]) -> Function:
    def values(asked: Asked) -> Named:
        yield asked.name, function(asked.lists)

    return values


def _cut(function: Callable[..., Values], **settings: object) -> Function:
    def values(asked: Asked) -> Named:
        wanted = parameters.cutoffs(asked.text, asked.name) if asked.text else DEFAULT_CUTOFFS[asked.name]
        for cutoff in wanted:
            threshold = {} if asked.name in ("ndcg_cut", "unj") else {"rel": asked.rel}
            yield f"{asked.name}_{cutoff}", function(asked.lists, cutoff=cutoff, **threshold, **settings)

    return values


def _levels(asked: Asked) -> tuple[float, ...]:
    return parameters.levels(asked.text, asked.name) if asked.text else DEFAULT_LEVELS[asked.name]


def _rprec_mult(asked: Asked) -> Named:
    relevant, found = asked.lists.relevant_count(asked.rel), asked.lists.relevant(asked.rel)
    for times in _levels(asked):
        depth = np.trunc(times * relevant + 0.9).astype(np.int64)
        count = found.where(found.rank <= depth[found.cell]).count
        yield f"{asked.name}_{times:3.2f}", np.where(depth > 0, count / np.maximum(depth, 1), 0.0)


def _iprec(asked: Asked) -> Named:
    for level in _levels(asked):
        yield f"{asked.name}_{level:3.2f}", _interpolated(asked, level)


def _eleven_points(asked: Asked) -> Named:
    """The mean of the interpolated precisions, added from the last level to the first.

    trec_eval walks the list once from its end and takes the levels in turn, so that a level which is higher than the
    one after it is never met: it and all before it get the highest precision of the list.
    """
    levels = parameters.numbers(asked.text) if asked.text else LEVELS
    relevant = asked.lists.relevant_count(asked.rel)
    top = _interpolated(asked, 0.0)
    reached = asked.lists.relevant(asked.rel).count
    met, passed = np.zeros(len(asked.lists), dtype=bool), np.zeros(len(asked.lists), dtype=bool)
    total = np.zeros(len(asked.lists))
    for level in reversed(levels):
        needed = average.documents_needed(level, relevant, asked.options.version)
        beyond = ~met & (needed > reached)
        met |= ~beyond
        passed |= met & ((needed > reached) | (needed <= 0))
        total = total + np.where(beyond, 0.0, np.where(passed, top, _interpolated(asked, level)))
        reached = np.where(met & ~passed, needed, reached)
    yield asked.full_name, total / len(levels)


def _interpolated(asked: Asked, level: float) -> Values:
    """Interpolated precision; not a number where an empty list is divided by its length, 0."""
    version = asked.options.version
    needed = average.documents_needed(level, asked.lists.relevant_count(asked.rel), version)
    value = average.interpolated_precision(asked.lists, cutoff=level, rel=asked.rel, rounding=version)
    return np.where((asked.lists.length == 0) & (needed <= 0), np.nan, value)


def _geometric(function: Callable[..., Values]) -> Function:
    def values(asked: Asked) -> Named:
        value = np.maximum(function(asked.lists, rel=asked.rel), SMALLEST)
        yield asked.name, np.array([math.log(one) for one in value.tolist()])

    return values


def _graded(function: Callable[..., Values], **settings: object) -> Function:
    def values(asked: Asked) -> Named:
        gains = parameters.gains(parameters.pairs(asked.text, asked.name)) if asked.text else ()
        yield asked.full_name, function(asked.lists, gains=gains, **settings)

    return values


def _rndcg(asked: Asked) -> Named:
    """Not a number where there are relevant documents and none has a gain: 0 is divided by 0."""
    lists = asked.lists
    gains = parameters.gains(parameters.pairs(asked.text, asked.name)) if asked.text else ()
    worth = gain.gain_function("linear", gains)(lists.levels) > 0
    nothing = (lists.level_counts[:, worth].sum(axis=1) == 0)[lists.topics] & (lists.relevant_count(asked.rel) > 0)
    for name, value in _graded(gain.ndcg_at_levels, rel=asked.rel)(asked):
        yield name, np.where(nothing, np.nan, value)


def _utility(asked: Asked) -> Named:
    numbers = parameters.numbers(asked.text) if asked.text else (1.0, -1.0, 0.0, 0.0)
    if len(numbers) != _COEFFICIENTS:
        raise Refused("trec_eval.calc_utility: improper number of coefficients\n", 4)
    named = dict(zip("abcd", numbers, strict=True))
    value = precision.utility(asked.lists, **named, documents=asked.options.documents, rel=asked.rel)
    yield asked.full_name, value


def _set_f(asked: Asked) -> Named:
    beta = parameters.numbers(asked.text)[0] if asked.text else 1.0
    yield asked.full_name, precision.set_f(asked.lists, beta=beta, rel=asked.rel)


def _rbp(asked: Asked) -> Named:
    found = parameters.pairs(asked.text, asked.name) if asked.text else ()
    persistence = dict(found).get("p", _DEFAULT_P)
    named = parameters.gains(found)
    judged = asked.lists.judged
    if named:
        worth = user_models.scaled_gains(asked.lists, named)
        powers = user_models.powers(persistence, judged.rank)
        yield asked.full_name, (1.0 - persistence) * judged.total(worth * powers)
    else:
        value = user_models.rank_biased_precision(asked.lists, p=persistence, gain="topic")
        yield asked.full_name, value


def _rbp_residual(asked: Asked) -> Named:
    value = user_models.rank_biased_residual(asked.lists, p=_RESIDUAL_P)
    yield asked.name, np.where(asked.lists.unjudged.count > 0, value, 0.0)


def _relstring(asked: Asked) -> Named:
    yield asked.full_name, np.zeros(len(asked.lists))


def relevance_string(asked: Asked, cell: int) -> str:
    """Give the grades at the first ranks, one letter each: - not pooled, . pooled and not judged, > above 9."""
    size = int(parameters.real_number(asked.text)) if asked.text else 10
    start, end = (int(place) for place in asked.lists.offsets[cell : cell + 2])
    grades = asked.lists.grades[start : max(start, min(end, start + size))].tolist()
    return "".join(_letter(grade) for grade in grades)


def _letter(grade: int) -> str:
    if grade > 9:
        return ">"
    if grade >= 0:
        return str(grade)
    return "-" if grade == np.iinfo(np.int32).min else "."


_FUNCTIONS: dict[str, Function] = {
    "num_q": _plain_without_level(counts.topic_count),
    "num_ret": _plain_without_level(counts.retrieved_count),
    "num_rel": _plain(counts.relevant_count),
    "num_rel_ret": _plain(counts.relevant_retrieved_count),
    "map": _plain(average.average_precision),
    "gm_map": _geometric(average.average_precision),
    "Rprec": _plain(average.r_precision),
    "bpref": _plain(incomplete.binary_preference),
    "recip_rank": _plain(average.reciprocal_rank),
    "iprec_at_recall": _iprec,
    "P": _cut(precision.precision),
    "relstring": _relstring,
    "recall": _cut(precision.recall),
    "infAP": _plain(incomplete.inferred_average_precision),
    "gm_bpref": _geometric(incomplete.binary_preference),
    "Rprec_mult": _rprec_mult,
    "utility": _utility,
    "11pt_avg": _eleven_points,
    "binG": _plain(average.binary_g),
    "G": _graded(gain.normalized_gain),
    "dcg": _graded(gain.discounted_cumulated_gain),
    "ideal_dcg": _graded(gain.ideal_discounted_cumulated_gain),
    "ndcg": _graded(gain.normalized_discounted_cumulated_gain),
    "ndcg_rel": _graded(gain.ndcg_at_relevant),
    "Rndcg": _rndcg,
    "ndcg_cut": _cut(gain.normalized_discounted_cumulated_gain),
    "map_cut": _cut(average.average_precision),
    "relative_P": _cut(precision.relative_precision),
    "success": _cut(precision.success),
    "set_P": _plain(precision.set_precision),
    "set_relative_P": _plain(precision.set_precision, relative=True),
    "set_recall": _plain(precision.set_recall),
    "set_map": _plain(precision.set_average_precision),
    "set_F": _set_f,
    "num_nonrel_judged_ret": _plain(counts.judged_nonrelevant_count),
    "yaap": _plain(average.yet_another_average_precision),
    "rbp": _rbp,
    "rbp_resid": _rbp_residual,
    "unj": _cut(incomplete.unjudged_share, over="cutoff"),
}
