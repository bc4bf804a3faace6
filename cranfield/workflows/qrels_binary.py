"""Qrels in two grades: each grade is relevant or not by the scale it was given on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.errors import InputError, quoted
from cranfield.judge.events import MAIN
from cranfield.qrels.rules import Rule
from cranfield.workflows.qrels_of import meant_by, merged_now, qrels_for, released_qrels, with_pooled
from cranfield.store import Store
from cranfield.store.pools_live import thresholds
from cranfield.store.releases import NOW, release, release_names
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.release import Manifest


def binary_qrels(
    store: Store,
    word: str | None,
    *,
    with_unjudged: bool = False,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
) -> "Qrels":
    """Give the qrels that `word` means with 1 for relevant and 0 for not.

    Of the judgments and of a release made from them it is known by which version of the scale each grade was given;
    a file, and a release of a file, are read by the scale in force.
    """
    from cranfield.qrels.merge import binary_by_scale
    from cranfield.qrels.release import manifest_from
    from cranfield.qrels.views import binary

    chosen = meant_by(store, word, layers=layers)
    if chosen == NOW:
        with store.snapshot():
            opinions, merged = merged_now(store, layers=layers, rule=rule, up_to=up_to)
            qrels = binary_by_scale(opinions, merged, thresholds(store))
            return with_pooled(store, qrels) if with_unjudged else qrels
    qrels = qrels_for(store, chosen)
    if chosen in release_names(store):
        manifest = manifest_from(release(store, chosen).manifest)
        if len(manifest.scales) > 1:
            return _of_several_scales(store, manifest)
        for version in manifest.scales:
            return binary(qrels, relevant_from=thresholds(store)[int(version)])
    return binary(qrels, relevant_from=current_scale(store)[1].relevant_from)


def _of_several_scales(store: Store, manifest: "Manifest") -> "Qrels":
    """Fold a release from the events again, to see by which scale each of its grades was given."""
    from cranfield.qrels.merge import binary_by_scale
    from cranfield.qrels.views import judged_only

    frozen = released_qrels(store, manifest.name)
    opinions, merged = merged_now(
        store, layers=manifest.layers, rule=manifest.rule, up_to=manifest.up_to_event, primary=manifest.primary
    )
    if merged.qrels.content_hash != judged_only(frozen).content_hash:
        raise InputError(
            f"release {quoted(manifest.name)} has grades of several scales, and the events do not tell which has"
            " which; say from which grade on they are relevant with --binary-from"
        )
    grades = frozen.grades.copy()
    # Both are sorted by topic and document, so that the judged rows of one are the rows of the other.
    grades[grades >= 0] = binary_by_scale(opinions, merged, thresholds(store)).grades
    return replace(frozen, grades=grades)
