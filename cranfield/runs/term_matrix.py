"""Documents as a sparse matrix, and scores as a ranking: what most baseline systems share.

numpy and SciPy are imported inside the functions, because systems are listed without them.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cranfield.errors import UsageError
from cranfield.runs.analysis import full_text, library_for
from cranfield.runs.system import Corpus, Ranking


@dataclass(frozen=True)
class TermMatrix:
    """A number for each term in each document: how often it stands there, or its weight.

    Rows are documents, by id descending: whatever order they came in, all numbers are the same to the last bit,
    and equal scores are already in the right order. Columns are terms, sorted. `values` is a SciPy CSR matrix.
    """

    documents: tuple[str, ...]
    vocabulary: Mapping[str, int]
    values: Any

    @cached_property
    def postings(self) -> Any:
        """The same values with the documents of each term together (CSC)."""
        return self.values.tocsc()

    def known(self, terms: Iterable[str]) -> dict[int, int]:
        """Count the terms of a query that stand in any document, by column, in the order of the columns."""
        counted = Counter(column for term in terms if (column := self.vocabulary.get(term)) is not None)
        return dict(sorted(counted.items()))

    def row(self, weights: Mapping[int, float]) -> Any:
        """Give weights by column, in the order of the columns, as a sparse row."""
        from scipy.sparse import csr_matrix

        values = ([float(weight) for weight in weights.values()], list(weights), [0, len(weights)])
        return csr_matrix(values, shape=(1, self.values.shape[1]))


def term_matrix(corpus: Corpus, terms: Callable[[str], list[str]], *, system: str) -> TermMatrix:
    """Read the corpus once and count its terms. A corpus without a single term gives a matrix without columns.

    Only machine integers are kept while reading, so memory is about that of the matrix itself.
    """
    sparse = library_for(system, "scipy.sparse")
    numbers: dict[str, int] = {}
    documents: list[str] = []
    columns, counts, ends = array("i"), array("i"), array("q", [0])
    for document in corpus.documents():
        counted = Counter(terms(full_text(document)))
        columns.extend([numbers.setdefault(term, len(numbers)) for term in counted])
        counts.extend(counted.values())
        ends.append(len(columns))
        documents.append(document.id)
    vocabulary, renumbered = _alphabetical(numbers)
    rows = sorted(range(len(documents)), key=documents.__getitem__, reverse=True)
    read = sparse.csr_matrix((counts, renumbered[columns], ends), shape=(len(documents), len(numbers)))
    values = read[rows]
    values.sort_indices()
    return TermMatrix(tuple(documents[row] for row in rows), vocabulary, values)


def _alphabetical(numbers: Mapping[str, int]) -> tuple[dict[str, int], Any]:
    """Give the columns by term in order, and an array that leads from the number at first sight to the column."""
    import numpy

    vocabulary = {term: column for column, term in enumerate(sorted(numbers))}
    renumbered = numpy.empty(len(numbers), dtype=numpy.int32)
    renumbered[[numbers[term] for term in vocabulary]] = numpy.arange(len(numbers), dtype=numpy.int32)
    return vocabulary, renumbered


def best(topic: str, documents: tuple[str, ...], scores: Any, found: Any, depth: int) -> Ranking:
    """Rank the documents where `found` is true by their scores; `documents` come by id descending.

    Scores are rounded to the shortest decimal that names the same 32-bit number. So the noise of the last bits
    decides nothing, and evaluators that compare in 32 bits see the same order and ties as those with 64.
    """
    import numpy

    rows = best_rows(scores, found, depth)
    rounded = scores[rows].astype(numpy.float32)
    return Ranking(topic, tuple(documents[row] for row in rows), tuple(float(str(score)) for score in rounded))


def best_rows(scores: Any, found: Any, depth: int) -> Any:
    """Give the row numbers of the `depth` best scores where `found` is true, ties by row."""
    import numpy

    rows = numpy.flatnonzero(found)
    single = scores[rows].astype(numpy.float32)
    if len(rows) > depth:
        enough = single >= numpy.partition(single, len(rows) - depth)[len(rows) - depth]
        rows, single = rows[enough], single[enough]
    return rows[numpy.argsort(-single, kind="stable")[:depth]]


def check_depth(depth: int) -> None:
    """Raise a `UsageError` unless at least one document is asked for."""
    if depth < 1:
        raise UsageError(f"the depth must be at least 1, not {depth}")
