"""Comparisons as rows of data: one for each pair, or one for each pair and topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

from cranfield.base.progress import Progress, silent
from cranfield.base.text import counted
from cranfield.store.store import Store
from cranfield.workflows.compare.compare import (
    TUKEY,
    TUKEY_BESIDE,
    Compared,
    Comparing,
    Wanted,
    all_notes,
    power_record,
)
from cranfield.workflows.evaluate.evaluate import MOST_LETTERS, short_hash
from cranfield.workflows.evaluate.inputs import Asked, measures_asked
from cranfield.workflows.reuse.field import WORST_FIRST, Field, PoolTold, Trusted, field_of, trusted
from cranfield.workflows.settle import highest_grade, with_documents

if TYPE_CHECKING:
    import pandas

    from cranfield.compare.comparison import PairResult
    from cranfield.evaluate.align import Alignment
    from cranfield.evaluate.expression import Measure
    from cranfield.evaluate.scores import Scores
    from cranfield.reuse.intervals import Identities
    from cranfield.reuse.pairs import Claim
    from cranfield.workflows.evaluate.evaluate import Evaluation


MADE_WITH = ("qrels", "reference")
"""The last columns of every row."""


_PAIR = (
    *("a", "b", "topics", "mean_a", "mean_b", "difference", "low", "high", "relative", "effect", "hedges", "wins"),
    *("ties", "losses", "statistic", "p", "adjusted_p", "exact", "degenerate"),
)
"""The columns of a pair, in the order of the fields of its result."""


def long_records(
    compared: Sequence[Compared], scores: Scores, *, wanted: Wanted | None = None
) -> list[dict[str, Any]]:
    """Give one record per measure and pair with everything that is known of it, and what all were made with.

    `test_draws` says how often the test drew, 0 where it drew nothing; a measure of few values is counted instead.
    """
    return [
        {
            "measure": one.measure,
            **dict(zip(_PAIR, astuple(result), strict=True)),
            "test_draws": one.test_draws,
            **_seeds(one, result),
            **power,
            **made_how(one.how),
            **_made_with(scores),
        }
        for one in compared
        for power in [power_record(one, wanted or Wanted())]
        for result in one.results
    ]


def topic_records(compared: Sequence[Compared], scores: Scores) -> list[dict[str, Any]]:
    """Give one record per measure, pair and topic: both scores and their difference, as they were compared.

    Of a geometric mean these are logarithms, as the name of the measure says; of several seeds the mean.
    """
    return [record for one in compared for result in one.results for record in topics_of(one, result, scores)]


def topics_of(one: Compared, result: PairResult, scores: Scores) -> list[dict[str, Any]]:
    """Give the records of one pair."""
    first, second = (one.scores.values[one.scores.labels.index(name)].tolist() for name in (result.a, result.b))
    return [
        {
            "measure": one.measure,
            "a": result.a,
            "b": result.b,
            "topic": topic,
            "score_a": score_a,
            "score_b": score_b,
            "difference": score_a - score_b,
            **_made_with(scores),
        }
        for topic, score_a, score_b in zip(scores.topic_ids, first, second, strict=True)
    ]


def _made_with(scores: Scores) -> dict[str, str]:
    return dict(zip(MADE_WITH, (short_hash(scores.qrels_hash), scores.order), strict=True))


def made_how(how: Comparing) -> dict[str, Any]:
    """Give how pairs were compared, by name. Tukey's test is a correction: the p beside it is a paired t's.

    `draws` are those of the intervals.
    """
    return {
        "test": TUKEY_BESIDE if how.test == TUKEY else how.test,
        "correction": how.correction,
        "alpha": how.alpha,
        "tolerance": how.tolerance,
        "draws": how.interval_draws,
        "seed": how.seed,
    }


def _seeds(one: Compared, result: PairResult) -> dict[str, Any]:
    """Give how many seeds the entries of a pair have and how far their means lie apart, where there are any."""
    if not one.how.systems:
        return {}
    places = {"a": one.scores.labels.index(result.a), "b": one.scores.labels.index(result.b)}
    counts = {f"seeds_{side}": int(one.scores.seeds.count[place]) for side, place in places.items()}
    return counts | {f"seed_deviation_{side}": between_seeds(one, place) for side, place in places.items()}


def between_seeds(one: Compared, place: int) -> float | None:
    """Give the standard deviation of the means of an entry's seeds; nothing where there is only one."""
    seeds = one.scores.seeds
    return float(seeds.deviation[place]) if seeds.count[place] > 1 else None


