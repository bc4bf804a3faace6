"""What is evaluated, compared and doubted: qrels and runs, from wherever they come, found in one way for both fronts.

`Inputs` are those of an open collection. `FilesInputs` are files, frames and mappings that Python users give;
`CommandInputs` are the words of a command line. What is read and aligned is kept for the next question about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

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
from cranfield.base.files import Progress, Source, silent
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.judge.events import MAIN
from cranfield.qrels.qrels import judged_only, qrels_of
from cranfield.qrels.reading import read_qrels
from cranfield.qrels.release import NOW
from cranfield.runs.reading import ROLES, Member, read_groups
from cranfield.store import releases
from cranfield.store import runs as stored_runs
from cranfield.workflows.evaluate.inputs import (
    TOPIC_SETS,
    AlignmentCache,
    Cache,
    Request,
    contents_of,
    measures_asked,
    read_aligned,
    read_all_in_full,
    read_runs,
    stored_names,
    what_qrels_say,
)
from cranfield.workflows.reuse.field import Field, PoolOptions, field_of

with deferred:
    from cranfield.evaluate import frames as given_tables
    from cranfield.evaluate import measure as measuring
    from cranfield.workflows import qrels as qrels_workflow
    from cranfield.workflows import status
    from cranfield.workflows.evaluate import evaluate as evaluation
    from cranfield.workflows.evaluate import verdicts as trust

if TYPE_CHECKING:
    from cranfield.base.tables import Value
    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.measure import Measure
    from cranfield.qrels.qrels import Qrels
    from cranfield.runs.run import Run
    from cranfield.store.store import Store
    from cranfield.workflows.evaluate.evaluate import Evaluation
    from cranfield.workflows.evaluate.inputs import As, Read

Watch = Callable[[], AbstractContextManager[Progress]]
"""Gives something to report to while work goes on."""

AnyNamed = TypeVar("AnyNamed", "Run", "AnyRun")

NAMES_SHOWN = 12
"""How many runs are named where what is open is shown."""

CHOICES: Mapping[str, tuple[object, ...]] = {
    "like": (None, "9", "10"),
    "ties": ("trec", "best", "worst", "expected"),
    "duplicates": ("plain", "novelty"),
    "letters": (None, "tukey", "t"),
    "closure": ("at-k", "list", "open"),
}


class Inputs:
    """The runs of an open collection, its qrels (as judged now, a release, or others), and what is made of them."""

    def __init__(
        self,
        store: Store | None,
        qrels: str | Path | Qrels | None,
        pool: PoolOptions,
        progress: Watch,
        *,
        layers: Sequence[str] = (),
    ) -> None:
        self.store, self.qrels, self.pool, self.progress = store, qrels, pool, progress
        self.layers = tuple(layers) or (MAIN,)
        self.is_closed = False
        self.alignment: AlignmentCache | None = AlignmentCache()
        self._fields: Cache[Field] = Cache()

    def collection(self, word: str) -> Store:
        """Give the collection that a word of the command line needs."""
        if self.store is None:
            raise UsageError(f"{word} is about a collection, and these are files: open one with open_collection")
        return self.store

    def names(self) -> tuple[str, ...]:
        """Give the names of all runs that have not been withdrawn."""
        return stored_names(self.store)

    def members(self) -> Sequence[Member]:
        """Give who the runs belong to."""
        facts = stored_runs.facts(self.collection("groups"))
        return [Member(one.name, one.group_name, one.role == "contributing") for one in facts]

    def judged(self, *, unjudged: bool) -> Qrels:
        """Give the qrels; with `unjudged` also what is pooled and not judged, as grade -1, as far as it is known."""
        if self.qrels is None or isinstance(self.qrels, str):
            selection = qrels_workflow.Selection(layers=self.layers, unjudged=unjudged)
            return qrels_workflow.qrels_for(self.store, self.qrels, selection)
        return read_qrels(Source(self.qrels)) if isinstance(self.qrels, Path) else self.qrels

    def facts(self) -> dict[str, Value]:
        """Give what is in the collection."""
        known = status.status(self.collection("this"))
        judged = f"{known.judged:,} of {known.pooled:,} pooled" if known.pooled else f"{known.judged:,}"
        return {
            "collection": known.name,
            "file": str(self.collection("this").path),
            "documents": known.documents,
            "topics": known.topics,
            "runs": _listed([run.name for run in known.runs]),
            "pools": ", ".join(pool.name for pool in known.pools) or "none",
            "judged": judged,
            "qrels": "as judged now" if self.qrels is None else _called(self.qrels),
        }

    def close(self) -> None:
        """Close the file of a collection."""
        self.is_closed = True
        if self.store is not None:
            self.store.close()

    def request(
        self,
        measures: str | Sequence[str],
        runs: Sequence[str] | None,
        *,
        with_ids: bool = False,
        topics: str | os.PathLike[str] | Sequence[str] = "qrels",
        clusters: str | os.PathLike[str] | Mapping[str, Hashable] | None = None,
        **options: Any,
    ) -> Request:
        """Give what is asked for, with the qrels and runs put in (all runs for None); unknown words are refused.

        `with_ids` where documents are needed by name.
        """
        if isinstance(runs, str):
            raise UsageError(f"runs is a list of names: give [{runs!r}]")
        refuse_unknown(options)
        listed = isinstance(topics, Sequence) and not isinstance(topics, str)
        asked = Request(
            qrels=qrels_of([]),
            runs=(),
            measures=words_of(measures),
            topics=tuple(map(str, cast("Sequence[str]", topics))) if listed else str(topics),
            clusters=clusters if clusters is None or isinstance(clusters, Mapping) else Path(clusters),
            **options,
        )
        with self.progress() as progress:
            return self._with_runs(asked, runs, with_ids=with_ids, progress=progress)

    def own_measures(self, measures: str | Sequence[str]) -> list[Measure]:
        """Give measures that take a verdict or might; the collection's scale says what is relevant."""
        return list(measuring.own_measures(measures_asked(words_of(measures), self.store)))

    def evaluated(self, asked: Request, *, verdicts: bool, progress: Progress = silent) -> Evaluation:
        """Score, with verdicts or without."""
        store = self.store
        if verdicts:
            reading = partial(self.field, asked, progress)
            return evaluation.evaluate(asked, pool=self.pool, store=store, progress=progress, reading=reading)
        known = self.known(asked)
        return evaluation.evaluate(asked, store=store, progress=progress, kept=self.alignment, read=known)

    def field(self, asked: Request, progress: Progress = silent) -> Field:
        """Give the field of runs that verdicts need; the last one is kept."""
        known = replace(asked, qrels=_read(asked.qrels))
        key = self._key(known)
        if key is None:
            return self._field(asked, progress)
        return self._fields.get(key, lambda: self._field(known, progress))

    def known(self, asked: Request) -> Read | None:
        """Give what was read and aligned of these runs where that is at hand already."""
        found = self._fields.known(self._key(replace(asked, qrels=_read(asked.qrels))))
        return None if found is None else trust.first_runs(found.read, found.asked)

    def in_full(self, runs: Sequence[str | AnyRun]) -> Sequence[str | AnyRun]:
        """Give runs of a request so that their documents are known by name."""
        return runs

    def _with_runs(
        self, asked: Request, names: Sequence[str] | None, *, with_ids: bool, progress: Progress
    ) -> Request:
        known = self.names()
        for name in names or ():
            if name not in known and not Path(name).exists():
                raise UnknownName("run", str(name), known)
        return replace(asked, qrels=self._qrels(), runs=known if names is None else tuple(map(str, names)))

    def _qrels(self) -> Path | Qrels:
        """Give the qrels that are meant; what is judged now is looked up anew each time, a file is read later."""
        word = self.qrels
        if word is not None and not isinstance(word, str):
            return word
        is_ours = word is None or word == NOW or word in releases.names(self.collection("a release"))
        return self.judged(unjudged=True) if is_ours else Path(cast("str", word))

    def _teachers(self, asked: Request) -> Request:
        """Add the runs that are at hand and not asked for; a collection itself knows who fed its pool."""
        return asked

    def _field(self, asked: Request, progress: Progress) -> Field:
        everything = self._teachers(asked)
        if len(everything.runs) > len(asked.runs) and asked.topics == "common":
            everything = replace(everything, topics=read_aligned(asked, self.store).aligned.topic_ids)
        found = field_of(everything, self.pool, store=self.store, progress=progress)
        progress("weighing what is unjudged", 0, None)
        return replace(found, words=tuple(asked.runs))

    def _key(self, asked: Request) -> Hashable:
        """Give what makes a field what it is; None where that is not known before files are read."""
        contents = contents_of(self._teachers(asked).runs, self.store)
        topics_are_a_file = isinstance(asked.topics, str) and asked.topics not in TOPIC_SETS
        if contents is None or isinstance(asked.qrels, Path) or topics_are_a_file:
            return None
        state = None
        if self.store is not None:  # numbers that change with anything that is written, here or by others
            state = int(self.store.value("PRAGMA data_version")), self.store.connection.total_changes
        return what_qrels_say(asked.qrels), contents, len(asked.runs), asked.topics, asked.like, state


