"""Everything that a report and a card are made from, by the same steps that `evaluate`, `reuse` and `judge` use."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cranfield.errors import InputError
from cranfield.judge.events import MAIN
from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.evaluate_letters import BestGroup, best_group, letters_of
from cranfield.workflows.judge_agreement import agreement_report
from cranfield.workflows.judging_progress import judging_progress
from cranfield.workflows.pool_show import show_pool
from cranfield.workflows.qrels_of import collection_rule, meant_by, qrels_for
from cranfield.workflows.qrels_release import list_releases
from cranfield.workflows.reuse_field import PoolTold
from cranfield.workflows.status import collection_status
from cranfield.workflows.stored_runs import stored_names
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.events import assessors
from cranfield.store.releases import NOW

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.release import Manifest
    from cranfield.qrels.rules import Rule
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.contributors import Level
    from cranfield.workflows.evaluate import Evaluated
    from cranfield.workflows.judge_agreement import AgreementReport
    from cranfield.workflows.judging_progress import JudgingProgress
    from cranfield.workflows.pool_show import ShownPool
    from cranfield.workflows.status import Status
    from cranfield.workflows.trust import Trusted

MEASURES = ("nDCG@10", "AP", "P@10")
LETTERED = 40
"""Up to how many runs get significance letters: more letters than an alphabet has tell nothing."""

HELD_OUT = 200
"""Up to how many runs that fed the pool are held out one by one: the time grows with their cube."""


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

    `names` gives each assessor the name under which the report speaks of him. `layers` and `rule` are those that the
    qrels were made by: of the release, where they are one; none where they came from a file.
    """

    wanted: Wanted
    status: "Status"
    qrels: "Qrels | None"
    release: "Manifest | None"
    layers: tuple[str, ...]
    rule: "Rule"
    evaluated: "Evaluated | None"
    best: "BestGroup | None"
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
    evaluated, trust, bias = _scores(store, wanted, qrels, stored_names(store), progress, missing)
    has_pool = bool(status.pools)
    layers, rule, release = _origin(store, wanted, qrels)
    looked_at = layers or wanted.layers
    agreement, no_agreement = _agreement(store, looked_at)
    return Material(
        wanted=wanted,
        status=status,
        qrels=qrels,
        release=release,
        layers=layers,
        rule=rule,
        evaluated=evaluated,
        best=_best(evaluated),
        trust=trust,
        bias=bias,
        pool=show_pool(store) if has_pool else None,
        judging=judging_progress(store, layer=looked_at[0]) if has_pool else None,
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


def _origin(store: Store, wanted: Wanted, qrels: "Qrels | None") -> "tuple[tuple[str, ...], Rule, Manifest | None]":
    """Give the layers and the rule that qrels were made by, and the release, where they are one."""
    if qrels is None:
        return (), (), None
    word = meant_by(store, wanted.qrels, layers=wanted.layers)
    if word == NOW:
        return wanted.layers, collection_rule(store), None
    release = next((one for one in list_releases(store) if one.name == word), None)
    return ((), (), None) if release is None else (release.layers, release.rule, release)


def _scores(
    store: Store, wanted: Wanted, qrels: "Qrels | None", runs: tuple[str, ...], progress: Progress, missing: list[str]
) -> "tuple[Evaluated | None, Trusted | None, CollectionReport | None]":
    from cranfield.workflows.evaluate_trust import evaluate_with_trust
    from cranfield.workflows.reuse import examine_collection

    if qrels is None or not runs:
        missing += [] if runs else ["scores, since no run was submitted"]
        return None, None, None
    asked = Asked(qrels=qrels, runs=runs, measures=wanted.measures, curve=True)
    evaluated, trust = evaluate_with_trust(asked, PoolTold(), store=store, progress=progress)
    if 2 <= len(runs) <= LETTERED and evaluated.scores.scored.all():
        evaluated = replace(evaluated, letters=letters_of(evaluated.scores, "tukey"))
    if trust is None:
        return evaluated, None, None
    fed = sum(bool(trust.field.fed_pool(run)) for run in range(len(trust.field.read.runs)))
    if fed > HELD_OUT:
        missing.append(f"what single runs would lose, since {fed:,} of them fed the pool; cranfield reuse tells it")
    without: tuple[Level, ...] = ("run",) if fed > HELD_OUT else ()
    measures = [one.measure for one in trust.trusts]
    return evaluated, trust, examine_collection(trust.field, measures, without=without, thresholds=trust.thresholds)


def _best(evaluated: "Evaluated | None") -> "BestGroup | None":
    """Find the runs that are level with the best, where they are too many for letters."""
    if evaluated is None or len(evaluated.scores.run_names) <= LETTERED:
        return None
    return best_group(evaluated.scores)


def _agreement(store: Store, layers: tuple[str, ...]) -> "tuple[AgreementReport | None, str]":
    try:
        return agreement_report(store, layers=layers), ""
    except InputError as error:
        return None, str(error)


def _names(store: Store, *, public: bool) -> dict[str, str]:
    known = sorted(assessors(store))
    return {name: f"assessor {number}" if public else name for number, name in enumerate(known, start=1)}
