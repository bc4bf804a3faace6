"""What may be said of each pair of runs while documents are unjudged: proved, supported, conservative win, open."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.steps.compare import Compared, Comparing
from cranfield.steps.evaluate_asked import Asked
from cranfield.steps.reuse_field import Field, PoolTold, field_of
from cranfield.steps.settling import highest_grade, with_documents
from cranfield.steps.trust import Trusted, trusted
from cranfield.steps.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.scales import current_scale

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

MOST_PAIRS = 300
"""For how many pairs of a measure claims are worked out, the clearest first; each takes a while."""

Claims = dict[tuple[str, str, str], "Claim"]
"""By measure and the two runs, as in the results of the comparison."""


def claims_of(
    compared: Sequence[Compared],
    asked: Asked,
    told: PoolTold,
    *,
    store: Store | None = None,
    progress: Progress = silent,
    field: Field | None = None,
) -> tuple[Claims, Trusted]:
    """Work out what may be said of the pairs of a comparison; also gives how far each score can be trusted.

    Whoever has the field of the runs already hands it in.
    """
    from cranfield.evaluate.expression import own_measures, parse_measures

    rel = 1 if store is None else current_scale(store)[1].relevant_from
    measures = own_measures(parse_measures(asked.measures, threshold=rel))
    field = field_of(asked, told, store=store) if field is None else field
    trust = trusted(field, measures, store=store, learn="where there are holes")
    by_name = {str(measure): measure for measure in measures}
    full = replace(asked, qrels=field.read.qrels)
    aligned, documents = with_documents(full, store, topics=field.read.aligned.topic_ids)
    claims: Claims = {}
    for done, one in enumerate(compared, start=1):
        measure = by_name.get(one.measure)
        if measure is not None and measure.quality and trust.of(measure) is not None:
            for result in clearest(one.results):
                found = _claim(result, measure, trust, aligned, documents, store)
                claims[one.measure, result.a, result.b] = found
        progress("looking at pairs", done, len(compared))
    return claims, trust


def add_claims(records: "Sequence[dict[str, Any]]", claims: Claims) -> None:
    """Add what may be said to the records of pairs; where no claim was worked out at all they stay as they are."""
    for record in records if claims else ():
        claim = claims.get((record["measure"], record["a"], record["b"]))
        record["claim"] = None if claim is None else claim.level
        record["claim_reason"] = None if claim is None else claim.reason


def may_be_claimed(asked: Asked, how: Comparing) -> bool:
    """Say whether claims can be worked out: of single runs, scored plainly, by measures that are ours."""
    from cranfield.evaluate.expression import Measure, parse_measures

    ours = all(isinstance(measure, Measure) for measure in parse_measures(asked.measures))
    return ours and not how.systems and asked.duplicates == "plain"


def clearest(results: "Sequence[PairResult]") -> "list[PairResult]":
    """Give the pairs that claims are worked out for."""
    return sorted(results, key=lambda result: (result.adjusted_p, result.p))[:MOST_PAIRS]


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
    return claim_of(contest, loss95=upper, p_value=float(result.adjusted_p), name_documents=False)
