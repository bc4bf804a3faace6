"""The work behind what Python users open: reading, aligning and doubting once, whatever is asked and how often."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from cranfield.base.errors import (
    LINES_KEPT,
    CranfieldError,
    InputError,
    Problem,
    ProblemsFound,
    UnknownName,
    UsageError,
    quoted,
)
from cranfield.base.files import Source
from cranfield.base.progress import Progress, silent
from cranfield.base.text import counted
from cranfield.evaluate.frames import is_frame, qrels_given, runs_given
from cranfield.qrels.reading import read_qrels
from cranfield.runs.run import ROLES, Member, read_groups
from cranfield.store.releases import NOW, release_names
from cranfield.store.runs import run_facts
from cranfield.store.store import Store
from cranfield.workflows.collection import open_collection
from cranfield.workflows.evaluate.evaluate import Evaluated, evaluate_and_tell
from cranfield.workflows.evaluate.inputs import (
    TOPIC_SETS,
    Asked,
    Kept,
    KeptAlignment,
    Read,
    contents_of,
    measures_asked,
    read_aligned,
    read_all_in_full,
    read_runs,
    stored_names,
    what_qrels_say,
)
from cranfield.workflows.evaluate.verdicts import evaluate_with_trust, first_runs
from cranfield.workflows.progress import shown_progress
from cranfield.workflows.qrels.current import qrels_for
from cranfield.workflows.reuse.field import Field, PoolTold, Trusted, field_of
from cranfield.workflows.status import collection_status

if TYPE_CHECKING:
    from cranfield.base.tables import Value
    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.expression import Measure
    from cranfield.qrels.qrels import Qrels
    from cranfield.runs.run import Run
    from cranfield.workflows.evaluate.inputs import As


class Material(Protocol):
    """Where qrels and runs come from, and what is told about the pool."""

    @property
    def store(self) -> Store | None:
        """The collection, where it is one."""
        ...

    @property
    def told(self) -> PoolTold:
        """What is told about the pool."""
        ...

    def names(self) -> tuple[str, ...]:
        """Give the names of all runs."""
        ...

    def members(self) -> Sequence[Member]:
        """Give who the runs belong to."""
        ...

    def with_runs(
        self, asked: Asked, names: Sequence[str] | None, *, with_ids: bool, progress: Progress = silent
    ) -> Asked:
        """Put qrels and runs (None for all) into what is asked; `with_ids` where documents are needed by name."""
        ...

    def teachers(self, asked: Asked) -> Asked:
        """Add the runs that are at hand and not asked for, after the others: they may have fed the pool."""
        ...

    def judged(self, *, unjudged: bool) -> Qrels:
        """Give the qrels; with `unjudged` also what is pooled and not judged, as grade -1, as far as it is known."""
        ...

    def facts(self) -> dict[str, Value]:
        """Give what it is in a few words, without reading anything large."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


