"""What the baseline retrieval systems share: a corpus, how text becomes terms, and how scores become rankings.

A system is a function of corpus, queries and depth that gives one ranking per query; its keyword parameters are its
options, and its docstring is its help. One that scores documents by their terms is a function of the term matrix.
"""

from __future__ import annotations

import inspect
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple, Protocol, get_args, get_type_hints

import numpy as np

from cranfield.base.errors import MissingExtra, UnknownName, UsageError, check_known
from cranfield.base.records import Document, Topic
from cranfield.base.registry import Option, Registry, configured, deferred

with deferred:
    from scipy import sparse

TopicField = Literal["title", "description", "narrative"]


class Corpus(Protocol):
    """The documents a system searches."""

    def documents(self) -> Iterable[Document]:
        """All documents as a stream, in stored order."""
        ...

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Search the collection's own FTS5 index by BM25: (document id, score), best first, higher is better.

        The words of the query are joined by OR.
        """
        ...


class Query(NamedTuple):
    """The query of one topic."""

    topic: str
    text: str


class Ranking(NamedTuple):
    """What a system answers for one topic, best first: score descending, ties by document id descending.

    A query without a word the system knows has an empty ranking.
    """

    topic: str
    documents: tuple[str, ...]
    scores: tuple[float, ...]


System = Callable[..., Iterator[Ranking]]
"""Called as (corpus, queries, depth, **options). It has the attributes `summary` and `family`."""

systems: Registry[Any] = Registry("system", package="cranfield.runs.baselines", group="cranfield.systems")


def baseline(name: str, *, summary: str, family: str) -> Callable[[System], System]:
    """Register the decorated function as a system."""

    def decorate(function: System) -> System:
        vars(function).update(summary=summary, family=family)
        return systems.register(name)(function)  # type: ignore[no-any-return]

    return decorate


Terms = Callable[[str], list[str]]
"""Cuts a text into its terms."""

Scorer = Callable[[dict[int, int]], tuple[Any, Any]]
"""Scores all documents for a query, which says how often it has each term: the scores, and which are retrieved."""


def term_system(
    name: str, *, library: str = "scipy.sparse", analysis: Callable[..., Terms] | None = None, **facts: Any
) -> Callable[[Callable[..., Scorer]], System]:
    """Register a function that makes a `Scorer` of a `TermMatrix` as a system; the facts are those of `baseline`.

    The `library` it needs is looked for before any document is read. `analysis(system, **options)` says how text
    becomes terms, `words_and_stems` by default; its options are options of the system, too.
    """
    cut = analysis or words_and_stems

    def decorate(function: Callable[..., Scorer]) -> System:
        own, shared = (list(inspect.signature(one).parameters.values()) for one in (function, cut))

        @wraps(function)
        def system(corpus: Corpus, queries: Sequence[Query], depth: int, **options: Any) -> Iterator[Ranking]:
            library_for(name, library)
            terms = cut(name, **{one.name: options.pop(one.name) for one in shared if one.name in options})
            matrix = term_matrix(corpus, terms)
            score = function(matrix, **options)
            for query in queries:
                yield best(query.topic, matrix.documents, *score(matrix.known(terms(query.text))), depth)

        vars(system)["__signature__"] = inspect.Signature([*own, *shared[1:]])
        system.__annotations__ = {**function.__annotations__, **get_type_hints(cut, include_extras=True)}
        return baseline(name, **facts)(system)

    return decorate


def search(
    name: str, corpus: Corpus, queries: Sequence[Query], depth: int, options: Mapping[str, str]
) -> Iterator[Ranking]:
    """Rank at most `depth` documents for each query, in the order of the queries; options are words."""
    system = configured(systems.get(name), options)
    if depth < 1:
        raise UsageError(f"the depth must be at least 1, not {depth}")
    # A class with a method `rank` is a system too: entry points could bring such ones before functions were enough.
    rank: System = getattr(system, "rank", system)
    return rank(corpus, queries, depth)


def query_text(topic: Topic, fields: Sequence[TopicField]) -> str:
    """Some fields of a topic as one query, in this order; empty ones are left out."""
    check_known("topic field", fields, get_args(TopicField))
    return "\n".join(text for field in fields if (text := str(getattr(topic, field)).strip()))


# From text to terms: how the baseline systems see documents and queries.

Stemmer = Annotated[str, Option("Snowball stemmer by language: english, german, russian …; none for no stemming")]
Stopwords = Annotated[Literal["none", "english"], Option("stop word list")]
FeedbackDocuments = Annotated[int, Option("number of feedback documents", at_least=1)]
FeedbackTerms = Annotated[int, Option("number of feedback terms", at_least=1)]

_STOPWORDS = {
    "none": "",
    "english": """
        a about above after again against all also although am among an and any are aren as at be became because
        become been before being below between both but by can cannot could couldn d did didn do does doesn doing
        don done down during each either else ever every few for from further get had has hasn have haven having
        he hence her here hers herself him himself his how however i if in into is isn it its itself just ll m may
        me might mine more most must my myself neither no nor not now of off on once one only or other others
        ought our ours ourselves out over own per quite rather re s same shall she should shouldn since so some
        still such t than that the their theirs them themselves then there therefore these they this those through
        thus to too under until up upon us ve very was wasn we were weren what when where whether which while who
        whom whose why will with within without won would wouldn yet you your yours yourself yourselves
    """,
}
"""Words without a subject of their own, and what is left of don't, they're and the like after cutting."""

_UNSPACED = ("CJK ", "HIRAGANA ", "KATAKANA ")


def words_of(text: str) -> list[str]:
    """The words of a text, folded, before stop words and stemming."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_CUTS).split()


