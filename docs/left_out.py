"""Runs left out of the pool with their group or family, on collections whose truth is known, for `calibration.py`.

The pools are re-made from the runs at several depths. What the runs of a group that is left out lose is known,
because their documents were judged.
"""

from __future__ import annotations

import csv
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Container, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from more_systems import FullText, ranked_by
from numpy.typing import NDArray

from cranfield.base.files import Source
from cranfield.base.records import Document, Topic
from cranfield.corpus.reading import read_documents, read_topics
from cranfield.evaluate.align import Alignment, align
from cranfield.evaluate.lists import Counts, Lists, Values
from cranfield.evaluate.measure import Measure, own_measures, parse_measures
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.reuse.assess import (
    Coverage,
    Knowledge,
    assess_runs,
    coverage_of,
    measure_depths,
    why_untaught,
    why_untestable,
)
from cranfield.reuse.card import Fusion
from cranfield.reuse.completeness import Completion
from cranfield.reuse.expected_loss import Loss, ModelCache, expected_loss, scale_model, unjudged_of
from cranfield.reuse.hold_out import lists_without
from cranfield.reuse.intervals import takes_pool_depth
from cranfield.reuse.labels import count_labels
from cranfield.reuse.provenance import Contributor, Provenance, prefix_of, provenance_of
from cranfield.reuse.unjudged_model import UnjudgedModel, expected_chances
from cranfield.reuse.verdict import Evidence, Thresholds, Verdict, verdict_of
from cranfield.runs.baseline import Corpus, Query, TopicField, query_text
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows
from cranfield.runs.run import Rows, Run, ranked

MEASURES = ("P@10", "nDCG@10", "AP")
WHOLE = ("AP", "nDCG", "Rprec", "Bpref")
"""Measures that look below the pool."""

LEFT_OUT = ("rutfmed",)
"""Has half of the topics, and was not pooled on most of them."""

SEED, REST = 1, "not known"
FEWEST = 19
"""As many groups as an upper end for 95% of new ones needs."""

Pair = tuple[str, str]
Numbers = NDArray[np.int64]

# The collections: runs, their groups and families, and the grades that are known.


