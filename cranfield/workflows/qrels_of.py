"""The qrels that a command uses: of a file, of a release, or what the judgments say now."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.judge.events import MAIN
from cranfield.judge.fold import fold
from cranfield.qrels.rules import DEFAULT_RULE, Rule, check_rule
from cranfield.source import Source
from cranfield.store import Store
from cranfield.store.events import events
from cranfield.store.opinions import documents_in_pools, has_grades, opinion_rows, opinion_text, primary_assessors
from cranfield.store.pools import pool_facts
from cranfield.store.releases import NOW, ReleaseFacts, release, release_names, release_rows
from cranfield.store.settings import put_setting, setting
from cranfield.store.strata import sampled_strata

if TYPE_CHECKING:
    from cranfield.qrels.merge import Merged, Primary
    from cranfield.qrels.opinions import Opinions
    from cranfield.qrels.qrels import Qrels

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
) -> "Qrels":
    """Give the qrels that `word` means: `now`, the name of a release, or a file.

    Without a word: what is judged now; where nothing is judged, the only release. `now` is merged by the collection's
    rule, or by `rule`, from the layers in order, as of the event `up_to`. With `with_unjudged` the documents that
    were pooled and not judged are there too, with the grade -1, and where a pool is a sample each row has its
    stratum; a release and a file are what they are.
    """
    if store is None:
        return _from_file(Path(_needed(word)))
    chosen = meant_by(store, word, layers=layers)
    if chosen == NOW:
        return qrels_now(store, with_unjudged=with_unjudged, layers=layers, rule=rule, up_to=up_to)
    if chosen in release_names(store):
        if Path(chosen).exists():
            raise UsageError(f"{quoted(chosen)} is a release and a file; write ./{chosen} for the file")
        return released_qrels(store, chosen)
    if not Path(chosen).exists() and chosen != "-" and not {"/", "."} & set(chosen):
        raise UnknownName("release or file of qrels", chosen, [NOW, *release_names(store)])
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
) -> "Qrels":
    """Give one grade per topic and document, from what is judged now or was at an event."""
    with store.snapshot():
        qrels = merged_now(store, layers=layers, rule=rule, up_to=up_to)[1].qrels
        return with_pooled(store, qrels) if with_unjudged else qrels


def with_pooled(store: Store, qrels: "Qrels") -> "Qrels":
    """Add what was pooled and not judged, with the grade -1, and the strata where a pool is a sample."""
    from cranfield.qrels.views import with_unjudged

    return _as_sample(store, with_unjudged(qrels, documents_in_pools(store)))


def _as_sample(store: Store, qrels: "Qrels") -> "Qrels":
    """Give qrels that tell what was not drawn with their strata; as they are where no pool is a sample."""
    from cranfield.qrels.views import with_strata

    known = sampled_strata(store)
    return qrels if known is None else with_strata(qrels, known.chosen, known.passed_over)


def merged_now(
    store: Store,
    *,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
    primary: "Primary | None" = None,
) -> "tuple[Opinions, Merged]":
    """Give what stands, or stood at an event, and what the rule makes of it; with the primary assessors of now."""
    from cranfield.qrels.merge import merged

    opinions = standing_opinions(store, layers, up_to=up_to)
    chosen = collection_rule(store) if rule is None else rule
    first = primary_assessors(store) if primary is None else primary
    return opinions, merged(opinions, rule=chosen, primary=first, layers=layers, name=NOW)


def standing_opinions(store: Store, layers: Sequence[str], *, up_to: int | None = None) -> "Opinions":
    """Give the standing grades of some layers as columns; as of an event they are folded from the events."""
    from cranfield.qrels.opinions import opinions_in_text, opinions_of, row_of

    if up_to is not None:
        stood = fold(events(store, up_to=up_to, layers=layers)).values()
        return opinions_of([row_of(event) for event in stood if event.grade is not None])
    return opinions_in_text(opinion_text(store, layers)) or opinions_of(opinion_rows(store, layers))


def released_qrels(store: Store, name: str) -> "Qrels":
    """Give the qrels of a release, and make sure that they are what was released.

    Where they tell what was not judged, and the pools are those it was made from, each row has its stratum too.
    """
    from cranfield.qrels.qrels import qrels_of

    facts = release(store, name)
    qrels = qrels_of(release_rows(store, name), name=name)
    if qrels.content_hash != facts.content_hash:
        raise CollectionError(f"release {quoted(name)} is not what its hash says: restore the file from a backup")
    return _as_sample(store, qrels) if _knows_the_pools(store, facts) else qrels


def _knows_the_pools(store: Store, facts: ReleaseFacts) -> bool:
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
    names = release_names(store)
    if any(has_grades(store, layer) for layer in layers):
        return NOW
    if len(names) == 1:
        return names[0]
    if names:
        raise InputError(f"nothing is judged here, and there are several releases: name one of {', '.join(names)}")
    raise InputError(NOTHING_JUDGED)


def _from_file(path: Path) -> "Qrels":
    from cranfield.qrels.reading import read_qrels

    return read_qrels(Source(path))


def _needed(word: str | None) -> str:
    if word is None:
        raise UsageError("which qrels? name a file of them, or a collection with -C")
    return word
