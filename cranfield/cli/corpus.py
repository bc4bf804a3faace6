"""`cranfield corpus`: documents and topics enter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.text import counted, shortened
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cranfield.base.errors import CranfieldError
    from cranfield.workflows.corpus import Loaded

app = typer.Typer(name="corpus", help="Documents and topics.", no_args_is_help=True, rich_markup_mode=None)


def add_to(program: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    program.add_typer(app)


Files = Annotated[
    list[Path], typer.Argument(help="Files (also gzip, bz2, xz, zstd), a folder, or - for standard input.")
]
From = Annotated[
    str | None, typer.Option("--from", help="The format, where it is not recognised: see cranfield formats.")
]
Encoding = Annotated[str, typer.Option(help="The encoding of the files, where it is not UTF-8 (latin-1, cp1252 …).")]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Load the good records of a bad file and list the bad ones.")
]
Update = Annotated[bool, typer.Option("--update", help="Replace records that are there with other content.")]


@app.command()
def add(
    files: Files,
    collection: Collection = COLLECTION,
    from_: From = None,
    encoding: Encoding = "utf-8",
    keep_going: KeepGoing = False,
    update: Update = False,
) -> None:
    """Add documents."""
    from cranfield.workflows.corpus import add_documents

    with console.collection(collection) as store, console.progress() as progress:
        outcomes = add_documents(
            store, files, format=from_, encoding=encoding, keep_going=keep_going, update=update, progress=progress
        )
        _tell(outcomes, "document")


@app.command()
def topics(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Topic files; without any, the topics are listed.")
    ] = None,
    collection: Collection = COLLECTION,
    from_: From = None,
    encoding: Encoding = "utf-8",
    ids: Annotated[
        Literal["given", "position"],
        typer.Option(help="Use the ids of the file, or count 1, 2, 3 … (the original Cranfield qrels mean that)."),
    ] = "given",
    keep_going: KeepGoing = False,
    update: Update = False,
    format: Format = "table",
) -> None:
    """Add topics, or list them."""
    from cranfield.workflows.corpus import add_topics, all_topics

    with console.collection(collection) as store:
        if files:
            outcomes = add_topics(
                store, files, format=from_, encoding=encoding, ids=ids, keep_going=keep_going, update=update
            )
            _tell(outcomes, "topic")
            return
        found = all_topics(store)
    from cranfield.base.tables import table_of

    if format == "table":
        short = [(topic.id, shortened(topic.title, 60), shortened(topic.description, 100)) for topic in found]
        console.put_table(table_of(["topic", "title", "description"], short), format)
        return
    rows = [(one.id, one.title, one.description, one.narrative, _as_json(one.metadata)) for one in found]
    console.put_table(table_of(["topic", "title", "description", "narrative", "metadata"], rows), format)


def _as_json(metadata: Mapping[str, str]) -> str:
    import json

    return json.dumps(dict(metadata), ensure_ascii=False)


def _tell(outcomes: Iterator[Loaded | CranfieldError], noun: str) -> None:
    """Narrate what each file brought; leave with status 1 if one was refused or not all of one was good."""
    from cranfield.base.errors import CranfieldError, ProblemsFound

    bad, told = False, False
    for outcome in outcomes:
        if isinstance(outcome, CranfieldError):
            lines = str(outcome).splitlines()
            if told and len(lines) > 1 and not isinstance(outcome, ProblemsFound):
                # The list of formats is told once per command, not once per file.
                console.say(f"cranfield: {lines[0]}")
            else:
                console.fail(outcome)
                told = told or len(lines) > 1
            bad = True
            continue
        console.put_problems(outcome.problems)
        parts = [f"{counted(outcome.new, noun)} added"]
        parts += [f"{outcome.same:,} there already"] if outcome.same else []
        parts += [f"{outcome.updated:,} replaced"] if outcome.updated else []
        parts += [f"{counted(outcome.bad, 'error')}"] if outcome.bad else []
        console.say(f"{outcome.name}: {', '.join(parts)}")
        bad = bad or bool(outcome.bad)
    if bad:
        raise typer.Exit(1)


@app.command()
def show(
    document: Annotated[
        str, typer.Argument(help="A document's id; without one, the first documents are listed.")
    ] = "",
    collection: Collection = COLLECTION,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many to list.")] = 10,
    format: Format = "table",
) -> None:
    """Show a document, or list the first ones."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.corpus import first_documents, show_document

    with console.collection(collection) as store:
        found = [show_document(store, document)] if document else first_documents(store, count)
    if document and format == "table":
        console.put_document(found[0])
        return
    if format == "table":
        short = [(one.id, shortened(one.title, 50), shortened(one.text, 80)) for one in found]
        console.put_table(table_of(["document", "title", "text"], short), format)
        return
    rows = [(one.id, one.title, one.text, _as_json(one.metadata), one.content_hash) for one in found]
    console.put_table(table_of(["document", "title", "text", "metadata", "content_hash"], rows), format)


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="Words; a phrase in double quotes inside single ones.")],
    collection: Collection = COLLECTION,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many hits.")] = 10,
    every_word: Annotated[bool, typer.Option("--all", help="Only documents that have every word.")] = False,
    format: Format = "table",
) -> None:
    """Search the documents (BM25, best first)."""
    from cranfield.base.tables import table_of
    from cranfield.base.text import HIT_END, HIT_START
    from cranfield.workflows.corpus import search_documents

    with console.collection(collection) as store:
        hits = search_documents(store, " ".join(words), limit=count, every_word=every_word)
    if format == "table":
        lines = [(f"{hit.document}  {shortened(hit.title, 80)}  ({hit.score:.2f})", hit.snippet) for hit in hits]
        console.put_marked(lines, start=HIT_START, end=HIT_END)
        console.say(f"{counted(len(hits), 'document')} shown" if hits else "nothing found")
        return
    plain = [hit.snippet.replace(HIT_START, "").replace(HIT_END, "") for hit in hits]
    rows = [(hit.document, hit.score, hit.title, text) for hit, text in zip(hits, plain, strict=True)]
    console.put_table(table_of(["document", "score", "title", "snippet"], rows), format)