@dataclass(frozen=True, eq=False)
class Collection:
    """A collection whose truth is known: `grades` by topic and document; `otherwise` is the grade of all others,
    None where it is not known. The pool is re-made at each of the `depths`.
    """

    name: str
    depths: tuple[int, ...]
    runs: Sequence[Run]
    contributors: Sequence[Contributor]
    grades: Mapping[Pair, int]
    otherwise: int | None

    def qrels(self, depth: int) -> Qrels:
        """The judgments of what is among the first documents of any run."""
        found = {pair: self.grades.get(pair, self.otherwise) for run in self.runs for pair in _first(run, depth)}
        return qrels_of([(*pair, grade) for pair, grade in found.items() if grade is not None])

    def only(self, groups: Container[str]) -> Collection:
        """The runs of some groups: a pool of these alone."""
        kept = [place for place, one in enumerate(self.contributors) if one.group in groups]
        runs, contributors = ([one[place] for place in kept] for one in (self.runs, self.contributors))
        return replace(self, runs=runs, contributors=contributors)


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool: the runs held against its qrels, what each contributed, and the true grades at all places."""

    alignment: Alignment
    prefixes: Provenance
    truth: NDArray[np.int32]

    @staticmethod
    def of(collection: Collection, depth: int) -> Pool:
        """The pool re-made at a depth."""
        qrels, runs = collection.qrels(depth), collection.runs
        alignment = align(qrels, runs, keep_rows=True)
        prefixes = provenance_of(alignment, qrels, runs, collection.contributors, depth=depth)
        known = [(*pair, grade) for pair, grade in collection.grades.items() if pair[0] in alignment.topic_ids]
        truth = align(qrels_of(known), runs).lists.grades
        if collection.otherwise is not None:
            truth = np.where(truth < 0, np.int32(collection.otherwise), truth)
        return Pool(alignment, prefixes, truth)


def _first(run: Run, depth: int) -> Iterator[Pair]:
    return ((topic, document) for topic, documents, _ in run for document in documents[:depth])


def collections_in(data: Path) -> list[Collection]:
    """TREC-2, and four collections of abstracts with retrieval systems as groups."""
    return [trec_2(data / "trec-2-adhoc"), *(abstracts(data, name) for name in SMART)]


FAMILIES = {
    "manual": ("CLARTM", "INQ002", "VTcms2", "citymf", "rutcomb1", "siems2", "siems3"),
    "dense": ("HNCad1", "HNCad2", "lsia1", "lsiasm"),
}
"""Runs of TREC-2 that are known to rest on queries made or corrected by people, and on vectors of few dimensions
(LSI, context vectors); of others that is not known. Source: Harman (ed.), The Second Text REtrieval Conference, NIST
SP 500-215, appendix B, IIA to IIC."""


def trec_2(folder: Path) -> Collection:
    """The runs of TREC-2 ad hoc, mended as `runs check --repair` does, each with its organisation as group."""
    rows = [text.split() for text in (folder / "qrels" / "qrels.101-150.disk1.disk2").read_text().splitlines()]
    grades = {(topic, document): int(grade) for topic, _, document, grade in rows}
    records = ElementTree.fromstring((folder / "meta" / "desc.xml").read_text(encoding="utf-8")).iter("runs")
    groups = {str(one.findtext("tag")): str(one.findtext("organization")) for one in records}
    runs, expected = list[Run](), Expectations(topics=frozenset(topic for topic, _ in grades))
    for path in sorted((folder / "runs").iterdir()):
        name = path.name.removeprefix("input.").removesuffix(".gz")
        if name not in LEFT_OUT:
            found = read_rows(Source(path))
            run = repair(found, check(found, expected), name=name)[0]
            runs += [run] if run is not None else []
    families = {run: family for family, members in FAMILIES.items() for run in members}
    contributors = [Contributor(run.tag, groups[run.tag], families.get(run.tag, REST)) for run in runs]
    return Collection("TREC-2", (10, 20, 50, 100), runs, contributors, grades, None)


SMART = {
    "cranfield": ("docs/cran.all.1400.xml", "topics/cran.qry.xml", "qrels/cranqrel.trec.txt"),
    "cacm": ("docs/cacm.all", "topics/topics.cacm.txt", "qrels/qrels.cacm.txt"),
    "med": ("docs/MED.ALL", "topics/MED.QRY", "qrels/MED.REL"),
    "vaswani-npl": ("docs/doc-text.trec", "topics/query-text.trec", "qrels/qrels"),
}
"""Documents, topics and qrels of each."""

LENGTH = 100
SYSTEMS: dict[str, tuple[str, ...]] = {
    "BM25": (
        "bm25",
        "bm25 k1=0.9 b=0.4 variant=robertson stemmer=none",
        "bm25 variant=bm25l stopwords=none",
        "bm25 k1=2 b=0.3 variant=atire",
        "bm25 variant=bm25plus stemmer=none stopwords=none",
        "fts5",
        "bo1",
        "bo1 fb_docs=10 fb_terms=30 model=kl stemmer=none",
    ),
    "language model": (
        "dirichlet",
        "dirichlet mu=100 stemmer=none",
        "dirichlet mu=300 stopwords=none",
        "rm3",
        "rm3 fb_docs=3 fb_terms=10 mu=200",
        "rm3 fb_docs=20 fb_terms=50 original=0.2 stemmer=none",
        "jelinek",
        "jelinek smoothing=0.2 stemmer=none",
        "dependence",
        "dependence single=0.6 adjacent=0.2 stemmer=none",
    ),
    "vector space": (
        "tfidf",
        "tfidf stemmer=none",
        "tfidf stopwords=none",
        "rocchio",
        "rocchio fb_docs=10 beta=2 stemmer=none",
        "rocchio fb_docs=2 fb_terms=20 beta=0.5 stopwords=none",
        "pivoted",
        "pivoted slope=0.05 stemmer=none",
        "thesaurus",
        "thesaurus terms=50 weight=0.6 stemmer=none",
    ),
    "other weights": (
        "overlap",
        "overlap stemmer=none",
        "dfr",
        "dfr model=inl2 c=2 stemmer=none",
        "dfr model=dph stopwords=none",
        "axiomatic",
        "axiomatic s=0.2 k=0.5 stemmer=none",
    ),
    "character n-grams": (
        "chargrams",
        "chargrams shortest=2 longest=3",
        "chargrams shortest=4 longest=4",
        "chargrams shortest=5 longest=6",
    ),
    "few dimensions": (
        "lsa",
        "lsa dims=30",
        "lsa dims=60 stemmer=none",
        "lsa dims=200 stopwords=none",
        "ppmi",
        "ppmi dims=50 stemmer=none",
        "indexing",
        "indexing rounds=2 stemmer=none",
        "topics",
        "topics count=30 own=0.5 stemmer=none",
    ),
    "neighbours": (
        "expanded",
        "expanded nearest=5 own=0.7 stemmer=none",
        "regularized",
        "regularized nearest=5 own=0.4 stemmer=none",
        "clusters",
        "clusters count=20 own=0.3 stemmer=none",
    ),
    "fused": ("fused", "fused of=rm3+chargrams"),
}
"""Systems with their options, by family: all baselines of the product, and those of `more_systems.py`. A system is a
group. Where a whole family is left out, at least 19 groups are left, which is enough."""

SEVEN = ("bm25", "dirichlet", "rm3", "tfidf", "rocchio", "chargrams", "lsa")
LEXICAL = ("fts5", "overlap", "pivoted", "jelinek", "dfr", "axiomatic")
LATENT = ("ppmi", "indexing", "topics")
"""Baselines of the product but fts5; others that match the same words; and others, besides lsa, of few dimensions."""


def abstracts(data: Path, name: str) -> Collection:
    """A collection of abstracts with runs of all systems. What the qrels do not list is not relevant."""
    documents, topics, qrels = (data / name / part for part in SMART[name])
    rows = [text.split() for text in qrels.read_text(encoding="utf-8").splitlines()]
    # The qrels of CACM name documents CACM-0001 that are 1 in its file.
    grades = {(row[0], row[-2].removeprefix("CACM-").lstrip("0")): min(int(row[-1]), 1) for row in rows if row}
    # The topics of Cranfield are numbered by their position in the qrels.
    records = read_topics(topics, ids="position") if name == "cranfield" else read_topics(topics)
    fields: tuple[TopicField, ...] = ("title", "description", "narrative")
    asked = [Query(one.id, query_text(one, fields)) for one in records if isinstance(one, Topic)]
    relevant = {topic for (topic, _), grade in grades.items() if grade}
    corpus = FullText([one for one in read_documents(documents) if isinstance(one, Document)])
    runs = []
    contributors = []
    for family, systems in SYSTEMS.items():
        for words in systems:
            runs.append(made_run(words, corpus, [query for query in asked if query.topic in relevant]))
            contributors.append(Contributor(words, words.split()[0], family))
    return Collection(name, (5, 10, 20), runs, contributors, grades, 0)


def made_run(words: str, corpus: Corpus, queries: Sequence[Query]) -> Run:
    """A run of a system, given by its name and options."""
    found = list(ranked_by(words, corpus, queries, LENGTH))
    topics, documents = (
        pa.array(column, pa.large_string()).dictionary_encode()
        for column in (
            [one.topic for one in found for _ in one.documents],
            [document for one in found for document in one.documents],
        )
    )
    codes = (np.asarray(column.indices, dtype=np.int32) for column in (topics, documents))
    scores = np.array([score for one in found for score in one.scores])
    rows = Rows(Source(Path(words)), topics.dictionary, next(codes), documents.dictionary, next(codes), scores, None)
    return replace(ranked(rows), tag=words)


# One group or family after the other is left out, and what is expected of its runs is compared with the truth.

Variant = Literal["popularity", "card", "coverage", "no rule"]
"""By which model: with popularity; with that of a card; without it; with it also for runs unlike all others."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Contributing runs, each left out with its group or family: true and expected loss, judged@k and evidence.

    `drawn` are losses, draws by runs, with labels drawn by the model: what the true losses would be if it were right.
    """

    measure: Measure
    variant: Variant
    run_names: tuple[str, ...]
    group: tuple[str, ...]
    true: Values
    expected: Values
    upper: Values
    judged: Values
    unlike: NDArray[np.bool_]
    evidence: tuple[Evidence, ...]
    drawn: Values
    thresholds: Thresholds = field(default_factory=Thresholds)

    @property
    def below(self) -> NDArray[np.bool_]:
        """Whose true loss is not beyond the upper end, on the side where that lies."""
        beyond = np.where(self.upper >= 0, self.true - self.upper, self.upper - self.true)
        return np.asarray(beyond <= 1e-12)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts by what is estimated; the intervals have no say."""
        return tuple(verdict_of(one, self.thresholds) for one in self.evidence)

    @cached_property
    def safe(self) -> NDArray[np.bool_]:
        """Who is SAFE by the estimate; that everything is judged cannot be wrong."""
        return np.array([one.level == "SAFE" and one.rule != "no-holes" for one in self.verdicts])

    def lost(self, tolerances: float) -> NDArray[np.bool_]:
        """Whose score is off by more than so many of the usual tolerances."""
        return np.asarray(np.abs(self.true) > tolerances * Thresholds().tolerance + 1e-12)

    @property
    def low(self) -> NDArray[np.bool_]:
        """The half of the runs with the lower coverage."""
        return np.asarray(np.argsort(np.argsort(self.judged, kind="stable")) < len(self.judged) // 2)

    def only(self, here: NDArray[np.bool_]) -> Calibration:
        """Some of the runs."""
        kept: dict[str, Any] = {name: getattr(self, name)[..., here] for name in _ARRAYS}
        for name in ("run_names", "group", "evidence"):
            kept[name] = tuple(getattr(self, name)[place] for place in np.flatnonzero(here).tolist())
        return replace(self, **kept)


_ARRAYS = ("true", "expected", "upper", "judged", "unlike", "drawn")


def pooled(parts: Sequence[tuple[str, Calibration]]) -> Calibration:
    """Several calibrations as one; groups of different collections are different groups."""
    every, fewest = [one for _, one in parts], min(len(one.drawn) for _, one in parts)
    every = [replace(one, drawn=one.drawn[:fewest]) for one in every]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in every], axis=-1) for name in _ARRAYS
    }
    return replace(
        every[0],
        run_names=tuple(name for one in every for name in one.run_names),
        group=tuple(f"{name} {group}".strip() for name, one in parts for group in one.group),
        evidence=tuple(one for part in every for one in part.evidence),
        **arrays,
    )