def words_and_stems(system: str, *, stemmer: Stemmer = "english", stopwords: Stopwords = "english") -> Terms:
    """The stems of words, without stop words: how most systems cut a text."""
    left_out = frozenset(_STOPWORDS[stopwords].split())
    stems: Callable[[list[str]], list[str]] = list
    if stemmer != "none":
        library = library_for(system, "Stemmer")
        if stemmer not in library.algorithms():
            raise UnknownName("stemmer", stemmer, ["none", *library.algorithms()])
        stems = library.Stemmer(stemmer).stemWords
    return lambda text: stems([word for word in words_of(text) if word not in left_out])


class _Cuts(dict[int, str]):
    """What each character becomes before text is split at blanks. It fills itself: texts use few characters."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.category(letter)[0] not in "LNM":
            cut = " "
        else:
            # Chinese and Japanese are written without blanks: each character is a word.
            cut = f" {letter} " if unicodedata.name(letter, "").startswith(_UNSPACED) else letter
        self[code] = cut
        return cut


_CUTS = _Cuts()


def library_for(system: str, module: str) -> Any:
    """Import a library of the extra `baselines`, or say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"the system {system!r}", "baselines") from None


# Documents as a sparse matrix, and scores as a ranking.


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
        """Weights by column, in the order of the columns, as a sparse row."""
        values = ([float(weight) for weight in weights.values()], list(weights), [0, len(weights)])
        return sparse.csr_matrix(values, shape=(1, self.values.shape[1]))


def term_matrix(corpus: Corpus, terms: Terms) -> TermMatrix:
    """Read title and text of all documents once and count their terms; without any term there is no column.

    Only machine integers are kept while reading, so memory is about that of the matrix itself.
    """
    numbers: dict[str, int] = {}
    documents: list[str] = []
    columns, counts, ends = array("i"), array("i"), array("q", [0])
    for document in corpus.documents():
        counted = Counter(terms(f"{document.title}\n{document.text}"))
        columns.extend([numbers.setdefault(term, len(numbers)) for term in counted])
        counts.extend(counted.values())
        ends.append(len(columns))
        documents.append(document.id)
    # Terms were numbered as they were met; columns are in the order of the alphabet.
    vocabulary = {term: column for column, term in enumerate(sorted(numbers))}
    renumbered = np.empty(len(numbers), dtype=np.int32)
    renumbered[[numbers[term] for term in vocabulary]] = np.arange(len(numbers), dtype=np.int32)
    rows = sorted(range(len(documents)), key=documents.__getitem__, reverse=True)
    read = sparse.csr_matrix((counts, renumbered[columns], ends), shape=(len(documents), len(numbers)))
    values = read[rows]
    values.sort_indices()
    return TermMatrix(tuple(documents[row] for row in rows), vocabulary, values)


def best(topic: str, documents: tuple[str, ...], scores: Any, found: Any, depth: int) -> Ranking:
    """Rank the documents where `found` is true by their scores; `documents` come by id descending.

    Scores are rounded to the shortest decimal that names the same 32-bit number. So the noise of the last bits
    decides nothing, and evaluators that compare in 32 bits see the same order and ties as those with 64.
    """
    rows = best_rows(scores, found, depth)
    rounded = scores[rows].astype(np.float32)
    return Ranking(topic, tuple(documents[row] for row in rows), tuple(float(str(score)) for score in rounded))


def best_rows(scores: Any, found: Any, depth: int) -> Any:
    """The row numbers of the `depth` best scores where `found` is true, ties by row."""
    rows = np.flatnonzero(found)
    single = scores[rows].astype(np.float32)
    if len(rows) > depth:
        enough = single >= np.partition(single, len(rows) - depth)[len(rows) - depth]
        rows, single = rows[enough], single[enough]
    return rows[np.argsort(-single, kind="stable")[:depth]]
