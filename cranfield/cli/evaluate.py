"""`cranfield evaluate`: scores of runs against qrels."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, removed

with deferred:
    from cranfield.report import figures
    from cranfield.workflows.evaluate import explain as explaining
    from cranfield.workflows.evaluate import figures as evaluate_figures

Runs = Annotated[
    list[str] | None,
    Argument(help="Run files, or names of stored runs [default: all]. With --explain: RUN TOPIC [RUN]."),
]
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
    qrels: console.QrelsWord = None,
    skip_bad: console.SkipBad = False,
    measure: Measures = None,
    by_topic: ByTopic = False,
    best_first: BestFirst = False,
    topics: Topics = "qrels",
    like: Like = None,
    ties: Ties = "trec",
    duplicates: console.Duplicates = "plain",
    letters: LetterTest = None,
    plot: Plot = None,
    explain: Explain = False,
    depth: Depth = 30,
    layer: console.Layers = None,
    no_verdict: console.NoVerdict = False,
    groups: console.Groups = None,
    pool_depth: console.PoolDepth = None,
    pool: console.Pool = "",
    collection: console.Collection = COLLECTION,
    format: console.Format = "table",
    clusters: console.Clusters = None,
    curve: Curve = False,
    card: console.Card = None,
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
    named = [words[0], *words[2:]] if explain else runs
    chosen: dict[str, Any] = {"like": like, "ties": ties, **console.novelty(duplicates)}
    chosen |= {"measures": measure} if measure else {}
    described: Any = {"layers": layer, "groups": groups, "pool_depth": pool_depth, "pool": pool, "warn": console.say}
    with console.opened(collection, qrels=qrels, runs=named, skip_bad=skip_bad, **described) as files:
        if explain:
            _put_lists(files.explain(words[1], *(named or ()), depth=depth, **chosen), format)
            return
        chosen |= {"by_topic": by_topic, "best_first": best_first, "topics": topics, "letters": letters}
        found = files.evaluate(runs=named, verdicts=not no_verdict, **chosen)
    console.show(found, format)
    if plot:
        console.say(f"plotted {evaluate_figures.plot_evaluation(found, plot)} to {plot}")


def _check_explain(words: list[str], others: dict[str, Any]) -> None:
    """Refuse what `--explain` cannot show."""
    if len(words) not in (2, 3):
        raise typer.BadParameter("--explain needs RUN TOPIC, or RUN TOPIC RUN")
    idle = [name for name, value in others.items() if value]
    if idle:
        raise typer.BadParameter(f"--explain shows the lists of one topic; {', '.join(idle)} does not apply")


def _put_lists(found: "explaining.Explanation", format: str) -> None:
    """Write lists side by side, a little narrower where that makes them fit; else one below the other."""
    if format in console.DATA_FORMATS:
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