def calibrate(
    collection: Collection,
    depth: int,
    *,
    level: Literal["group", "family"] = "group",
    variants: Sequence[Variant] = ("popularity", "coverage"),
    draws: int = 0,
) -> list[Calibration]:
    """Leave each group or family out of the pool re-made at a depth: by measure, then by variant."""
    pool = Pool.of(collection, depth)
    measures, rng = own_measures(parse_measures(MEASURES)), np.random.default_rng(SEED)
    return calibrated(
        pool.alignment,
        pool.prefixes,
        measures,
        rng=rng,
        truth=pool.truth,
        level=level,
        variants=variants,
        draws=draws,
    )


def repeated(rng: np.random.Generator) -> Iterator[np.random.Generator]:
    """Generators that all draw the same, independent of what `rng` draws later."""
    child = rng.spawn(1)[0]
    while True:
        yield deepcopy(child)


def calibrated(
    alignment: Alignment,
    prefixes: Provenance,
    measures: Sequence[Measure],
    *,
    rng: np.random.Generator,
    truth: NDArray[np.int32] | None = None,
    level: Literal["group", "family"] = "group",
    variants: Sequence[Variant] = ("popularity",),
    draws: int = 0,
) -> list[Calibration]:
    """Leave each group or family out in turn, and compare the expected loss of its runs with the true loss.

    `truth` are the grades at all places of the lists, those of the alignment without. All groups and measures have
    the same draws, so that no line depends on which others are asked for.
    """
    provenance = prefixes.by(level)
    found: dict[tuple[Measure, Variant], list[Calibration]] = {}
    truth = alignment.lists.grades if truth is None else truth
    numbers = repeated(rng)
    for group, left in enumerate(provenance.groups):
        if left == REST:
            continue
        reduced, others = _without(alignment, prefixes, provenance, group)
        runs = np.flatnonzero(provenance.group_of_run == group)
        depths = [measure_depths(measure, others.depth) for measure in measures]
        cache = ModelCache(reduced, others, reach=np.max(depths, axis=0))
        card = Fusion.of(reduced, others) if "card" in variants else None
        by_card = None if card is None else card.popularity(reduced)
        for measure in measures:
            same = next(numbers)
            for part in _parts(reduced, cache, measure, runs, truth, same, variants, left, draws, by_card):
                found.setdefault((measure, part.variant), []).append(part)
    return [pooled([("", part) for part in parts]) for parts in found.values()]