@dataclass(eq=False)
class Work:
    """What was opened, and what has been made of it so far. `progress` says whether bars may appear."""

    material: Material
    progress: bool = True
    is_closed: bool = False
    alignment: KeptAlignment = field(default_factory=KeptAlignment)
    fields: Kept[Field] = field(default_factory=Kept)

    @property
    def store(self) -> Store | None:
        """The collection, where it is one."""
        return self.material.store

    def collection(self, word: str) -> Store:
        """Give the collection that a word of the command line needs."""
        if self.material.store is None:
            raise UsageError(f"{word} is about a collection, and these are files: open one with open_collection")
        return self.material.store

    @contextmanager
    def watched(self) -> Iterator[Progress]:
        """Give something to report to while work goes on."""
        with shown_progress(wanted=self.progress) as progress:
            yield progress

    def asked(
        self,
        measures: str | Sequence[str],
        runs: Sequence[str] | None,
        *,
        with_ids: bool = False,
        topics: str | os.PathLike[str] | Sequence[str] = "qrels",
        clusters: str | os.PathLike[str] | Mapping[str, Hashable] | None = None,
        **options: Any,
    ) -> Asked:
        """Give what is asked for; files are read for that. A word that no option knows is refused."""
        from cranfield.evaluate.expression import ForeignMeasure, parse_measures
        from cranfield.qrels.qrels import qrels_of

        wanted = words_of(measures)
        if isinstance(runs, str):
            raise UsageError(f"runs is a list of names: give [{runs!r}]")
        refuse_unknown(options)
        foreign = any(isinstance(one, ForeignMeasure) for one in parse_measures(wanted))
        asked = Asked(
            qrels=qrels_of([]),
            runs=(),
            measures=wanted,
            topics=_topic_set(topics),
            clusters=clusters if clusters is None or isinstance(clusters, Mapping) else Path(clusters),
            **options,
        )
        with self.watched() as progress:
            return self.material.with_runs(asked, runs, with_ids=with_ids or foreign, progress=progress)

    def own_measures(self, measures: Sequence[str]) -> list[Measure]:
        """Give measures that take a verdict or might; the collection's scale says what is relevant."""
        from cranfield.evaluate.expression import own_measures

        return list(own_measures(measures_asked(measures, self.store)))

    def evaluated(
        self, asked: Asked, *, verdicts: bool, progress: Progress = silent
    ) -> tuple[Evaluated, Trusted | None]:
        """Score, with verdicts or without."""
        if not verdicts:
            found = evaluate_and_tell(
                asked, store=self.store, progress=progress, kept=self.alignment, read=self.known(asked)
            )
            return found, None
        return evaluate_with_trust(
            asked,
            self.material.told,
            store=self.store,
            progress=progress,
            reading=lambda: self.field(asked, progress),
        )

    def field(self, asked: Asked, progress: Progress = silent) -> Field:
        """Give the field of runs that verdicts need; the last one is kept."""
        known = replace(asked, qrels=_read(asked.qrels))
        key = self._key(known)
        if key is None:
            return self._field(asked, progress)
        return self.fields.get(key, lambda: self._field(known, progress))

    def with_ids(self, field: Field) -> tuple[str | AnyRun, ...]:
        """Give the runs that a field was asked for so that their documents are known by name."""
        if self.store is not None:
            return field.words
        names = field.read.aligned.run_names[: field.asked]
        return self.asked("AP", names, with_ids=True).runs

    def known(self, asked: Asked) -> Read | None:
        """Give what was read and aligned of these runs where that is at hand already."""
        found = self.fields.known(self._key(replace(asked, qrels=_read(asked.qrels))))
        return None if found is None else first_runs(found.read, found.asked)

    def _field(self, asked: Asked, progress: Progress) -> Field:
        everything = self.material.teachers(asked)
        if len(everything.runs) > len(asked.runs) and asked.topics == "common":
            everything = replace(everything, topics=read_aligned(asked, self.store).aligned.topic_ids)
        found = field_of(everything, self.material.told, store=self.store, progress=progress)
        progress("weighing what is unjudged", 0, None)
        return replace(found, words=tuple(asked.runs))

    def _key(self, asked: Asked) -> Hashable:
        """Give what makes a field what it is; None where that is not known before files are read."""
        contents = contents_of(self.material.teachers(asked).runs, self.store)
        topics_are_a_file = isinstance(asked.topics, str) and asked.topics not in TOPIC_SETS
        if contents is None or isinstance(asked.qrels, Path) or topics_are_a_file:
            return None
        state = None if self.store is None else _state(self.store)
        return what_qrels_say(asked.qrels), contents, len(asked.runs), asked.topics, asked.like, state


def _read(qrels: Path | Qrels) -> Path | Qrels:
    """Read a file of qrels; one that cannot be read stays a file, to be refused together with all else."""
    from cranfield.qrels.reading import read_qrels

    if not isinstance(qrels, Path):
        return qrels
    try:
        return read_qrels(Source(qrels))
    except CranfieldError:
        return qrels


