"""`ir_metadata`: what the senders of a run say of it, as YAML in the comments before its rows (ir-metadata.org).

    # ir_metadata.start
    # tag: bm25
    # actor:
    #   team: larder
    # ir_metadata.end

The text is kept as it is and given back. What cannot be understood is a warning, never a reason to refuse the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from cranfield.base.errors import Problem, quoted
from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.runs.reading import problem

with deferred:
    import yaml

START, END = "# ir_metadata.start", "# ir_metadata.end"
FILES = ("ir-metadata.yml", "ir-metadata.yaml", "ir_metadata.yml", "ir_metadata.yaml")
"""What a file is called that says it of the run beside it, as TIRA has them."""

SECTIONS = (
    *("schema version", "tag", "actor", "platform", "research goal", "implementation", "method", "data", "resources"),
)
LARGEST, DEEPEST, MOST_FACTS = 1 << 16, 500, 1000
"""How many characters of a header are read (YAML takes seconds for a hundred thousand), how many brackets it may
have, since each that is open is looked at with each word, and how many values are shown."""


def is_header(head: bytes) -> bool:
    """Whether a run begins with such a header."""
    return head.startswith(START.encode())


def header_of(source: Source) -> str:
    """The comments before the rows of a run, as they stand; of too many of them only the beginning."""
    header = ""
    for line in takewhile(lambda line: line.startswith(b"#"), (line for _, line in source.byte_lines())):
        header += line[:LARGEST].decode("utf-8", "replace").rstrip() + "\n"
        if len(header) > LARGEST:
            break
    return header


def problems_of(header: str, tag: str) -> Iterator[Problem]:
    """What is wrong with a header: no end, no YAML, unknown sections, another tag than the run's."""
    if not header:
        return
    if END not in header.splitlines():
        yield problem("metadata", f"the ir_metadata header has no line {quoted(END)}", lines=[1])
    try:
        content = parsed(header)
    except ValueError as error:
        yield problem("metadata", f"the ir_metadata header is not usable: {error}", lines=[1])
        return
    for name in content:
        if name not in SECTIONS:
            message = f"ir_metadata has no section {quoted(name)} (known: {', '.join(SECTIONS)})"
            yield problem("metadata", message, lines=[1])
    if (named := content.get("tag", tag)) != tag:
        yield problem("metadata", f"ir_metadata has the tag {quoted(named)}, the run {quoted(tag)}", lines=[1])


def parsed(header: str) -> dict[str, Any]:
    """The sections of a header; a ValueError says why there are none."""
    if len(header) > LARGEST:
        raise ValueError(f"more than {LARGEST >> 10} KB")
    if header.count("[") + header.count("{") > DEEPEST:
        raise ValueError(f"more than {DEEPEST} brackets")
    lines = [line.removeprefix("#") for line in header.splitlines() if line not in (START, END)]
    indented = all(not line or line.startswith(" ") for line in lines)
    text = "\n".join(line[1:] if indented else line for line in lines)
    try:
        # An alias may stand for itself, or a thousand times for a thousand others.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise ValueError("it has aliases")
        content = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (makes text, lists and mappings, nothing else)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError("no sections")
    return content


def facts_of(header: str) -> dict[str, str]:
    """The values of a header by the path to each, `actor.team`; none where it is not usable."""
    try:
        content = parsed(header) if header else {}
    except ValueError:
        return {}

    def values(path: str, value: Any) -> Iterator[tuple[str, str]]:
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
            yield path, ", ".join(map(str, value))
        elif isinstance(value, dict | list):
            for name, one in inside:
                yield from values(f"{path}.{name}" if path else str(name), one)
        else:
            yield path, str(value)

    def clean(text: str) -> str:
        return text.replace("\0", "\ufffd").encode("utf-8", "backslashreplace").decode()

    found = list(values("", content))
    more = {"…": counted(len(found) - MOST_FACTS, "more value")} if len(found) > MOST_FACTS else {}
    return {**{clean(name): clean(value) for name, value in found[:MOST_FACTS]}, **more}


def commented(text: str) -> str:
    """The header that says what a file of metadata says; of one that is too long only the beginning."""
    lines = [
        line
        for line in text[: LARGEST + 1].splitlines()
        if line not in (START.removeprefix("# "), END.removeprefix("# "))
    ]
    return "".join(f"{line}\n" for line in (START, *(f"# {line}".rstrip() for line in lines), END))
