"""Everything that a report and a card are made from, by the same steps that `evaluate`, `reuse` and `judge` use."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.errors import InputError
from cranfield.judge.events import MAIN
from cranfield.steps.evaluate_asked import Asked
from cranfield.steps.evaluate_letters import letters_of
from cranfield.steps.judge_agreement import agreement_report
from cranfield.steps.judging_progress import judging_progress
from cranfield.steps.pool_show import show_pool
from cranfield.steps.qrels_of import qrels_for
from cranfield.steps.reuse_field import PoolTold
from cranfield.steps.status import collection_status
from cranfield.steps.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.events import assessors

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.reuse.collection import CollectionReport
    from cranfield.steps.evaluate import Evaluated
    from cranfield.steps.judge_agreement import AgreementReport
    from cranfield.steps.judging_progress import JudgingProgress
    from cranfield.steps.pool_show import ShownPool
    from cranfield.steps.status import Status
    from cranfield.steps.trust import Trusted

MEASURES = ("nDCG@10", "AP", "P@10")
LETTERED = 40
"""Up to how many runs get significance letters: more letters than an alphabet has tell nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a report is asked for. `public` leaves out the names of assessors and the text of documents."""

    measures: tuple[str, ...] = MEASURES
    qrels: str | None = None
    layers: tuple[str, ...] = (MAIN,)
    public: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """What is known; what is not is None, and `missing` says why.

    `names` gives each assessor the name under which the report speaks of him.
    """

    wanted: Wanted
    status: "Status"
    qrels: "Qrels | None"
    evaluated: "Evaluated | None"
    trust: "Trusted | None"
    bias: "CollectionReport | None"
    pool: "ShownPool | None"
    judging: "JudgingProgress | None"
    agreement: "AgreementReport | None"
    no_agreement: str
    names: Mapping[str, str]
    missing: tuple[str, ...]


def material_of(store: Store, wanted: Wanted, *, progress: Progress = silent) -> Material:
    """Gather everything; what a young collection does not have yet is missing, and no error."""
    status, missing = collection_status(store), list[str]()
    qrels = _qrels(store, wanted, missing)
    evaluated, trust, bias = _scores(store, wanted, qrels, [run.name for run in status.runs], progress, missing)
    has_pool = bool(status.pools)
    agreement, no_agreement = _agreement(store, wanted)
    return Material(
        wanted=wanted,
        status=status,
        qrels=qrels,
        evaluated=evaluated,
        trust=trust,
        bias=bias,
        pool=show_pool(store) if has_pool else None,
        judging=judging_progress(store, layer=wanted.layers[0]) if has_pool else None,
        agreement=agreement,
        no_agreement=no_agreement,
        names=_names(store, public=wanted.public),
        missing=tuple(missing),
    )


def _qrels(store: Store, wanted: Wanted, missing: list[str]) -> "Qrels | None":
    try:
        return qrels_for(store, wanted.qrels, with_unjudged=True, layers=wanted.layers)
    except InputError as error:
        if wanted.qrels is not None or wanted.layers != (MAIN,):
            raise
        missing.append(f"scores, since {error}")
        return None


def _scores(
    store: Store, wanted: Wanted, qrels: "Qrels | None", runs: list[str], progress: Progress, missing: list[str]
) -> "tuple[Evaluated | None, Trusted | None, CollectionReport | None]":
    from cranfield.steps.evaluate_trust import evaluate_with_trust
    from cranfield.steps.reuse import examine_collection

    if qrels is None or not runs:
        missing += [] if runs else ["scores, since no run was submitted"]
        return None, None, None
    asked = Asked(qrels=qrels, runs=tuple(runs), measures=wanted.measures, curve=True)
    evaluated, trust = evaluate_with_trust(asked, PoolTold(), store=store, progress=progress)
    if 2 <= len(runs) <= LETTERED and evaluated.scores.scored.all():
        evaluated = replace(evaluated, letters=letters_of(evaluated.scores, "tukey"))
    if trust is None:
        return evaluated, None, None
    return evaluated, trust, examine_collection(trust.field, [one.measure for one in trust.trusts])


def _agreement(store: Store, wanted: Wanted) -> "tuple[AgreementReport | None, str]":
    try:
        return agreement_report(store, layers=wanted.layers), ""
    except InputError as error:
        return None, str(error)


def _names(store: Store, *, public: bool) -> dict[str, str]:
    known = sorted(assessors(store))
    return {name: f"assessor {number}" if public else name for number, name in enumerate(known, start=1)}
