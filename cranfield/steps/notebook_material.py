"""Where the objects that Python users open take qrels and runs from."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cranfield.errors import InputError, Problem, ProblemsFound, UnknownName, UsageError, quoted
from cranfield.evaluate.given import is_frame, qrels_given, runs_given
from cranfield.runs.groups import Member, read_groups
from cranfield.source import Source
from cranfield.steps.evaluate import Asked
from cranfield.steps.evaluate_reading import read_all_in_full, read_runs
from cranfield.steps.opening import open_collection
from cranfield.steps.qrels_of import NOW, qrels_for
from cranfield.store import Store
from cranfield.store.releases import release_names
from cranfield.store.runs import run_facts

if TYPE_CHECKING:
    from cranfield.evaluate.align import AnyRun
    from cranfield.qrels.qrels import Qrels
    from cranfield.runs.run import Run
    from cranfield.steps.evaluate import As

_WITH_IDS = "with ids"


@dataclass(frozen=True, eq=False)
class CollectionMaterial:
    """The runs of a collection, and its qrels: those judged now, a release, or a file or qrels that are given."""

    store: Store
    qrels: "str | Path | Qrels | None"

    @staticmethod
    def opened(path: "str | os.PathLike[str]", qrels: object) -> "CollectionMaterial":
        """Open the collection; the qrels are checked first, so that nothing stays open if they are wrong."""
        judged = qrels if qrels is None or isinstance(qrels, str) else _judged(qrels)
        return CollectionMaterial(open_collection(Path(path)), judged)

    def names(self) -> tuple[str, ...]:
        """Give the names of the runs that have not been withdrawn."""
        return tuple(facts.name for facts in run_facts(self.store))

    def members(self) -> list[Member]:
        """Give who the runs belong to."""
        return [Member(one.name, one.group_name, one.role == "contributing") for one in run_facts(self.store)]

    def with_runs(self, asked: Asked, names: Sequence[str] | None, *, with_ids: bool) -> Asked:
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
        ours = word is None or word == NOW or word in release_names(self.store)
        return qrels_for(self.store, word, with_unjudged=True) if ours or word is None else Path(word)

    def close(self) -> None:
        """Close the file."""
        self.store.close()


@dataclass(frozen=True, eq=False)
class FilesMaterial:
    """Qrels and runs from files, frames and mappings; files are read when they are needed, and once.

    `given` are paths, or runs that are at hand; `called` are their names where those were given. What was read lies
    in `read`: by the version whose order of ties it has, or with all ids.
    """

    qrels: "Path | Qrels"
    given: "tuple[str | Run, ...]"
    called: tuple[str, ...] | None
    groups: tuple[Member, ...]
    read: "dict[str, tuple[Path | Qrels, dict[str, AnyRun]]]" = field(default_factory=dict)
    store: None = None

    @staticmethod
    def opened(qrels: object, runs: object, groups: "str | os.PathLike[str] | None") -> "FilesMaterial":
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
        return FilesMaterial(judged, given, called, () if groups is None else read_groups(Source(Path(groups))))

    def names(self) -> tuple[str, ...]:
        """Give the names of all runs; files are read for that where they were not yet."""
        if self.called is not None:
            return self.called
        _, runs = next(iter(self.read.values()), None) or self._read("10")
        return tuple(runs)

    def members(self) -> tuple[Member, ...]:
        """Give who the runs belong to; a run that is not here is refused."""
        unknown = [one.run for one in self.groups if one.run not in self.names()]
        if unknown:
            raise InputError(f"the groups name runs that are not given: {', '.join(map(quoted, unknown))}")
        return self.groups

    def with_runs(self, asked: Asked, names: Sequence[str] | None, *, with_ids: bool) -> Asked:
        """Put the qrels and the runs themselves into what is asked."""
        qrels, runs = self._read(_WITH_IDS if with_ids else asked.like or "10")
        for name in names or ():
            if name not in runs:
                raise UnknownName("run", str(name), runs)
        return replace(asked, qrels=qrels, runs=tuple(runs[name] for name in (runs if names is None else names)))

    def close(self) -> None:
        """Forget what was read."""
        self.read.clear()

    def _read(self, how: str) -> "tuple[Path | Qrels, dict[str, AnyRun]]":
        if how not in self.read:
            qrels: Path | Qrels
            if how == _WITH_IDS:
                qrels, found = self.qrels, cast("list[AnyRun]", read_all_in_full(self.given))
            else:
                qrels, found = read_runs(self.qrels, self.given, like=cast("As", how))
            names = self.called or tuple(run.tag for run in found)
            named = [
                run if run.tag == name else replace(run, tag=name) for run, name in zip(found, names, strict=True)
            ]
            self.read[how] = qrels, {run.tag: run for run in named}
        return self.read[how]


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