def _state(store: Store) -> tuple[int, int]:
    """Give numbers that change with anything that is written to a collection, here or by others."""
    return int(store.value("PRAGMA data_version")), store.connection.total_changes


def words_of(measures: str | Sequence[str]) -> tuple[str, ...]:
    """Give one word, or several, as a tuple."""
    given: object = [measures] if isinstance(measures, str) else measures
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(word, str) for word in found):
        raise UsageError(f"one word or a list of words is expected, like 'AP' or ['AP', 'RR'], not {measures!r}")
    return cast("tuple[str, ...]", found)


def _topic_set(topics: str | os.PathLike[str] | Sequence[str]) -> str | tuple[str, ...]:
    """Give the name of a topic set or file, or ids as they are."""
    if isinstance(topics, str) or not isinstance(topics, Sequence):
        return str(topics)
    return tuple(str(topic) for topic in topics)


_CHOICES: Mapping[str, tuple[object, ...]] = {
    "like": (None, "9", "10"),
    "ties": ("trec", "best", "worst", "expected"),
    "duplicates": ("plain", "novelty"),
    "letters": (None, "tukey", "t"),
    "closure": ("at-k", "list", "open"),
}


def refuse_unknown(options: Mapping[str, object]) -> None:
    """Refuse a word that no option knows: a misspelt one must not be taken for the usual case."""
    for name, value in options.items():
        if value not in _CHOICES[name]:
            known = ", ".join(repr(choice) for choice in _CHOICES[name])
            raise UsageError(f"{name} is one of {known}, not {value!r}")


# Who the runs belong to, given from Python: a file, a frame, or a mapping.

_COLUMNS = ("run", "group")


def groups_given(value: object) -> tuple[Member, ...]:
    """Give the runs with their groups.

    A file has run tag, group and `pooled` or `new` on each line; a frame has the columns run, group and, where some
    runs are new, role; a mapping of run -> group names the runs that were pooled. Everything wrong is told at once.
    """
    if isinstance(value, str | os.PathLike):
        return read_groups(Source(Path(value)))
    rows = list(_rows(value))
    problems = [*_unfit(rows), *_repeated(rows)]
    if problems or not rows:
        raise ProblemsFound("these groups cannot be used", problems or [Problem("empty", "the groups name no run")])
    return tuple(
        Member(run, group, role == "pooled") for run, group, role in cast("list[tuple[str, str, str]]", rows)
    )


def _rows(value: object) -> Iterable[tuple[object, object, object]]:
    if isinstance(value, Mapping):
        return ((run, group, "pooled") for run, group in value.items())
    if not is_frame(value):
        kind = type(value).__name__
        raise UsageError(f"groups are a file, a frame, or a mapping of run -> group, not {kind}")
    names = [str(name) for name in value.columns]
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise UsageError(f"the frame of groups has no column {' or '.join(missing)}; it has {', '.join(names)}")
    frame: Any = value
    roles = frame["role"] if "role" in names else ["pooled"] * len(frame)
    return zip(frame["run"], frame["group"], roles, strict=True)


def _unfit(rows: list[tuple[object, object, object]]) -> list[Problem]:
    """Say which rows have no names, or a role that there is not."""
    nameless = [place for place, row in enumerate(rows, start=1) if not all(_is_word(cell) for cell in row[:2])]
    other = [place for place, row in enumerate(rows, start=1) if row[2] not in ROLES]
    said = "a run and its group are words"
    return [
        *_problem("bad-row", said, nameless, [row[:2] for row in rows]),
        *_problem("unknown-role", f"a run is {' or '.join(ROLES)}", other, [row[2] for row in rows]),
    ]


def _repeated(rows: list[tuple[object, object, object]]) -> list[Problem]:
    runs = [row[0] for row in rows]
    places = [place for place, run in enumerate(runs, start=1) if run in runs[: place - 1]]
    return _problem("repeated-run", "a run is named twice", places, runs)


