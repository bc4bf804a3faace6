"""Words compared by their pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from cranfield.base.errors import UsageError
from cranfield.runs.baseline import (
    Analyser,
    Corpus,
    Option,
    Query,
    Ranking,
    best,
    check_depth,
    check_options,
    library_for,
)
from cranfield.runs.baselines import systems
from cranfield.runs.baselines.tfidf import vector_space


@systems.register("chargrams")
@dataclass(frozen=True)
class Chargrams:
    """The cosine between query and document as tf-idf vectors of character n-grams instead of words.

    Every word, with a blank before and after, is cut into all its pieces of `shortest` to `longest` characters:
    " wing " gives " wi", "win", "ing", "ng ", " win", "wing", "ing ", " wing", "wing ". Pieces are weighted and
    compared as the system tfidf does with words. No stemmer and no stop words: related forms and misspellings
    share pieces, in any language, and idf makes little of frequent ones. A word with its blanks that is shorter
    than a piece is a piece itself. The matrix is ten times as large as one of words.

    Source: McNamee and Mayfield, "Character n-gram tokenization for European language text retrieval",
    Information Retrieval 7, 2004; the pieces are those of scikit-learn's char_wb.
    """

    shortest: Annotated[int, Option("characters in the shortest piece", at_least=1, at_most=20)] = 3
    longest: Annotated[int, Option("characters in the longest piece", at_least=1, at_most=20)] = 5

    summary: ClassVar[str] = "cosine of character n-grams: forgives endings and misspellings"
    family: ClassVar[str] = "lexical"

    def __post_init__(self) -> None:
        check_options(self)
        if self.shortest > self.longest:
            raise UsageError(f"option 'shortest' must be at most 'longest', but {self.shortest} > {self.longest}")

    def rank(self, corpus: Corpus, queries: Sequence[Query], depth: int) -> Iterator[Ranking]:
        """Give one ranking for each query."""
        check_depth(depth)
        text = library_for("chargrams", "sklearn.feature_extraction.text")
        cut = text.CountVectorizer(analyzer="char_wb", ngram_range=(self.shortest, self.longest)).build_analyzer()
        words = Analyser("chargrams").words

        def pieces(text: str) -> list[str]:
            cut_up: list[str] = cut(" ".join(words(text)))
            return cut_up

        space = vector_space(corpus, pieces, system="chargrams")
        for query in queries:
            scores = space.cosines(space.vector(pieces(query.text)))
            yield best(query.topic, space.matrix.documents, scores, scores > 0, depth)
