"""Sets of runs as Parquet: one file, or a folder of files, with a column (or folders `run=…`) that names the run.

A set stands for its runs wherever run files are named; each of them is `FILE#RUN`, and is read by itself. `runs pack`
writes sets in which no row group has rows of two runs, so that a run is read without the others; of a set in another
order the column of names is read once more for each run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow as pa

from cranfield.base.errors import ProblemsFound, SourceError
from cranfield.base.files import Place, Source, is_remote, located, matching, refuse_growth
from cranfield.base.registry import deferred
from cranfield.base.writing import inside
from cranfield.runs import reading
from cranfield.runs.columns import TEXT
from cranfield.runs.run import Run

with deferred:
    from pyarrow import compute as pc
    from pyarrow import dataset, parquet

ROWS_AT_ONCE = 1 << 20
"""The most rows of a row group that is written, and of a batch that is read."""

Columns = Literal["cranfield", "pyterrier"]
_WRITTEN: dict[Columns, dict[str, str]] = {
    "cranfield": {"tag": "run", "topic": "topic", "document": "document", "rank": "rank", "score": "score"},
    "pyterrier": {"tag": "name", "topic": "qid", "document": "docno", "rank": "rank", "score": "score"},
}
_PARTITION = re.compile(r"([^/=]+)=[^/]*/")
_TEXTS = ("string", "large_string", "string_view", "null")


def expanded(words: Sequence[str], known: Collection[str] = ()) -> list[str]:
    """The run files that words of a user mean: those that a URL with * matches, and the runs of each set.

    A word that is the name of a run that is `known` stays what it is.
    """
    found: list[str] = []
    for word in words:
        for one in [word] if word in known else matching(word):
            place = located(one)
            may_be_set = one.endswith("/") if isinstance(place, Place) else place.is_dir()
            may_be_set = may_be_set or (one.lower().endswith(".parquet") and place.exists())
            names = _names_in(one) if may_be_set else ()
            whole = one if one.lower().endswith(".parquet") else f"{one.rstrip('/')}/"
            found += [f"{whole}#{name}" for name in names] or [one]
    return found


@dataclass(frozen=True)
class _Set:
    """A data set of pyarrow, and what it calls the parts of a run."""

    name: str
    data: Any
    roles: dict[str, str]

    @property
    def tag(self) -> str:
        return self.roles["tag"]

    def names(self) -> Iterator[str]:
        """The names of the runs; a row group with one name in its statistics is not read."""
        for fragment in self.data.get_fragments():
            if self.tag in (keys := dataset.get_partition_keys(fragment.partition_expression)):
                yield self._named(keys[self.tag])
                continue
            facts = self._facts(fragment)
            column = facts.schema.names.index(self.tag)
            for number in range(facts.num_row_groups):
                known = facts.row_group(number).column(column).statistics
                if known is not None and known.has_min_max and known.min == known.max and known.null_count == 0:
                    yield str(known.min)
                    continue
                found = fragment.subset(row_group_ids=[number]).to_table(columns=[self.tag])
                yield from map(self._named, pc.unique(found[self.tag]).to_pylist())

    def _named(self, name: Any) -> str:
        if name is None or name == "":
            raise SourceError(self.name, f"a row has no name of its run in the column {self.tag}")
        return str(name)

    def _facts(self, fragment: Any) -> Any:
        size = self.data.filesystem.get_file_info(fragment.path).size
        return refuse_grown(self.name, fragment.metadata, size, len(self.roles))

    def of(self, run: str, columns: list[str]) -> Iterator[Any]:
        """Some columns of the rows of one run, in batches, each of the types that its own file has.

        The types of the first file would make the topic 007 of another the number 7, and round its scores.
        """
        name = dataset.field(self.tag)
        name_as_text = name.cast(pa.string())
        for fragment in self.data.get_fragments(filter=name_as_text == run):
            self._facts(fragment)
            own = fragment.physical_schema
            places = [(own.get_field_index(field.name), field) for field in self.data.schema]
            schema = pa.schema([own.field(place) if place >= 0 else field for place, field in places])
            is_text = not pa.types.is_integer(schema.field(self.tag).type)
            yield from fragment.to_batches(
                schema=schema,
                columns=columns,
                filter=(name if is_text else name_as_text) == run,
                batch_size=ROWS_AT_ONCE,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
            )


def refuse_grown(name: str, facts: Any, size: int, columns: int) -> Any:
    """The metadata of a Parquet file, unless its rows would take far more room than the file.

    A value that is repeated takes no room there: how much the rows would take is known only here.
    """
    held = sum(facts.row_group(number).total_byte_size for number in range(facts.num_row_groups))
    refuse_growth(name, max(held, 8 * columns * facts.num_rows), size)
    return facts


@contextmanager
def _sound(name: str) -> Iterator[None]:
    place = located(name)
    remote = place if is_remote(place) else None
    with remote.opened() if remote else nullcontext():
        try:
            yield
        except FileNotFoundError:
            raise SourceError(name, "no such file") from None
        except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
            if remote and isinstance(error, OSError) and error.errno is not None:
                raise  # it comes from the network, not from the content
            raise SourceError(name, f"is not a sound Parquet file: {error}") from None


def _opened(whole: str) -> _Set | None:
    """The set in a file or folder, by its path or URL; None where it has no column for the run, or is no Parquet."""
    place = located(whole)
    name, is_folder = str(place), whole.endswith("/")
    options: dict[str, Any] = {}
    if is_remote(place):
        with place.opened() as (system, path):
            options["filesystem"] = system
            files = sorted(system.find(path)) if is_folder else [system.info(path)["name"]]
    else:
        path = str(place)
        files = sorted(map(str, place.rglob("*"))) if place.is_dir() else [path]
    if is_folder or Path(path).is_dir():
        files = [one for one in files if one.lower().endswith(".parquet")]
        if "filesystem" not in options:
            files = [str(inside(Path(one), place)) for one in files]
        keys = _PARTITION.findall(files[0].removeprefix(path)) if files else []
        options["partitioning"] = dataset.partitioning(pa.schema([(key, pa.string()) for key in keys]), flavor="hive")
        options["partition_base_dir"] = path
    if not files:
        return None
    with _sound(name):
        data = dataset.dataset(files, format="parquet", **options)
        roles = reading.roles_of(data.schema.names)
        if roles is None or "tag" not in roles:
            return None
        return _Set(name, data, roles)


def _names_in(whole: str) -> list[str]:
    """The runs of a set, in the order in which they occur; none where a file holds a single run, or no set."""
    try:
        opened = _opened(whole)
    except SourceError:
        if is_remote(located(whole)):
            raise  # a set whose names did not arrive would be read as one run
        return []  # what is wrong is said where it is read
    if opened is None:
        return []
    with _sound(opened.name):
        names = list(dict.fromkeys(opened.names()))
    return names if len(names) > 1 or not whole.lower().endswith(".parquet") else []


def batches_of(source: Source, *parts: str) -> Iterator[dict[str, pa.Array]]:
    """Parts of the rows of one run of a set, some rows at a time; a set may lack a part."""
    opened = _opened(source.whole)
    if opened is None:
        raise SourceError(source.name, "no such set of runs: a Parquet file or folder with a column run")
    with _sound(source.name):
        names = {part: opened.roles[part] for part in parts if part in opened.roles}
        for batch in opened.of(source.run, list(names.values())):
            if len(batch):
                yield {part: batch.column(name) for part, name in names.items()}


def parts_of(source: Source) -> dict[str, pa.ChunkedArray]:
    """The columns of one run of a set by their parts."""
    found = []
    for batch in batches_of(source, "topic", "document", "score", "rank"):
        with _sound(source.name):
            pa.table(batch).validate(full=True)
            found.append({part: plain(source, column, part) for part, column in batch.items()})
    if not found:
        raise SourceError(source.name, f"there is no run {source.run!r} in this set")
    parts = {part: pa.chunked_array([batch[part] for batch in found]) for part in found[0]}
    return {**parts, "tag": pa.chunked_array([pa.repeat(pa.scalar(source.run, TEXT), len(parts["topic"]))])}


def plain(source: Source, column: pa.Array | pa.ChunkedArray, part: str) -> pa.Array | pa.ChunkedArray:
    """A column as text, scores as doubles; ids are text or whole numbers, scores and ranks any numbers."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_number = part in ("score", "rank") and (pa.types.is_floating(kind) or pa.types.is_decimal(kind))
    if not is_number and not pa.types.is_integer(kind) and str(kind) not in _TEXTS:
        wanted = "numbers" if part in ("score", "rank") else "text or integers"
        found = reading.problem("bad-row", f"{part}s are of type {kind}; they must be {wanted}").at(source.name)
        raise ProblemsFound("this is not a Parquet file of a run", [found])
    return column.cast(pa.float64() if is_number and part == "score" else pa.large_string())


def write(stream: BinaryIO, runs: Iterable[Run], *, columns: Columns = "cranfield") -> int:
    """Write a set of runs, one after the other, and give the number of its rows."""
    kinds = {"rank": pa.int32(), "score": pa.float64()}
    names = _WRITTEN[columns]
    schema = pa.schema([(name, kinds.get(part, pa.string())) for part, name in names.items()])
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": [names["tag"], names["topic"]]}
    rows = 0
    with parquet.ParquetWriter(stream, schema, store_schema=False, **options) as writer:
        for run in runs:
            batches = []
            for part in reading.columns_of(run):
                part["rank"] = pc.subtract(part["rank"], int(columns == "pyterrier"))  # which counts from 0
                batches.append(pa.table({name: part[one] for one, name in names.items()}).cast(schema))
            if batches:
                writer.write_table(pa.concat_tables(batches), row_group_size=ROWS_AT_ONCE)
            rows += run.row_count
    return rows