def _without(
    alignment: Alignment, prefixes: Provenance, provenance: Provenance, group: int
) -> tuple[Alignment, Provenance]:
    """The alignment without what a group alone contributed, and the provenance of the pool of the others."""
    cells = np.full(len(alignment.lists), group, dtype=np.int32)
    reduced: Lists = lists_without(alignment.lists, provenance, cells)
    mine = provenance.group_of_run == group
    left = {alignment.run_names[run] for run in np.flatnonzero(mine).tolist()}
    kept = ~mine[prefixes.brought_by]
    contributors = tuple(one for one in prefixes.contributors if one.run not in left)
    others = replace(
        prefixes, contributors=contributors, rows=prefixes.rows[kept], brought_by=prefixes.brought_by[kept]
    )
    by_group = others.by("group")
    is_enough = provenance.level == "group" or len(by_group.groups) >= FEWEST
    return replace(alignment, lists=reduced), by_group if is_enough else others.by("run")


def _parts(
    reduced: Alignment,
    cache: ModelCache,
    measure: Measure,
    runs: Numbers,
    truth: NDArray[np.int32],
    rng: np.random.Generator,
    variants: Sequence[Variant],
    name: str,
    draws: int,
    by_card: Values | None,
) -> Iterator[Calibration]:
    """What is expected of the runs that are left out, by each variant."""
    others, table = cache.provenance, Thresholds()
    depth = measure_depths(measure, others.depth)
    coverage = coverage_of(reduced, measure, pool_depth=others.depth, provenance=others)
    learned = scale_model(measure, cache.model(depth), cache, depth=depth, rng=rng)
    reason = why_untestable(reduced, others, table) or why_untaught(learned, table)
    true = true_losses(reduced, measure, runs, truth, depth)
    for variant, same in zip(variants, repeated(rng), strict=False):
        model, popularity = learned, cache.popularity(depth)
        if variant == "card":
            popularity = by_card
        elif variant == "coverage":
            model, popularity = replace(learned, popular=None, unlike=0.0), None
        elif variant == "no rule":
            model = replace(learned, unlike=-1e9)
        loss = expected_loss(
            reduced, measure, model, depth=depth, rng=same, runs=runs.tolist(), popularity=popularity
        )
        drawn = drawn_losses(reduced, measure, model, runs, depth, popularity, next(repeated(rng)), draws)
        yield Calibration(
            measure=measure,
            variant=variant,
            run_names=tuple(reduced.run_names[run] for run in runs.tolist()),
            group=(name,) * len(runs),
            true=true,
            expected=loss.mean[runs],
            upper=loss.upper[runs],
            judged=np.array([coverage.evidence(run, topic_judged=0.5).judged for run in runs.tolist()]),
            unlike=loss.unlike[runs],
            evidence=tuple(_evidence(coverage, loss, model, reason, run, table) for run in runs.tolist()),
            drawn=drawn,
        )


