"""`cranfield evaluate`: scores of runs against qrels."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from cranfield.base.registry import deferred
from cranfield.base.tables import DATA_FORMATS
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format, removed
from cranfield.cli.reuse import CardFile, Groups, Layers, PoolDepth, PoolName, QrelsWord, SkipBad

with deferred:
    from cranfield.report import figures
    from cranfield.workflows import reading
    from cranfield.workflows.evaluate import evaluate as workflow
    from cranfield.workflows.evaluate import explain as explaining
    from cranfield.workflows.evaluate import figures as evaluate_figures

Runs = Annotated[
    list[str] | None,
    Argument(help="Run files, or names of stored runs [default: all]. With --explain: RUN TOPIC [RUN]."),
]
NoVerdict = Annotated[bool, Option("--no-verdict", help="Omit the effect of unjudged documents, and the verdicts.")]
Measures = Annotated[
    list[str] | None,
    Option("-m", "--measure", help="A measure, such as nDCG@10 or map; repeatable. cranfield measures lists them."),
]
BestFirst = Annotated[bool, Option("--best-first", help="Sort runs by the first measure, best first.")]
ByTopic = Annotated[bool, Option("--by-topic", help="Scores of each topic, and the summary.")]
Topics = Annotated[
    str, Option(help="Topics to average: qrels (all topics of the qrels), common, run, or a file of topic ids.")
]
Like = Annotated[
    Literal["9", "10"] | None, Option("--as", help="Break ties and round recall levels as trec_eval 9 or 10.")
]
Ties = Annotated[
    Literal["trec", "best", "worst", "expected"],
    Option(help="Tie order: by id as trec_eval, best or worst case, or the mean over all orders."),
]
Duplicates = Annotated[
    str,
    Option(
        help="Near-duplicates of a higher-ranked document: plain (scored as any other), novelty (not relevant, by the"
        " clusters of the collection), or a file of clusters (document, tab, cluster)."
    ),
]
Clusters = Annotated[str | None, removed("--clusters", "use --duplicates FILE")]
LetterTest = Annotated[
    Literal["tukey", "t"] | None,
    Option(
        "--letters",
        help="Runs that do not differ significantly share a letter: Tukey's HSD, or paired t-tests with Holm.",
    ),
]
Plot = Annotated[
    Path | None,
    Option(help="Plot the first measure by topic (PNG, SVG, PDF); for iprec_at_recall, precision-recall curves."),
]
Curve = Annotated[bool, removed("--curve", "use -m iprec_at_recall --plot FILE")]
Explain = Annotated[bool, Option("--explain", help="Show the ranked list of a run for one topic.")]
Depth = Annotated[int, Option(min=1, help="Number of ranks that --explain shows.")]


def evaluate(
    runs: Runs = None,
    qrels: QrelsWord = None,
    skip_bad: SkipBad = False,
    measure: Measures = None,
    by_topic: ByTopic = False,
    best_first: BestFirst = False,
    topics: Topics = "qrels",
    like: Like = None,
    ties: Ties = "trec",
    duplicates: Duplicates = "plain",
    letters: LetterTest = None,
    plot: Plot = None,
    explain: Explain = False,
    depth: Depth = 30,
    layer: Layers = None,
    no_verdict: NoVerdict = False,
    groups: Groups = None,
    pool_depth: PoolDepth = None,
    card: CardFile = None,
    pool: PoolName = "",
    collection: Collection = COLLECTION,
    format: Format = "table",
    clusters: Clusters = None,
    curve: Curve = False,
) -> None:
    """Score runs against qrels, with a verdict on how reliable each score is."""
    # No matrices are multiplied here, and to start the threads for that takes longer than to score a run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if plot:
        figures.kind_of(plot)  # refused before anything is computed
    words = runs or []
    if explain:
        given = {"--by-topic": by_topic, "--best-first": best_first, "--topics": topics != "qrels"}
        _check_explain(words, given | {"--letters": letters, "--plot": plot})
    measures = measure or reading.DEFAULT_MEASURES
    named = [words[0], *words[2:]] if explain else runs
    chosen: dict[str, Any] = {"like": like, "ties": ties, **console.novelty(duplicates)}
    told: Any = {"layers": layer, "groups": groups, "pool_depth": pool_depth, "card": card, "pool": pool}
    with console.opened(collection, qrels=qrels, runs=named, skip_bad=skip_bad, warn=console.say, **told) as files:
        if explain:
            _put_lists(files.explain(words[1], *(named or ()), depth=depth, measures=measures, **chosen), format)
            return
        chosen |= {"by_topic": by_topic, "best_first": best_first, "topics": topics, "letters": letters}
        found = files.evaluate(measures, runs=named, verdicts=not no_verdict, **chosen)
    _put_scores(found, format)
    if plot:
        console.say(f"plotted {evaluate_figures.plot_evaluation(found, plot)} to {plot}")


def _check_explain(words: list[str], others: dict[str, Any]) -> None:
    """Refuse what `--explain` cannot show."""
    if len(words) not in (2, 3):
        raise typer.BadParameter("--explain needs RUN TOPIC, or RUN TOPIC RUN")
    idle = [name for name, value in others.items() if value]
    if idle:
        raise typer.BadParameter(f"--explain shows the lists of one topic; {', '.join(idle)} does not apply")


def _put_scores(found: "workflow.Evaluation", format: str) -> None:
    """Write scores; a table that is pasted elsewhere carries what a terminal has beside it."""
    made_with = workflow.made_with(found.scores)
    piped = format == "table" and console.goes_elsewhere(format)
    for note in found.notes:
        if not piped or note != made_with:
            console.say(note)
    if found.best_first and not found.scores.measures[0].quality:
        raise typer.BadParameter(f"--best-first: a higher {found.scores.measures[0]} does not indicate a better run")
    if format in DATA_FORMATS:
        console.put_table(found.table(), format)
    else:
        carried = [*found.notes, *found.legend] if format != "table" else [made_with] if piped else []
        wide, *others = found.tables()
        console.put_table(wide.with_notes(carried), format, wide=True)
        for other in others:
            console.put_table(other, format, wide=True, follows=True)
        if found.changes and not others:
            console.say("novelty scoring changes the rank of no run")
    for remark in found.remarks:
        if format not in DATA_FORMATS or remark != workflow.UNJUDGED_SAID:
            console.say(remark)


def _put_lists(found: "explaining.Explanation", format: str) -> None:
    """Write lists side by side, a little narrower where that makes them fit; else one below the other."""
    if format in DATA_FORMATS:
        console.put_table(found.table(), format)
        return
    together = (found.beside(found.lists, digits) for digits in explaining.DIGITS)
    tables = next(([table] for table in together if console.fits(table)), found.tables())
    elsewhere = console.goes_elsewhere(format)
    carried = [found.made_with, *(found.remarks if format != "table" else ())] if elsewhere else []
    for table in tables[:-1]:
        console.put_table(table, format)
    console.put_table(tables[-1].with_notes(carried), format)
    console.say(*(found.remarks if format == "table" else ()))
    if not elsewhere:
        console.say(found.made_with)
