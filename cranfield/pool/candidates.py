"""What one topic can be judged on: every document that a pooled run has for it, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import refuse
from cranfield.runs.columns import (
    Codes,
    Mask,
    Places,
    Scores,
    byte_order,
    encoded,
    named,
    places_in,
    running_sum,
    taken,
)
from cranfield.runs.encoding import UNKNOWN, CodedRun, as_ids
from cranfield.runs.run import Run

# The runs that enter a pool, with who sent them, all in the same codes. Python sorts strings by code points, which is
# the byte order of UTF-8.

ABSENT = -1


@dataclass(frozen=True, eq=False)
class PoolRun:
    """One run: its name, who sent it, and its ranking in codes. A run without a group is a group of its own.

    `priority` is the sender's own order of its runs, 1 first. `content_hash` goes into the manifest.
    """

    name: str
    ranking: CodedRun
    group: str = ""
    family: str = ""
    priority: int = 1
    content_hash: str = ""

    @property
    def team(self) -> str:
        """The group, or the run's own name where it has none."""
        return self.group or self.name


@dataclass(frozen=True, eq=False)
class PooledRuns:
    """All runs of a pool, in byte order of their names, and the ids that their codes stand for.

    Codes are places in `topic_ids` and `document_ids`. Use `pooled_runs` or `runs_of` to make one.
    """

    runs: tuple[PoolRun, ...]
    topic_ids: pa.Array
    document_ids: pa.Array

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(run.name for run in self.runs)

    @property
    def teams(self) -> list[str]:
        """The groups, in byte order."""
        return sorted({run.team for run in self.runs})

    @cached_property
    def codes_by_topic(self) -> dict[str, int]:
        """The code of each topic that some run has, topics in byte order."""
        seen = np.unique(np.concatenate([run.ranking.topics for run in self.runs] or [np.empty(0, np.int32)]))
        pairs = zip(named(self.topic_ids, seen), seen.tolist(), strict=True)
        return dict(sorted(pairs))

    @cached_property
    def depth(self) -> int:
        """The length of the longest list."""
        return max((int(np.diff(run.ranking.offsets).max(initial=0)) for run in self.runs), default=0)

    @cached_property
    def numbering(self) -> tuple[Codes, Codes]:
        """The documents that some run has, numbered by id, descending in byte order.

        The code of each number, and the number of each code, meaningless where no run has the document.
        """
        seen = np.zeros(len(self.document_ids), dtype=bool)
        for run in self.runs:
            seen[run.ranking.documents] = True
        used = np.flatnonzero(seen).astype(np.int32)
        documents = used[byte_order(taken(self.document_ids, used))[::-1]]
        numbers = np.empty(len(self.document_ids), dtype=np.int32)
        numbers[documents] = np.arange(len(documents), dtype=np.int32)
        return documents, numbers

    @cached_property
    def places(self) -> Codes:
        """Where each run has each topic code (runs by topics): the place among its topics, or -1."""
        places = np.full((len(self.runs), len(self.topic_ids)), ABSENT, dtype=np.int32)
        for number, run in enumerate(self.runs):
            places[number, run.ranking.topics] = np.arange(len(run.ranking.topics), dtype=np.int32)
        return places

    def cut(self, depth: int | None) -> PooledRuns:
        """The same runs with the first `depth` documents of each topic; None means all of them."""
        if depth is None or depth >= self.depth:
            return self
        runs = []
        for run in self.runs:
            ranking = run.ranking
            counts = np.minimum(np.diff(ranking.offsets), depth)
            offsets: Places = running_sum(counts)
            rows = np.arange(offsets[-1]) + np.repeat(ranking.offsets[:-1] - offsets[:-1], counts)
            shorter = CodedRun(ranking.topics, offsets, ranking.documents[rows], ranking.scores[rows])
            runs.append(replace(run, ranking=shorter))
        return replace(self, runs=tuple(runs))

    def chosen(self, names: Iterable[str]) -> PooledRuns:
        """Only the runs with these names."""
        wanted = set(names)
        return replace(self, runs=tuple(run for run in self.runs if run.name in wanted))


def pooled_runs(runs: Iterable[PoolRun], *, topic_ids: pa.Array, document_ids: pa.Array) -> PooledRuns:
    """The runs, each with a name of its own, in byte order of their names; an error says that there are none."""
    ordered = sorted(runs, key=lambda run: run.name)
    if not ordered:
        refuse("there is nothing to pool", "no-runs", ["no run was selected"])
    return PooledRuns(tuple(ordered), as_ids(topic_ids), as_ids(document_ids))


