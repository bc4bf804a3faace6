"""Documents that say the same: exact copies and near-duplicates, as clusters.

Exact: the same words and marks, whatever the case and white space. Near: the sets of word shingles have a Jaccard
similarity of at least the threshold. Pairs worth comparing come from MinHash signatures, cut into bands that must
agree (Broder 1997; Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, chapter 3); each is then compared
truly, so that nothing is called a near-duplicate on an estimate. Clusters are the connected components.

Bands are found by sorting, not with datasketch's index: that keeps each band of each document in a dictionary of
sets, which takes more memory than the texts themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate, combinations, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple
from zlib import crc32

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred

if TYPE_CHECKING:
    from numpy.typing import NDArray

with deferred:
    import numpy as np

RECALL = 0.99
"""How likely a pair exactly at the threshold becomes a candidate; more similar ones still likelier."""

SHINGLE, PERMUTATIONS, SEED = 5, 128, 1
"""Words in a shingle, values in a signature, and what their hash functions are drawn by: stored with each search."""

_SMALL_BUCKET = 50
_BATCH = 10_000
_WORD = re.compile(r"\w+")


class Cluster(NamedTuple):
    """Documents that say the same. Members are (id, similarity to the representative) in the order of the input.

    The representative is the first of them. In an exact cluster all similarities are 1; in a near one a member
    can be linked through others, and so be less similar to the representative than the threshold.
    """

    kind: Literal["exact", "near"]
    representative: str
    members: tuple[tuple[str, float], ...]


def find_clusters(documents: Iterable[tuple[str, str]], *, threshold: float = 0.8) -> list[Cluster]:
    """Find the clusters among (id, text), in the order of their representatives.

    Texts without a word belong to no cluster. A text shorter than `SHINGLE` words is one shingle. Memory: per
    distinct text, 4 bytes for each shingle and each permutation. The same input gives the same clusters.
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"the threshold must be above 0 and at most 1, not {threshold}")
    texts = _distinct(documents)
    # Connected components by union-find: the smallest member stands for its component.
    parents = list(range(len(texts.copies)))

    def root(text: int) -> int:
        while (parent := parents[text]) != text:
            parents[text] = parents[parent]
            text = parent
        return text

    compared: set[tuple[int, int]] = set()
    for pair in _candidates(texts, rows=rows_per_band(threshold)):
        one, other = pair
        if pair not in compared and root(one) != root(other):
            compared.add(pair)
            if similarity(texts.shingles[one], texts.shingles[other]) >= threshold:
                low, high = sorted((root(one), root(other)))
                parents[high] = low
    groups: dict[int, list[int]] = {}
    for text in range(len(parents)):
        groups.setdefault(root(text), []).append(text)
    clusters = []
    for group in groups.values():
        if len(group) > 1 or len(texts.copies[group[0]]) > 1:
            first = texts.shingles[group[0]]
            alike = {text: 1.0 if text == group[0] else similarity(first, texts.shingles[text]) for text in group}
            members = sorted((position, id, alike[text]) for text in group for position, id in texts.copies[text])
            kept = tuple((id, value) for _, id, value in members)
            clusters.append(Cluster("exact" if len(group) == 1 else "near", members[0][1], kept))
    return clusters


def rows_per_band(threshold: float) -> int:
    """How many values make a band: the most with which a pair at the threshold is found with `RECALL`.

    A pair of similarity s agrees in at least one of b bands of r rows with probability 1 - (1 - s^r)^b.
    """
    chances = {rows: 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) for rows in range(1, PERMUTATIONS + 1)}
    return max((rows for rows, chance in chances.items() if chance >= RECALL), default=1)


def similarity(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> float:
    """The Jaccard similarity of two sorted sets: how much of what either has both have."""
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


def shingles_of(text: str) -> NDArray[np.uint32]:
    """The sorted set of hashes of all runs of `SHINGLE` words, whatever the case; empty if there is no word."""
    joined = " ".join(_WORD.findall(text.casefold())).encode("utf-8", "replace")
    ends = list(accumulate(len(word) + 1 for word in joined.split()))
    starts = [0, *ends]
    view = memoryview(joined)
    hashes = [crc32(view[start : end - 1]) for start, end in zip(starts, ends[SHINGLE - 1 :], strict=False)]
    return np.unique(np.array(hashes or ([crc32(joined)] if joined else []), dtype=np.uint32))


@dataclass
class _Texts:
    """The distinct texts in the order of the input: who has them, their shingles, their signatures end to end."""

    copies: list[list[tuple[int, str]]] = field(default_factory=list)
    shingles: list[NDArray[np.uint32]] = field(default_factory=list)
    signatures: bytearray = field(default_factory=bytearray)


def _distinct(documents: Iterable[tuple[str, str]]) -> _Texts:
    from datasketch import MinHash

    sketch = MinHash(PERMUTATIONS, seed=SEED, hashfunc=int)
    texts = _Texts()
    known: dict[bytes, int] = {}
    for position, (id, text) in enumerate(documents):
        folded = " ".join(text.casefold().split()).encode("utf-8", "replace")
        place = known.setdefault(blake2b(folded, digest_size=16).digest(), len(texts.copies))
        if place < len(texts.copies):
            texts.copies[place].append((position, id))
            continue
        shingles = shingles_of(text)
        if len(shingles) == 0:
            known.popitem()
            continue
        sketch.clear()
        for start in range(0, len(shingles), _BATCH):
            sketch.update_batch(shingles[start : start + _BATCH].tolist())
        texts.copies.append([(position, id)])
        texts.shingles.append(shingles)
        texts.signatures += sketch.hashvalues.astype("uint32").tobytes()
    return texts


def _candidates(texts: _Texts, *, rows: int) -> Iterator[tuple[int, int]]:
    """The pairs, smaller first, that agree in a band; of a large bucket only neighbours and the first."""
    signatures = np.frombuffer(texts.signatures, dtype=np.uint32).reshape(-1, PERMUTATIONS)
    for start in range(0, PERMUTATIONS - rows + 1, rows):
        band = signatures[:, start : start + rows]
        order = np.lexsort(band.T)
        same = (band[order[1:]] == band[order[:-1]]).all(axis=1)
        # The stretches of the order in which each is the same as the next.
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            bucket: list[int] = sorted(order[first : last + 1].tolist())
            if len(bucket) <= _SMALL_BUCKET:
                yield from combinations(bucket, 2)
            else:
                yield from ((bucket[0], other) for other in bucket[1:])
                yield from pairwise(bucket)
