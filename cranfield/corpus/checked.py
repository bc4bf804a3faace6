"""Records made out of parts, with what is wrong about them.

The rules of all formats: an id is one word that can stand in a run file; a document has text or a title, or a
warning says that it has neither (real collections hold a few such documents); a topic has a title.
"""

import unicodedata
from collections.abc import Iterator, Mapping

from cranfield.errors import Problem, quoted
from cranfield.records import Document, Topic

LONGEST_ID = 1000


def checked_document(
    *, id: str, title: str, text: str, metadata: Mapping[str, str], line: int
) -> Iterator[Document | Problem]:
    """Give the document, after a warning if it is empty; or the problem with its id."""
    if problem := id_problem("document", id, line):
        yield problem
        return
    if not text and not title:
        message = f"document {quoted(id)} has neither title nor text"
        yield Problem("empty-document", message, "warning", lines=(line,))
    yield Document(id, text, title, metadata)


def checked_topic(
    *, id: str, title: str, description: str, narrative: str, metadata: Mapping[str, str], line: int
) -> Iterator[Topic | Problem]:
    """Give the topic; or the problem with its id, or that it asks nothing.

    The title is the query, so it is never empty: where the source has none, it is the description, else the
    narrative, else all other fields in a row. It is always one line.
    """
    if problem := id_problem("topic", id, line):
        yield problem
        return
    query = one_line(title or description or narrative or "; ".join(metadata.values()))
    if query:
        yield Topic(id, query, description, narrative, metadata)
    else:
        yield Problem("empty-topic", f"topic {quoted(id)} has no text", lines=(line,))


def id_problem(noun: str, id: str, line: int) -> Problem | None:
    """Say what is wrong with an id, if anything: it must be one word, because run files are split at blanks."""
    if not id:
        return Problem("no-id", f"a {noun} without an id", lines=(line,))
    if len(id) > LONGEST_ID:
        return Problem("bad-id", f"a {noun} id of {len(id):,} characters: {quoted(id, limit=40)}", lines=(line,))
    if id.isprintable() and " " not in id:
        return None
    if bad := next((letter for letter in id if _splits(letter)), None):
        what = f"white space or control characters (U+{ord(bad):04X})"
        return Problem("bad-id", f"the {noun} id {quoted(id)} contains {what}", lines=(line,))
    return None


def one_line(text: str) -> str:
    """Give `text` with every run of white space as one blank."""
    return " ".join(text.split())


def _splits(letter: str) -> bool:
    return letter.isspace() or letter == "\ufeff" or unicodedata.category(letter) in {"Cc", "Cs", "Zs", "Zl", "Zp"}
