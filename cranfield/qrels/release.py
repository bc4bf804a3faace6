"""How qrels came about: the rule that merged the opinions, and releases with their manifests. Loads nothing heavy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from cranfield.base.errors import InputError, UnknownName, UsageError, quoted
from cranfield.base.tables import Column, Result, Table, Value, facts_table, table_of

Rule = tuple[str, ...]
"""Words in order: the first that gives a grade decides."""

DEFAULT_RULE: Rule = ("adjudicated", "primary", "majority", "latest")

RULE_WORDS: Mapping[str, str] = {
    "adjudicated": "the adjudicated grade; the latest if there are several",
    "primary": "the grade of the topic's primary assessor",
    "majority": "the grade assigned by more than half of the assessors",
    "latest": "the grade that was recorded last",
    "highest": "the highest grade assigned",
    "lowest": "the lowest grade assigned",
    "median": "the median grade; the lower of two middle grades",
}
"""Each word, and what it chooses."""


def parse_rule(words: str) -> Rule:
    """The rule that a line like `adjudicated,majority,latest` means."""
    rule = tuple(word for word in words.replace(",", " ").split() if word != "else")
    if not rule:
        raise UsageError(f"empty merge rule; use one or more of: {', '.join(RULE_WORDS)}")
    for word in rule:
        if word not in RULE_WORDS:
            raise UnknownName("merge rule", word, RULE_WORDS)
    return rule


# Qrels frozen under a name, and the manifest that says how they came about.

NOW = "now"
"""What the judgments say at this moment is called so; no release can be."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*")


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a release."""
    if name == NOW:
        raise UsageError(f"a release cannot be called {quoted(name)}: that word means the current judgments")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{quoted(name)} is not a valid release name; use letters, digits and . _ + @ -")


@dataclass(frozen=True)
class Manifest:
    """What a release was made from.

    `up_to_event` is the last event that could count; with it, the layers and the rule the same qrels can be folded
    from the events again. `scales` and `guidelines` count the deciding judgments by version (0: no guidelines).
    `pools` gives the content hash of each pool. For qrels that came from a file `file` and `file_sha256` say which.
    `history` is where the history of the collection stood: the number of its entries, and the hash of the last one.
    """

    name: str
    content_hash: str
    topics: int
    judged: int
    unjudged: int
    grades: Mapping[str, int] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    rule: Rule = ()
    primary: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    up_to_event: int = 0
    scales: Mapping[str, int] = field(default_factory=dict)
    guidelines: Mapping[str, int] = field(default_factory=dict)
    pools: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    file_sha256: str = ""
    note: str = ""
    collection: str = ""
    made: str = ""
    made_by: str = ""
    version: int = 1
    history: tuple[int, str] = (0, "")

    def json(self) -> str:
        """JSON text, the same for the same content."""
        content = dict(zip(_KEYS, astuple(self), strict=True))
        return json.dumps(content, ensure_ascii=False, sort_keys=True, indent=1)


_KEYS = (
    *("name", "content_hash", "topics", "judged", "unjudged", "grades", "layers", "rule", "primary", "up_to_event"),
    *("scales", "guidelines", "pools", "file", "file_sha256", "note", "collection", "made", "made_by", "version"),
    "history",
)
"""The keys of a manifest in JSON, in the order of its fields."""


def manifest_from(text: str) -> Manifest:
    """Read a manifest back; one that cannot be is refused."""
    try:
        fields = json.loads(text)
        fields.setdefault("history", (0, ""))  # of a collection that had none yet
        lists = {name: tuple(fields[name]) for name in ("layers", "rule", "history")}
        primary = {topic: tuple(names) for topic, names in fields["primary"].items()}
        content = {**fields, **lists, "primary": primary}
        made = Manifest(*(content[key] for key in _KEYS))
        numbers = made.topics, made.judged, made.unjudged, made.up_to_event
        texts = made.name, made.content_hash, made.file, made.note, made.made, made.made_by
        tables = made.grades, made.scales, made.guidelines, made.pools
        wanted: list[tuple[type, tuple[object, ...]]] = [(int, numbers), (str, texts), (dict, tables)]
        if all(isinstance(value, kind) for kind, values in wanted for value in values):
            return made
    except (ValueError, TypeError, LookupError, AttributeError):
        pass
    raise InputError("the manifest of a release is invalid; cranfield check names it")


# What the commands print of releases.

HASH_SHOWN = 16


@dataclass(frozen=True)
class Release(Result):
    """Qrels that were frozen under a name, with all that is known of them; `new` is false where they were already."""

    manifest: Manifest
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    new: bool = True

    def table(self) -> Table:
        """The facts of the manifest."""
        one = self.manifest
        facts: dict[str, Value] = {
            "release": one.name,
            "content hash": one.content_hash,
            "topics": one.topics,
            "judged": one.judged,
            "pooled, not judged": one.unjudged,
            "grades": _counts(one.grades),
            "layers": ", ".join(one.layers),
            "rule": ", else ".join(one.rule),
            "up to event": one.up_to_event,
            "by version of the scale": _counts(one.scales),
            "by version of the guidelines": _counts(one.guidelines),
            "pools": ", ".join(f"{name} {known[:HASH_SHOWN]}" for name, known in one.pools.items()),
            "file": one.file,
            "file SHA-256": one.file_sha256,
            "note": one.note,
            "history": f"entry {one.history[0]:,}, {one.history[1]}" if one.history[0] else "",
            "made": one.made,
            "made by": one.made_by,
        }
        return facts_table(facts)

    def tables(self) -> list[Table]:
        """The facts that say something."""
        table = self.table()
        return [replace(table, rows=tuple(row for row in table.rows if row[1] not in ("", None)))]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items())


@dataclass(frozen=True)
class Releases(Result):
    """The releases of a collection; the remark says in which layers there are judgments."""

    manifests: tuple[Manifest, ...]
    remarks: Sequence[str]

    def table(self, *, short: bool = False) -> Table:
        """One row for each release; the `short` one has the beginning of each hash, and the day."""
        digits, day = (HASH_SHOWN, 10) if short else (None, None)
        rows = [
            (
                one.name,
                one.topics,
                one.judged,
                one.unjudged,
                one.content_hash[:digits],
                one.file or f"{', '.join(one.layers)} by {', '.join(one.rule)}",
                one.made[:day],
            )
            for one in self.manifests
        ]
        source, created = Column("made_from", "source"), Column("made", "created")
        return table_of(["release", "topics", "judged", "unjudged", "content_hash", source, created], rows)

    def tables(self) -> list[Table]:
        """What fits on a screen."""
        return [self.table(short=True)]
