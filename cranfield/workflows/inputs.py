"""Which qrels and runs are meant, in one way for both fronts.

`Inputs` are those of an open collection, or the words of a command line; `FilesInputs` are files, frames and mappings
that Python users give. What is read and aligned is kept for the next question about it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from cranfield.base.errors import CranfieldError, InputError, Problem, ProblemsFound, UnknownName, UsageError, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import MAIN
from cranfield.base.registry import deferred
from cranfield.base.tables import Value
from cranfield.evaluate import measure as measuring
from cranfield.evaluate.align import AnyRun
from cranfield.qrels import qrels as qrels_columns
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.release import NOW
from cranfield.store import releases
from cranfield.store import runs as stored_runs
from cranfield.store.store import Store
from cranfield.workflows import reading
from cranfield.workflows.reading import As, Read, Request
from cranfield.workflows.reuse import field as fields

with deferred:
    from cranfield.evaluate import frames
    from cranfield.runs import reading as runs_reading
    from cranfield.workflows import qrels as qrels_workflow
    from cranfield.workflows import status
    from cranfield.workflows.evaluate import evaluate as evaluation


Watch = Callable[[], AbstractContextManager[Progress]]
"""Gives something to report to while work goes on."""

CHOICES: Mapping[str, tuple[object, ...]] = {
    "like": (None, "9", "10"),
    "ties": ("trec", "best", "worst", "expected"),
    "duplicates": ("plain", "novelty"),
    "letters": (None, "tukey", "t"),
    "closure": ("at-k", "list", "open"),
}
NAMES_SHOWN = 12
"""How many runs are named where what is open is shown."""

Made = TypeVar("Made")


@dataclass
class Cache(Generic[Made]):
    """The last thing that was made of stored runs, or of runs at hand, in memory, as long as this object lives.

    It is found again by contents: the hash of the qrels and of each run, and whatever else made it what it is. So it
    can never be stale, and a file that is only read is never written. Only the last one is kept: it is the large one.
    """

    _key: Hashable = None
    _kept: list[Made] = field(default_factory=list)

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is kept under this key, else make it and keep it, unless the key is None."""
        if key is None:
            return make()
        if not self._kept or key != self._key:
            self._kept, self._key = [make()], key
        return self._kept[0]

    def known(self, key: Hashable) -> Made | None:
        """What is kept under this key; None where it is not there."""
        return self._kept[0] if self._kept and key is not None and key == self._key else None


