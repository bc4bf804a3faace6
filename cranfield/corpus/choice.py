"""Which format a file has: by name if one is given, else by what it begins with, else by how it is called."""

from typing import TypeVar

from cranfield.corpus.format import DocumentFormat, TopicFormat
from cranfield.errors import InputError
from cranfield.registry import Registry
from cranfield.source import Source

Format = TypeVar("Format", DocumentFormat, TopicFormat)

ONE_TEXT = "text"
"""The format of what is a document by its name alone: whatever else the content looks like goes before it."""


def recognised(source: Source, formats: Registry[Format]) -> str | None:
    """Give the name of the format that fits, if any.

    The content decides. Where several formats would take it, the name of the file decides between them; where
    none would (an empty file), the name alone.
    """
    head, name = source.head(), source.bare_name
    by_content = [known for known, format in formats.items() if format.sniff(head, name)]
    by_name = [known for known, format in formats.items() if name.lower().endswith(format.suffixes)]
    both = [known for known in by_content if known in by_name]
    return next(iter(both or by_content or by_name), None)


def no_format(source: Source, formats: Registry[Format], hint: str = "") -> InputError:
    """Give the error that no format fits, with what each of them expects."""
    known = "\n".join(f"  {name}: {format.summary}" for name, format in formats.items())
    advice = f"{hint}; " if hint else ""
    message = f"no {formats.noun} fits this file; {advice}name one with --from if you know better"
    return InputError(f"{source.name}: {message}:\n{known}")
