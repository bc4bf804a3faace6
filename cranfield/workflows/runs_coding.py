"""Runs put into the collection's codes: every id once, the rankings as blocks of integers."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.workflows.runs_intake import WORKERS, Examined
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.runs import id_table

if TYPE_CHECKING:
    import pyarrow as pa

    from cranfield.runs.encoding import CodedRun
    from cranfield.runs.ids import IdTable
    from cranfield.runs.run import Codes


@dataclass(frozen=True, slots=True)
class CodedRuns:
    """New runs in codes, and the ids that the collection's tables lack so far."""

    examined: tuple[Examined, ...]
    coded: "dict[str, CodedRun]"
    blocks: dict[str, bytes]
    new_topics: "pa.Array"
    new_documents: "pa.Array"
    first_topic: int
    first_document: int


def code_runs(store: Store | None, examined: Sequence[Examined], *, progress: Progress = silent) -> CodedRuns:
    """Code several runs at once, so that the id tables are gone through once and not once per run."""
    from cranfield.runs.encoding import CodedRun, encode
    from cranfield.runs.ids import IdTable, coded

    runs = [one.run for one in examined if one.run is not None]
    topic_table = id_table(store, "topic") if store is not None else IdTable.empty()
    document_table = id_table(store, "document") if store is not None else IdTable.empty()
    topic_codes, new_topics = _extended(topic_table, [run.topic_ids for run in runs])
    document_codes, new_documents = _extended(document_table, [run.document_ids for run in runs])

    def packed(place: int) -> tuple[CodedRun, bytes]:
        one = coded(runs[place], topic_codes[place], document_codes[place])
        return one, encode(one.topics, one.offsets, one.documents, one.scores)

    with ThreadPoolExecutor(WORKERS) as workers:
        pairs = []
        for pair in workers.map(packed, range(len(runs))):
            pairs.append(pair)
            progress("storing runs", len(pairs), len(runs))
    names = [one.name for one in examined]
    return CodedRuns(
        examined=tuple(examined),
        coded=dict(zip(names, [one for one, _ in pairs], strict=True)),
        blocks=dict(zip(names, [block for _, block in pairs], strict=True)),
        new_topics=new_topics,
        new_documents=new_documents,
        first_topic=len(topic_table),
        first_document=len(document_table),
    )


def _extended(table: "IdTable", lists: "Sequence[pa.Array]") -> "tuple[list[Codes], pa.Array]":
    """Give the codes of the ids of each list, and all ids that are new, in the order of their codes.

    Two threads code half of the lists each, the first together with the table, so that known ids keep their codes;
    then the distinct ids of the second half are looked up among those of the first.
    """
    import numpy as np
    import pyarrow as pa

    from cranfield.runs.ids import IdTable

    if not lists:
        return [], table.ids.slice(len(table))
    if len(lists) == 1:
        found, new = table.extended(lists[0])
        return [found], new
    half = len(lists) // 2
    with ThreadPoolExecutor(WORKERS) as workers:
        (ids, first), (others, second) = workers.map(_coded, [[table.ids, *lists[:half]], lists[half:]])
    codes, new = IdTable(ids).extended(others)
    everything = np.concatenate([first[len(table) :], codes[second]])
    ends = np.cumsum([len(one) for one in lists])[:-1]
    return np.split(everything, ends), pa.concat_arrays([ids.slice(len(table)), new])


def _coded(lists: "Sequence[pa.Array]") -> "tuple[pa.Array, Codes]":
    """Give the distinct ids of some lists in the order they are met, and the place of each id among them."""
    import numpy as np
    import pyarrow as pa

    from cranfield.runs.ids import as_ids

    encoded = pa.concat_arrays([as_ids(pa.array([], pa.large_string())), *map(as_ids, lists)]).dictionary_encode()
    return encoded.dictionary, np.asarray(encoded.indices, dtype=np.int32)
