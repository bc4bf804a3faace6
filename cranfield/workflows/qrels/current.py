"""The qrels that a command uses: of a file, of a release, or what the judgments say now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.judge.events import MAIN, fold
from cranfield.qrels.rules import DEFAULT_RULE, Rule, check_rule
from cranfield.store import events, pools, releases
from cranfield.store.store import Store

with deferred:
    import numpy as np

    from cranfield.qrels import merge, reading
    from cranfield.qrels import qrels as columns

if TYPE_CHECKING:
    from cranfield.qrels.merge import Manifest, Merged, Opinions, Primary
    from cranfield.qrels.qrels import Qrels

RULE_SETTING = "merge_rule"
NOTHING_JUDGED = (
    "there are no judgments yet: judge with cranfield judge, import some with cranfield judge import FILE,"
    " or name a file of qrels"
)
UNEVEN = (
    "the sample drew documents with different probabilities; xinfAP, infNDCG, statAP and statP take all of a"
    " stratum alike here, and are biased"
)


def qrels_for(
    store: Store | None,
    word: str | None = None,
    *,
    with_unjudged: bool = False,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
) -> Qrels:
    """Give the qrels that `word` means: `now`, the name of a release, or a file.

    Without a word: what is judged now; where nothing is judged, the only release. `now` is merged by the collection's
    rule, or by `rule`, from the layers in order, as of the event `up_to`. With `with_unjudged` the documents that
    were pooled and not judged are there too, with the grade -1, and where a pool is a sample each row has its
    stratum; a release and a file are what they are.
    """
    if store is None:
        if word is None:
            raise UsageError("which qrels? name a file of them, or a collection with -C")
        return reading.read_qrels(Source(Path(word)))
    chosen = meant_by(store, word, layers=layers)
    if chosen == releases.NOW:
        return qrels_now(store, with_unjudged=with_unjudged, layers=layers, rule=rule, up_to=up_to)
    if chosen in releases.names(store):
        if Path(chosen).exists():
            raise UsageError(f"{quoted(chosen)} is a release and a file; write ./{chosen} for the file")
        return released_qrels(store, chosen)
    if not Path(chosen).exists() and chosen != "-" and not {"/", "."} & set(chosen):
        raise UnknownName("release or file of qrels", chosen, [releases.NOW, *releases.names(store)])
    return reading.read_qrels(Source(Path(chosen)))


def meant_by(store: Store, word: str | None, *, layers: Sequence[str] = (MAIN,)) -> str:
    """Give the word that says which qrels are meant, where none was given too: `now`, a release, or a file."""
    if word is not None:
        return word
    if any(events.has_grades(store, layer) for layer in layers):
        return releases.NOW
    names = releases.names(store)
    if not names:
        raise InputError(NOTHING_JUDGED)
    if len(names) > 1:
        raise InputError(f"nothing is judged here, and there are several releases: name one of {', '.join(names)}")
    return names[0]


def qrels_now(
    store: Store,
    *,
    with_unjudged: bool = False,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
) -> Qrels:
    """Give one grade per topic and document, from what is judged now or was at an event."""
    with store.snapshot():
        qrels = merged_now(store, layers=layers, rule=rule, up_to=up_to)[1].qrels
        return with_pooled(store, qrels) if with_unjudged else qrels


def with_pooled(store: Store, qrels: Qrels) -> Qrels:
    """Add what was pooled and not judged, with the grade -1, and the strata where a pool is a sample."""
    return _with_strata(store, columns.with_unjudged(qrels, events.documents_in_pools(store)))


def _with_strata(store: Store, qrels: Qrels) -> Qrels:
    """Give qrels that tell what was not drawn with their strata; as they are where no pool is a sample."""
    known = pools.sampled_strata(store)
    return qrels if known is None else columns.with_strata(qrels, known.chosen, known.passed_over)


def merged_now(
    store: Store,
    *,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
    primary: Primary | None = None,
) -> tuple[Opinions, Merged]:
    """Give what stands, or stood at an event, and what the rule makes of it; with the primary assessors of now."""
    if up_to is not None:
        stood = fold(events.events(store, up_to=up_to, layers=layers)).values()
        opinions = merge.opinions_of([merge.row_of(event) for event in stood if event.grade is not None])
    else:
        read = merge.opinions_in_text(events.opinion_text(store, layers))
        opinions = read or merge.opinions_of(events.opinion_rows(store, layers))
    chosen = collection_rule(store) if rule is None else rule
    first = events.primary_assessors(store) if primary is None else primary
    return opinions, merge.merged(opinions, rule=chosen, primary=first, layers=layers, name=releases.NOW)


def released_qrels(store: Store, name: str) -> Qrels:
    """Give the qrels of a release, and make sure that they are what was released.

    Where they tell what was not judged, and the pools are those it was made from, each row has its stratum too.
    """
    facts = releases.fetch(store, name)
    qrels = columns.qrels_of(releases.rows(store, name), name=name)
    if qrels.content_hash != facts.content_hash:
        raise CollectionError(f"release {quoted(name)} is not what its hash says: restore the file from a backup")
    try:
        manifest = json.loads(facts.manifest)
        has_unjudged, made_from = bool(manifest["unjudged"]) and not manifest["file"], manifest["pools"]
    except (ValueError, TypeError, KeyError):
        return qrels
    same_pools = made_from == {one.name: one.content_hash for one in pools.pool_facts(store)}
    return _with_strata(store, qrels) if has_unjudged and same_pools else qrels


def collection_rule(store: Store) -> Rule:
    """Give the rule by which this collection merges opinions."""
    return check_rule(tuple(store.setting(RULE_SETTING, DEFAULT_RULE)))


def set_rule(store: Store, rule: Rule) -> None:
    """Choose the rule by which this collection merges opinions; releases stay as they are."""
    check_rule(rule)
    with store.write():
        store.set(RULE_SETTING, list(rule))


# What should be told with qrels: grades of an older scale, and samples that strata do not describe.


@dataclass(frozen=True, slots=True)
class OlderGrades:
    """How many deciding grades were given on another scale than the present one, and how many it does not have."""

    older: int = 0
    off_scale: int = 0

    def __str__(self) -> str:
        """Say it in one sentence; nothing where there are none."""
        if not self.older:
            return ""
        are = "is" if self.off_scale == 1 else "are"
        beside = f", {self.off_scale:,} of them {are} not on the present one" if self.off_scale else ""
        were = "was" if self.older == 1 else "were"
        return f"{counted(self.older, 'grade')} {were} given on an older scale{beside}"


def older_grades(
    store: Store,
    word: str | None = None,
    *,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
) -> OlderGrades:
    """Count the grades of an older scale in the qrels that a word means; of files nothing is known."""
    others, scale = store.other_scales(), store.scale()
    if not others:
        return OlderGrades()
    on_scale = [step.grade for step in scale.grades]
    chosen = meant_by(store, word, layers=layers)
    if chosen == releases.NOW:
        opinions, merged = merged_now(store, layers=layers, rule=rule, up_to=up_to)
        rows = merged.rows[np.isin(opinions.scales[merged.rows], list(others))]
        return OlderGrades(len(rows), int((~np.isin(opinions.grades[rows], on_scale)).sum()))
    if chosen not in releases.names(store):
        return OlderGrades()
    manifest = merge.manifest_from(releases.fetch(store, chosen).manifest)
    older = sum(count for version, count in manifest.scales.items() if int(version) in others)
    # What is not on the present scale can only come from another.
    off = sum(count for grade, count in manifest.grades.items() if int(grade) >= 0 and int(grade) not in on_scale)
    return OlderGrades(older, min(off, older))


def read_by_the_present_scale(store: Store, word: str | None, *, layers: Sequence[str] = (MAIN,)) -> str:
    """Warn whoever scores with qrels in which older grades stand; empty where there are none."""
    older = str(older_grades(store, word, layers=layers))
    relevant_from = store.scale().relevant_from
    return f"{older}; all are read by the present one, with its gains, relevant from {relevant_from}" if older else ""


def sample_warning(store: Store, qrels: Qrels) -> str:
    """Warn where strata tell too little of how the sample was drawn; empty where they do not."""
    return UNEVEN if qrels.strata is not None and pools.draws_unevenly(store) else ""


def list_releases(store: Store) -> list[Manifest]:
    """Give the manifests of all releases in the order they were made."""
    return [merge.manifest_from(facts.manifest) for facts in releases.fetch_all(store)]


def release_faults(store: Store) -> list[str]:
    """Say which releases are not what their hash or their manifest says."""
    faults = []
    for name in releases.names(store):
        try:
            released_qrels(store, name)
        except Exception as error:  # noqa: BLE001 (whatever a damaged file brings about is a finding)
            faults.append(f"release {name!r}: {error}")
    for facts in releases.fetch_all(store):
        try:
            manifest = merge.manifest_from(facts.manifest)
        except (ValueError, TypeError, KeyError):
            faults.append(f"the manifest of release {facts.name!r} cannot be read")
            continue
        rows = manifest.judged + manifest.unjudged
        if (manifest.name, manifest.content_hash, rows) != (facts.name, facts.content_hash, facts.rows):
            faults.append(f"the manifest of release {facts.name!r} says something else than the release")
    return faults
