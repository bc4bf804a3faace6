"""How qrels came about: the rule that merged the opinions, and releases with their manifests. Loads nothing heavy."""

from __future__ import annotations

import json
import re
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO

from cranfield.base.errors import InputError, SourceError, UsageError, check_known, quoted, refuse
from cranfield.base.files import Source, refuse_growth
from cranfield.base.records import Grade, GradeScale
from cranfield.base.registry import deferred
from cranfield.base.text import Column, Result, Table, Value, facts_table, table_of

with deferred:
    import lzma
    import shutil
    import tarfile
    import tempfile
    import zipfile

    from cranfield.pool import plan as plans

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
    check_known("merge rule", rule, RULE_WORDS)
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
        blank = Manifest("", "", 0, 0, 0)
        if all(isinstance(vars(made)[field], type(value)) for field, value in vars(blank).items()):
            return made
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    raise InputError("the manifest of a release is invalid; cranfield check names it")


# A release as it is published: a folder with checksums, or an archive of it.

SUMS, QRELS, CARD = "SHA256SUMS", "qrels.txt", "card.json"
OLDER_CARD = "reuse-card.json"
"""Bundles of earlier versions have the card of the pool in a file of its own."""

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")


@dataclass(frozen=True)
class Bundle:
    """What scoring needs of a bundle: its qrels, the file that has the card of its pool, and its scale.

    `settled` is how many of its judgments were made in queues of `settle`. `plain_depth` is set where all documents
    of contributing runs down to this rank are judged. `judged` are the share of the pool that is, and the smallest
    of a topic's pool. `depth` is that of its latest plan, 0 where it has none.
    """

    qrels: Path
    card: Path | None
    scale: GradeScale
    settled: int
    plain_depth: int
    judged: tuple[float, float]
    depth: int


def open_bundle(path: Path) -> Bundle:
    """Open a bundle; one whose files are not those that were released is refused."""
    if path.is_dir():
        return _bundle_in(path, path)
    folder = Path(tempfile.mkdtemp(prefix="cranfield-"))
    try:
        _unpack(path, folder)
        bundle = _bundle_in(folder, path)
    except BaseException:
        shutil.rmtree(folder)
        raise
    weakref.finalize(bundle, shutil.rmtree, folder, ignore_errors=True)
    return bundle


def _bundle_in(folder: Path, path: Path) -> Bundle:
    """The bundle in a folder, which was unpacked from `path` or is the same."""
    lines = [text for _, text in Source(folder / SUMS).lines()] if (folder / SUMS).is_file() else []
    sums = {PurePosixPath(name).name: known for known, _, name in (line.partition("  ") for line in lines)}
    if not {QRELS, CARD} <= sums.keys():
        raise InputError(
            f"{path} is neither a file of qrels or of a run nor a release bundle, which has {SUMS} of its files;"
            " cranfield qrels release NAME --bundle FOLDER makes one"
        )
    wrong = []
    for name, known in sums.items():
        if not (folder / name).is_file():
            wrong.append(f"{name} is missing")
        elif sha256((folder / name).read_bytes()).hexdigest() != known:
            wrong.append(f"{name} is not the file that was released: its checksum differs")
    refuse(f"{path} was changed after its release", "changed-file", wrong, file=path)
    try:
        card = json.loads(Source(folder / CARD).text())
        steps = [Grade(one["grade"], one["label"], one["gain"], one["text"]) for one in card["scale"]["grades"]]
        scale = GradeScale(tuple(steps), card["scale"]["relevant_from"])
        has_pool = card["reusability"]["card"] is not None
        settled = int(card["counts"].get("judged_to_settle", 0))
        whole = (one for one in card["pools"] if one["documents"] == one["judged"] and not one["one_per_cluster"])
        pooled = [one for one in card["pools"] if one["documents"]]
        share = min((one["judged"] / one["documents"] for one in pooled), default=1.0)
        judged = share, min((float(one.get("topic_judged", 1.0)) for one in pooled), default=1.0)
        plain = [plans.full_depth(one["plan"], alone=True) for one in whole]
        depth = plans.full_depth(card["pools"][-1]["plan"]) if card["pools"] else 0
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise SourceError(str(path), f"{CARD} is not the card of a collection") from None
    file = OLDER_CARD if OLDER_CARD in sums else CARD if has_pool else None
    pool = None if file is None else folder / file
    return Bundle(folder / QRELS, pool, scale, settled, max(plain, default=0), judged, depth)


def _unpack(path: Path, folder: Path) -> None:
    """Write the files that stand beside the checksums of an archive into a folder."""
    total = 0
    try:
        for place, size, stream in _members(path):
            total += size
            refuse_growth(str(path), total, path.stat().st_size)
            # Wherever the files lie in the archive, their last names are those of the bundle.
            with closing(stream), (folder / PurePosixPath(place).name).open("wb") as file:
                file.write(stream.read(size))
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        OSError,
        RuntimeError,
    ) as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise SourceError(str(path), f"cannot be unpacked: {reason}") from None


def _members(path: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    if path.name.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            for one in archive.infolist():
                if not one.is_dir():
                    yield one.filename, one.file_size, archive.open(one)
        return
    with tarfile.open(path) as packed:
        for member in packed:
            if member.isfile() and (stream := packed.extractfile(member)) is not None:
                yield member.name, member.size, stream


# What the commands print of releases.

HASH_SHOWN = 16


@dataclass(frozen=True)
class Release(Result):
    """Qrels that were frozen under a name, with all that is known of them; `new` is false where they were already."""

    manifest: Manifest
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    new: bool = True
    whole = True

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
        """The facts that say something; 0 unjudged documents in the release are not all there are in the pool."""
        table = self.table()
        return [replace(table, rows=tuple(row for row in table.rows if row[1] not in ("", None, 0)))]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items())


def releases_table(manifests: Sequence[Manifest], *, short: bool = False) -> Table:
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
        for one in manifests
    ]
    source, created = Column("made_from", "source"), Column("made", "created")
    return table_of(["release", "topics", "judged", "unjudged", "content_hash", source, created], rows)