def compared_frame(
    found: Evaluation,
    compared: Sequence[Compared],
    records: Sequence[Mapping[str, Any]],
    *,
    notes: Sequence[str] = (),
    by_topic: bool = False,
) -> pandas.DataFrame:
    """Give records as a pandas frame; its attributes carry what all were made with and what is to be told."""
    import pandas as pd

    scores, made = found.scores, made_how(compared[0].how)
    frame = pd.DataFrame(list(records))
    frame = frame.drop(columns=[name for name in (*made, *MADE_WITH) if name in frame])
    told = [*notes, *found.notes, *all_notes(compared, by_topic=by_topic)]
    frame.attrs.update(qrels=scores.qrels_hash, reference=scores.order, notes=told, **made)
    return frame


# Which pairs of a comparison people see, and what a table says of entries: thousands of pairs are no table.

PAIRS_SHOWN = 40
AGAINST_BASELINES = 60
"""Up to so many pairs with a baseline are all shown: each of them was asked for."""

NAMES_SHOWN = 5

ALL_IN_DATA = "--format csv gives all"


@dataclass(frozen=True)
class Shown:
    """The pairs that are shown, and a sentence where they are not all; those `turned` stand as b against a."""

    pairs: tuple[PairResult, ...]
    turned: frozenset[tuple[str, str]] = frozenset()
    said: str = ""


def shown_pairs(one: Compared) -> Shown:
    """Choose the pairs that people see.

    Against baselines all of them, the highest run first, as long as that is a table one can read, else the clearest.
    Of all pairs, where they are few, all of them, the clearest first. Where they are many the clearest would be the
    top against the bottom, which nobody asks about: then the highest run stands against those below it.
    """
    from cranfield.compare.comparison import clearness

    results, total = one.results, counted(len(one.results), "pair")
    place = {one.scores.labels[number]: rank for rank, number in enumerate(one.order)}
    if one.how.baselines and len(results) <= AGAINST_BASELINES:
        bases = list(one.how.baselines)
        return Shown(tuple(sorted(results, key=lambda result: (bases.index(result.b), place[result.a]))))
    clearest = sorted(results, key=clearness)
    if len(results) <= PAIRS_SHOWN:
        return Shown(tuple(clearest))
    if one.how.baselines:
        return Shown(tuple(clearest[:PAIRS_SHOWN]), said=f"the {PAIRS_SHOWN} clearest of {total}; {ALL_IN_DATA}")
    best = one.scores.labels[one.order[0]]
    against = sorted(_with(results, best), key=lambda result: place[_other(result, best)])[:PAIRS_SHOWN]
    turned = frozenset((result.a, result.b) for result in against if result.b == best)
    which = "each other run" if len(against) == len(place) - 1 else f"the next {len(against)} runs"
    return Shown(tuple(against), turned, f"{best} against {which}, of {total}; {ALL_IN_DATA}")


def _with(results: Sequence[PairResult], entry: str) -> list[PairResult]:
    return [result for result in results if entry in (result.a, result.b)]


def _other(result: PairResult, entry: str) -> str:
    return result.b if result.a == entry else result.a


def level_with_the_best(one: Compared) -> frozenset[str] | None:
    """Give the entries that do not differ significantly from the highest; None where letters are few enough."""
    if max(map(len, one.letters.values()), default=0) <= MOST_LETTERS:
        return None
    best = one.scores.labels[one.order[0]]
    level = (_other(result, best) for result in _with(one.results, best) if result.adjusted_p > one.how.alpha)
    return frozenset([best, *level])


def level_heading(one: Compared) -> str:
    """Give what stands above the column of those entries."""
    return "level with the best" if one.of.quality else "level with the highest"


