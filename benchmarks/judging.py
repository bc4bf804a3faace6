"""From the key to the next document, with a million documents and 200,000 judgments in the collection.

With `--outside` also with documents that stay in a file of JSON lines, a thousand of them and ten million.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from benchmarks.generate import SMALL
from cranfield.store.store import Store, open_store
from cranfield.workflows import corpus
from cranfield.workflows.collection import NAMED, init_collection
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.session import StoredSession

NOW = "2026-01-01T00:00:00.000Z"
ASSESSORS = 8


def insert(store: Store, table: str, names: str, rows: Iterator[tuple[object, ...]]) -> None:
    """Insert many rows; columns that are not named get an empty value of their type."""
    wanted = names.split(", ")
    others = [
        (name, 0 if kind == "INTEGER" else "")
        for _, name, kind, required, default, key in store.rows(f"PRAGMA table_info({table})")
        if required and default is None and name not in wanted and not key
    ]
    columns = [*wanted, *(name for name, _ in others)]
    empty = tuple(value for _, value in others)
    marks = ", ".join("?" * len(columns))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    store.connection.executemany(statement, ((*row, *empty) for row in rows))


def documents(count: int) -> Iterator[tuple[object, ...]]:
    """Give documents of about 300 characters."""
    draw = random.Random(1)
    words = [f"w{number:x}" for number in range(20_000)]
    for number in range(count):
        yield f"doc{number:08}", " ".join(draw.choices(words, k=60)), "{}", "x" * 64, 1


def furnish(path: Path, *, count: int, judgments: int, topics: int, inside: bool = True) -> None:
    """Make a collection whose pool is judged but for a tenth of each topic."""
    init_collection(path, name="large", scale=NAMED["graded"])
    depth = judgments * 10 // 9 // topics
    judged = judgments // topics
    draw = random.Random(2)
    pools = {f"topic{number:04}": draw.sample(range(count), depth) for number in range(topics)}
    with open_store(path) as store, store.write():
        insert(store, "sources", "number, kind", iter([(1, "documents")]))
        if inside:
            insert(store, "documents", "id, text, metadata, content_hash, source", documents(count))
        insert(store, "topics", "id, title, metadata, source", ((topic, topic, "{}", 1) for topic in pools))
        insert(store, "pools", "number, name, plan_in_full, judging_order", iter([(1, "pool", "depth 10", "plan")]))
        insert(store, "pool_topics", "pool, topic", ((1, topic) for topic in pools))
        entries = (
            (1, topic, f"doc{one:08}", place) for topic, pool in pools.items() for place, one in enumerate(pool, 1)
        )
        insert(store, "pool_entries", "pool, topic, document, position", entries)
        insert(store, "assessors", "name, kind, added", ((f"assessor{n}", "person", NOW) for n in range(ASSESSORS)))
        pairs = [(topic, f"doc{one:08}") for topic, pool in pools.items() for one in pool[:judged]]
        draw.shuffle(pairs)
        columns = (
            "sequence, uuid, kind, layer, topic, document, assessor, grade, evidence, purpose, source, seconds,"
            " scale, happened"
        )
        insert(store, "judgment_events", columns, events(pairs))
        standing = "topic, document, layer, assessor, adjudicated, kind, grade, scale, event"
        insert(store, "judgments", standing, standing_rows(pairs))


def assessor(place: int) -> str:
    """Give who judged a pair: half of everything was judged by the one whose keys are measured."""
    return "assessor0" if place % 2 else f"assessor{1 + place % (ASSESSORS - 1)}"


def events(pairs: list[tuple[str, str]]) -> Iterator[tuple[object, ...]]:
    """Give one judged event for each pair."""
    for place, (topic, document) in enumerate(pairs, start=1):
        uuid = str(UUID(int=place * 2**64 // len(pairs)))
        yield place, uuid, "judged", "main", topic, document, assessor(place), 1, "[]", "pool", "person", 12.0, 1, NOW


def standing_rows(pairs: list[tuple[str, str]]) -> Iterator[tuple[object, ...]]:
    """Give what counts: each event."""
    for place, (topic, document) in enumerate(pairs, start=1):
        yield topic, document, "main", assessor(place), 0, "judged", 1, 1, place


def timed(call: Callable[[], object]) -> float:
    """Give how many milliseconds a call takes."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def keys(desk: StoredSession, count: int) -> list[float]:
    """Judge documents and give the milliseconds of each: saved, next document, progress line."""
    item, times = desk.next_item(), []
    for _ in range(count):
        if item is None:
            break
        started = time.perf_counter()
        desk.judge(item, 1, seconds=3.0)
        item = desk.next_item()
        desk.progress()
        times.append((time.perf_counter() - started) * 1000)
    return times