class CommandInputs(Inputs):
    """The words of a command line: names of stored runs, and files, which are read with all else.

    Nothing is kept, since a command asks once. `warn` takes what should be known about the qrels.
    """

    def __init__(
        self,
        store: Store | None,
        qrels: str | None,
        pool: PoolOptions,
        progress: Watch,
        *,
        layers: Sequence[str] = (),
        warn: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(store, qrels, pool, progress, layers=layers)
        self.alignment, self.warn = None, warn

    def field(self, asked: Request, progress: Progress = silent) -> Field:
        """Give the field of runs that verdicts need."""
        return field_of(asked, self.pool, store=self.store, progress=progress)

    def known(self, asked: Request) -> Read | None:
        """Give nothing: nothing is kept."""
        return None

    def _with_runs(
        self, asked: Request, names: Sequence[str] | None, *, with_ids: bool, progress: Progress
    ) -> Request:
        runs = tuple(names or self.names())
        if not runs:
            raise UsageError("which runs? name their files, and the qrels with --qrels; or a collection with -C")
        return replace(asked, qrels=self._qrels(), runs=runs)

    def _qrels(self) -> Path | Qrels:
        word = cast("str | None", self.qrels)
        if self.warn is None:
            return self.judged(unjudged=True)
        if self.store is None:
            return Path(str(word))
        named = word in (None, NOW, *releases.names(self.store))
        if not named and (Path(str(word)).exists() or bool({"/", "."} & set(str(word))) or word == "-"):
            return Path(str(word))
        qrels = self.judged(unjudged=True)
        if word == NOW and not (qrels.grades >= 0).any():
            raise InputError(qrels_workflow.NOTHING_JUDGED)
        scale = qrels_workflow.scale_warning(self.store, word, qrels_workflow.Selection(layers=self.layers))
        for warning in (scale, qrels_workflow.sample_warning(self.store, qrels)):
            if warning:
                self.warn(f"warning: {warning}")
        return qrels


class FilesInputs(Inputs):
    """Qrels and runs from files, frames and mappings; files are read when they are needed, and once.

    `given` are paths, or runs that are at hand; `called` are their names where those were given.
    """

    def __init__(self, qrels: object, runs: object, pool: PoolOptions, progress: Watch) -> None:
        super().__init__(None, qrels_or_file(qrels), pool, progress)
        self.called, self.given = _ranked(runs)
        files = [str(self.qrels)] if isinstance(self.qrels, Path) else []
        files += [one for one in self.given if isinstance(one, str)]
        missing = [Problem("unreadable", "there is no such file", file=file) for file in files if _is_missing(file)]
        if missing:
            raise ProblemsFound("these files cannot be opened", missing)
        # By the version of trec_eval whose order of ties they have; and with all their ids.
        self._runs: dict[str, tuple[Qrels, dict[str, AnyRun]]] = {}
        self._in_full: dict[str, Run] = {}

    def names(self) -> tuple[str, ...]:
        """Give the names of all runs; files are read for that where they were not yet."""
        if self.called is not None:
            return self.called
        return tuple((next(iter(self._runs.values()), None) or self._read("10"))[1])

    def members(self) -> Sequence[Member]:
        """Give who the runs belong to; a run that is not here is refused."""
        groups = cast("tuple[Member, ...]", self.pool.groups or ())
        unknown = [one.run for one in groups if one.run not in self.names()]
        if unknown:
            raise InputError(f"the groups name runs that are not given: {', '.join(map(quoted, unknown))}")
        return groups

    def judged(self, *, unjudged: bool) -> Qrels:
        """Give the qrels as they are; without `unjudged`, no rows that say pooled and not judged."""
        qrels = self._read("10")[0]
        return qrels if unjudged else judged_only(qrels)

    def facts(self) -> dict[str, Value]:
        """Give what was given; nothing is read for that."""
        known = self.called or tuple(next(iter(self._runs.values()), (None, {}))[1])
        names = known or tuple(Path(one).name if isinstance(one, str) else one.tag for one in self.given)
        found: dict[str, Value] = {"qrels": _called(cast("Path | Qrels", self.qrels)), "runs": _listed(names)}
        groups = cast("tuple[Member, ...]", self.pool.groups or ())
        if groups:
            pooled = sum(one.pooled for one in groups)
            found["groups"] = f"{len({one.group for one in groups}):,}, {pooled:,} of {len(groups):,} runs pooled"
        if self.pool.depth is not None:
            found["pool depth"] = self.pool.depth
        if self.pool.card is not None:
            found["card"] = str(self.pool.card)
        return found

    def close(self) -> None:
        """Forget what was read."""
        self.is_closed = True
        self._runs.clear()
        self._in_full.clear()

    def in_full(self, runs: Sequence[str | AnyRun]) -> Sequence[str | AnyRun]:
        """Give runs of a request so that their documents are known by name."""
        return self._read_in_full([run if isinstance(run, str) else run.tag for run in runs], silent)

    def _with_runs(
        self, asked: Request, names: Sequence[str] | None, *, with_ids: bool, progress: Progress
    ) -> Request:
        # Measures of others see documents by name.
        parsed = measuring.parse_measures(asked.measures)
        with_ids = with_ids or any(not isinstance(one, measuring.Measure) for one in parsed)
        known: Iterable[str] = self.names() if with_ids else self._read(asked.like or "10", progress)[1]
        for name in names or ():
            if name not in known:
                raise UnknownName("run", str(name), known)
        chosen = tuple(known) if names is None else names
        if with_ids:
            qrels = cast("Path | Qrels", self.qrels)
            return replace(asked, qrels=qrels, runs=self._read_in_full(chosen, progress))
        judged, read = self._read(asked.like or "10", progress)
        return replace(asked, qrels=judged, runs=tuple(read[name] for name in chosen))

    def _teachers(self, asked: Request) -> Request:
        _, runs = self._read(asked.like or "10")
        known = {run if isinstance(run, str) else run.tag for run in asked.runs}
        return replace(asked, runs=(*asked.runs, *(run for name, run in runs.items() if name not in known)))

    def _read(self, like: str, progress: Progress = silent) -> tuple[Qrels, dict[str, AnyRun]]:
        if like not in self._runs:
            files = cast("Path | Qrels", self.qrels)
            qrels, found = read_runs(files, self.given, like=cast("As", like), progress=progress)
            names = self.called or tuple(run.tag for run in found)
            self._runs[like] = qrels, {name: _renamed(run, name) for run, name in zip(found, names, strict=True)}
        return self._runs[like]

    def _read_in_full(self, names: Sequence[str], progress: Progress) -> tuple[Run, ...]:
        """Give runs with all their ids; only those are read, and once."""
        given = dict(zip(self.names(), self.given, strict=True))
        new = [name for name in dict.fromkeys(names) if name not in self._in_full]
        if new:
            found = read_all_in_full([given[name] for name in new], progress)
            self._in_full.update({name: _renamed(run, name) for run, name in zip(found, new, strict=True)})
        return tuple(self._in_full[name] for name in names)


def words_of(words: str | Sequence[str]) -> tuple[str, ...]:
    """Give one word, or several, as a tuple."""
    given: object = [words] if isinstance(words, str) else words
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(word, str) for word in found):
        raise UsageError(f"one word or a list of words is expected, like 'AP' or ['AP', 'RR'], not {words!r}")
    return cast("tuple[str, ...]", found)


