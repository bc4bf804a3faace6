"""What may be said of each pair of runs while documents are unjudged: proved, supported, conservative win, open."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cranfield.workflows.compare import Compared, Comparing
from cranfield.workflows.compare_shown import shown_pairs
from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.measures_asked import measures_asked
from cranfield.workflows.reuse_field import Field, PoolTold, field_of
from cranfield.workflows.settling import highest_grade, with_documents
from cranfield.workflows.trust import WORST_FIRST, Trusted, trusted
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store

if TYPE_CHECKING:
    from cranfield.compare.comparison import PairResult
    from cranfield.evaluate.align import Alignment
    from cranfield.evaluate.expression import Measure
    from cranfield.reuse.claims import Claim
    from cranfield.reuse.identities import Identities

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


def about(claims: "Iterable[Claim]") -> list[str]:
    """Say what the words of claims mean; nothing where there are none."""
    found = list(claims)
    to_a_rank = any(one.level == "proved" and one.down_to for one in found)
    return [*([ABOUT_CLAIMS] if found else []), *([TO_A_RANK] if to_a_rank else [])]


def said_of_saved(verdicts: Verdicts) -> Said:
    """Give what can be said of scores that were saved: their verdicts, if they were saved with any."""
    why = "no claims here, because saved scores do not tell the documents"
    more = "; verdicts are as they were saved" if verdicts else ", and they were saved without verdicts"
    return Said({}, verdicts, (why + more,))


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
    return claims if any(one.holes for one in claims.values()) else {}, trust


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


def add_said(records: "Sequence[dict[str, Any]]", said: Said, compared: Sequence[Compared]) -> None:
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


def claimed_pairs(one: Compared) -> "list[PairResult]":
    """Give the pairs that claims are worked out for: those that are shown, and then the clearest."""
    from cranfield.compare.comparison import clearness

    pairs = [*shown_pairs(one).pairs, *sorted(one.results, key=clearness)]
    return list({(result.a, result.b): result for result in pairs}.values())[:MOST_PAIRS]


def _claim(
    result: "PairResult",
    measure: "Measure",
    trust: Trusted,
    aligned: "Alignment",
    documents: "Identities",
    store: Store | None,
) -> "Claim":
    from cranfield.reuse.bounds import depth_that_matters
    from cranfield.reuse.claims import claim_of
    from cranfield.reuse.pairs import contest_of

    first, second = (aligned.run_names.index(name) for name in (result.a, result.b))
    contest = contest_of(
        aligned,
        documents,
        measure,
        first,
        second,
        depth=depth_that_matters(measure, pool_depth=trust.field.depth),
        highest=highest_grade(store),
    )
    known = trust.of(measure)
    loss = None if known is None else known.assessment.loss
    upper = None if loss is None else (float(loss.upper[first]), float(loss.upper[second]))
    p, corrected = float(result.adjusted_p), result.adjusted_p != result.p
    claim = claim_of(contest, loss95=upper, p_value=p, name_documents=False, corrected=corrected)
    return replace(claim, reason=f"{claim.reason} (guessed)") if trust.field.guessed else claim
