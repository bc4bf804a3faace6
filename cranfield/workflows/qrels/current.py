"""The qrels that a command uses: of a file, of a release, or what the judgments say now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield._version import __version__
from cranfield.base.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.base.files import Source
from cranfield.base.progress import now, stored_moment
from cranfield.base.text import counted
from cranfield.judge.events import MAIN, fold
from cranfield.qrels.rules import DEFAULT_RULE, Rule, check_rule
from cranfield.store import documents, releases
from cranfield.store import scales as stored_scales
from cranfield.store.events import (
    documents_in_pools,
    events,
    has_grades,
    last_sequence,
    opinion_rows,
    opinion_text,
    primary_assessors,
    sequence_at,
    versions_used,
)
from cranfield.store.pools import draws_unevenly, pool_facts, sampled_strata
from cranfield.store.store import Store, put_setting, setting

if TYPE_CHECKING:
    from cranfield.qrels.merge import Manifest, Merged, Opinions, Primary
    from cranfield.qrels.qrels import Difference, Qrels


RULE_SETTING = "merge_rule"
NOTHING_JUDGED = (
    "there are no judgments yet: judge with cranfield judge, import some with cranfield judge import FILE,"
    " or name a file of qrels"
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
        return _from_file(Path(_needed(word)))
    chosen = meant_by(store, word, layers=layers)
    if chosen == releases.NOW:
        return qrels_now(store, with_unjudged=with_unjudged, layers=layers, rule=rule, up_to=up_to)
    if chosen in releases.names(store):
        if Path(chosen).exists():
            raise UsageError(f"{quoted(chosen)} is a release and a file; write ./{chosen} for the file")
        return released_qrels(store, chosen)
    if not Path(chosen).exists() and chosen != "-" and not {"/", "."} & set(chosen):
        raise UnknownName("release or file of qrels", chosen, [releases.NOW, *releases.names(store)])
    return _from_file(Path(chosen))


def meant_by(store: Store, word: str | None, *, layers: Sequence[str] = (MAIN,)) -> str:
    """Give the word that says which qrels are meant, where none was given too: `now`, a release, or a file."""
    return _default(store, layers) if word is None else word


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
    from cranfield.qrels.qrels import with_unjudged

    return _as_sample(store, with_unjudged(qrels, documents_in_pools(store)))


def _as_sample(store: Store, qrels: Qrels) -> Qrels:
    """Give qrels that tell what was not drawn with their strata; as they are where no pool is a sample."""
    from cranfield.qrels.qrels import with_strata

    known = sampled_strata(store)
    return qrels if known is None else with_strata(qrels, known.chosen, known.passed_over)


def merged_now(
    store: Store,
    *,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
    primary: Primary | None = None,
) -> tuple[Opinions, Merged]:
    """Give what stands, or stood at an event, and what the rule makes of it; with the primary assessors of now."""
    from cranfield.qrels.merge import merged

    opinions = standing_opinions(store, layers, up_to=up_to)
    chosen = collection_rule(store) if rule is None else rule
    first = primary_assessors(store) if primary is None else primary
    return opinions, merged(opinions, rule=chosen, primary=first, layers=layers, name=releases.NOW)


def standing_opinions(store: Store, layers: Sequence[str], *, up_to: int | None = None) -> Opinions:
    """Give the standing grades of some layers as columns; as of an event they are folded from the events."""
    from cranfield.qrels.merge import opinions_in_text, opinions_of, row_of

    if up_to is not None:
        stood = fold(events(store, up_to=up_to, layers=layers)).values()
        return opinions_of([row_of(event) for event in stood if event.grade is not None])
    return opinions_in_text(opinion_text(store, layers)) or opinions_of(opinion_rows(store, layers))


def released_qrels(store: Store, name: str) -> Qrels:
    """Give the qrels of a release, and make sure that they are what was released.

    Where they tell what was not judged, and the pools are those it was made from, each row has its stratum too.
    """
    from cranfield.qrels.qrels import qrels_of

    facts = releases.fetch(store, name)
    qrels = qrels_of(releases.rows(store, name), name=name)
    if qrels.content_hash != facts.content_hash:
        raise CollectionError(f"release {quoted(name)} is not what its hash says: restore the file from a backup")
    return _as_sample(store, qrels) if _knows_the_pools(store, facts) else qrels


def _knows_the_pools(store: Store, facts: releases.ReleaseFacts) -> bool:
    try:
        manifest = json.loads(facts.manifest)
        told, made_from = bool(manifest["unjudged"]) and not manifest["file"], manifest["pools"]
    except (ValueError, TypeError, KeyError):
        return False
    return told and made_from == {one.name: one.content_hash for one in pool_facts(store)}


def collection_rule(store: Store) -> Rule:
    """Give the rule by which this collection merges opinions."""
    return check_rule(tuple(setting(store, RULE_SETTING, DEFAULT_RULE)))


def set_rule(store: Store, rule: Rule) -> None:
    """Choose the rule by which this collection merges opinions; releases stay as they are."""
    check_rule(rule)
    with store.write():
        put_setting(store, RULE_SETTING, list(rule))


def _default(store: Store, layers: Sequence[str]) -> str:
    names = releases.names(store)
    if any(has_grades(store, layer) for layer in layers):
        return releases.NOW
    if len(names) == 1:
        return names[0]
    if names:
        raise InputError(f"nothing is judged here, and there are several releases: name one of {', '.join(names)}")
    raise InputError(NOTHING_JUDGED)


def _from_file(path: Path) -> Qrels:
    from cranfield.qrels.reading import read_qrels

    return read_qrels(Source(path))


def _needed(word: str | None) -> str:
    if word is None:
        raise UsageError("which qrels? name a file of them, or a collection with -C")
    return word


# What should be told with qrels: grades of an older scale, and samples that strata do not describe.

UNEVEN = (
    "the sample drew documents with different probabilities; xinfAP, infNDCG, statAP and statP take all of a"
    " stratum alike here, and are biased"
)


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
    others, scale = stored_scales.others(store)
    if not others:
        return OlderGrades()
    on_scale = [step.grade for step in scale.grades]
    chosen = meant_by(store, word, layers=layers)
    if chosen == releases.NOW:
        return _of_judgments(store, list(others), on_scale, layers, rule, up_to)
    return _of_release(store, chosen, list(others), on_scale) if chosen in releases.names(store) else OlderGrades()


def _of_judgments(
    store: Store,
    others: Sequence[int],
    on_scale: Sequence[int],
    layers: Sequence[str],
    rule: Rule | None,
    up_to: int | None,
) -> OlderGrades:
    import numpy as np

    opinions, merged = merged_now(store, layers=layers, rule=rule, up_to=up_to)
    older = merged.rows[np.isin(opinions.scales[merged.rows], others)]
    return OlderGrades(len(older), int((~np.isin(opinions.grades[older], on_scale)).sum()))


def _of_release(store: Store, name: str, others: Sequence[int], on_scale: Sequence[int]) -> OlderGrades:
    """Count in the manifest: what is not on the present scale can only come from another."""
    from cranfield.qrels.merge import manifest_from

    manifest = manifest_from(releases.fetch(store, name).manifest)
    older = sum(count for version, count in manifest.scales.items() if int(version) in others)
    off = sum(count for grade, count in manifest.grades.items() if int(grade) >= 0 and int(grade) not in on_scale)
    return OlderGrades(older, min(off, older))


def read_by_the_present_scale(store: Store, word: str | None, *, layers: Sequence[str] = (MAIN,)) -> str:
    """Warn whoever scores with qrels in which older grades stand; empty where there are none."""
    said = str(older_grades(store, word, layers=layers))
    relevant_from = stored_scales.others(store)[1].relevant_from
    return f"{said}; all are read by the present one, with its gains, relevant from {relevant_from}" if said else ""


def sample_warning(store: Store, qrels: Qrels) -> str:
    """Warn where strata tell too little of how the sample was drawn; empty where they do not."""
    return UNEVEN if qrels.strata is not None and draws_unevenly(store) else ""


# Freeze qrels under a name, list what is frozen, compare.


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which judgments are meant: of which layers, merged by which rule, as of which event or moment."""

    layers: tuple[str, ...] = (MAIN,)
    rule: Rule | None = None
    up_to: int | None = None
    as_of: str = ""
    with_unjudged: bool = False

    def event(self, store: Store) -> int | None:
        """Give the number of the last event that counts; None where all of them do."""
        if self.as_of:
            return sequence_at(store, stored_moment(self.as_of, end_of_day=True))
        return self.up_to