def _problem(code: str, said: str, places: list[int], cells: list[Any]) -> list[Problem]:
    """Give one problem for all rows that have it, with the first of them; none where no row has."""
    if not places:
        return []
    often = f" ({counted(len(places), 'row')})" if len(places) > 1 else ""
    message = f"{said}{often}: {quoted(cells[places[0] - 1])}"
    return [Problem(code, message, file="groups", lines=tuple(places[:LINES_KEPT]), count=len(places))]


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


# Where the objects that Python users open take qrels and runs from.

AnyNamed = TypeVar("AnyNamed", "Run", "AnyRun")
NAMES_SHOWN = 12
"""How many runs are named where what is open is shown."""


@dataclass(frozen=True, eq=False)
class CollectionMaterial:
    """The runs of a collection, and its qrels: those judged now, a release, or a file or qrels that are given."""

    store: Store
    qrels: str | Path | Qrels | None
    layers: tuple[str, ...]
    told: PoolTold

    @staticmethod
    def opened(
        path: str | os.PathLike[str], qrels: object, layers: str | Sequence[str], told: PoolTold
    ) -> CollectionMaterial:
        """Open the collection; the qrels are checked first, so that nothing stays open if they are wrong."""
        judged = qrels if qrels is None or isinstance(qrels, str) else _judged(qrels)
        chosen = (layers,) if isinstance(layers, str) else tuple(layers)
        return CollectionMaterial(open_collection(Path(path)), judged, chosen, told)

    def names(self) -> tuple[str, ...]:
        """Give the names of the runs that have not been withdrawn."""
        return stored_names(self.store)

    def members(self) -> list[Member]:
        """Give who the runs belong to."""
        return [Member(one.name, one.group_name, one.role == "contributing") for one in run_facts(self.store)]

    def with_runs(
        self, asked: Asked, names: Sequence[str] | None, *, with_ids: bool, progress: Progress = silent
    ) -> Asked:
        """Put the qrels and the names of runs, or paths of files, into what is asked."""
        known = self.names()
        for name in names or ():
            if name not in known and not Path(name).exists():
                raise UnknownName("run", str(name), known)
        return replace(asked, qrels=self._qrels(), runs=known if names is None else tuple(map(str, names)))

    def _qrels(self) -> Path | Qrels:
        """Give the qrels that are meant; what is judged now is looked up anew each time."""
        word = self.qrels
        if word is not None and not isinstance(word, str):
            return word
        return self.judged(unjudged=True) if self._is_ours(word) else Path(cast("str", word))

    def _is_ours(self, word: str | None) -> bool:
        return word is None or word == NOW or word in release_names(self.store)

    def teachers(self, asked: Asked) -> Asked:
        """Give what is asked as it is: the collection itself knows who fed its pool."""
        return asked

    def judged(self, *, unjudged: bool) -> Qrels:
        """Give the qrels: as judged now with all layers in order, a release, or what was given."""
        word = self.qrels
        if word is None or isinstance(word, str):
            layers = {"layers": self.layers} if self.layers else {}
            return qrels_for(self.store, word, with_unjudged=unjudged, **layers)  # type: ignore[arg-type]
        return read_qrels(Source(word)) if isinstance(word, Path) else word

    def facts(self) -> dict[str, Value]:
        """Give what is in the collection."""
        status = collection_status(self.store)
        judged = f"{status.judged:,} of {status.pooled:,} pooled" if status.pooled else f"{status.judged:,}"
        return {
            "collection": status.name,
            "file": str(self.store.path),
            "documents": status.documents,
            "topics": status.topics,
            "runs": _listed([run.name for run in status.runs]),
            "pools": ", ".join(pool.name for pool in status.pools) or "none",
            "judged": judged,
            "qrels": "as judged now" if self.qrels is None else _called(self.qrels),
        }

    def close(self) -> None:
        """Close the file."""
        self.store.close()