class Inputs:
    """The runs of an open collection, its qrels (as judged now, a release, or others), and what is made of them.

    `layers` are those whose judgments count. `once` says that nothing is asked twice, as on the command line, so that
    nothing need be kept, and files are read with all else. `warn` takes what should be known about the qrels.
    """

    def __init__(
        self,
        store: Store | None,
        qrels: str | Path | Qrels | None,
        pool: fields.PoolOptions,
        progress: Watch,
        *,
        layers: Sequence[str] = (),
        once: bool = False,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.store, self.qrels, self.pool, self.progress = store, qrels, pool, progress
        self.layers = tuple(layers) or (MAIN,)
        self.once, self.warn, self.is_closed = once, warn, False
        self._aligned: Cache[Read] = Cache()
        self._fields: Cache[fields.Field] = Cache()

    def collection(self, word: str) -> Store:
        """The collection that a word of the command line needs."""
        if self.store is None:
            raise UsageError(f"{word} needs a collection; open one with open_collection")
        return self.store

    def names(self) -> tuple[str, ...]:
        """The names of all runs that have not been withdrawn."""
        return reading.stored_names(self.store)

    def members(self) -> Sequence[runs_reading.Member]:
        """Who the runs belong to."""
        facts = stored_runs.facts(self.collection("groups"))
        return [runs_reading.Member(one.name, one.group_name, one.role == "contributing") for one in facts]

    def judged(self, *, unjudged: bool) -> Qrels:
        """The qrels; with `unjudged` also what is pooled and not judged, as grade -1, as far as it is known."""
        if self.qrels is None or isinstance(self.qrels, str):
            selection = qrels_workflow.Selection(layers=self.layers, unjudged=unjudged)
            return qrels_workflow.qrels_for(self.store, self.qrels, selection)
        return reading.read_qrels(self.qrels)

    def facts(self) -> dict[str, Value]:
        """What is in the collection."""
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
        """What is asked for, with the qrels and runs put in (all runs for None); unknown words are refused.

        `with_ids` where documents are needed by name.
        """
        if isinstance(runs, str):
            raise UsageError(f"runs is a list of names: [{runs!r}]")
        refuse_unknown(options)
        listed = isinstance(topics, Sequence) and not isinstance(topics, str)
        with self.progress() as progress:
            words, like = words_of(measures), cast("As", options.get("like") or "10")
            qrels, chosen = self._qrels_and_runs(runs, words, like, with_ids=with_ids, progress=progress)
        return Request(
            qrels=qrels,
            runs=chosen,
            measures=words,
            topics=tuple(map(str, cast("Sequence[str]", topics))) if listed else str(topics),
            clusters=clusters if clusters is None or isinstance(clusters, Mapping) else Path(clusters),
            **options,
        )

    def own_measures(self, measures: str | Sequence[str]) -> list[measuring.Measure]:
        """Measures that take a verdict or might; the collection's scale says what is relevant."""
        return list(measuring.own_measures(reading.parse_measures(words_of(measures), self.store)))

    def evaluated(self, request: Request, *, verdicts: bool, progress: Progress = silent) -> evaluation.Evaluation:
        """Score, with verdicts or without."""
        if not verdicts:
            read = partial(self.read, request, progress)
            return evaluation.evaluate(request, store=self.store, progress=progress, read=read)
        trusting = partial(self.field, request, progress)
        return evaluation.evaluate(request, store=self.store, progress=progress, field=trusting)

    def read(self, request: Request, progress: Progress = silent) -> Read:
        """Read and align runs; what was last read of them, for scores or for verdicts, is kept."""
        if self.once:
            return reading.read_aligned(request, self.store, progress)
        request, key = self._keyed(request)
        known = self._fields.known(key)
        if known is not None:
            return known.read.first(known.asked)
        return self._aligned.get(key, lambda: reading.read_aligned(request, self.store, progress))

    def field(self, request: Request, progress: Progress = silent) -> fields.Field:
        """The field of runs that verdicts need; the last one is kept."""
        if self.once:
            return fields.field_of(request, self.pool, store=self.store, progress=progress)
        request, key = self._keyed(request)
        return self._fields.get(key, lambda: self._field(request, progress))

    def in_full(self, runs: Sequence[str | AnyRun]) -> Sequence[str | AnyRun]:
        """Runs of a request so that their documents are known by name."""
        return runs

    def _qrels_and_runs(
        self,
        names: Sequence[str] | None,
        measures: Sequence[str],
        like: As,
        *,
        with_ids: bool,
        progress: Progress,
    ) -> tuple[Path | Qrels, tuple[str | AnyRun, ...]]:
        known = self.names()
        if self.once:
            runs = tuple(names or known)
            if not runs:
                raise UsageError("no runs: name run files and --qrels, or a collection with -C")
            return self._qrels(), runs
        for name in names or ():
            if name not in known and not Path(name).exists():
                raise UnknownName("run", str(name), known)
        return self._qrels(), known if names is None else tuple(map(str, names))

    def _qrels(self) -> Path | Qrels:
        """The qrels that are meant; what is judged now is looked up anew each time, a file is read later."""
        word, store = self.qrels, self.store
        if word is not None and not isinstance(word, str):
            return word
        if self.once and self.warn is None:
            return self.judged(unjudged=True)
        if store is None:
            return Path(str(word))
        is_ours = word in (None, NOW, *releases.known(store))
        may_be_file = not self.once or Path(str(word)).exists() or bool({"/", "."} & set(str(word))) or word == "-"
        if not is_ours and may_be_file:
            return Path(str(word))
        qrels = self.judged(unjudged=True)
        if self.warn is None:
            return qrels
        if word == NOW and not (qrels.grades >= 0).any():
            raise InputError(qrels_workflow.NOTHING_JUDGED)
        scale = qrels_workflow.scale_warning(store, word, qrels_workflow.Selection(layers=self.layers))
        for warning in (scale, qrels_workflow.sample_warning(store, qrels)):
            if warning:
                self.warn(f"warning: {warning}")
        return qrels

    def _teachers(self, request: Request) -> Request:
        """Add the runs that are at hand and not asked for; a collection itself knows who fed its pool."""
        return request

    def _field(self, request: Request, progress: Progress) -> fields.Field:
        everything = self._teachers(request)
        if len(everything.runs) > len(request.runs) and request.topics == "common":
            everything = replace(everything, topics=reading.read_aligned(request, self.store).aligned.topic_ids)
        found = fields.field_of(everything, self.pool, store=self.store, progress=progress)
        progress("estimating losses", 0, None)
        return replace(found, words=tuple(request.runs))

    def _keyed(self, request: Request) -> tuple[Request, Hashable]:
        """Read a file of qrels, and give what makes an alignment or a field of runs what it is.

        That is None where it is not known before files are read: runs or topics that are files, and qrels that cannot
        be read, which are refused together with all else.
        """
        if isinstance(request.qrels, Path):
            try:
                request = replace(request, qrels=reading.read_qrels(request.qrels))
            except CranfieldError:
                return request, None
        qrels = cast("Qrels", request.qrels)
        facts = [] if self.store is None else stored_runs.facts(self.store)
        known = {one.name: (one.name, one.content_hash, one.ordered_by) for one in facts}
        words = self._teachers(request).runs
        if any(word not in known or Path(word).exists() for word in words if isinstance(word, str)):
            return request, None
        if isinstance(request.topics, str) and request.topics not in reading.TOPIC_SETS:
            return request, None
        state = None
        if self.store is not None:  # numbers that change with anything that is written, here or by others
            state = int(self.store.value("PRAGMA data_version")), self.store.connection.total_changes
        strata = None if qrels.strata is None else (qrels.strata.tobytes(), qrels.stratum_names)
        runs = tuple(known[word] if isinstance(word, str) else word for word in words)  # those at hand as they are
        return request, (qrels.content_hash, strata, runs, len(request.runs), request.topics, request.like, state)


class FilesInputs(Inputs):
    """Qrels and runs from files, frames and mappings; files are read when they are needed, and once.

    `given` are paths, or runs that are at hand; `called` are their names where those were given.
    """

    def __init__(self, qrels: object, runs: object, pool: fields.PoolOptions, progress: Watch) -> None:
        super().__init__(None, qrels_or_file(qrels), pool, progress)
        self.called, self.given = frames.named_runs(runs)
        files = [str(self.qrels)] if isinstance(self.qrels, Path) else []
        files += [one for one in self.given if isinstance(one, str)]
        missing = [Problem("unreadable", "no such file", file=file) for file in files if _is_missing(file)]
        if missing:
            raise ProblemsFound("these files cannot be opened", missing)
        # By the version of trec_eval whose order of ties they have; and with all their ids.
        self._runs: dict[str, tuple[Qrels, dict[str, AnyRun]]] = {}
        self._in_full: dict[str, AnyRun] = {}

    def names(self) -> tuple[str, ...]:
        """The names of all runs; files are read for that where they were not yet."""
        if self.called is not None:
            return self.called
        return tuple((next(iter(self._runs.values()), None) or self._read_all("10"))[1])

    def members(self) -> Sequence[runs_reading.Member]:
        """Who the runs belong to; a run that is not here is refused."""
        groups = cast("tuple[runs_reading.Member, ...]", self.pool.groups or ())
        unknown = [one.run for one in groups if one.run not in self.names()]
        if unknown:
            raise InputError(f"the groups name runs that are not among these: {', '.join(map(quoted, unknown))}")
        return groups

    def judged(self, *, unjudged: bool) -> Qrels:
        """The qrels as they are; without `unjudged`, no rows that say pooled and not judged."""
        qrels = self._read_all("10")[0]
        return qrels if unjudged else qrels_columns.judged_only(qrels)

    def facts(self) -> dict[str, Value]:
        """What was given; nothing is read for that."""
        known = self.called or tuple(next(iter(self._runs.values()), (None, {}))[1])
        names = known or tuple(Path(one).name if isinstance(one, str) else one.tag for one in self.given)
        found: dict[str, Value] = {"qrels": _called(cast("Path | Qrels", self.qrels)), "runs": _listed(names)}
        groups = cast("tuple[runs_reading.Member, ...]", self.pool.groups or ())
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
        """Runs of a request so that their documents are known by name; only those are read, and once."""
        return self._read_in_full([run if isinstance(run, str) else run.tag for run in runs], silent)

    def _qrels_and_runs(
        self,
        names: Sequence[str] | None,
        measures: Sequence[str],
        like: As,
        *,
        with_ids: bool,
        progress: Progress,
    ) -> tuple[Path | Qrels, tuple[str | AnyRun, ...]]:
        # Measures of others see documents by name.
        parsed = measuring.parse_measures(measures)
        with_ids = with_ids or any(not isinstance(one, measuring.Measure) for one in parsed)
        known: Iterable[str] = self.names() if with_ids else self._read_all(like, progress)[1]
        for name in names or ():
            if name not in known:
                raise UnknownName("run", str(name), known)
        chosen = tuple(known) if names is None else names
        if with_ids:
            return cast("Path | Qrels", self.qrels), self._read_in_full(chosen, progress)
        judged, read = self._read_all(like, progress)
        return judged, tuple(read[name] for name in chosen)

    def _teachers(self, request: Request) -> Request:
        _, runs = self._read_all(request.like or "10")
        known = {run if isinstance(run, str) else run.tag for run in request.runs}
        return replace(request, runs=(*request.runs, *(run for name, run in runs.items() if name not in known)))

    def _read_all(self, like: As, progress: Progress = silent) -> tuple[Qrels, dict[str, AnyRun]]:
        if like not in self._runs:
            request = Request(qrels=cast("Path | Qrels", self.qrels), runs=self.given, like=like)
            qrels, found = reading.read_short(request, None, progress)
            names = self.called or tuple(run.tag for run in found)
            self._runs[like] = (
                qrels,
                {name: reading.renamed(run, name) for run, name in zip(found, names, strict=True)},
            )
        return self._runs[like]

    def _read_in_full(self, names: Sequence[str], progress: Progress) -> tuple[AnyRun, ...]:
        given = dict(zip(self.names(), self.given, strict=True))
        new = [name for name in dict.fromkeys(names) if name not in self._in_full]
        if new:
            request = Request(qrels=qrels_columns.qrels_of([]), runs=tuple(given[name] for name in new))
            found = reading.read_in_full(request, None, progress)[1]
            self._in_full.update({name: reading.renamed(run, name) for run, name in zip(found, new, strict=True)})
        return tuple(self._in_full[name] for name in names)


def words_of(words: str | Sequence[str]) -> tuple[str, ...]:
    """One word, or several, as a tuple."""
    given: object = [words] if isinstance(words, str) else words
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(word, str) for word in found):
        raise UsageError(f"expected a string or a list of strings, such as 'AP' or ['AP', 'RR'], not {words!r}")
    return cast("tuple[str, ...]", found)