def tell(times: list[float], what: str) -> None:
    """Print the median, the 95th percentile and the longest."""
    shares = statistics.quantiles(times, n=20)
    print(
        f"{what:<44} median {shares[9]:6.1f} ms   95% {shares[18]:6.1f} ms   longest {max(times):6.1f} ms", flush=True
    )


def measure(path: Path, *, count: int, **options: object) -> None:
    """Measure one sitting."""
    name = " ".join(f"{key}={value}" for key, value in options.items()) or "plan"
    with open_store(path) as store:
        started = time.perf_counter()
        desk = Judge(store).session("assessor0", **options)  # type: ignore[arg-type]
        desk.next_item()
        opened = (time.perf_counter() - started) * 1000
        first, loaded = timed(desk.progress), timed(lambda: desk.source.is_live)
        tell(keys(desk, count), f"key to next document ({name}, below 50)")
        others = {
            "first document": opened,
            "first progress": first,
            "loaded while the first document is read": loaded,
            "topics": timed(desk.topics),
            "undo": timed(desk.undo),
            "history": timed(desk.history),
        }
        if options.get("layer") != "outside":
            others["search"] = timed(lambda: desk.search("topic0001", "w1f w2e"))
        print("  " + ", ".join(f"{what} {taken:.0f} ms" for what, taken in others.items()), flush=True)
        desk.leave()


def measure_outside(folder: Path, *, count: int, keys: int) -> None:
    """Measure a session over documents that stay outside, behind an offset index."""
    file, path = folder / f"{count}.jsonl", folder / f"{count}.db"
    draw = random.Random(1)
    texts = [" ".join(f"w{draw.randrange(20_000):x}" for _ in range(40)) for _ in range(1_000)]
    with file.open("w", encoding="utf-8") as stream:
        lines = (f'{{"id": "doc{place:08}", "text": "{texts[place % 1_000]} {place}"}}\n' for place in range(count))
        stream.writelines(lines)
    furnish(path, count=count, judgments=900, topics=2, inside=False)
    with open_store(path) as store:
        source = f"jsonl:{file}"
        indexed = timed(lambda: corpus.Corpus(store).outside([source])) / 1000
    index = file.with_name(f"{file.name}.offsets")
    sizes = f"{file.stat().st_size / 1e9:.2f} GB, index of {index.stat().st_size / 1e6:.0f} MB in {indexed:.1f} s"
    print(f"{count:,} documents outside: {sizes}, collection of {path.stat().st_size / 1e3:.0f} KB", flush=True)
    measure(path, count=keys, layer="outside")
    file.unlink()


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--outside", type=int, default=10_000_000, help="documents that stay outside; 0: not measured"
    )
    options.add_argument("--documents", type=int, default=1_000_000)
    options.add_argument("--judgments", type=int, default=200_000)
    options.add_argument("--topics", type=int, default=50)
    options.add_argument("--keys", type=int, default=1_000)
    options.add_argument("--keep", type=Path, help="a collection to make there, or to use again")
    asked = options.parse_args()
    scale = 1000 if SMALL else 1
    with tempfile.TemporaryDirectory() as folder:
        path = asked.keep or Path(folder) / "collection.db"
        if not path.exists():
            count, judgments = asked.documents // scale, asked.judgments // scale
            furnish(path, count=count, judgments=judgments, topics=max(asked.topics // scale, 2))
        print(f"{path.stat().st_size / 1e9:.2f} GB", flush=True)
        for choice in ({}, {"layer": "after"}):
            measure(path, count=max(asked.keys // scale, 20), **choice)
        os.environ["XDG_CONFIG_HOME"] = folder  # approvals of this measurement only
        for count in (1_000, asked.outside // scale) if asked.outside else ():
            measure_outside(Path(folder), count=count, keys=max(asked.keys // scale, 20))


if __name__ == "__main__":
    main()
