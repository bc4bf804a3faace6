"""`cranfield qrels`: judgments become one grade per topic and document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cranfield.base.text import counted
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format, Replace
from cranfield.qrels.rules import RULE_WORDS, parse_rule

if TYPE_CHECKING:
    from cranfield.base.tables import Table, Value
    from cranfield.qrels.merge import Manifest
    from cranfield.qrels.qrels import Difference
    from cranfield.workflows.qrels.current import Chosen

app = typer.Typer(name="qrels", help="One grade per document.", no_args_is_help=True, rich_markup_mode=None)


def add_to(program: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    program.add_typer(app)


_HASH_SHOWN = 16

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


def _chosen(layers: list[str] | None, rule: str, as_of: str, up_to: int | None, unjudged: bool) -> Chosen:
    from cranfield.workflows.qrels.current import Chosen

    if as_of and up_to is not None:
        raise typer.BadParameter("--as-of and --up-to-event say the same thing in two ways; give one of them")
    return Chosen(
        layers=tuple(layers or ["main"]),
        rule=parse_rule(rule) if rule else None,
        up_to=up_to,
        as_of=as_of,
        with_unjudged=unjudged,
    )


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
    from cranfield.qrels.reading import contents
    from cranfield.workflows.qrels.export import export_warning, exported_qrels, scale_lost, write_qrels

    chosen = _chosen(layer, rule, as_of, up_to_event, unjudged)
    threshold = binary_from if binary_from is not None else 0 if binary else None
    with console.collection(collection) as store:
        qrels = exported_qrels(store, which, chosen=chosen, binary_from=threshold)
        warning = export_warning(store, which, chosen=chosen, in_two=threshold == 0)
        lost = scale_lost(store) if threshold is None else ""
    with console.binary_output(output, replace=replace) as stream:
        write_qrels(qrels, stream, format=to)
    if warning:
        console.say(f"warning: {warning}")
    console.say(f"{contents(qrels)}; content hash {qrels.content_hash}")
    if lost:
        console.say(f"note: {lost}")
    if qrels.strata is not None:
        console.say(
            "the pool is a sample: the stratum of each document stands before its grade, as xinfAP needs it"
            if to == "trec"
            else f"the pool is a sample, but {to} has no place for the strata; write trec for xinfAP"
        )


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
    from cranfield.workflows.qrels.current import make_release, older_grades
    from cranfield.workflows.qrels.export import check_folder, write_bundle

    if bundle is not None:
        check_folder(bundle)
    with console.collection(collection) as store:
        made = make_release(store, name, chosen=_chosen(layer, rule, as_of, up_to_event, unjudged), note=note)
        if bundle is not None:
            with console.progress() as progress:
                files = write_bundle(store, name, bundle, progress=progress)
            console.say(
                f"laid out {counted(len(files), 'file')} in {bundle}: check them with sha256sum -c SHA256SUMS"
            )
        said = str(older_grades(store, name))
    _put_manifest(made, format)
    if said:
        console.say(f"warning: {said}; each is frozen as it was given")
    console.say(f"released {name}: {counted(made.judged, 'judgment')} on {counted(made.topics, 'topic')}")


def _put_manifest(manifest: Manifest, format: str) -> None:
    from cranfield.base.tables import facts_table

    facts: dict[str, Value] = {
        "release": manifest.name,
        "content hash": manifest.content_hash,
        "topics": manifest.topics,
        "judged": manifest.judged,
        "pooled, not judged": manifest.unjudged,
        "grades": _counts(manifest.grades),
        "layers": ", ".join(manifest.layers),
        "rule": ", else ".join(manifest.rule),
        "up to event": manifest.up_to_event,
        "by version of the scale": _counts(manifest.scales),
        "by version of the guidelines": _counts(manifest.guidelines),
        "pools": ", ".join(f"{name} {known[:_HASH_SHOWN]}" for name, known in manifest.pools.items()),
        "file": manifest.file,
        "file SHA-256": manifest.file_sha256,
        "note": manifest.note,
        "made": manifest.made,
        "made by": manifest.made_by,
    }
    shown = {name: value for name, value in facts.items() if value not in ("", None) or format != "table"}
    console.put_table(facts_table(shown), format)


def _counts(counts: object) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in dict(counts).items())  # type: ignore[call-overload]


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file of qrels, compressed or not.")],
    name: Annotated[str, typer.Option("--name", help="What the release is called.")],
    collection: Collection = COLLECTION,
    from_: From = None,
    note: Annotated[str, typer.Option(help="A sentence that is kept with it.")] = "",
) -> None:
    """Freeze the qrels of a file as a release (cranfield judge import makes judgments of them)."""
    from cranfield.workflows.qrels.current import import_release

    with console.collection(collection) as store:
        done = import_release(store, file, name, format=from_, note=note)
    for sentence in done.strangers:
        console.say(f"warning: {sentence}")
    made = done.manifest
    what = "released" if done.new else "is there already:"
    sizes = f"{counted(made.judged, 'judgment')} on {counted(made.topics, 'topic')}"
    console.say(f"{file} {what} {name}: {sizes}; content hash {made.content_hash}")


@app.command("list")
def list_(
    collection: Collection = COLLECTION,
    name: Annotated[str, typer.Option("--name", help="Show all that is known of one release.")] = "",
    format: Format = "table",
) -> None:
    """List the releases, and say in which layers there are judgments."""
    from cranfield.base.errors import UnknownName
    from cranfield.base.tables import table_of
    from cranfield.store.events import layers_with_grades
    from cranfield.workflows.qrels.current import list_releases

    with console.collection(collection) as store:
        found, layers = list_releases(store), layers_with_grades(store)
    if name:
        chosen = [manifest for manifest in found if manifest.name == name]
        if not chosen:
            raise UnknownName("release", name, [manifest.name for manifest in found])
        _put_manifest(chosen[0], format)
        return
    rows = [
        (
            one.name,
            one.topics,
            one.judged,
            one.unjudged,
            one.content_hash[: _HASH_SHOWN if format == "table" else None],
            one.file or f"{', '.join(one.layers)} by {', '.join(one.rule)}",
            one.made[: 10 if format == "table" else None],
        )
        for one in found
    ]
    columns = ["release", "topics", "judged", "unjudged", "content_hash", "made_from", "made"]
    console.put_table(table_of(columns, rows), format)
    standing = ", ".join(f"{layer} {count:,}" for layer, count in layers) or "none"
    console.say(f"{counted(len(rows), 'release')}; standing grades by layer: {standing}")


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
    from cranfield.workflows.qrels.current import compare_qrels

    layers = tuple(layer or ["main"])
    with console.collection_if_any(collection) as store:
        found = compare_qrels(store, before, after, layers=layers, with_unjudged=unjudged)
    console.put_table(_difference(found, by_topic, matrix), format)
    counts = ", ".join(f"{found.count(what):,} {what}" for what in ("added", "removed", "changed"))
    console.say(f"{before} -> {after}: {counts}" if found.changes else f"{before} and {after} say the same")
    hidden = sum(
        min(one.before or 0, one.after or 0) < 0 and None in (one.before, one.after) for one in found.changes
    )
    if hidden:
        remedy = ": --unjudged adds such rows to now" if not unjudged and "now" in (before, after) else ""
        were = "is only a row" if hidden == 1 else "are only rows"
        console.say(
            f"{hidden:,} of these {were} for what is pooled and not judged, which one side leaves out{remedy}"
        )


def _difference(found: Difference, by_topic: bool, matrix: bool) -> Table:
    from cranfield.base.tables import Column, table_of

    if by_topic:
        topics = [(one.topic, one.added, one.removed, one.changed, one.same) for one in found.topics]
        return table_of(["topic", "added", "removed", "changed", "same"], topics)
    grades = [Column("before", kind="number"), Column("after", kind="number")]
    if matrix:
        moves = [(*pair, count) for pair, count in sorted(found.moves.items(), key=lambda move: str(move[0]))]
        return table_of([*grades, "pairs"], moves)
    rows = [(one.what, one.topic, one.document, one.before, one.after) for one in found.changes]
    return table_of(["what", "topic", "document", *grades], rows)


@app.command()
def licence(
    text: Annotated[
        str | None, typer.Argument(help="Its name, like CC-BY-4.0, or a sentence; '' takes it back; none shows it.")
    ] = None,
    collection: Collection = COLLECTION,
) -> None:
    """Show or say under which terms the collection may be used; the report and the card repeat it."""
    from cranfield.workflows.collection import licence_of, set_licence

    with console.collection(collection) as store:
        if text is not None:
            set_licence(store, text)
        chosen = licence_of(store)
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
    from cranfield.workflows.qrels.current import collection_rule, set_rule

    with console.collection(collection) as store:
        if words:
            set_rule(store, parse_rule(words))
        chosen = collection_rule(store)
    console.put(f"{', else '.join(chosen)}\n")
