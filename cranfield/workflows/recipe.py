"""A whole collection in one step: from a recipe, from the folder of a campaign, or from a data set of ir_datasets.

A recipe is a `collection.toml`: what the collection is, what its files are called, what is known to go wrong with
them, and how many records must come out. Of a folder without one, each file is what its path and first lines say.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cranfield.base.errors import CranfieldError, InputError, Problem, UsageError, refuse
from cranfield.base.files import DATA_SET, Progress, Source, located, silent
from cranfield.base.records import BINARY, Grade, GradeScale
from cranfield.base.text import counted, shortened
from cranfield.base.writing import inside, whole_file
from cranfield.corpus import datasets, markup
from cranfield.corpus import reading as corpus_reading
from cranfield.qrels import qrels as qrels_core
from cranfield.qrels import reading as qrels_reading
from cranfield.store import Store, documents, open_store
from cranfield.workflows import collection as collections
from cranfield.workflows import corpus as corpus_workflow
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.runs import lists, submit
from cranfield.workflows.runs.submit import CheckedRun, Request

OFFICIAL = "official"
"""What the release of the only qrels is called."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a collection is made of, and what must come of it.

    `document_ids` and `topic_ids` are patterns by which ids are written anew from the number they end with, the
    latter in the qrels only; `positions` says that the qrels count topics by their place in the file. `grades` are
    those of the qrels that mean another one. `outside` are data sets whose documents are not copied.
    """

    name: str
    about: Mapping[str, str] = field(default_factory=dict)
    traps: Sequence[str] = ()
    scale: GradeScale = BINARY
    guidelines: Path | None = None
    documents: Sequence[Path] = ()
    outside: Sequence[str] = ()
    topics: Sequence[Path] = ()
    qrels: Sequence[Path] = ()
    runs: Sequence[Request] = ()
    positions: bool = False
    document_ids: str = ""
    topic_ids: str = ""
    grades: Mapping[int, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def changed(self, qrels: qrels_core.Qrels) -> qrels_core.Qrels:
        """Qrels with the ids and the grades that are meant."""
        topics, names = (
            {id: corpus_reading.renumbered(id, pattern) for id in ids}
            for ids, pattern in ((qrels.topics, self.topic_ids), (qrels.document_ids.to_pylist(), self.document_ids))
        )
        rows = {(topics[topic], names[document]): self.grades.get(grade, grade) for topic, document, grade in qrels}
        if len(rows) < len(qrels):
            raise InputError(f"{qrels.name}: {len(qrels) - len(rows):,} pairs are judged twice under one id")
        return qrels_core.qrels_of([(*pair, grade) for pair, grade in rows.items()], name=qrels.name)


class Made(NamedTuple):
    """What became of a recipe: sentences, and the problems that did not stand in the way."""

    remarks: Sequence[str]
    problems: Sequence[Problem]
    is_complete: bool


def make_collection(path: Path, recipe: Recipe, *, progress: Progress = silent) -> Made:
    """Make a collection of all that the recipe names; where its counts are not met, none is made."""
    remarks, problems, refused = list[str](), list[Problem](), list[CheckedRun]()
    if path.exists():
        raise UsageError(f"{path} already exists; choose another name")
    with whole_file(path) as unfinished:
        about: Any = {"name": recipe.name, "scale": recipe.scale, "guidelines": recipe.guidelines, **recipe.about}
        collections.init_collection(unfinished, **about)
        with open_store(unfinished) as store:
            corpus = corpus_workflow.Corpus(store, progress=progress)
            added = [*corpus.add(recipe.documents, ids=recipe.document_ids).outcomes]
            if recipe.topics:
                topics: Any = corpus.topics(recipe.topics, ids="position" if recipe.positions else "given")
                added += topics.outcomes
            for one in added:
                if isinstance(one, CranfieldError):
                    raise one
                problems += one.problems
                remarks.append(str(one))
            if recipe.outside:
                names = " ".join(recipe.outside)
                try:
                    corpus.outside(recipe.outside)
                    copies = f"cranfield corpus add {names} copies them"
                    remarks.append(f"note: the documents stay in the store of ir_datasets; {copies}")
                except InputError as error:  # the collection can still be scored with
                    remarks.append(f"warning: no documents: {error}; then run: cranfield corpus outside {names}")
            for file in recipe.qrels:
                name = OFFICIAL if len(recipe.qrels) == 1 else Source(file).stem
                remarks += qrels_workflow.Qrels(store).import_(file, name, change=recipe.changed).remarks
            if recipe.runs:
                refused, sentences = _submit(store, recipe.runs, progress)
                remarks += sentences
                problems += [problem for one in refused for problem in one.errors]
            _check_counts(store, recipe)
    return Made([*remarks, *recipe.notes, *(f"note: {trap}" for trap in recipe.traps)], problems, not refused)


def _submit(store: Store, requests: Sequence[Request], progress: Progress) -> tuple[list[CheckedRun], list[str]]:
    """Submit runs, repaired where that can be; those that cannot be are left out, and given."""
    examined = submit.examine(requests, submit.expectations_of(store), repair=True, progress=progress)
    checked = [one.mended for one in examined]
    # Runs of one tag, as teams have given them, are told apart by their files.
    often = Counter(name for name, *_ in {(one.name, one.content_hash, one.request.group) for one in checked})
    alike = [one.request.path.parent for one in checked if often[one.name] > 1]
    top = os.path.commonpath(alike) if alike else ""
    sound = []
    for one in [one for one in checked if not one.errors]:
        name = one.name
        if often[name] > 1:  # `input.prc1.gz` is prc1, `team/one/run.txt` team-one-run
            file = Source(one.request.path)
            parts = *file.path.parent.relative_to(top).parts, file.stem.removeprefix("input.")
            name = re.sub(r"[^A-Za-z0-9._+-]+", "-", "-".join(parts)).strip(".+-")
        sound.append(replace(one, name=name))
    stored = submit.store_runs(store, sound, progress=progress)
    refused = [one for one in checked if one.errors]
    repaired = [one.facts.name for one in stored if any(problem.code == "repaired" for problem in one.warnings)]
    new = [one.facts for one in stored if one.what == "submitted"]
    remarks = [f"{counted(len(new), 'run')} of {counted(len({one.group_name for one in new}), 'group')} submitted"]
    if repaired:
        what = "with errors repaired; cranfield runs show RUN lists what was changed"
        remarks.append(f"note: {counted(len(repaired), 'run')} {what}: {shortened(', '.join(repaired), 200)}")
    if len(stored) > 1 and (alone := [one.name for one in new if one.group_name == one.name]):
        remarks.append(
            f"note: no team is known of these runs, each is its own group: {shortened(', '.join(alone), 200)}"
        )
    if refused:
        names = ", ".join(one.file for one in refused)
        remarks.append(f"warning: {counted(len(refused), 'run')} left out, because of errors: {names}")
    return refused, remarks


def _check_counts(store: Store, recipe: Recipe) -> None:
    """Refuse a collection that has not as many records as the recipe says."""
    released = qrels_workflow.manifests(store).values()
    counts = {
        "documents": documents.count(store) if recipe.documents else recipe.counts.get("documents", 0),
        "topics": len(list(documents.topic_ids(store))),
        "judged_topics": sum(one.topics for one in released),
        "judgments": sum(one.judged + one.unjudged for one in released),
    }
    wrong = [
        f"{count:,} {what.replace('_', ' ')}; expected {recipe.counts[what]:,}"
        for what, count in counts.items()
        if recipe.counts.get(what, count) != count
    ]
    refuse(f"this is not the {recipe.name} that the recipe describes; nothing was made", "wrong-count", wrong)


# A recipe, and the files it names.

_ABOUT = ("title", "description", "licence", "citation", "source")
_PATTERN = re.compile(r"[^{}]*\{(:0?\d{1,2})?\}[^{}]*")
_FILES = ("documents", "topics", "qrels", "runs", "guidelines", "scale", "judgments", "after")
_SHAPE: Mapping[str, Any] = {
    **dict.fromkeys(("name", "language", "irds", *_ABOUT), str),
    "version": int,
    "traps": [str],
    "files": dict.fromkeys(_FILES, (str, [str])),
    "documents": {"ids": _PATTERN},
    "topics": {"ids": frozenset(("given", "position"))},
    "qrels": {"topics": _PATTERN, "grades": {re.compile(r"-?\d{1,4}"): int}},
    "scale": {re.compile(".*"): object},
    "counts": {re.compile(".*"): int},
    "pool": {re.compile(".*"): str},
    "checksums": {re.compile(".*"): str},
}
Part = Literal["documents", "topics", "qrels"]


def read_recipe(file: Path, place: str = "") -> Recipe:
    """Read a `collection.toml`; its files lie below the place, which may be a data set, or beside it."""
    content = collections.read_toml(file)
    wrong = [*collections.wrong_in(content, _SHAPE), *["it has no name"] * (not content.get("name"))]
    refuse(f"{file} is not a recipe", "bad-recipe", wrong, file=file)
    if not place and "irds" in content:
        place = f"{DATA_SET}{content['irds']}"
    if place.startswith(DATA_SET):
        found = dataset_recipe(place)
    else:
        folder = Path(place) if place else file.parent
        files = {part: _found(folder, names, content) for part, names in content.get("files", {}).items()}
        for name, digest in content.get("checksums", {}).items():
            if Source(inside(folder / name, folder)).file_sha256 != digest:
                raise InputError(f"{folder / name} is not the file that the recipe describes: its checksum differs")
        requests = lists.read_requests(files["runs"]) if "runs" in files else []
        parts: Any = {part: [files[part]] for part in ("documents", "topics", "qrels") if part in files}
        found = Recipe(
            name="",
            scale=collections.parse_scale(str(files["scale"])) if "scale" in files else BINARY,
            guidelines=files.get("guidelines"),
            runs=[replace(one, path=inside(one.path, folder)) for one in requests],
            **parts,
            positions=content.get("topics", {}).get("ids") == "position",
        )
    of_qrels, scale, traps = content.get("qrels", {}), content.get("scale"), content.get("traps", ())
    # What a collection remembers of where it comes from: its licence, how to cite it, and what it is.
    about = {name: " ".join(str(content.get(name, "")).split()) for name in _ABOUT}
    told = about.pop("title"), about["description"], *(" ".join(trap.split()) for trap in traps), about.pop("source")
    about["description"] = "\n".join(filter(None, told))
    return replace(
        found,
        name=content["name"],
        about={**found.about, **{name: text for name, text in about.items() if text}},
        traps=traps,
        scale=collections.scale_from(scale, file=str(file)) if scale is not None else found.scale,
        document_ids=content.get("documents", {}).get("ids", ""),
        topic_ids=of_qrels.get("topics", ""),
        grades={int(grade): meant for grade, meant in of_qrels.get("grades", {}).items()},
        counts=content.get("counts", {}),
    )


def _found(folder: Path, names: str | Sequence[str], content: Mapping[str, Any]) -> Path:
    """The first of some names that is a file below a folder, perhaps compressed, in any case of letters."""
    wanted = [names] if isinstance(names, str) else names
    files = {str(path.relative_to(folder)).casefold(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    for name in map(str.casefold, wanted):
        for known, path in sorted(files.items(), key=lambda item: len(item[0])):
            if f"/{known}".removesuffix(".gz").endswith(f"/{name}"):
                return inside(path, folder)
    source = f"; get it from {content['source']}, and name its folder with --from" if "source" in content else ""
    raise InputError(f"{folder} has no file {' or '.join(wanted)}{source}")


def recipe_for(name: str, place: str, *, copy: bool = False) -> Recipe:
    """The recipe that `init` means: of a shipped one by its name, of a folder, or of a data set of ir_datasets.

    A data set that a shipped recipe is about is made by that recipe. Its documents stay where they are unless `copy`
    is requested.
    """
    is_data_set, file = place.startswith(DATA_SET), Path(place) / "collection.toml"
    if name:
        file = collections.shipped_collection(name) / "collection.toml"
    elif is_data_set:
        about = (
            one
            for one in collections.shipped_recipes()
            if place == DATA_SET + collections.read_toml(one).get("irds", "")
        )
        file = next(about, file)
    if place and not is_data_set and not Path(place).is_dir():
        raise InputError(f"no such folder: {place}")
    if file.is_file():
        found = read_recipe(file, place)
    else:
        found = dataset_recipe(place) if is_data_set else folder_recipe(Path(place))
    if copy and not found.outside:
        raise UsageError("--copy is for data sets of ir_datasets: the documents of files are always copied")
    return replace(found, documents=[located(one) for one in found.outside], outside=()) if copy else found


# A data set of ir_datasets.


def dataset_recipe(place: str) -> Recipe:
    """What a data set has: topics, qrels, scored documents, and documents that stay in its own store."""
    data_set, file = datasets.DataSet(place.removeprefix(DATA_SET)), located(place)
    itself = data_set.itself
    said = itself.documentation() if hasattr(itself, "documentation") else {}
    counted = itself.metadata() if hasattr(itself, "metadata") else {}
    counts = {ours: counted.get(what, {}).get("count") for ours, what in _COUNTED.items()}
    grades = counted.get("qrels", {}).get("fields", {}).get("relevance", {}).get("counts_by_value", {})
    meanings = itself.qrels_handler().qrels_defs() or {} if data_set.has("qrels") else {}
    scale = scale_of({*map(int, grades)}, meanings)
    levels = [int(level) for word in said.get("official_measures", ()) for level in _LEVEL.findall(str(word))]
    if levels and max(levels) in [step.grade for step in scale.grades[1:]]:
        scale = GradeScale(scale.grades, max(levels))
    description = " ".join(markup.html_to_text(said.get("desc", ""))[1].split())
    lines = filter(None, (said.get("pretty_name", ""), description, f"ir_datasets: {data_set.name}"))
    return Recipe(
        name=data_set.name.replace("/", "-"),
        about={
            "licence": data_set.terms or " ".join(" ".join(_LICENCE.findall(description)).split()),
            "citation": datasets.cited(said.get("bibtex_ids", ())),
            "description": "\n".join(lines),
        },
        scale=scale,
        outside=[place] if data_set.has("docs") else (),
        topics=[file] if data_set.has("queries") else (),
        qrels=[file] if data_set.has("qrels") else (),
        runs=[Request(path=file)] if data_set.has("scoreddocs") else (),
        counts={what: count for what, count in counts.items() if count is not None},
    )


_COUNTED = {"documents": "docs", "topics": "queries", "judgments": "qrels"}
_LICENCE = re.compile(r"[^.]*\blicen[cs]ed?\b[^.]*(?:\.\d[^.]*)*\.", re.IGNORECASE)
_LEVEL = re.compile(r"\brel=(\d+)")


# The folder of a campaign without a recipe.

_WORDS: Mapping[Part, tuple[str, ...]] = {
    "qrels": ("qrel", "truth"),
    "topics": ("topic", "quer"),
    "documents": ("docs", "document", "corpus"),
}


def folder_recipe(folder: Path) -> Recipe:
    """What the files of a folder are by their paths and their first lines, as NIST, CLEF and TIRA lay them out."""
    files = defaultdict[str, list[Path]](list)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        kind = _kind_of(path, folder)
        files[kind].append(path if kind == "other" else inside(path, folder))
    if not (files["topics"] or files["qrels"] or files["runs"]):
        raise InputError(f"{folder} has neither topics, qrels nor runs that are known by their names")
    notes, runs = list[str](), lists.requests_in(folder, files["runs"]) if files["runs"] else []
    for run_list in files["lists"] if runs else ():
        before = runs
        runs, missing = lists.described(runs, run_list)
        notes += [f"warning: {run_list}: {text}" for text in missing[:10]]
        notes += [f"warning: {run_list}: {len(missing) - 10:,} more without a file"] if missing[10:] else []
        if unlisted := [old.path.name for old, new in zip(before, runs, strict=True) if old == new]:
            names = shortened(", ".join(unlisted), 200)
            notes.append(f"note: {counted(len(unlisted), 'run file')} not in {run_list}: {names}")
    used = {one.metadata for one in runs}
    if unused := [str(path.relative_to(folder)) for path in files["other"] if path not in used]:
        notes.append(f"note: {counted(len(unused), 'file')} not used: {shortened(', '.join(unused), 200)}")
    return Recipe(
        name=folder.resolve().name,
        scale=scale_of(
            {int(grade) for file in files["qrels"] for grade in qrels_reading.read_qrels(Source(file)).counts()}
        ),
        documents=files["documents"],
        topics=files["topics"],
        qrels=files["qrels"],
        runs=runs,
        notes=notes,
    )


def _kind_of(path: Path, folder: Path) -> str:
    source = Source(path)
    if path.suffix in (".tsv", ".csv", ".txt", ".xml") and lists.is_run_list(source):
        return "lists"
    for name in (path.name, *(place.name for place in path.relative_to(folder).parents)):
        for part, words in _WORDS.items():
            if any(word in name.lower() for word in words):
                with suppress(CranfieldError):  # it is called so, and is something else
                    _ = qrels_reading.format_of(source) if part == "qrels" else corpus_reading.format_of(source, part)
                    return part
    return "runs" if lists.is_run_file(path, folder) else "other"


def scale_of(grades: set[int], meanings: Mapping[int, str] | None = None) -> GradeScale:
    """A scale with the grades that occur, relevant from 1: nobody says more of bare qrels."""
    known = meanings or {}
    steps = sorted({0, 1, *(grade for grade in (*grades, *known) if grade >= 0)})
    if steps == [0, 1] and not known:
        return BINARY
    texts = [known.get(grade, f"grade {grade}" if grade else "not relevant") for grade in steps]
    labels = [shortened(text.partition(":")[0], 40) for text in texts]
    labels = labels if len(set(labels)) == len(labels) else [f"grade {grade}" for grade in steps]
    meant = ["" if text == label else text for text, label in zip(texts, labels, strict=True)]
    return GradeScale(tuple(map(Grade, steps, labels, map(float, steps), meant)), relevant_from=1)