@app.command()
def duplicates(
    collection: Collection = COLLECTION,
    threshold: Annotated[
        float, typer.Option(min=0.05, max=1.0, help="Jaccard similarity of word shingles from which two are alike.")
    ] = 0.8,
    shingle: Annotated[int, typer.Option(min=1, max=50, help="Words in a shingle.")] = 5,
    permutations: Annotated[int, typer.Option(min=16, max=1024, help="MinHash permutations.")] = 128,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the permutations.")] = 1,
    stored: Annotated[
        bool, typer.Option("--stored", help="Show what the latest search found; search no more.")
    ] = False,
    format: Format = "table",
) -> None:
    """Find exact and near duplicates and store them as clusters."""
    from cranfield.base.tables import Column, table_of
    from cranfield.store.documents import clusters_of
    from cranfield.workflows.corpus import find_duplicates, stored_scan

    with console.collection(collection) as store, console.progress() as progress:
        scan = (
            stored_scan(store)
            if stored
            else find_duplicates(
                store, threshold=threshold, shingle=shingle, permutations=permutations, seed=seed, progress=progress
            )
        )
        clusters = clusters_of(store)
    rows = [
        (cluster, document, kind, similarity, representative)
        for cluster, members in clusters.items()
        for document, kind, similarity, representative in members
    ]
    columns: list[Column | str] = [
        "cluster",
        "document",
        "kind",
        Column("similarity", digits=2, kind="number"),
        "representative",
    ]
    console.put_table(table_of(columns, rows), format)
    console.say(f"{counted(len(clusters), 'cluster')} in {counted(scan.documents, 'document')}")
