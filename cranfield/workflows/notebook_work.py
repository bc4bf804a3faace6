"""The work behind what Python users open: reading, aligning and doubting once, whatever is asked and how often."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from cranfield.errors import CranfieldError, UsageError
from cranfield.source import Source
from cranfield.workflows.evaluate import TOPIC_SETS, Asked, Evaluated, evaluate_and_tell
from cranfield.workflows.evaluate_reading import Read, read_aligned
from cranfield.workflows.evaluate_trust import evaluate_with_trust, first_runs
from cranfield.workflows.keeping import Kept, KeptAlignment, contents_of, what_qrels_say
from cranfield.workflows.measures_asked import measures_asked
from cranfield.workflows.reuse_field import Field, PoolTold, field_of
from cranfield.workflows.showing_progress import shown_progress
from cranfield.workflows.trust import Trusted
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store

if TYPE_CHECKING:
    import os

    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.expression import Measure
    from cranfield.qrels.qrels import Qrels
    from cranfield.report.table import Value
    from cranfield.runs.groups import Member


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

    def members(self) -> "Sequence[Member]":
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

    def judged(self, *, unjudged: bool) -> "Qrels":
        """Give the qrels; with `unjudged` also what is pooled and not judged, as grade -1, as far as it is known."""
        ...

    def facts(self) -> "dict[str, Value]":
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
        topics: "str | os.PathLike[str] | Sequence[str]" = "qrels",
        clusters: "str | os.PathLike[str] | Mapping[str, Hashable] | None" = None,
        **options: Any,
    ) -> Asked:
        """Give what is asked for; files are read for that. A word that no option knows is refused."""
        from cranfield.evaluate.expression import parse_measures
        from cranfield.evaluate.foreign import ForeignMeasure
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

    def own_measures(self, measures: Sequence[str]) -> "list[Measure]":
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

    def with_ids(self, field: Field) -> "tuple[str | AnyRun, ...]":
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


def _read(qrels: "Path | Qrels") -> "Path | Qrels":
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


def _topic_set(topics: "str | os.PathLike[str] | Sequence[str]") -> str | tuple[str, ...]:
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
