"""`cranfield qrels`: judgments become one grade per topic and document."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from cranfield.base.registry import deferred
from cranfield.cli import completion, console
from cranfield.cli.console import InAnyCollection, InCollection, Replace, Shown
from cranfield.cli.main import Stage

with deferred:
    from cranfield.qrels import release as releases
    from cranfield.workflows import qrels

stage = Stage("qrels", "One grade per topic and document.")


Which = Annotated[
    str | None,
    Argument(
        help="A release, a file, or now (the current judgments). [default: now]", autocompletion=completion.releases
    ),
]
Layers = Annotated[list[str] | None, "A layer; repeatable: later layers add, and override nothing. [default: main]"]
Unjudged = Annotated[bool, "Add pooled but unjudged documents, with grade -1."]
From = Annotated[str | None, "The format, if it is not recognised: see cranfield formats."]


@dataclass(frozen=True, kw_only=True)
class Selected:
    """Which judgments count, and how they are merged."""

    unjudged: Unjudged = False
    layer: Layers = None
    rule: Annotated[
        str,
        "Merge rule, the first word that gives a grade decides: adjudicated, primary, majority, latest,"
        " highest, lowest, median. [default: the rule of the collection]",
    ] = ""
    as_of: Annotated[
        str, "Judgments recorded up to this time (ISO 8601; a date means its end, UTC), or up to this event."
    ] = ""

    def selection(self) -> "qrels.Selection":
        """The same as the workflow takes it."""
        rule, layers = releases.parse_rule(self.rule) if self.rule else None, tuple(self.layer or ["main"])
        return qrels.Selection(layers=layers, rule=rule, as_of=self.as_of, unjudged=self.unjudged)


@stage.command(
    "qrels export -o qrels.txt",
    "qrels export first --binary",
    removed={
        "--up-to-event": "use --as-of N",
        "--binary-from": "--binary uses the scale, and measures take a threshold: -m 'AP(rel=2)'",
    },
)
def export(
    selected: Selected,
    store: InCollection,
    which: Which = None,
    output: Annotated[Path | None, Option("-o", "--output", help="Output file. [default: standard output]")] = None,
    replace: Replace = False,
    to: Annotated[str, "Output format: see cranfield formats."] = "trec",
    binary: Annotated[bool, "1 for relevant and 0 for not relevant, by the scale."] = False,
) -> None:
    """Write qrels to a file."""
    made = qrels.Qrels(store).export(which, format=to, binary=binary, selection=selected.selection())
    with console.binary_output(output, replace=replace) as stream:
        made.write(stream)
    console.say(*made.remarks)


@stage.command(
    "qrels release second",
    "qrels release second --note 'all topics' --bundle bundle",
    removed={"--up-to-event": "use --as-of N"},
)
def release(
    name: Annotated[str, "Name of the release."],
    selected: Selected,
    store: InCollection,
    note: Annotated[str, "A note, stored with the release."] = "",
    bundle: Annotated[
        Path | None, "Also write a folder to publish: topics, qrels, pool, runs, cards, checksums."
    ] = None,
    sign: Annotated[Path | None, "Sign the checksums of the bundle with this SSH key."] = None,
) -> Shown:
    """Release the current qrels under a name, with a hash and a manifest; a release never changes."""
    selection = selected.selection()
    with console.progress() as progress:
        return qrels.Qrels(store).release(
            name, note=note, bundle=bundle, sign=sign, selection=selection, progress=progress
        )


@stage.command("qrels import qrels.txt --name theirs", "qrels import qrels.txt --name theirs --note 'from the track'")
def import_(
    file: Annotated[Path, Argument(parser=console.path_or_url, help="A qrels file, compressed or not, or its URL.")],
    name: Annotated[str, Option(help="Name of the release.")],
    store: InCollection,
    from_: From = None,
    note: Annotated[str, "A note, stored with the release."] = "",
) -> None:
    """Release the qrels of a file (cranfield judge import turns them into judgments)."""
    made = qrels.Qrels(store).import_(file, name, format=from_, note=note)
    console.say(*made.remarks)


@stage.command("qrels list", "qrels list --name first")
def list_(store: InCollection, name: Annotated[str, "Show the manifest of one release."] = "") -> Shown:
    """List the releases, and count the judgments in each layer."""
    return qrels.Qrels(store).list(name)


@stage.command(
    "qrels diff first now",
    "qrels diff qrels.txt now -f csv",
    removed=dict.fromkeys(("--by-topic", "--matrix", "--by"), "use -f csv, with topic and grades of each change"),
)
def diff(
    before: Annotated[str, Argument(help="A release, a file, or now.", autocompletion=completion.releases)],
    after: Annotated[str, Argument(help="A release, a file, or now.", autocompletion=completion.releases)],
    store: InAnyCollection,
    layer: Layers = None,
    unjudged: Unjudged = False,
) -> Shown:
    """Compare two sets of qrels: judgments added, removed and changed."""
    return qrels.diff(store, before, after, layers=tuple(layer or ["main"]), unjudged=unjudged)


@stage.command("qrels licence", "qrels licence CC-BY-4.0")
def licence(
    store: InCollection,
    text: Annotated[
        str | None, Argument(help="A name, like CC-BY-4.0, or a sentence; none removes it. [default: show it]")
    ] = None,
) -> None:
    """Show or set the licence of the collection; the report and the card state it."""
    chosen = qrels.Qrels(store).licence(text)
    if chosen:
        console.put(f"{chosen}\n", prose=True)
    else:
        console.say("no licence is set; set one with cranfield qrels licence 'CC-BY-4.0'")


@stage.command("qrels rule", "qrels rule adjudicated,majority,latest")
def rule(
    store: InCollection,
    words: Annotated[str, Argument(help="The rule, like adjudicated,majority,latest. [default: show the rule]")] = "",
) -> None:
    """Show or set the rule by which this collection merges judgments."""
    chosen = qrels.Qrels(store).rule(words)
    console.put(f"{', else '.join(chosen)}\n")
