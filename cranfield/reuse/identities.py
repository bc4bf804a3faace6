"""Which document stands where: the same hole in two runs gets one label."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.evaluate.align import Alignment, AnyRun, Reference
from cranfield.evaluate.lists import Counts, Lists
from cranfield.runs.order import order_as_float32, taken
from cranfield.runs.run import Codes, Run


@dataclass(frozen=True, eq=False)
class Identities:
    """The document at each row of the lists: `codes[i]` into `document_ids`, one code for a document in all runs."""

    codes: Codes
    document_ids: pa.Array

    def names(self, codes: Codes) -> list[str]:
        """Give the ids of some documents."""
        return list(self.document_ids.take(pa.array(codes)).to_pylist())


def identities(alignment: Alignment, runs: Sequence[AnyRun]) -> Identities:
    """Give the documents of an alignment from the runs it was made of, in the same order."""
    whole = [run for run in runs if isinstance(run, Run)]
    if len(whole) != len(runs):
        raise UsageError("documents that two runs share can be told only from runs that were read with their ids")
    document_ids, tables = _common_codes(whole)
    parts = [
        table[_documents(run, alignment.topic_ids, alignment.reference)]
        for run, table in zip(whole, tables, strict=True)
    ]
    codes = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
    if tuple(run.tag for run in runs) != alignment.run_names or len(codes) != len(alignment.lists.grades):
        raise UsageError("these are not the runs that were aligned")
    return Identities(codes, document_ids)


def _documents(run: Run, topic_ids: tuple[str, ...], reference: Reference) -> Codes:
    """Give the documents of the aligned rows of a run, as codes of its own."""
    documents = taken(run.documents, order_as_float32(run)) if reference == "9" else run.documents
    known = set(topic_ids)
    wanted = np.array([topic in known for topic in run.topic_ids.to_pylist()], dtype=bool)
    return documents if wanted.all() else documents[np.repeat(wanted, np.diff(run.offsets))]


def _common_codes(runs: Sequence[Run]) -> tuple[pa.Array, list[Codes]]:
    """Give the distinct ids of all runs, and for each run the code of each of its own."""
    distinct = {id(run.document_ids): run.document_ids for run in runs}
    joined = pa.concat_arrays([ids.cast(pa.large_string()) for ids in distinct.values()]).dictionary_encode()
    codes = joined.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    ends = np.cumsum([len(ids) for ids in distinct.values()])[:-1]
    tables = dict(zip(distinct, np.split(codes, ends), strict=True))
    return joined.dictionary, [tables[id(run.document_ids)] for run in runs]


def keys_of_rows(lists: Lists, codes: Codes) -> NDArray[np.int64]:
    """Give one number for the topic and document of each row."""
    return (np.repeat(lists.topics, lists.length) << 32) | codes


def with_judgments(
    alignment: Alignment, documents: Identities, topics: Counts, codes: Codes, grades: NDArray[np.int32]
) -> Alignment:
    """Give an alignment as it would be with some unjudged documents judged. `topics` are places in its topics."""
    lists = alignment.lists
    asked = (topics.astype(np.int64) << 32) | codes
    order = np.argsort(asked)
    keys = keys_of_rows(lists, documents.codes)
    places = np.minimum(np.searchsorted(asked[order], keys), max(len(asked) - 1, 0))
    found = asked[order][places] == keys if len(asked) else np.zeros(len(keys), dtype=bool)
    changed = lists.grades.copy()
    changed[found] = grades[order][places[found]] if len(asked) else 0
    levels = np.union1d(lists.levels, grades).astype(np.int32)
    counts = np.zeros((len(lists.level_counts), len(levels)), dtype=np.int64)
    counts[:, np.searchsorted(levels, lists.levels)] = lists.level_counts
    np.add.at(counts, (topics, np.searchsorted(levels, grades)), 1)
    highest = max(lists.highest_grade, int(levels.max(initial=0)))
    new = replace(
        lists,
        grades=changed,
        levels=levels,
        level_counts=counts,
        highest_grade=highest,
        stratified=None,
        _relevant={},
    )
    return replace(alignment, lists=new)


def of_runs(alignment: Alignment, documents: Identities, runs: Sequence[int]) -> tuple[Alignment, Identities]:
    """Give the alignment of some runs alone."""
    count = len(alignment.topic_ids)
    cells = np.concatenate([np.arange(run * count, (run + 1) * count) for run in runs])
    lists = alignment.lists
    rows = np.concatenate([np.arange(lists.offsets[run * count], lists.offsets[(run + 1) * count]) for run in runs])
    chosen = replace(
        alignment,
        run_names=tuple(alignment.run_names[run] for run in runs),
        lists=lists.chosen(cells),
        present=alignment.present[list(runs)],
        scored=alignment.scored[list(runs)],
        extra_topics=tuple(alignment.extra_topics[run] for run in runs),
        tied=alignment.tied[rows],
        qrels_row=None,
    )
    return chosen, Identities(documents.codes[rows], documents.document_ids)