@dataclass(frozen=True, eq=False)
class FilesMaterial:
    """Qrels and runs from files, frames and mappings; files are read when they are needed, and once.

    `given` are paths, or runs that are at hand; `called` are their names where those were given. What was read lies
    in `read`, by the version whose order of ties it has, and with all ids in `in_full`.
    """

    qrels: Path | Qrels
    given: tuple[str | Run, ...]
    called: tuple[str, ...] | None
    told: PoolTold
    read: dict[str, tuple[Qrels, dict[str, AnyRun]]] = field(default_factory=dict)
    in_full: dict[str, Run] = field(default_factory=dict)
    store: None = None

    @staticmethod
    def opened(qrels: object, runs: object, told: PoolTold) -> FilesMaterial:
        """Check what is given and whether the files are there; the files themselves are read later."""
        judged = _judged(qrels)
        called, given = _ranked(runs)
        files = [
            *([str(judged)] if isinstance(judged, Path) else []),
            *(one for one in given if isinstance(one, str)),
        ]
        missing = [Problem("unreadable", "there is no such file", file=file) for file in files if _is_missing(file)]
        if missing:
            raise ProblemsFound("these files cannot be opened", missing)
        return FilesMaterial(judged, given, called, told)

    def names(self) -> tuple[str, ...]:
        """Give the names of all runs; files are read for that where they were not yet."""
        if self.called is not None:
            return self.called
        _, runs = next(iter(self.read.values()), None) or self._read("10")
        return tuple(runs)

    def members(self) -> tuple[Member, ...]:
        """Give who the runs belong to; a run that is not here is refused."""
        groups = cast("tuple[Member, ...]", self.told.groups or ())
        unknown = [one.run for one in groups if one.run not in self.names()]
        if unknown:
            raise InputError(f"the groups name runs that are not given: {', '.join(map(quoted, unknown))}")
        return groups

    def with_runs(
        self, asked: Asked, names: Sequence[str] | None, *, with_ids: bool, progress: Progress = silent
    ) -> Asked:
        """Put the qrels and the runs themselves into what is asked."""
        if with_ids:
            known = self.names()
            _refuse_strangers(names or (), known)
            runs = self._read_in_full(known if names is None else names, progress)
            return replace(asked, qrels=self.qrels, runs=runs)
        qrels, read = self._read(asked.like or "10", progress)
        _refuse_strangers(names or (), read)
        return replace(asked, qrels=qrels, runs=tuple(read[name] for name in (read if names is None else names)))

    def teachers(self, asked: Asked) -> Asked:
        """Add the runs that are not asked for."""
        _, runs = self._read(asked.like or "10")
        known = {run if isinstance(run, str) else run.tag for run in asked.runs}
        return replace(asked, runs=(*asked.runs, *(run for name, run in runs.items() if name not in known)))

    def judged(self, *, unjudged: bool) -> Qrels:
        """Give the qrels as they are; without `unjudged`, no rows that say pooled and not judged."""
        from cranfield.qrels.qrels import judged_only

        qrels = self._read("10")[0]
        return qrels if unjudged else judged_only(qrels)

    def facts(self) -> dict[str, Value]:
        """Give what was given; nothing is read for that."""
        known = self.called or tuple(next(iter(self.read.values()), (None, {}))[1])
        names = known or tuple(Path(one).name if isinstance(one, str) else one.tag for one in self.given)
        found: dict[str, Value] = {"qrels": _called(self.qrels), "runs": _listed(names)}
        groups = cast("tuple[Member, ...]", self.told.groups or ())
        if groups:
            pooled = sum(one.pooled for one in groups)
            found["groups"] = f"{len({one.group for one in groups}):,}, {pooled:,} of {len(groups):,} runs pooled"
        if self.told.depth is not None:
            found["pool depth"] = self.told.depth
        if self.told.card is not None:
            found["card"] = str(self.told.card)
        return found

    def close(self) -> None:
        """Forget what was read."""
        self.read.clear()
        self.in_full.clear()

    def _read(self, like: str, progress: Progress = silent) -> tuple[Qrels, dict[str, AnyRun]]:
        if like not in self.read:
            qrels, found = read_runs(self.qrels, self.given, like=cast("As", like), progress=progress)
            names = self.called or tuple(run.tag for run in found)
            self.read[like] = qrels, {name: _renamed(run, name) for run, name in zip(found, names, strict=True)}
        return self.read[like]

    def _read_in_full(self, names: Sequence[str], progress: Progress) -> tuple[Run, ...]:
        """Give runs with all their ids; only those are read, and once."""
        given = dict(zip(self.names(), self.given, strict=True))
        new = [name for name in dict.fromkeys(names) if name not in self.in_full]
        if new:
            found = read_all_in_full([given[name] for name in new], progress)
            self.in_full.update({name: _renamed(run, name) for run, name in zip(found, new, strict=True)})
        return tuple(self.in_full[name] for name in names)