def runs_of(runs: Sequence[Run], *, groups: Mapping[str, str] | None = None) -> PooledRuns:
    """Some runs in codes of their own, made here; `groups` gives the group of a tag."""
    together = []
    for own in ([run.topic_ids for run in runs], [run.document_ids for run in runs]):
        ids, codes = encoded(pa.chunked_array(list(map(as_ids, own)), pa.large_string()))
        together.append((ids, np.split(codes, np.cumsum(list(map(len, own)))[:-1])))
    (topic_ids, topics), (document_ids, documents) = together
    coded = [
        PoolRun(
            run.tag,
            CodedRun(own_topics, run.offsets, own_documents[run.documents], run.scores),
            group=(groups or {}).get(run.tag, ""),
            content_hash=run.content_hash,
        )
        for run, own_topics, own_documents in zip(runs, topics, documents, strict=True)
    ]
    return pooled_runs(coded, topic_ids=topic_ids, document_ids=document_ids)


FAR = np.iinfo(np.int32).max
"""The best rank of a document that no run has any more; it sorts behind every rank."""

_SPARSE = 16


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents of one topic and the rankings they come from.

    Candidate i is the document with the shared code `documents[i]`. Candidates are numbered by document id,
    descending in byte order, as ties within a run are: so a smaller number wins every tie. The list of run s is
    `listed[offsets[s]:offsets[s + 1]]`, candidate numbers from best to worst, with `listed_ranks` (from 1; they have
    gaps where candidates were taken out) and `listed_scores`. A run that does not have the topic has an empty list.

    Where candidates were taken out, `whole` is the topic before, and which of its candidates are left: their scores
    are what they would be if nothing had been taken out. `left_out` are the codes of the documents that
    are out because a near-duplicate stands for them, `representatives` the codes of those.
    """

    topic: str
    runs: tuple[PoolRun, ...]
    documents: Codes
    document_ids: pa.Array
    offsets: Places
    listed: Codes
    listed_ranks: Codes
    listed_scores: Scores
    whole: tuple[Candidates, Mask] | None = None
    left_out: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    representatives: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def ids(self) -> list[str]:
        """The id of each candidate."""
        return named(self.document_ids, self.documents)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each candidate, by id."""
        return {document: number for number, document in enumerate(self.ids)}

    @cached_property
    def run_of_row(self) -> Codes:
        """The number of the run that each row of `listed` belongs to."""
        return np.repeat(np.arange(len(self.runs), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def ranks(self) -> Codes:
        """The rank of each candidate in each run (runs by candidates); 0 where the run does not have it."""
        ranks = np.zeros((len(self.runs), len(self)), dtype=np.int32)
        ranks[self.run_of_row, self.listed] = self.listed_ranks
        return ranks

    def ranks_of(self, document: str) -> list[tuple[str, int]]:
        """The runs that have a candidate, each with its rank there."""
        column = self.ranks[:, self.numbers[document]].tolist()
        return [(run.name, rank) for run, rank in zip(self.runs, column, strict=True) if rank]

    @cached_property
    def found(self) -> Mask:
        """Which run has which candidate."""
        return self.ranks > 0

    @cached_property
    def best_rank(self) -> Codes:
        """The best rank of each candidate over all runs."""
        best: Codes = np.where(self.found, self.ranks, FAR).min(axis=0, initial=FAR)
        return best

    @property
    def documents_found(self) -> int:
        """How many documents the runs have for the topic, before any were taken out."""
        return len(self if self.whole is None else self.whole[0])

    @cached_property
    def lengths(self) -> Places:
        """How many documents each run has for the topic, before any were taken out: its last rank."""
        if self.whole is not None:
            return self.whole[0].lengths
        lengths = np.zeros(len(self.runs), dtype=np.int64)
        np.maximum.at(lengths, self.run_of_row, self.listed_ranks)
        return lengths

    @cached_property
    def normalised(self) -> Scores:
        """Scores brought to 0 … 1 (runs by candidates): (score − min) / (max − min) over the run's whole list.

        1 where all scores of the list are equal. 0 where the run does not have the candidate.
        """
        if self.whole is not None:
            whole, kept = self.whole
            return whole.normalised[:, kept]
        values = np.zeros((len(self.runs), len(self)))
        for number, (start, end) in enumerate(pairwise(self.offsets.tolist())):
            scores = self.listed_scores[start:end]
            low, high = float(scores.min(initial=np.inf)), float(scores.max(initial=-np.inf))
            if low < high:
                # Divided by two before the difference is taken: the range of two finite doubles may be infinite.
                values[number, self.listed[start:end]] = (scores / 2 - low / 2) / (high / 2 - low / 2)
            else:
                values[number, self.listed[start:end]] = 1.0
        return values

    def summed(self, parts: Scores) -> Scores:
        """The sum of what each row of `listed` adds to its candidate."""
        return np.bincount(self.listed, weights=parts, minlength=len(self)).astype(np.float64)

    def only(self, kept: Mask) -> Candidates:
        """The topic with some candidates taken out; the others keep their ranks and get new numbers."""
        if kept.all():
            return self
        numbers = np.cumsum(kept) - 1
        rows = kept[self.listed]
        counts = np.bincount(self.run_of_row[rows], minlength=len(self.runs))
        return replace(
            self,
            documents=self.documents[kept],
            offsets=running_sum(counts),
            listed=numbers[self.listed[rows]].astype(np.int32),
            listed_ranks=self.listed_ranks[rows],
            listed_scores=self.listed_scores[rows],
            whole=(self, kept),
        )


def candidates_of(runs: PooledRuns, topic: str) -> Candidates:
    """The candidates of a topic that some run has."""
    places = runs.places[:, runs.codes_by_topic[topic]]
    rankings = [run.ranking for run in runs.runs]
    lists = [
        slice(*ranking.offsets[place : place + 2]) if place != ABSENT else slice(0, 0)
        for ranking, place in zip(rankings, places.tolist(), strict=True)
    ]
    offsets = np.cumsum([0, *(rows.stop - rows.start for rows in lists)]).astype(np.int64)
    codes = np.concatenate([ranking.documents[rows] for ranking, rows in zip(rankings, lists, strict=True)])
    scores = np.concatenate([ranking.scores[rows] for ranking, rows in zip(rankings, lists, strict=True)])
    documents, numbers = runs.numbering
    values = numbers[codes]
    # The distinct values, rising, and the place of each among them: without sorting, unless they are few of many.
    if len(values) * _SPARSE < len(documents):
        used, listed = np.unique(values, return_inverse=True)
    else:
        seen = np.zeros(len(documents), dtype=bool)
        seen[values] = True
        used = np.flatnonzero(seen)
        places_of = np.empty(len(documents), dtype=np.int32)
        places_of[used] = np.arange(len(used), dtype=np.int32)
        listed = places_of[values]
    ranks = np.arange(1, len(codes) + 1) - np.repeat(offsets[:-1], np.diff(offsets))
    return Candidates(
        topic,
        runs.runs,
        documents[used],
        runs.document_ids,
        offsets,
        listed.astype(np.int32, copy=False),
        ranks.astype(np.int32),
        scores,
    )


# Near-duplicates: one document of a cluster enters the pool and stands for the others.

ALONE = -1

Clusters = Codes
"""The cluster of each document code; -1 where a document is in none."""


def clusters_of(runs: PooledRuns, clusters: Mapping[str, object] | None) -> Clusters | None:
    """The clusters of the runs' documents; `clusters` maps a document id to the name of its cluster."""
    if not clusters:
        return None
    of_code = np.full(len(runs.document_ids), ALONE, dtype=np.int32)
    codes = places_in(runs.document_ids, as_ids(list(clusters)))
    names = {name: number for number, name in enumerate(dict.fromkeys(clusters.values()))}
    numbers = np.array([names[name] for name in clusters.values()], dtype=np.int32)
    of_code[codes[codes != UNKNOWN]] = numbers[codes != UNKNOWN]
    return of_code


def collapse(candidates: Candidates, clusters: Clusters | None, *, preferred: Mask | None = None) -> Candidates:
    """Keep of each cluster the candidate with the best rank, ties by document id, descending.

    A preferred one goes before all others; if there are several, all of them stay. The ranks of all others stay as
    they are, so that the pooled part is what it was.
    """
    if clusters is None:
        return candidates
    cluster = clusters[candidates.documents]
    first = np.zeros(len(candidates), dtype=bool) if preferred is None else preferred
    order = np.lexsort((candidates.best_rank, ~first))
    order = order[cluster[order] != ALONE]
    names, firsts, places = np.unique(cluster[order], return_index=True, return_inverse=True)
    representative: Places = order[firsts][places] if len(names) else order
    out = (order != representative) & ~first[order]
    kept = np.ones(len(candidates), dtype=bool)
    kept[order[out]] = False
    return replace(
        candidates.only(kept),
        left_out=candidates.documents[order[out]],
        representatives=candidates.documents[representative[out]],
    )


# Runs of a group merged into one list, so that a team counts once however many runs it sends.

_NOTHING = CodedRun(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))


def by_group(candidates: Candidates) -> Candidates:
    """The topic with one list per group instead of one per run, groups in byte order.

    A group's list has all first ranks of its runs, then all second ranks and so on, at each rank the run that the
    group itself puts first (priority, then name); a document stands where it comes first. Its score is the best of
    the group's normalised scores. Lists are merged before any candidate is taken out, so that ranks stay as they are.
    """
    if candidates.whole is not None:
        whole, kept = candidates.whole
        return by_group(whole).only(kept)
    teams = sorted({run.team for run in candidates.runs})
    team_of_run = np.array([teams.index(run.team) for run in candidates.runs], dtype=np.int32)
    team = team_of_run[candidates.run_of_row]
    priorities = np.argsort(np.array([run.priority for run in candidates.runs]), kind="stable")
    own_order = np.argsort(priorities)[candidates.run_of_row]  # the place of each run; equal priorities by name
    rows = np.lexsort((own_order, candidates.listed_ranks, team))
    keys = team[rows].astype(np.int64) * max(len(candidates), 1) + candidates.listed[rows]
    firsts = rows[np.sort(np.unique(keys, return_index=True)[1])]
    counts = np.bincount(team[firsts], minlength=len(teams))
    offsets = running_sum(counts)
    listed = candidates.listed[firsts]
    best = np.array([candidates.normalised[team_of_run == number].max(axis=0) for number in range(len(teams))])
    return replace(
        candidates,
        runs=tuple(PoolRun(name, _NOTHING, group=name) for name in teams),
        offsets=offsets,
        listed=listed,
        listed_ranks=(np.arange(1, len(listed) + 1) - np.repeat(offsets[:-1], counts)).astype(np.int32),
        listed_scores=best[team[firsts], listed],
    )


# Chance that is the same on every machine.

_DOUBLE_BITS = 53


def document_draws(seed: int, purpose: str, topic: str, documents: Sequence[str]) -> NDArray[np.uint64]:
    r"""The draw of each document: a number from 0 up to 2^64, small ones are drawn first.

    The first eight bytes, big-endian, of SHA-256 over `cranfield-draw-1\n`, the seed in decimal digits, `\n`, the
    purpose, `\n`, the topic, `\n`, the document. Draws for different purposes have nothing to do with each other.
    """
    start = sha256(f"cranfield-draw-1\n{seed}\n{purpose}\n{topic}\n".encode())
    heads = []
    for document in documents:
        digest = start.copy()
        digest.update(document.encode())
        heads.append(digest.digest()[:8])
    return np.frombuffer(b"".join(heads), dtype=">u8").astype(np.uint64)


def numbers(seed: int, *words: object, count: int) -> Scores:
    """`count` numbers from 0 up to 1 for one occasion, which the words name.

    They are the raw stream of numpy's Philox generator, keyed by a hash of seed and words. Raw streams are promised
    to stay as they are; what numpy makes of them is not, so the last step to a double is made here.
    """
    named = "\n".join(["cranfield-numbers-1", str(seed), *(str(word) for word in words)])
    key = np.frombuffer(sha256(named.encode()).digest()[:16], dtype="<u8").astype(np.uint64)
    raw = np.random.Philox(key=key).random_raw(count)
    return np.asarray((raw >> np.uint64(64 - _DOUBLE_BITS)) * 2.0**-_DOUBLE_BITS, dtype=np.float64)


# Scores made comparable across machines, and the order they mean.

DIGITS = 12
"""Significant digits that count. Sums of doubles differ in the last bits from machine to machine; not in these."""


def rounded(values: Scores) -> Scores:
    """The values rounded to `DIGITS` significant digits."""
    sizes = np.abs(values)
    usable = (sizes > 0) & np.isfinite(sizes)
    exponents = np.floor(np.log10(sizes, where=usable, out=np.zeros_like(sizes)))
    power = 10.0 ** (DIGITS - 1 - np.clip(exponents, -290, 290))
    return np.where(usable, np.rint(values * power) / power, values)


def best_first(values: Scores) -> Places:
    """The places of the values from high to low; equal ones, after rounding, as they stand.

    Candidates stand by document id, descending, so that this is also their tie rule.
    """
    return np.argsort(-rounded(values), kind="stable")
