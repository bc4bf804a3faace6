"""What a baseline retrieval system is: a corpus and queries in, one ranking per query out."""

from __future__ import annotations

import dataclasses
import math
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from cranfield.base.errors import MissingExtra, UnknownName, UsageError, quoted
from cranfield.base.records import Document, Topic

# Options of a part: the fields of its frozen dataclass, set from words on a command line.

Part = TypeVar("Part")

_WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """What an option means, and the numbers it may be."""

    help: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def range(self) -> str:
        """The numbers allowed, in words; empty where there is no limit."""
        bounds = {"at least": self.at_least, "at most": self.at_most}
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)

    def allows(self, value: float) -> bool:
        """Say whether `value` is finite and within the range."""
        return (
            math.isfinite(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedOption:
    """One option as it is listed for a reader."""

    name: str
    values: str
    default: str
    help: str


def configured(part: type[Part], options: Mapping[str, str]) -> Part:
    """Give a `part` whose fields are set from the words in `options`; a dash in a name means an underscore.

    An unknown option or a value that cannot be meant is a `UsageError` that says what there is.
    """
    hints = get_type_hints(part)
    known = [field.name for field in dataclasses.fields(_dataclass(part))]
    values: dict[str, Any] = {}
    for given, word in options.items():
        name = given.replace("-", "_")
        if name not in known:
            raise UnknownName("option", given, known)
        values[name] = _parsed(name, word, hints[name])
    return part(**values)


def check_options(part: object) -> None:
    """Raise a `UsageError` for the first field whose value is outside of what its annotation allows."""
    for name, (kind, option) in _annotated(type(part)).items():
        value = getattr(part, name)
        if get_origin(kind) is Literal and value not in get_args(kind):
            raise UnknownName(f"value of option {quoted(name)}:", str(value), get_args(kind))
        if kind in (int, float) and not option.allows(value):
            expected = f"a number {option.range}" if option.range else "a finite number"
            raise UsageError(f"option {quoted(name)} must be {expected}, not {value}")


def described_options(part: type[object]) -> list[DescribedOption]:
    """List the options of `part` in the order of its fields."""
    annotated = _annotated(part)
    fields = dataclasses.fields(_dataclass(part))
    return [
        DescribedOption(
            field.name, _values(*annotated[field.name]), str(field.default), annotated[field.name][1].help
        )
        for field in fields
    ]


def _annotated(part: type[object]) -> dict[str, tuple[Any, Option]]:
    hints = get_type_hints(part, include_extras=True)
    return {field.name: _kind_and_option(hints[field.name]) for field in dataclasses.fields(_dataclass(part))}


def _kind_and_option(hint: Any) -> tuple[Any, Option]:
    if get_origin(hint) is not Annotated:
        return hint, Option("")
    kind, *extras = get_args(hint)
    return kind, next((extra for extra in extras if isinstance(extra, Option)), Option(""))


def _dataclass(part: type[object]) -> Any:
    if not dataclasses.is_dataclass(part):
        raise TypeError(f"{part.__name__} is not a dataclass: its fields are its options")
    return part


def _values(kind: Any, option: Option) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    noun = {int: "whole number", float: "number", bool: "yes, no", str: "word"}.get(kind, str(kind))
    return f"{noun} {option.range}".strip()


def _parsed(name: str, word: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        if word not in get_args(kind):
            raise UnknownName(f"value of option {quoted(name)}:", word, get_args(kind))
        return word
    if kind is bool:
        if word.lower() not in _WORDS:
            raise UsageError(f"option {quoted(name)} takes yes or no, not {quoted(word)}")
        return _WORDS[word.lower()]
    if kind is str:
        return word
    try:
        return kind(word)
    except ValueError:
        noun = "a whole number" if kind is int else "a number"
        raise UsageError(f"option {quoted(name)} takes {noun}, not {quoted(word)}") from None


TopicField = Literal["title", "description", "narrative"]


class Corpus(Protocol):
    """The documents a system searches."""

    def documents(self) -> Iterable[Document]:
        """Give all documents as a stream, in stored order."""
        ...

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Search the collection's own FTS5 index by BM25: (document id, score), best first, higher is better.

        The words of the query are joined by OR.
        """
        ...


@dataclass(frozen=True, slots=True)
class Query:
    """What a system is asked for one topic."""

    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a system answers for one topic, best first: score descending, ties by document id descending.

    A query without a word the system knows has an empty ranking.
    """

    topic: str
    documents: tuple[str, ...]
    scores: tuple[float, ...]


class System(Protocol):
    """A retrieval system. It is a frozen dataclass, and its fields are its options."""

    summary: ClassVar[str]
    family: ClassVar[str]

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking of at most `depth` documents for each query, in the order of the queries."""
        ...


@runtime_checkable
class Doubting(Protocol):
    """A system that can say beforehand that its options make little sense for a collection."""

    def doubt(self, documents: int) -> str:
        """Say what is doubtful in a collection of so many documents, and what to give; empty where nothing is."""
        ...


def query_text(topic: Topic, fields: Sequence[TopicField]) -> str:
    """Give the wanted fields of a topic as one query, in the order they are asked for; empty ones leave no trace."""
    for field in fields:
        if field not in get_args(TopicField):
            raise UnknownName("topic field", field, get_args(TopicField))
    return "\n".join(text for field in fields if (text := str(getattr(topic, field)).strip()))


# From text to terms: how the baseline systems see documents and queries.

Stemmer = Annotated[str, Option("Snowball stemmer by its language: english, german, russian …; none for whole words")]
Stopwords = Annotated[Literal["none", "english"], Option("function words that are left out")]

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


@dataclass(frozen=True)
class Analyser:
    """Turns text into terms. `system` names the system that asks, for the message when a library is missing."""

    system: str
    stemmer: str = "none"
    stopwords: str = "none"

    def terms(self, text: str) -> list[str]:
        """Give the terms of `text` in order, with repetitions."""
        kept = [word for word in self.words(text) if word not in self._left_out]
        return self._stems(kept)

    def words(self, text: str) -> list[str]:
        """Give the words of `text`, folded, before stop words and stemming."""
        return unicodedata.normalize("NFKC", text).casefold().translate(self._cuts).split()

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return frozenset(_STOPWORDS[self.stopwords].split())

    @cached_property
    def _cuts(self) -> _Cuts:
        return _Cuts()

    @cached_property
    def _stems(self) -> Callable[[list[str]], list[str]]:
        if self.stemmer == "none":
            return list
        library = library_for(self.system, "Stemmer")
        if self.stemmer not in library.algorithms():
            raise UnknownName("stemmer", self.stemmer, ["none", *library.algorithms()])
        stems: Callable[[list[str]], list[str]] = library.Stemmer(self.stemmer).stemWords
        return stems


class _Cuts(dict[int, str]):
    """What each character becomes before text is split at blanks. It fills itself: texts use few characters."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.category(letter)[0] not in "LNM":
            cut = " "
        elif unicodedata.name(letter, "").startswith(_UNSPACED):
            cut = f" {letter} "
        else:
            cut = letter
        self[code] = cut
        return cut


def full_text(document: Document) -> str:
    """Give what of a document is indexed: title and text."""
    return f"{document.title}\n{document.text}"


def library_for(system: str, module: str) -> Any:
    """Import a library of the extra `baselines`, or say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"the system {system!r}", "baselines") from None


# Documents as a sparse matrix, and scores as a ranking: what most baseline systems share.


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
