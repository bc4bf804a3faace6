"""Open a collection, make one, copy one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError, InputError, UnknownName, UsageError, check_known, quoted, refuse
from cranfield.base.files import Source
from cranfield.base.records import BINARY, Grade, GradeScale
from cranfield.base.registry import deferred
from cranfield.base.text import Changed, counted, now
from cranfield.store import Store, create_store, open_store
from cranfield.store.files import back_up as back_up
from cranfield.store.judging import off_scale, older_than

with deferred:
    import tomllib

open_collection = open_store

LICENCE_SETTING, CITATION_SETTING, DESCRIPTION_SETTING = "licence", "citation", "description"
LONGEST_LICENCE = 2000
LARGEST_TOML, MOST_DOTS = 1 << 20, 500


def licence_of(store: Store) -> str:
    """Under which terms a collection may be used; its report and its card repeat it."""
    return str(store.setting(LICENCE_SETTING, ""))


def one_line(licence: str) -> str:
    """The name of a licence, or a sentence about the terms, as one line; a whole licence is refused."""
    folded = " ".join(licence.split())
    if len(folded) > LONGEST_LICENCE:
        raise UsageError(f"the licence has {len(folded):,} characters: give its name, or where its text can be read")
    return folded


def init_collection(
    path: Path,
    *,
    name: str,
    scale: GradeScale = BINARY,
    guidelines: Path | None = None,
    licence: str = "",
    citation: str = "",
    description: str = "",
) -> None:
    """Make a new collection with its scale and, where given, Markdown guidelines and what is known of it."""
    if name.isspace():
        raise UsageError("the name of the collection is blank; is a shell variable unset?")
    text, terms = Source(guidelines).text() if guidelines else "", one_line(licence)

    def furnish(store: Store) -> None:
        about = {"name": name, "made_by": f"cranfield {__version__}", "made": now(), LICENCE_SETTING: terms}
        for key, value in (about | {CITATION_SETTING: citation, DESCRIPTION_SETTING: description}).items():
            if value:
                store.set(key, value)
        store.add_scale(scale)
        if text:
            store.add_guidelines(text)

    create_store(path, furnish=furnish)


def back_up_dated(store: Store, folder: Path, *, keep: int) -> Path:
    """Copy a collection into a folder under the present time, and delete its oldest copies but for `keep` of them.

    What the folder has of other collections stays.
    """
    name = store.path.stem
    copy = folder / f"{name}-{now().replace(':', '')}.db"
    back_up(store, copy)
    dated, own = re.compile(re.escape(name) + r"-\d{4}-\d\d-\d\dT[\d.]+Z\.db"), []
    # What a clock far ahead has dated goes first: the copy of today must stay.
    for file in sorted(folder.iterdir(), key=lambda file: (file.name <= copy.name, file.name)):
        if dated.fullmatch(file.name) and file.is_file():
            with suppress(CranfieldError), open_store(file, migrated=False) as other:
                own += [file] if other.setting("made") == store.setting("made") else []
    for file in own[:-keep]:
        file.unlink(missing_ok=True)
    return copy


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file. Python takes the square of the length of a dotted key: long ones are refused."""
    text = Source(path).text()
    if len(text) > LARGEST_TOML:
        raise InputError(f"{path}: not usable: more than {LARGEST_TOML >> 20} MB of settings")
    if any(line.count(".") > MOST_DOTS for line in text.splitlines()):
        raise InputError(f"{path}: not usable: a line with more than {MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    except (RecursionError, ValueError) as error:
        what = "its values are nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
        raise InputError(f"{path}: not usable: {what}") from None


def wrong_in(value: Any, shape: Any, place: str = "") -> Iterator[str]:
    """Say what in settings is not as it must be.

    A shape is a type, a pattern, the values that it can be, several shapes one of which will do, a list of a shape,
    or a table of them.
    """
    if isinstance(shape, Mapping) and isinstance(value, dict):
        for name, one in value.items():
            known = (
                shape[key] for key in shape if key == name or (isinstance(key, re.Pattern) and key.fullmatch(name))
            )
            if (inside := next(known, None)) is None:
                names = ", ".join(str(getattr(key, "pattern", key)) for key in shape)
                yield f"unknown entry {quoted(f'{place}{name}')} (known: {names})"
            else:
                yield from wrong_in(one, inside, f"{place}{name}.")
    elif isinstance(shape, list) and isinstance(value, list):
        for one in value:
            yield from wrong_in(one, shape[0], place)
    elif isinstance(shape, tuple):
        if all(any(wrong_in(value, one, place)) for one in shape):
            yield from wrong_in(value, shape[0], place)
    elif isinstance(shape, re.Pattern) and isinstance(value, str):
        if not shape.fullmatch(value):
            yield f"{place.rstrip('.')} cannot be {quoted(value)}"
    elif isinstance(shape, range | frozenset) and type(value) in (str, int):
        if value not in shape:
            between = f"between {shape[0]} and {shape[-1]}" if isinstance(shape, range) else ""
            wanted = between or f"one of {', '.join(sorted(map(str, shape)))}"
            yield f"{place.rstrip('.')} is {quoted(value)}; it must be {wanted}"
    elif not isinstance(shape, type) or not isinstance(value, shape) or (isinstance(value, bool) and shape is int):
        yield f"{place.rstrip('.')} is {quoted(value)}, which has the wrong type"


# How a user writes down a scale: by name, on one line, or as a TOML file.

_GRADED = ("not relevant", "marginal", "relevant", "highly relevant")
NAMED = {
    "binary": BINARY,
    "graded": GradeScale(tuple(map(Grade, range(4), _GRADED, map(float, range(4)))), relevant_from=2),
}
_GRADE = {"grade": int, "label": str, "gain": (int, float), "text": str}
_STEP = re.compile(r"\s*(-?\d{1,9})\s*=\s*([^=,]+?)\s*")


def parse_scale(words: str, *, relevant_from: int | None = None) -> GradeScale:
    """The scale that `words` mean: a known name, a TOML file, or a line like `0=no, 1=partly, 2=fully`."""
    if words in NAMED:
        scale = NAMED[words]
    elif words.endswith(".toml"):
        scale = scale_from(read_toml(Path(words)), file=words)
    elif "=" not in words:
        raise UnknownName("scale", words, [*NAMED, "FILE.toml", "0=LABEL, 1=LABEL, …"])
    else:
        entries = []
        for part in words.split(","):
            if (step := _STEP.fullmatch(part)) is None:
                raise InputError(f"{quoted(part.strip())} is not a grade; write NUMBER=LABEL, separated by commas")
            entries.append({"grade": int(step[1]), "label": step[2]})
        scale = scale_from({"grade": entries}, file=words)
    return scale if relevant_from is None else replace(scale, relevant_from=relevant_from)


def scale_from(content: Mapping[str, Any], *, file: str) -> GradeScale:
    """The scale that a TOML file describes: `relevant_from` and a list of `[[grade]]` tables."""
    entries = content.get("grade")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{file}: no [[grade]] tables; each needs grade, label, and may have gain and text")
    wrong = list(wrong_in(content, {"relevant_from": int, "grade": list}))
    for index, entry in enumerate(entries, start=1):
        missing = {"grade", "label"}.difference(entry if isinstance(entry, dict) else _GRADE)
        wrong += [f"grade {index} has no {quoted(name)}" for name in sorted(missing)]
        wrong += wrong_in(entry, _GRADE, f"grade {index}.")
    refuse("invalid grade scale", "bad-scale", wrong, file=file)
    lowest = min(entry["grade"] for entry in entries)
    grades = tuple(
        Grade(
            entry["grade"], entry["label"], float(entry.get("gain", entry["grade"] - lowest)), entry.get("text", "")
        )
        for entry in sorted(entries, key=lambda entry: int(entry["grade"]))
    )
    return GradeScale(grades, content.get("relevant_from", grades[min(1, len(grades) - 1)].grade))


# Change guidelines or scale while judging goes on: a new version, and what was judged under the old ones.


def rejudging(older: int) -> list[str]:
    """How many grades predate the current scale or guidelines, and how to judge again."""
    told = f"{counted(older, 'grade')} assigned under an older scale or older guidelines"
    return [f"{told}; their assessors judge again with: cranfield judge --rejudge"] if older else []


def change_guidelines(store: Store, path: Path) -> Changed:
    """Put new guidelines in force."""
    text = Source(path).text()
    if not text.strip():
        raise InputError(f"{path} contains no text")
    with store.write():
        if store.guidelines() == text:
            raise InputError(f"these guidelines are already in force ({path}); nothing was changed")
        version = store.add_guidelines(text)
        older = older_than(store, (0, version))
    return Changed(
        {"version": version, "older": older}, (f"guidelines version {version} in force", *rejudging(older))
    )


def change_scale(store: Store, scale: GradeScale) -> Changed:
    """Put a new scale in force."""
    with store.write():
        if store.scale() == scale:
            raise InputError("this scale is already in force; nothing was changed")
        version = store.add_scale(scale)
        facts = {"older": older_than(store, (version, 0)), "off_scale": off_scale(store, version)}
    steps = ", ".join(f"{step.grade} {step.label}" for step in scale.grades)
    notes = [f"scale version {version} in force: {steps}; relevant from {scale.relevant_from}"]
    notes += [f"grades not on this scale: {facts['off_scale']:,}"] if facts["off_scale"] else []
    return Changed({"version": version, **facts}, (*notes, *rejudging(facts["older"])))


# The collections that come with the program: in a checkout beside the package, in a wheel inside it.


def shipped_recipes() -> list[Path]:
    """What describes each of the shipped collections."""
    package = Path(__file__).parents[1]
    places = [package / "_collections", package.parent / "collections"]
    return sorted(file for place in places for file in place.glob("*/collection.toml"))


def shipped_collection(name: str) -> Path:
    """The folder of a shipped collection, relative to here where that is shorter."""
    known = {file.parent.name: file.parent for file in shipped_recipes()}
    check_known("shipped collection", [name], known)
    folder, here = known[name], Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