def drawn_losses(
    reduced: Alignment,
    measure: Measure,
    model: UnjudgedModel,
    runs: Numbers,
    depth: Counts,
    popularity: Values | None,
    rng: np.random.Generator,
    draws: int,
) -> Values:
    """Losses of the runs with labels drawn by the model, a document having the same in all of them: draws by runs."""
    unjudged = unjudged_of(reduced, measure, runs, depth, popularity)
    estimate = expected_chances(model, count_labels(reduced, depth), unjudged.documents)
    at = reduced.lists.offsets[unjudged.cell_of_list[unjudged.list_of]] + unjudged.rank - 1
    keys = at if reduced.pair_keys is None else reduced.pair_keys[at]
    pairs, pair = np.unique(keys, return_inverse=True)
    base, run = measure.values(unjudged.lists), unjudged.cell_of_list // len(reduced.topic_ids)
    losses = np.zeros((draws, len(reduced.run_names)))
    for draw in range(draws):
        level = (rng.random(len(pairs))[pair][:, np.newaxis] < estimate.chances[:, 1:]).sum(axis=1)
        gains = measure.values(unjudged.filled(level[np.newaxis])) - base
        losses[draw] = np.bincount(run, gains, minlength=losses.shape[1])
    return np.asarray((estimate.scale * losses / np.maximum(reduced.scored.sum(axis=1), 1))[:, runs])