def refuse_unknown(options: Mapping[str, object]) -> None:
    """Refuse a word that no option knows: a misspelt one must not be taken for the usual case."""
    for name, value in options.items():
        if name in CHOICES and value not in CHOICES[name]:
            known = ", ".join(repr(choice) for choice in CHOICES[name])
            raise UsageError(f"{name} is one of {known}, not {value!r}")


def qrels_or_file(value: object) -> Path | Qrels:
    """Qrels from a frame or a mapping; a path is read later."""
    return Path(value) if isinstance(value, str | os.PathLike) else frames.qrels_given(value)


def pool_given(
    *, groups: object = None, depth: int | None = None, card: str | os.PathLike[str] | None = None, pool: str = ""
) -> fields.PoolOptions:
    """What Python users tell about the pool, checked as far as that goes without the runs."""
    if depth is not None and (type(depth) is not int or depth < 1):
        raise UsageError(f"pool_depth is an integer from 1, not {depth!r}")
    path = None if card is None else Path(card)
    if path is not None and _is_missing(str(path)):
        raise ProblemsFound("this card cannot be opened", [Problem("unreadable", "no such file", file=str(path))])
    members = None if groups is None else frames.groups_given(groups)
    return fields.PoolOptions(groups=members, depth=depth, card=path, pool=pool)


def _is_missing(file: str) -> bool:
    return file != "-" and not Path(file).exists()


def _called(qrels: str | Path | Qrels) -> str:
    return str(qrels) if isinstance(qrels, str | Path) else f"{len(qrels):,} rows, given"


def _listed(names: Sequence[str]) -> str:
    """The number of names and the first of them."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return f"{len(names):,}: {', '.join(names[:NAMES_SHOWN])}{more}" if names else "none"
