"""Full-text search over the documents: the embedded search engine (FTS5, BM25)."""

import json
import re
from dataclasses import dataclass

from cranfield.store.store import Store

HIT_START, HIT_END = "\ufdd0", "\ufdd1"
"""Marks around the words that were hit: two code points that are never characters of a text."""

_PHRASE_OR_WORD = re.compile(r'"([^"]*)"|(\S+)')
_SNIPPET_WORDS = 24
_MOST_WORDS = 256


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found: higher scores are better; the snippet has its hits between the two marks."""

    document: str
    score: float
    title: str = ""
    snippet: str = ""


def match_expression(query: str, *, every_word: bool = False) -> str:
    """Give the FTS5 expression for a query as people type it: words, and "phrases" in double quotes.

    Every word is quoted, so nothing in it can be taken for FTS5's own syntax; a word without a letter or digit
    is dropped. Words are alternatives, unless `every_word` asks for all of them.
    """
    phrases = [phrase or word for phrase, word in _PHRASE_OR_WORD.findall(query)]
    wanted = [phrase for phrase in dict.fromkeys(phrases) if any(letter.isalnum() for letter in phrase)]
    quoted = ['"' + phrase.replace('"', "").replace("\0", " ") + '"' for phrase in wanted[:_MOST_WORDS]]
    return (" AND " if every_word else " OR ").join(quoted)


def search(store: Store, query: str, *, limit: int = 10, every_word: bool = False) -> list[Hit]:
    """Give the best documents with a snippet each, best first; ties by document id descending."""
    expression = match_expression(query, every_word=every_word)
    if not expression:
        return []
    rows = store.rows(
        f"""SELECT documents.id, -bm25(documents_fts), documents.title,
                   snippet(documents_fts, 1, ?, ?, '…', {_SNIPPET_WORDS})
            FROM documents_fts JOIN documents ON documents.number = documents_fts.rowid
            WHERE documents_fts MATCH ? ORDER BY 2 DESC, 1 DESC LIMIT ?""",
        HIT_START,
        HIT_END,
        expression,
        limit,
    )
    return [Hit(document, score, title, " ".join(snippet.split())) for document, score, title, snippet in rows]


def ranked(store: Store, query: str, *, limit: int) -> list[tuple[str, float]]:
    """Give (document, score) of the best documents, without snippets: what a baseline run needs."""
    expression = match_expression(query)
    if not expression:
        return []
    return store.rows(
        """SELECT documents.id, -bm25(documents_fts)
           FROM documents_fts JOIN documents ON documents.number = documents_fts.rowid
           WHERE documents_fts MATCH ? ORDER BY 2 DESC, 1 DESC LIMIT ?""",
        expression,
        limit,
    )


def frequency_of_word(store: Store, word: str) -> int:
    """Give in how many documents a word occurs, in any of its forms."""
    expression = match_expression(word)
    query = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?"
    return int(store.value(query, expression)) if expression else 0


def documents_with_word(store: Store, word: str, identifiers: list[str]) -> set[str]:
    """Give which of some documents have a word, in any of its forms."""
    expression = match_expression(word)
    if not expression:
        return set()
    rows = store.rows(
        """SELECT documents.id FROM json_each(?) AS asked JOIN documents ON documents.id = asked.value
           JOIN documents_fts ON documents_fts.rowid = documents.number WHERE documents_fts MATCH ?""",
        json.dumps(identifiers),
        expression,
    )
    return {row[0] for row in rows}
