"""The collection card: what goes with a published collection, for programs to read."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield._version import __version__
from cranfield.errors import CranfieldError
from cranfield.workflows.licence import licence_of
from cranfield.workflows.report import Reported, checksums, collection_report
from cranfield.workflows.report_material import Material, Wanted
from cranfield.workflows.watching import Progress, now, silent
from cranfield.store import Store

if TYPE_CHECKING:
    from cranfield.qrels.release import Manifest
    from cranfield.reuse.card import Card
    from cranfield.reuse.collection import CollectionReport

KIND = "cranfield-collection-card"
VERSION = 1


def report_and_card(store: Store, wanted: Wanted, *, progress: Progress = silent) -> tuple[Reported, dict[str, Any]]:
    """Make a report, and the card of the same moment."""
    with store.snapshot():
        made = collection_report(store, wanted, progress=progress)
        return made, card_for_collection(store, made.material)


def card_for_collection(store: Store, material: Material) -> dict[str, Any]:
    """Give the card as what JSON can hold. It names no assessor; a licence is there where the collection has one."""
    from cranfield.reuse.card import card_content

    status = material.status
    reuse = reuse_card(material)
    made: dict[str, Any] = {
        "kind": KIND,
        "version": VERSION,
        "name": status.name,
        "licence": licence_of(store) or None,
        "made": now(),
        "made_by": f"cranfield {__version__}",
        "counts": _counts(material),
        "scale": _scale(material),
        "guidelines": {"version": status.guidelines_version},
        "pools": [_pool(material)] if material.pool is not None else [],
        "runs": _runs(material),
        "groups": _groups(material),
        "qrels": _qrels(material),
        "agreement": _agreement(material),
        "reusability": {
            "collection": None if material.bias is None else _fairness(material.bias),
            "card": None if reuse is None else card_content(reuse),
        },
        "checksums": checksums(store, material),
    }
    return made


def reuse_card(material: Material) -> "Card | None":
    """Give the card of the pool, with which others judge their runs; None where it is not known who fed it."""
    from cranfield.workflows.reuse import card_for

    if material.trust is None or material.trust.field.prefixes is None or not material.trust.trusts:
        return None
    try:
        return card_for(material.trust)
    except CranfieldError:
        return None


def write_card(card: dict[str, Any], path: Path) -> None:
    """Write a card, complete or not at all."""
    from cranfield.writing import whole_file

    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(card_json(card), encoding="utf-8")


def card_json(card: dict[str, Any]) -> str:
    """Give a card as text; what is not a number is null."""
    from cranfield.reuse.decoding import encoded

    plain = {name: _plain(value, encoded) for name, value in card.items()}
    return json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _plain(value: Any, encoded: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner, encoded) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, encoded) for inner in value]
    return encoded(value)


def _counts(material: Material) -> dict[str, int]:
    status = material.status
    counts = {"documents": status.documents, "topics": status.topics, "runs": len(status.runs)}
    counts |= {"groups": status.groups, "contributing_runs": status.contributing, "pooled": status.pooled}
    counts |= {"assessors": status.assessors, "duplicate_clusters": status.duplicate_clusters}
    if material.qrels is not None:
        grades = material.qrels.grades
        counts["judged"] = int((grades >= 0).sum())
        counts["relevant"] = int((grades >= status.scale.relevant_from).sum())
    return counts


def _scale(material: Material) -> dict[str, Any]:
    scale = material.status.scale
    grades = [{"grade": one.grade, "label": one.label, "gain": one.gain, "text": one.text} for one in scale.grades]
    return {"relevant_from": scale.relevant_from, "grades": grades}


def _pool(material: Material) -> dict[str, Any]:
    assert material.pool is not None
    facts = material.pool.facts
    told = {"name": facts.name, "plan": facts.plan, "plan_in_full": facts.plan_in_full, "seed": facts.seed}
    told |= {"judging_order": facts.judging_order, "one_per_cluster": bool(facts.one_per_cluster)}
    told |= {"content_hash": facts.content_hash, "made": facts.made, "made_by": facts.made_by}
    return told | {"documents": material.pool.documents, "judged": material.pool.judged}


def _runs(material: Material) -> list[dict[str, Any]]:
    fed = {run for run, *_ in material.pool.runs} if material.pool is not None else set()
    return [
        {
            "name": run.name,
            "group": run.group_name,
            "family": run.family,
            "pooled": run.name in fed,
            "topics": run.topics,
            "rows": run.rows,
            "content_hash": run.content_hash,
            "description": run.description,
        }
        for run in material.status.runs
    ]


def _groups(material: Material) -> list[dict[str, Any]]:
    if material.pool is None:
        return []
    names = ("group", "runs", "documents", "only_this_group")
    return [dict(zip(names, row, strict=True)) for row in material.pool.groups]


def _qrels(material: Material) -> dict[str, Any] | None:
    """Say what the qrels are, and how they came about: a release and a file have a story of their own."""
    from cranfield.qrels.release import counts_of

    if material.qrels is None:
        return None
    told = {"name": material.qrels.name, "content_hash": material.qrels.content_hash}
    return told | {
        "topics": len(material.qrels.topic_ids),
        "grades": counts_of(material.qrels),
        "layers": list(material.layers),
        "rule": list(material.rule),
        **({} if material.release is None else _story(material.release)),
    }


def _story(release: "Manifest") -> dict[str, Any]:
    """Give what only a release knows; not its primary assessors, who are people, nor its note."""
    told: dict[str, Any] = {"made": release.made, "made_by": release.made_by}
    if release.file:
        return told | {"file": release.file, "file_sha256": release.file_sha256}
    versions = {"scales": dict(release.scales), "guidelines": dict(release.guidelines)}
    return told | {"up_to_event": release.up_to_event, **versions, "pools": dict(release.pools)}


def _agreement(material: Material) -> list[dict[str, Any]]:
    found = () if material.agreement is None else material.agreement.overall.estimates
    return [
        {"coefficient": one.coefficient, "value": one.value, "low": one.low, "high": one.high, "items": one.items}
        for one in found
    ]


def _fairness(bias: "CollectionReport") -> dict[str, Any]:
    measures = []
    for one in bias.verdicts:
        told = {"measure": str(one.measure), "fairness": one.fairness, "reason": one.reason, "mean_loss": one.drop}
        if "group" in bias.levels:
            summary = bias.levels["group"].summary(one.measure)
            told |= {"tau_b": summary.tau_b, "lowest_tau_b": summary.lowest_tau_b, "tau_ap": summary.tau_ap}
        measures.append(told)
    counts = {"judged": bias.judged, "relevant": bias.relevant, "from_nobody": bias.orphans}
    return {"fairness": bias.fairness, "measures": measures, **counts, "not_exhausted": list(bias.not_exhausted)}