def pool_told(
    *, groups: object = None, depth: int | None = None, card: str | os.PathLike[str] | None = None, pool: str = ""
) -> PoolTold:
    """Give what is told about the pool, checked as far as that goes without the runs."""
    if depth is not None and (type(depth) is not int or depth < 1):
        raise UsageError(f"pool_depth is the rank that the pool went down to, from 1, not {depth!r}")
    path = None if card is None else Path(card)
    if path is not None and _is_missing(str(path)):
        raise ProblemsFound("this card cannot be opened", [Problem("unreadable", "no such file", file=str(path))])
    return PoolTold(groups=None if groups is None else groups_given(groups), depth=depth, card=path, pool=pool)


def _called(qrels: str | Path | Qrels) -> str:
    if isinstance(qrels, str | Path):
        return str(qrels)
    return f"{len(qrels):,} rows, given"


def _listed(names: Sequence[str]) -> str:
    """Give the number of names and the first of them."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{len(names):,}: {', '.join(names[:NAMES_SHOWN])}{more}" if names else "none"


def _refuse_strangers(names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownName("run", str(name), known)


def _renamed(run: AnyNamed, name: str) -> AnyNamed:
    return run if run.tag == name else replace(run, tag=name)


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_missing(file: str) -> bool:
    return file != "-" and not Path(file).exists()


def _judged(value: object) -> Path | Qrels:
    return Path(cast("str", value)) if _is_path(value) else qrels_given(value)


def _ranked(runs: object) -> tuple[tuple[str, ...] | None, tuple[str | Run, ...]]:
    """Give names, where there are any, and paths or runs."""
    if _is_path(runs) or is_frame(runs):
        runs = [runs]
    if isinstance(runs, Mapping):
        return _named(runs)
    if not isinstance(runs, Sequence):
        raise UsageError(f"runs are files, frames, or a mapping of name -> run, not {type(runs).__name__}")
    found: list[str | Run] = []
    for one in runs:
        found.extend([os.fspath(cast("str", one))] if _is_path(one) else runs_given(one))
    _refuse_nothing(found)
    return None, tuple(found)


def _named(runs: Mapping[object, object]) -> tuple[tuple[str, ...], tuple[str | Run, ...]]:
    found: list[str | Run] = []
    for name, one in runs.items():
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"the name of a run is a word, not {quoted(name)}")
        if isinstance(one, Mapping) and one and not any(isinstance(inner, Mapping) for inner in one.values()):
            raise UsageError("runs map names to runs; this looks like a single run: give runs={'name': …}")
        found.extend([os.fspath(cast("str", one))] if _is_path(one) else runs_given(one, name=name))
    _refuse_nothing(found)
    return tuple(str(name) for name in runs), tuple(found)


def _refuse_nothing(found: Sequence[str | Run]) -> None:
    if not found:
        raise UsageError("there is no run to evaluate")