def true_losses(
    reduced: Alignment, measure: Measure, runs: Numbers, truth: NDArray[np.int32], depth: Counts
) -> Values:
    """What the score of each run gains when its own documents down to the depth are judged, and nothing else.

    What else its group contributes, or the run below the depth, moves R and the ideal, but is not its loss.
    """
    topics = len(reduced.topic_ids)
    cells = (runs[:, np.newaxis] * topics + np.arange(topics)).ravel()
    before = reduced.lists.chosen(cells)
    known = replace(reduced.lists, grades=truth).chosen(cells).grades
    unjudged = prefix_of(before, depth)[0].unjudged
    at = before.offsets[unjudged.cell] + unjudged.rank - 1
    found = known[at] >= 0
    at, cell, levels = at[found], unjudged.cell[found], before.levels
    grades = before.grades.copy()
    grades[at] = known[at]
    places = cell * len(levels) + np.searchsorted(levels, known[at])
    added = np.bincount(places, minlength=len(cells) * len(levels)).reshape(-1, len(levels))
    after = replace(
        before,
        grades=grades,
        topics=np.arange(len(cells)),
        level_counts=before.level_counts[before.topics] + added,
        pooled_count=None,
    )
    gained = (measure.values(after) - measure.values(before)).reshape(len(runs), topics)
    return np.array([gained[place][reduced.scored[run]].mean() for place, run in enumerate(runs.tolist())])


def _evidence(
    coverage: Coverage, loss: Loss, model: UnjudgedModel, reason: str, run: int, table: Thresholds
) -> Evidence:
    """What is estimated of a run, without its interval."""
    return replace(
        coverage.evidence(run, topic_judged=table.topic_judged),
        pooled=False,
        missing=0,
        loss=None if reason else float(loss.mean[run]),
        upper=None if reason else float(loss.upper[run]),
        upper_blind=None if reason or not takes_pool_depth(coverage.measure) else float(loss.upper_blind[run]),
        groups=model.groups,
        untestable=reason,
        tolerance=table.tolerance,
    )


