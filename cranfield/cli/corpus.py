"""`cranfield corpus`: documents and topics enter."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from cranfield.base.errors import CranfieldError, UsageError
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import Format, InCollection, Shown
from cranfield.cli.main import Stage

with deferred:
    from cranfield.base import text as texts
    from cranfield.workflows import corpus

stage = Stage("corpus", "Documents and topics.")


From = Annotated[str | None, "The format, if it is not recognised (see cranfield formats)."]
Columns = Annotated[
    str,
    "What a table or JSON lines call the parts, if not by the usual words: id=name,text=body; of topics"
    " title=query,description=details.",
]
_MINHASH = "it only set which pairs are compared, and 128 permutations find 99% of those at the threshold"


@dataclass(frozen=True, kw_only=True)
class Loading:
    """How files are loaded."""

    from_: From = None
    columns: Columns = ""
    encoding: Annotated[str, "The encoding of the files, if not UTF-8 (latin-1, cp1252 …)."] = "utf-8"
    keep_going: Annotated[bool, "Load the valid records of a file with errors, and list the errors."] = False
    update: Annotated[bool, "Replace existing records that have different content."] = False

    def options(self) -> dict[str, Any]:
        """The same as the workflow takes it; what is loaded from each file is said."""
        options = {**vars(self), "format": self.from_, "columns": _columns(self.columns), "report": _report}
        del options["from_"]
        return options


@stage.command("corpus add documents.jsonl", "corpus add texts", "corpus add documents.jsonl --keep-going --update")
def add(
    files: Annotated[
        list[Path],
        Argument(
            parser=console.path_or_url,
            help="Files (also gzip, bz2, xz, zstd), URLs, a folder, or - for standard input.",
        ),
    ],
    loading: Loading,
    store: InCollection,
) -> None:
    """Add documents."""
    with console.progress() as progress:
        added = corpus.Corpus(store, progress=progress).add(files, **loading.options())
    if not added.is_complete:
        raise typer.Exit(1)


@stage.command("corpus topics topics.trec", "corpus topics")
def topics(
    loading: Loading,
    store: InCollection,
    files: Annotated[
        list[Path] | None, Argument(parser=console.path_or_url, help="Topic files; omit them to list the topics.")
    ] = None,
    ids: Annotated[
        Literal["given", "position"],
        "Use the ids in the file, or number topics 1, 2, 3 … (as the Cranfield qrels do).",
    ] = "given",
    format: Format = "table",
) -> None:
    """Add topics, or list them."""
    result = corpus.Corpus(store).topics(files or (), ids=ids, **loading.options())
    if not isinstance(result, corpus.Added):
        console.show(result, format)
    elif not result.is_complete:
        raise typer.Exit(1)


def _columns(text: str) -> dict[str, str]:
    """The names of columns by part, from `part=name,part=name`."""
    words = filter(str.strip, text.split(","))
    return console.named_values(words, "the name of a column by its part, as in --columns id=name,text=body")


def _report(outcome: "corpus.Loaded | CranfieldError") -> None:
    """Say what was loaded from a file."""
    if isinstance(outcome, CranfieldError):
        console.fail(outcome)
    else:
        console.put_problems(outcome.problems)
        console.say(str(outcome))


@stage.command("corpus outside jsonl:documents.jsonl", "corpus outside --approve", "corpus outside")
def outside(
    store: InCollection,
    sources: Annotated[
        list[str] | None,
        Argument(help="Sources as KIND:PLACE (see cranfield formats); omit them to list what there is."),
    ] = None,
    columns: Columns = "",
    approve: Annotated[bool, "Let this machine use sources that the collection names. [default: all]"] = False,
    remove: Annotated[bool, "Remove sources; documents that were judged are kept."] = False,
) -> Shown:
    """Point to documents that stay outside, or list where they are."""
    if approve and remove:
        raise UsageError("use either --approve or --remove, not both")
    do: Any = "approve" if approve else "remove" if remove else "add"
    with console.progress() as progress:
        return corpus.Corpus(store, progress=progress).outside(sources or (), do=do, columns=_columns(columns))


@stage.command(
    "corpus show", "corpus show K146", removed=dict.fromkeys(("-n", "--count"), "corpus search finds documents")
)
def show(
    store: InCollection,
    document: Annotated[str, Argument(help="A document id; omit it to list the first documents.")] = "",
    format: Format = "table",
) -> None:
    """Show a document, or list the first ten."""
    documents = corpus.Corpus(store)
    if not document or format != "table":
        console.show(documents.show(document), format)
        return
    one = documents.document(document)
    # The title of a text file is its first line, which would stand there twice.
    title = "" if texts.begins_with(one.text, one.title) else one.title
    lines = [f"{one.id}  {title}".rstrip(), *(f"{name}: {value}" for name, value in one.metadata.items())]
    console.put(
        "\n".join(texts.visible_line(line) for line in lines) + f"\n\n{texts.visible(one.text).rstrip()}\n",
        prose=True,
    )


@stage.command(
    "corpus search burnt pan",
    "corpus search '\"burnt pan\"' --count 3",
    removed={"--all": "the best hits have all words"},
)
def search(
    words: Annotated[list[str], "Query words; a phrase in double quotes inside single quotes."],
    store: InCollection,
    count: Annotated[int, Option("-n", "--count", min=1, help="How many hits.")] = 10,
) -> Shown:
    """Search the documents (BM25, best first)."""
    return corpus.Corpus(store).search(" ".join(words), count=count)


@stage.command(
    "corpus duplicates",
    "corpus duplicates --threshold 0.5",
    "corpus duplicates --stored",
    removed={"--shingle": "a shingle has 5 words; use --threshold", "--permutations": _MINHASH, "--seed": _MINHASH},
)
def duplicates(
    store: InCollection,
    threshold: Annotated[
        float, Option(min=0.05, max=1.0, help="Minimum Jaccard similarity of word shingles of near-duplicates.")
    ] = 0.8,
    stored: Annotated[bool, "Show the result of the latest search; do not search again."] = False,
) -> Shown:
    """Find exact and near duplicates and store them as clusters."""
    with console.progress() as progress:
        return corpus.Corpus(store, progress=progress).duplicates(search=not stored, threshold=threshold)