def named(entries: Sequence[str]) -> str:
    """Give the names of entries, of many the first ones and how many more there are."""
    more = len(entries) - NAMES_SHOWN
    return ", ".join(entries[:NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def said_of_letters(one: Compared) -> str:
    """Say what the last column of a standing means: what an entry is above, or what it shares a letter with."""
    if one.how.baselines:
        return f"beats: significantly better than ({how_tested(one)})" if one.of.quality else _higher(one)
    if level_with_the_best(one) is None:
        return f"runs that share a letter do not differ significantly ({how_tested(one)})"
    return f"{level_heading(one)}: not significantly different from it ({how_tested(one)}); {ALL_IN_DATA} pairs"


def _higher(one: Compared) -> str:
    return f"higher than: significantly ({how_tested(one)}); a higher {one.of.shown} does not mean a better run"


def how_tested(one: Compared) -> str:
    """Give test, draws, correction and alpha in words."""
    from cranfield.compare.comparison import said_of_test

    return f"{said_of_test(one.how.test, one.how.correction, draws=one.test_draws)}, alpha {one.how.alpha:g}"


# What may be said of each pair of runs while documents are unjudged: proved, supported, conservative win, open.

ABOUT_CLAIMS = (
    "proved, supported, conservative win and open say what unjudged documents leave of a lead;"
    " whether it is more than chance, p says"
)
TO_A_RANK = "proved to a rank: documents below it, which nobody judged, were not looked at and could still turn it"

MOST_PAIRS = 300
"""For how many pairs of a measure claims are worked out; each takes a while."""

Claims = dict[tuple[str, str, str], "Claim"]
"""By measure and the two runs, as in the results of the comparison."""

Verdicts = Mapping[tuple[str, str], str]
"""By measure and run, the level alone."""


@dataclass(frozen=True)
class Said:
    """What is said of a comparison while documents are unjudged: of pairs, of runs, and notes on both."""

    claims: Claims
    verdicts: Verdicts
    notes: tuple[str, ...] = ()


def said_of(
    compared: Sequence[Compared],
    asked: Asked,
    how: Comparing,
    told: PoolTold,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    field: Field | None = None,
) -> Said:
    """Work out what can be said of a comparison; what cannot be said has a note that tells why.

    Whoever has the field of the runs already hands it in.
    """
    why = tuple(why_no_claims(asked, how))
    if not may_have_verdicts(asked):
        return Said({}, {}, why)
    field = field_of(asked, told, store=store) if field is None else field
    if why:
        trust = trust_of(field, asked, store=store)
        return Said({}, verdicts_in(trust), (*trust.notes, *why))
    claims, trust = _claims_of(compared, asked, field, store=store, progress=progress)
    verdicts = verdicts_in(trust)
    return Said(claims, verdicts, (*trust.notes, *_without_verdict(compared, verdicts), *about(claims.values())))


def _without_verdict(compared: Sequence[Compared], verdicts: Verdicts) -> list[str]:
    """Say which measures have no verdicts: those that pass holes over, or do not say which run is better."""
    judged = {measure for measure, _ in verdicts}
    others = [one.of.shown for one in compared if one.of.shown not in judged]
    return [f"no verdicts and no claims for {', '.join(others)}: nothing follows from holes there"] if others else []


def about(claims: Iterable[Claim]) -> list[str]:
    """Say what the words of claims mean; nothing where there are none."""
    found = list(claims)
    to_a_rank = any(one.level == "proved" and one.down_to for one in found)
    return [*([ABOUT_CLAIMS] if found else []), *([TO_A_RANK] if to_a_rank else [])]


def _claims_of(
    compared: Sequence[Compared], asked: Asked, field: Field, *, store: Store | None, progress: Progress
) -> tuple[Claims, Trusted]:
    """Work out what may be said of the pairs of a comparison; also gives how far each score can be trusted."""
    trust = trust_of(field, asked, store=store)
    by_name = {str(one.measure): one.measure for one in trust.trusts}
    full = replace(asked, qrels=field.read.qrels)
    aligned, documents = with_documents(full, store, topics=field.read.aligned.topic_ids)
    claims: Claims = {}
    for done, one in enumerate(compared, start=1):
        measure = by_name.get(one.measure)
        if measure is not None:
            for result in claimed_pairs(one):
                found = _claim(result, measure, trust, aligned, documents, store)
                claims[one.measure, result.a, result.b] = found
        progress("looking at pairs", done, len(compared))
    return claims if any(one.unjudged for one in claims.values()) else {}, trust


def trust_of(field: Field, asked: Asked, *, store: Store | None = None) -> Trusted:
    """Give how far the plain score of each run of a field can be trusted."""
    from cranfield.evaluate.expression import own_measures

    measures = own_measures(measures_asked(asked.measures, store))
    return trusted(field, measures, store=store, learn="where there are holes")


def verdicts_in(trust: Trusted) -> Verdicts:
    """Give the verdicts of all runs."""
    return {
        (str(one.measure), name): verdict.level
        for one in trust.trusts
        for name, verdict in zip(one.assessment.run_names, one.assessment.verdicts, strict=True)
        if verdict is not None
    }


def verdict_of_entry(verdicts: Verdicts, measure: str, entry: str, how: Comparing) -> str:
    """Give the verdict of a run, or the worst one of the seeds of a system; nothing where there is none."""
    seeds = (how.systems or {}).get(entry, (entry,))
    found = [verdicts[measure, run] for run in seeds if (measure, run) in verdicts]
    return min(found, key=WORST_FIRST.index, default="")


def add_said(records: Sequence[dict[str, Any]], said: Said, compared: Sequence[Compared]) -> None:
    """Add what may be said to the records of the pairs of a comparison: the claim, and the verdict on either score.

    Where none was worked out at all the records stay as they are.
    """
    of = {one.measure: one for one in compared}
    for record in records if said.claims else ():
        claim = said.claims.get((record["measure"], record["a"], record["b"]))
        record["claim"] = None if claim is None else claim.level
        record["claim_depth"] = None if claim is None else claim.down_to
        record["claim_reason"] = None if claim is None else claim.reason
    for record in records if said.verdicts else ():
        for side in ("a", "b"):
            one = of[record["measure"]]
            verdict = verdict_of_entry(said.verdicts, one.of.shown, record[side], one.how)
            record[f"verdict_{side}"] = verdict or None


def may_have_verdicts(asked: Asked) -> bool:
    """Say whether all measures are ours: others see documents, and nothing is known about their holes."""
    from cranfield.evaluate.expression import Measure, parse_measures

    return all(isinstance(measure, Measure) for measure in parse_measures(asked.measures))


def why_no_claims(asked: Asked, how: Comparing) -> Iterator[str]:
    """Say why no claims can be worked out, and what the verdicts are then; nothing where they can."""
    if not may_have_verdicts(asked):
        yield "no verdicts and no claims here, because nothing is known about holes under measures of ir_measures"
        return
    if how.systems:
        yield "no claims here, because an entry is a mean over seeds; its verdict is the worst of its seeds"
    if asked.duplicates == "novelty":
        yield "no claims here, because they are about plain scores; so are the verdicts"


def claimed_pairs(one: Compared) -> list[PairResult]:
    """Give the pairs that claims are worked out for: those that are shown, and then the clearest."""
    from cranfield.compare.comparison import clearness

    pairs = [*shown_pairs(one).pairs, *sorted(one.results, key=clearness)]
    return list({(result.a, result.b): result for result in pairs}.values())[:MOST_PAIRS]


def _claim(
    result: PairResult,
    measure: Measure,
    trust: Trusted,
    aligned: Alignment,
    documents: Identities,
    store: Store | None,
) -> Claim:
    from cranfield.reuse.intervals import interval_depth
    from cranfield.reuse.pairs import claim_of, open_score

    first, second = (aligned.run_names.index(name) for name in (result.a, result.b))
    pair = open_score(
        aligned,
        documents,
        measure,
        first,
        second,
        depth=interval_depth(measure, pool_depth=trust.field.depth),
        highest=highest_grade(store),
    )
    known = trust.of(measure)
    loss = None if known is None else known.assessment.loss
    upper = None if loss is None else (float(loss.upper[first]), float(loss.upper[second]))
    p, corrected = float(result.adjusted_p), result.adjusted_p != result.p
    claim = claim_of(pair, loss95=upper, p_value=p, name_documents=False, corrected=corrected)
    return replace(claim, reason=f"{claim.reason} (guessed)") if trust.field.guessed else claim
