"""A pool: what is to be judged, in which order, and why each document is there."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Literal

import numpy as np
import pyarrow as pa

from cranfield.errors import InputError, quoted
from cranfield.pool.arrow import named
from cranfield.pool.plan import Plan
from cranfield.pool.selecting import Stratum
from cranfield.runs.run import Codes, Places, Scores

JudgingOrder = Literal["plan", "id", "random"]


@dataclass(frozen=True, slots=True)
class Contribution:
    """A run that has a document within the pooled part, and the rank at which it has it."""

    run: str
    rank: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of one topic, and its story.

    `position` counts from 1 in judging order. `step` is the step of the plan, from 1, that brought it; `version` the
    version of the pool it came with. `probability` is None where it was chosen by looking at judgments.
    """

    topic: str
    document: str
    position: int
    step: int
    stratum: str
    probability: float | None
    contributions: tuple[Contribution, ...]
    version: int = 1


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document that stays out because a near-duplicate stands for it."""

    topic: str
    document: str
    representative: str


@dataclass(frozen=True, slots=True)
class Source:
    """A run that was pooled: its name, its group, and the hash of its content."""

    name: str
    group: str
    content_hash: str


@dataclass(frozen=True, eq=False)
class Pool:
    """The pools of some topics as columns.

    Topic i has the entries `offsets[i]` up to `offsets[i + 1]`, in judging order. Entry j is the document with the
    code `documents[j]` in `document_ids`; it has the contributions `contribution_offsets[j]` up to
    `contribution_offsets[j + 1]`: places in `sources`, and ranks. `populations` and `drawn` count N_h and n_h (topics
    by strata). `undrawn` are the (topic, document code, stratum) of what a sample passed over.
    """

    plan: Plan
    seed: int
    order: JudgingOrder
    sources: tuple[Source, ...]
    topics: tuple[str, ...]
    offsets: Places
    document_ids: pa.Array
    documents: Codes
    strata: Codes
    probabilities: Scores
    versions: Codes
    stratum_table: tuple[Stratum, ...]
    populations: Places
    drawn: Places
    contribution_offsets: Places
    contribution_runs: Codes
    contribution_ranks: Codes
    undrawn: tuple[Codes, Codes, Codes]
    duplicates: tuple[Duplicate, ...] = ()
    version: int = 1

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def ids(self) -> list[str]:
        """The document id of each entry."""
        return named(self.document_ids, self.documents)

    @cached_property
    def topic_of_entry(self) -> Codes:
        """The place of each entry's topic."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int32), np.diff(self.offsets))

    @property
    def sizes(self) -> dict[str, int]:
        """How many documents each topic has."""
        return dict(zip(self.topics, np.diff(self.offsets).tolist(), strict=True))

    def documents_of(self, topic: str) -> list[str]:
        """Give the documents of a topic in judging order."""
        place = self._place(topic)
        return self.ids[self.offsets[place] : self.offsets[place + 1]]

    def entry(self, topic: str, document: str) -> Entry:
        """Give the story of one document, or say that it is not in the pool of the topic."""
        place = self._place(topic)
        start, end = int(self.offsets[place]), int(self.offsets[place + 1])
        if document not in self.ids[start:end]:
            raise InputError(f"the document {quoted(document)} is not in the pool of topic {quoted(topic)}")
        return self._entry(self.ids.index(document, start, end))

    def __iter__(self) -> Iterator[Entry]:
        """Give all entries, topic by topic, in judging order."""
        return (self._entry(row) for row in range(len(self)))

    @cached_property
    def content_hash(self) -> str:
        r"""SHA-256 of what the pool says: which documents, in which order, and why. Plan and seed are no part.

        Over these bytes: the line `cranfield-pool-1\n`; the topic ids; the number of entries of each topic; the
        document ids of all entries; the stratum and the version of each entry; the step of each stratum; the names
        of the strata; the probability of each entry (NaN where there is none); N_h, then n_h, topic by topic; the
        names of the runs; the number of contributions of each entry; their runs; their ranks; for each
        near-duplicate its topic, tab, document, tab, representative, `\n`. Ids and names are joined by `\n` and
        followed by NUL. Probabilities are little-endian doubles, all other numbers little-endian 64-bit integers;
        runs and strata count from 0.
        """
        digest = sha256(b"cranfield-pool-1\n")
        texts = ["\n".join(words) for words in self._texts()]
        columns = self._columns()
        for text, values in zip(texts, columns, strict=False):
            digest.update(text.encode() + b"\0")
            for column in values:
                digest.update(np.ascontiguousarray(column).data)
        digest.update(
            "".join(f"{one.topic}\t{one.document}\t{one.representative}\n" for one in self.duplicates).encode()
        )
        return digest.hexdigest()

    def _texts(self) -> list[list[str]]:
        return [
            list(self.topics),
            self.ids,
            [stratum.name for stratum in self.stratum_table],
            [source.name for source in self.sources],
        ]

    def _columns(self) -> list[list[np.ndarray]]:
        probabilities = np.where(np.isnan(self.probabilities), np.nan, self.probabilities)
        integers: dict[int, list[np.ndarray]] = {
            0: [np.diff(self.offsets)],
            1: [
                self.strata,
                self.versions,
                np.array([stratum.step for stratum in self.stratum_table], dtype=np.int64),
            ],
            3: [np.diff(self.contribution_offsets), self.contribution_runs, self.contribution_ranks],
        }
        columns = {place: [column.astype("<i8") for column in some] for place, some in integers.items()}
        columns[2] = [probabilities.astype("<f8"), self.populations.astype("<i8"), self.drawn.astype("<i8")]
        return [columns[place] for place in range(4)]

    def _place(self, topic: str) -> int:
        if topic not in self.topics:
            raise InputError(f"the topic {quoted(topic)} is not in the pool")
        return self.topics.index(topic)

    def _entry(self, row: int) -> Entry:
        topic = int(self.topic_of_entry[row])
        stratum = self.stratum_table[self.strata[row]]
        probability = float(self.probabilities[row])
        start, end = self.contribution_offsets[row : row + 2]
        names = [self.sources[run].name for run in self.contribution_runs[start:end]]
        return Entry(
            topic=self.topics[topic],
            document=self.ids[row],
            position=row - int(self.offsets[topic]) + 1,
            step=stratum.step,
            stratum=stratum.name,
            probability=None if np.isnan(probability) else probability,
            contributions=tuple(map(Contribution, names, self.contribution_ranks[start:end].tolist())),
            version=int(self.versions[row]),
        )
