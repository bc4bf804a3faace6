"""Do the relevant documents of a pool all contain the words of the title? Then it found what is easy to find.

Only the difference between collections with the same topics, or between kinds of documents of one collection, is
evidence: a high value alone is not.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet


def titlestat(
    title: Iterable[str],
    documents: Sequence[AbstractSet[str]],
    frequency: Mapping[str, int],
    *,
    stop_words: Collection[str] = (),
) -> float:
    """Titlestat: how often the words of a title occur in some documents, against how often they could.

        (1 / |T|) Σ |documents with w| / min(|documents|, df(w)) over the title's words w

    `documents` are sets of words, analysed as the title is, and `frequency` gives df(w), the number of documents of
    the collection with a word. Stop words and words that the collection lacks are left out. NaN where no word or no
    document is left. Source: Buckley, Dimmick, Soboroff and Voorhees, Information Retrieval 10, 2007.
    """
    words = [word for word in dict.fromkeys(title) if word not in stop_words and frequency.get(word, 0) > 0]
    if not words or not documents:
        return float("nan")
    shares = [
        sum(word in document for document in documents) / min(len(documents), frequency[word]) for word in words
    ]
    return sum(shares) / len(shares)


def mean_titlestat(
    titles: Mapping[str, Sequence[str]],
    documents: Mapping[str, Sequence[AbstractSet[str]]],
    frequency: Mapping[str, int],
    *,
    stop_words: Collection[str] = (),
) -> tuple[float, int]:
    """Give the mean titlestat of topics, and how many have one: both mappings go from topic ids."""
    found = [
        titlestat(title, documents.get(topic, ()), frequency, stop_words=stop_words)
        for topic, title in titles.items()
    ]
    known = [value for value in found if value == value]
    return (sum(known) / len(known) if known else float("nan")), len(known)