def refuse_unknown(options: Mapping[str, object]) -> None:
    """Refuse a word that no option knows: a misspelt one must not be taken for the usual case."""
    for name, value in options.items():
        if name in CHOICES and value not in CHOICES[name]:
            known = ", ".join(repr(choice) for choice in CHOICES[name])
            raise UsageError(f"{name} is one of {known}, not {value!r}")


def _read(qrels: Path | Qrels) -> Path | Qrels:
    """Read a file of qrels; one that cannot be read stays a file, to be refused together with all else."""
    if not isinstance(qrels, Path):
        return qrels
    try:
        return read_qrels(Source(qrels))
    except CranfieldError:
        return qrels


def _called(qrels: str | Path | Qrels) -> str:
    return str(qrels) if isinstance(qrels, str | Path) else f"{len(qrels):,} rows, given"


def _listed(names: Sequence[str]) -> str:
    """Give the number of names and the first of them."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{len(names):,}: {', '.join(names[:NAMES_SHOWN])}{more}" if names else "none"


def _renamed(run: AnyNamed, name: str) -> AnyNamed:
    return run if run.tag == name else replace(run, tag=name)


# What Python users may give for qrels, runs, and the pool.


def qrels_or_file(value: object) -> Path | Qrels:
    """Give qrels from a frame or a mapping; a path is read later."""
    return Path(cast("str", value)) if _is_path(value) else given_tables.qrels_given(value)


def pool_given(
    *, groups: object = None, depth: int | None = None, card: str | os.PathLike[str] | None = None, pool: str = ""
) -> PoolOptions:
    """Give what is told about the pool, checked as far as that goes without the runs."""
    if depth is not None and (type(depth) is not int or depth < 1):
        raise UsageError(f"pool_depth is the rank that the pool went down to, from 1, not {depth!r}")
    path = None if card is None else Path(card)
    if path is not None and _is_missing(str(path)):
        raise ProblemsFound("this card cannot be opened", [Problem("unreadable", "no such file", file=str(path))])
    return PoolOptions(groups=None if groups is None else groups_given(groups), depth=depth, card=path, pool=pool)


def groups_given(value: object) -> tuple[Member, ...]:
    """Give the runs with their groups.

    A file has run tag, group and `pooled` or `new` on each line; a frame has the columns run, group and, where some
    runs are new, role; a mapping of run -> group names the runs that were pooled. Everything wrong is told at once.
    """
    if _is_path(value):
        return read_groups(Source(Path(cast("str", value))))
    rows = list(_group_rows(value))
    nameless = [place for place, row in enumerate(rows) if not all(_is_word(cell) for cell in row[:2])]
    strange = [place for place, row in enumerate(rows) if row[2] not in ROLES]
    runs = [row[0] for row in rows]
    repeated = [place for place, run in enumerate(runs) if run in runs[:place]]
    problems = [
        *_problem("bad-row", "a run and its group are words", nameless, [row[:2] for row in rows]),
        *_problem("unknown-role", f"a run is {' or '.join(ROLES)}", strange, [row[2] for row in rows]),
        *_problem("repeated-run", "a run is named twice", repeated, runs),
    ]
    if problems or not rows:
        raise ProblemsFound("these groups cannot be used", problems or [Problem("empty", "the groups name no run")])
    return tuple(Member(str(run), str(group), role == "pooled") for run, group, role in rows)


def _group_rows(value: object) -> Iterable[tuple[object, object, object]]:
    if isinstance(value, Mapping):
        return ((run, group, "pooled") for run, group in value.items())
    if not given_tables.is_frame(value):
        raise UsageError(f"groups are a file, a frame, or a mapping of run -> group, not {type(value).__name__}")
    names = [str(name) for name in value.columns]
    missing = [name for name in ("run", "group") if name not in names]
    if missing:
        raise UsageError(f"the frame of groups has no column {' or '.join(missing)}; it has {', '.join(names)}")
    frame: Any = value
    roles = frame["role"] if "role" in names else ["pooled"] * len(frame)
    return zip(frame["run"], frame["group"], roles, strict=True)


def _problem(code: str, said: str, places: list[int], cells: Sequence[Any]) -> list[Problem]:
    """Give one problem for all rows that have it, with the first of them; none where no row has."""
    if not places:
        return []
    often = f" ({counted(len(places), 'row')})" if len(places) > 1 else ""
    message = f"{said}{often}: {quoted(cells[places[0]])}"
    lines = tuple(place + 1 for place in places[:LINES_KEPT])
    return [Problem(code, message, file="groups", lines=lines, count=len(places))]


def _ranked(runs: object) -> tuple[tuple[str, ...] | None, tuple[str | Run, ...]]:
    """Give names, where there are any, and paths or runs."""
    if _is_path(runs) or given_tables.is_frame(runs):
        runs = [runs]
    if not isinstance(runs, Mapping | Sequence):
        raise UsageError(f"runs are files, frames, or a mapping of name -> run, not {type(runs).__name__}")
    named = isinstance(runs, Mapping)
    found: list[str | Run] = []
    for name, one in runs.items() if isinstance(runs, Mapping) else ((None, one) for one in runs):
        if named and not _is_word(name):
            raise UsageError(f"the name of a run is a word, not {quoted(name)}")
        inner = list(one.values()) if named and isinstance(one, Mapping) else []
        if inner and not any(isinstance(value, Mapping) for value in inner):
            raise UsageError("runs map names to runs; this looks like a single run: give runs={'name': …}")
        if _is_path(one):
            found.append(os.fspath(cast("str", one)))
        else:
            found += given_tables.runs_given(one, name=str(name)) if named else given_tables.runs_given(one)
    if not found:
        raise UsageError("there is no run to evaluate")
    return tuple(str(name) for name in runs) if named else None, tuple(found)


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_missing(file: str) -> bool:
    return file != "-" and not Path(file).exists()
