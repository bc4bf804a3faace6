"""Words compared by their pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from cranfield.base.errors import UsageError
from cranfield.base.registry import Option
from cranfield.runs.baseline import Analyser, Corpus, Query, Ranking, baseline, library_for
from cranfield.runs.baselines.tfidf import rank_by_cosine


@baseline("chargrams", summary="cosine of character n-grams: forgives endings and misspellings", family="lexical")
def chargrams(
    corpus: Corpus,
    queries: Sequence[Query],
    depth: int,
    *,
    shortest: Annotated[int, Option("characters in the shortest piece", at_least=1, at_most=20)] = 3,
    longest: Annotated[int, Option("characters in the longest piece", at_least=1, at_most=20)] = 5,
) -> Iterator[Ranking]:
    """The cosine between query and document as tf-idf vectors of character n-grams instead of words.

    Every word, with a blank before and after, is cut into all its pieces of `shortest` to `longest` characters:
    " wing " gives " wi", "win", "ing", "ng ", " win", "wing", "ing ", " wing", "wing ". Pieces are weighted and
    compared as the system tfidf does with words. No stemmer and no stop words: related forms and misspellings
    share pieces, in any language, and idf makes little of frequent ones. A word with its blanks that is shorter
    than a piece is a piece itself. The matrix is ten times as large as one of words.

    Source: McNamee and Mayfield, "Character n-gram tokenization for European language text retrieval",
    Information Retrieval 7, 2004; the pieces are those of scikit-learn's char_wb.
    """
    if shortest > longest:
        raise UsageError(f"option 'shortest' must be at most 'longest', but {shortest} > {longest}")
    text = library_for("chargrams", "sklearn.feature_extraction.text")
    cut = text.CountVectorizer(analyzer="char_wb", ngram_range=(shortest, longest)).build_analyzer()
    words = Analyser("chargrams").words
    return rank_by_cosine(corpus, queries, depth, lambda text: cut(" ".join(words(text))), system="chargrams")