# What a deeper pool would give, and the newcomers of the shipped collection.


@dataclass(frozen=True, eq=False)
class Completeness:
    """The scores of all runs by one measure in a shallow pool, completed, and in the deeper pool.

    `unknown` is why nothing can be told.
    """

    measure: str
    depth: int
    group: tuple[str, ...]
    now: Values
    value: Values
    low: Values
    high: Values
    truth: Values
    unknown: str


def complete(collection: Collection, depth: int, deepest: int) -> Iterator[Completeness]:
    """The pool re-made at a depth, completed to the deepest: against the pool re-made there."""
    pool, whole = Pool.of(collection, depth), align(collection.qrels(deepest), collection.runs)
    completion = Completion(pool.alignment, pool.prefixes.by("group"))
    groups = {one.run: one.group for one in collection.contributors}
    measures = own_measures(parse_measures(WHOLE))
    for measure, found in zip(measures, completion.of(measures, rng=np.random.default_rng(SEED)), strict=True):
        now, truth = (
            measure.values(one.lists).reshape(one.scored.shape).mean(axis=1) for one in (pool.alignment, whole)
        )
        group = tuple(groups[name] for name in pool.alignment.run_names)
        ends = found.low, found.high
        yield Completeness(str(measure), depth, group, now, found.value, *ends, truth, found.unknown)


@dataclass(frozen=True)
class Newcomer:
    """What is expected of a run of the shipped collection that did not contribute, and what it really lost."""

    run: str
    family: str
    measure: str
    expected: float
    upper: float
    true: float
    unlike: bool


KITCHEN = Path(__file__).parents[1] / "collections" / "kitchen"


def newcomers() -> Iterator[Newcomer]:
    """The runs of the shipped collection that did not contribute; their documents were judged afterwards."""
    grades, later = (
        {(row["topic"], row["document"]): int(row["grade"]) for row in csv.DictReader(lines) if row["grade"]}
        for lines in (
            (KITCHEN / name).read_text(encoding="utf-8").splitlines() for name in ("judgments.csv", "after.csv")
        )
    )
    runs, contributors = list[Run](), list[Contributor]()
    for one in tomllib.loads((KITCHEN / "runs.toml").read_text(encoding="utf-8"))["run"]:
        name = Path(one["file"]).stem
        rows = read_rows(Source(KITCHEN / one["file"]))
        runs.append(replace(ranked(rows), tag=name))
        contributors.append(
            Contributor(name, one["group"], one["family"], contributing=one["role"] == "contributing")
        )
    qrels = qrels_of([(*pair, grade) for pair, grade in grades.items()])
    alignment = align(qrels, runs, keep_rows=True)
    truth = align(qrels_of([(*pair, grade) for pair, grade in (later | grades).items()]), runs).lists.grades
    provenance = provenance_of(alignment, qrels, runs, contributors, depth=5).by("group")
    new = np.flatnonzero(provenance.group_of_run < 0)
    for measure in own_measures(parse_measures(("P@5", "nDCG@5", "AP"))):
        rng, depth = np.random.default_rng(SEED), measure_depths(measure, provenance.depth)
        loss = assess_runs(alignment, measure, Knowledge(provenance.depth, provenance), rng=rng).loss
        true = true_losses(alignment, measure, new, truth, depth)
        for run, lost in zip(new.tolist(), true.tolist(), strict=True):
            known = (float(loss.mean[run]), float(loss.upper[run])) if loss is not None else (np.nan, np.nan)
            unlike = loss is not None and bool(loss.unlike[run])
            yield Newcomer(runs[run].tag, contributors[run].family, str(measure), *known, lost, unlike)