def make_release(store: Store, name: str, *, chosen: Chosen | None = None, note: str = "") -> Manifest:
    """Freeze what is judged under a name, with the story of how it came about."""
    from cranfield.qrels.merge import check_name

    check_name(name)
    asked = chosen or Chosen()
    with store.write():
        event = asked.event(store)
        rule = collection_rule(store) if asked.rule is None else asked.rule
        opinions, merged = merged_now(store, layers=asked.layers, rule=rule, up_to=event)
        if not len(merged.qrels):
            raise InputError(f"nothing to release: no grade stands in {' or '.join(asked.layers)}")
        qrels = with_pooled(store, merged.qrels) if asked.with_unjudged else merged.qrels
        scales, guidelines = versions_used(store, opinions.events[merged.rows].tolist())
        manifest = replace(
            _manifest(store, name, qrels, note),
            layers=asked.layers,
            rule=rule,
            primary={topic: tuple(names) for topic, names in primary_assessors(store).items()},
            up_to_event=last_sequence(store) if event is None else event,
            scales=_as_text(scales),
            guidelines=_as_text(guidelines),
        )
        _put(store, manifest, qrels)
    return manifest


@dataclass(frozen=True, slots=True)
class ImportedRelease:
    """Qrels of a file, frozen. `new` is false where the same were there already; `strangers` says what is unknown."""

    manifest: Manifest
    new: bool
    strangers: tuple[str, ...] = ()


