"""`cranfield qrels`: judgments become one grade per topic and document."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format, Replace
from cranfield.qrels.release import RULE_WORDS, parse_rule

with deferred:
    from cranfield.workflows import qrels

if TYPE_CHECKING:
    from cranfield.base.tables import Result
    from cranfield.workflows.qrels import Selection

app = typer.Typer(name="qrels", help="One grade per document.", no_args_is_help=True, rich_markup_mode=None)


def add_to(program: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    program.add_typer(app)


Which = Annotated[str | None, typer.Argument(help="A release, a file, or now (what is judged); now by default.")]
Layers = Annotated[
    list[str] | None,
    typer.Option("--layer", help="A layer, main by default; may be repeated: later ones add, and override nothing."),
]
RuleWords = Annotated[
    str,
    typer.Option(
        "--rule",
        help=f"How opinions merge, the first word that gives a grade: {', '.join(RULE_WORDS)}. The collection's"
        " own rule by default.",
    ),
]
AsOf = Annotated[str, typer.Option(help="As it was recorded up to this time (ISO 8601; a date means its end, UTC).")]
UpToEvent = Annotated[int | None, typer.Option(min=0, help="As it was after the event of this number.")]
Unjudged = Annotated[bool, typer.Option("--unjudged", help="With -1 for what is pooled and not judged.")]
From = Annotated[
    str | None, typer.Option("--from", help="The format, where it is not recognised: see cranfield formats.")
]


def _selection(
    layers: list[str] | None, rule: str, as_of: str, up_to_event: int | None, unjudged: bool
) -> "Selection":
    if as_of and up_to_event is not None:
        raise typer.BadParameter("--as-of and --up-to-event say the same thing in two ways; give one of them")
    chosen = parse_rule(rule) if rule else None
    return qrels.Selection(
        layers=tuple(layers or ["main"]), rule=chosen, as_of=as_of, up_to_event=up_to_event, unjudged=unjudged
    )


def _show(result: "Result", format: str) -> None:
    """Print a result whose table is shorter in the terminal alone."""
    for note in result.notes:
        console.say(note)
    for table in result.tables() if format == "table" else [result.table()]:
        console.put_table(table, format)
    for remark in result.remarks:
        console.say(remark)


@app.command()
def export(
    which: Which = None,
    collection: Collection = COLLECTION,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write; else standard output.")
    ] = None,
    replace: Replace = False,
    to: Annotated[str, typer.Option("--to", help="The format to write: see cranfield formats.")] = "trec",
    binary: Annotated[bool, typer.Option("--binary", help="1 for relevant and 0 for not, by the scale.")] = False,
    binary_from: Annotated[int | None, typer.Option(min=1, help="The same, relevant from this grade up.")] = None,
    unjudged: Unjudged = False,
    layer: Layers = None,
    rule: RuleWords = "",
    as_of: AsOf = "",
    up_to_event: UpToEvent = None,
) -> None:
    """Write qrels as a file."""
    selection = _selection(layer, rule, as_of, up_to_event, unjudged)
    with console.collection(collection) as store:
        stage = qrels.Qrels(store)
        made = stage.export(which, format=to, binary=binary, binary_from=binary_from, selection=selection)
    with console.binary_output(output, replace=replace) as stream:
        made.write(stream)
    for remark in made.remarks:
        console.say(remark)


@app.command()
def release(
    name: Annotated[str, typer.Argument(help="What the release is called.")],
    collection: Collection = COLLECTION,
    layer: Layers = None,
    rule: RuleWords = "",
    as_of: AsOf = "",
    up_to_event: UpToEvent = None,
    unjudged: Unjudged = False,
    note: Annotated[str, typer.Option(help="A sentence that is kept with it.")] = "",
    bundle: Annotated[
        Path | None,
        typer.Option(help="Also lay out a folder to publish: topics, qrels, pool, runs, cards, checksums."),
    ] = None,
    format: Format = "table",
) -> None:
    """Freeze what is judged under a name, with a hash and a manifest; it never changes again."""
    selection = _selection(layer, rule, as_of, up_to_event, unjudged)
    with console.collection(collection) as store, console.progress() as progress:
        made = qrels.Qrels(store).release(name, note=note, bundle=bundle, selection=selection, progress=progress)
    _show(made, format)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file of qrels, compressed or not.")],
    name: Annotated[str, typer.Option("--name", help="What the release is called.")],
    collection: Collection = COLLECTION,
    from_: From = None,
    note: Annotated[str, typer.Option(help="A sentence that is kept with it.")] = "",
) -> None:
    """Freeze the qrels of a file as a release (cranfield judge import makes judgments of them)."""
    with console.collection(collection) as store:
        made = qrels.Qrels(store).import_(file, name, format=from_, note=note)
    for remark in made.remarks:
        console.say(remark)


@app.command("list")
def list_(
    collection: Collection = COLLECTION,
    name: Annotated[str, typer.Option("--name", help="Show all that is known of one release.")] = "",
    format: Format = "table",
) -> None:
    """List the releases, and say in which layers there are judgments."""
    with console.collection(collection) as store:
        known = qrels.Qrels(store).list(name)
    _show(known, format)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A release, a file, or now.")],
    after: Annotated[str, typer.Argument(help="A release, a file, or now.")],
    collection: Collection = COLLECTION,
    layer: Layers = None,
    unjudged: Unjudged = False,
    by_topic: Annotated[bool, typer.Option("--by-topic", help="How much changed in each topic.")] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="How many went from which grade to which.")] = False,
    format: Format = "table",
) -> None:
    """Compare two sets of qrels: what was added, removed and changed."""
    by = "topic" if by_topic else "grade" if matrix else "document"
    with console.collection_if_any(collection) as store:
        found = qrels.diff(store, before, after, layers=tuple(layer or ["main"]), unjudged=unjudged, by=by)
    _show(found, format)


@app.command()
def licence(
    text: Annotated[
        str | None, typer.Argument(help="Its name, like CC-BY-4.0, or a sentence; '' takes it back; none shows it.")
    ] = None,
    collection: Collection = COLLECTION,
) -> None:
    """Show or say under which terms the collection may be used; the report and the card repeat it."""
    with console.collection(collection) as store:
        chosen = qrels.Qrels(store).licence(text)
    if chosen:
        console.put(f"{chosen}\n")
    else:
        console.say("no licence is named; name one with cranfield qrels licence 'CC-BY-4.0'")


@app.command()
def rule(
    words: Annotated[str, typer.Argument(help="The rule, like adjudicated,majority,latest; none shows it.")] = "",
    collection: Collection = COLLECTION,
) -> None:
    """Show or choose the rule by which this collection merges opinions."""
    with console.collection(collection) as store:
        chosen = qrels.Qrels(store).rule(words)
    console.put(f"{', else '.join(chosen)}\n")
