"""Where the objects that Python users open take qrels and runs from."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from cranfield.errors import InputError, Problem, ProblemsFound, UnknownName, UsageError, quoted
from cranfield.evaluate.given import is_frame, qrels_given, runs_given
from cranfield.qrels.reading import read_qrels
from cranfield.runs.groups import Member
from cranfield.source import Source
from cranfield.workflows.evaluate import Asked
from cranfield.workflows.evaluate_reading import read_all_in_full, read_runs
from cranfield.workflows.notebook_groups import groups_given
from cranfield.workflows.opening import open_collection
from cranfield.workflows.qrels_of import qrels_for
from cranfield.workflows.reuse_field import PoolTold
from cranfield.workflows.status import collection_status
from cranfield.workflows.stored_runs import stored_names
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.releases import NOW, release_names
from cranfield.store.runs import run_facts

if TYPE_CHECKING:
    from cranfield.evaluate.align import AnyRun
    from cranfield.qrels.qrels import Qrels
    from cranfield.report.table import Value
    from cranfield.runs.run import Run
    from cranfield.workflows.evaluate import As

AnyNamed = TypeVar("AnyNamed", "Run", "AnyRun")
NAMES_SHOWN = 12
"""How many runs are named where what is open is shown."""


@dataclass(frozen=True, eq=False)
class CollectionMaterial:
    """The runs of a collection, and its qrels: those judged now, a release, or a file or qrels that are given."""

    store: Store
    qrels: "str | Path | Qrels | None"
    layers: tuple[str, ...]
    told: PoolTold

    @staticmethod
    def opened(
        path: "str | os.PathLike[str]", qrels: object, layers: str | Sequence[str], told: PoolTold
    ) -> "CollectionMaterial":
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

    def _qrels(self) -> "Path | Qrels":
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

    def judged(self, *, unjudged: bool) -> "Qrels":
        """Give the qrels: as judged now with all layers in order, a release, or what was given."""
        word = self.qrels
        if word is None or isinstance(word, str):
            layers = {"layers": self.layers} if self.layers else {}
            return qrels_for(self.store, word, with_unjudged=unjudged, **layers)  # type: ignore[arg-type]
        return read_qrels(Source(word)) if isinstance(word, Path) else word

    def facts(self) -> "dict[str, Value]":
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

    qrels: "Path | Qrels"
    given: "tuple[str | Run, ...]"
    called: tuple[str, ...] | None
    told: PoolTold
    read: "dict[str, tuple[Qrels, dict[str, AnyRun]]]" = field(default_factory=dict)
    in_full: "dict[str, Run]" = field(default_factory=dict)
    store: None = None

    @staticmethod
    def opened(qrels: object, runs: object, told: PoolTold) -> "FilesMaterial":
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

    def judged(self, *, unjudged: bool) -> "Qrels":
        """Give the qrels as they are; without `unjudged`, no rows that say pooled and not judged."""
        from cranfield.qrels.views import judged_only

        qrels = self._read("10")[0]
        return qrels if unjudged else judged_only(qrels)

    def facts(self) -> "dict[str, Value]":
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

    def _read(self, like: str, progress: Progress = silent) -> "tuple[Qrels, dict[str, AnyRun]]":
        if like not in self.read:
            qrels, found = read_runs(self.qrels, self.given, like=cast("As", like), progress=progress)
            names = self.called or tuple(run.tag for run in found)
            self.read[like] = qrels, {name: _renamed(run, name) for run, name in zip(found, names, strict=True)}
        return self.read[like]

    def _read_in_full(self, names: Sequence[str], progress: Progress) -> "tuple[Run, ...]":
        """Give runs with all their ids; only those are read, and once."""
        given = dict(zip(self.names(), self.given, strict=True))
        new = [name for name in dict.fromkeys(names) if name not in self.in_full]
        if new:
            found = read_all_in_full([given[name] for name in new], progress)
            self.in_full.update({name: _renamed(run, name) for run, name in zip(found, new, strict=True)})
        return tuple(self.in_full[name] for name in names)


def pool_told(
    *, groups: object = None, depth: int | None = None, card: "str | os.PathLike[str] | None" = None, pool: str = ""
) -> PoolTold:
    """Give what is told about the pool, checked as far as that goes without the runs."""
    if depth is not None and (type(depth) is not int or depth < 1):
        raise UsageError(f"pool_depth is the rank that the pool went down to, from 1, not {depth!r}")
    path = None if card is None else Path(card)
    if path is not None and _is_missing(str(path)):
        raise ProblemsFound("this card cannot be opened", [Problem("unreadable", "no such file", file=str(path))])
    return PoolTold(groups=None if groups is None else groups_given(groups), depth=depth, card=path, pool=pool)


def _called(qrels: "str | Path | Qrels") -> str:
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


def _judged(value: object) -> "Path | Qrels":
    return Path(cast("str", value)) if _is_path(value) else qrels_given(value)


def _ranked(runs: object) -> "tuple[tuple[str, ...] | None, tuple[str | Run, ...]]":
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


def _named(runs: Mapping[object, object]) -> "tuple[tuple[str, ...], tuple[str | Run, ...]]":
    found: list[str | Run] = []
    for name, one in runs.items():
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"the name of a run is a word, not {quoted(name)}")
        if isinstance(one, Mapping) and one and not any(isinstance(inner, Mapping) for inner in one.values()):
            raise UsageError("runs map names to runs; this looks like a single run: give runs={'name': …}")
        found.extend([os.fspath(cast("str", one))] if _is_path(one) else runs_given(one, name=name))
    _refuse_nothing(found)
    return tuple(str(name) for name in runs), tuple(found)


def _refuse_nothing(found: "Sequence[str | Run]") -> None:
    if not found:
        raise UsageError("there is no run to evaluate")