def import_release(
    store: Store, path: Path, name: str, *, format: str | None = None, note: str = ""
) -> ImportedRelease:
    """Freeze the qrels of a file under a name; the same qrels under the same name are left as they are."""
    from cranfield.qrels.merge import check_name, manifest_from
    from cranfield.qrels.reading import read_qrels

    check_name(name)
    source = Source(path)
    qrels = read_qrels(source, format=format)
    with store.write():
        strangers = tuple(_strangers(store, qrels))
        for facts in releases.fetch_all(store):
            if facts.name == name and facts.content_hash == qrels.content_hash:
                return ImportedRelease(manifest_from(facts.manifest), new=False, strangers=strangers)
        made = replace(_manifest(store, name, qrels, note), file=source.path.name, file_sha256=source.file_sha256)
        _put(store, made, qrels)
    return ImportedRelease(made, new=True, strangers=strangers)


def list_releases(store: Store) -> list[Manifest]:
    """Give the manifests of all releases in the order they were made."""
    from cranfield.qrels.merge import manifest_from

    return [manifest_from(facts.manifest) for facts in releases.fetch_all(store)]


def compare_qrels(
    store: Store | None, before: str, after: str, *, layers: Sequence[str] = (MAIN,), with_unjudged: bool = False
) -> Difference:
    """Compare two sets of qrels, each a release, a file or `now`."""
    from cranfield.qrels.qrels import difference

    both = [qrels_for(store, word, layers=layers, with_unjudged=with_unjudged) for word in (before, after)]
    return difference(*both)


def release_faults(store: Store) -> list[str]:
    """Say which releases are not what their hash or their manifest says."""
    from cranfield.qrels.merge import manifest_from

    faults = []
    for name in releases.names(store):
        try:
            released_qrels(store, name)
        except Exception as error:  # noqa: BLE001 (whatever a damaged file brings about is a finding)
            faults.append(f"release {name!r}: {error}")
    for facts in releases.fetch_all(store):
        try:
            said = manifest_from(facts.manifest)
        except (ValueError, TypeError, KeyError):
            faults.append(f"the manifest of release {facts.name!r} cannot be read")
            continue
        if (said.name, said.content_hash, said.judged + said.unjudged) != (
            facts.name,
            facts.content_hash,
            facts.rows,
        ):
            faults.append(f"the manifest of release {facts.name!r} says something else than the release")
    return faults


def _manifest(store: Store, name: str, qrels: Qrels, note: str) -> Manifest:
    from cranfield.qrels.merge import Manifest, counts_of

    judged = int((qrels.grades >= 0).sum())
    return Manifest(
        name=name,
        content_hash=qrels.content_hash,
        topics=len(qrels.topic_ids),
        judged=judged,
        unjudged=len(qrels) - judged,
        grades=counts_of(qrels),
        pools={facts.name: facts.content_hash for facts in pool_facts(store)},
        note=note,
        collection=setting(store, "name", ""),
        made=now(),
        made_by=f"cranfield {__version__}",
    )


def _put(store: Store, manifest: Manifest, qrels: Qrels) -> None:
    facts = releases.ReleaseFacts(manifest.name, qrels.content_hash, len(qrels), manifest.json(), manifest.made)
    releases.add(store, facts, qrels)


def _strangers(store: Store, qrels: Qrels) -> list[str]:
    """Say how much of foreign qrels this collection does not know; nothing where it has no corpus."""
    found = []
    known = set(documents.topic_ids(store))
    topics = [topic for topic in qrels.topics if topic not in known] if known else []
    if topics:
        found.append(f"{counted(len(topics), 'topic')} not in this collection, for example {quoted(topics[0])}")
    if documents.count(store):
        ids = qrels.document_ids.to_pylist()
        there = documents.known(store, ids)
        missing = [one for one in ids if one not in there]
        if missing:
            said = f"{counted(len(missing), 'document')} not in this collection, for example {quoted(missing[0])}"
            found.append(said)
    return found


def _as_text(counts: dict[int, int]) -> dict[str, int]:
    return {str(version): count for version, count in sorted(counts.items())}
