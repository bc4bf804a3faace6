"""`cranfield evaluate`: scores of runs against qrels."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from cranfield.base.records import MEASURES
from cranfield.base.registry import deferred
from cranfield.cli import chart as charts
from cranfield.cli import completion, console
from cranfield.cli.main import Stage

with deferred:
    from cranfield.report import figures
    from cranfield.workflows.evaluate import evaluate as evaluation

stage = Stage()

Runs = Annotated[
    list[str] | None,
    Argument(
        help="Run files, after a release bundle or with --qrels; or stored runs [default: all]. With --explain: RUN"
        " TOPIC [RUN].",
        autocompletion=completion.runs,
    ),
]
Measures = Annotated[list[str] | None, console.measure_option(MEASURES)]
ByTopic = Annotated[bool, "Scores of each topic, and the summary."]
Topics = Annotated[str, "Topics to average: qrels (all topics of the qrels), common, run, or a file of topic ids."]
Ties = Annotated[
    Literal["trec", "best", "worst", "expected"],
    "Tie order: by id as trec_eval, best or worst case, or the mean over all orders.",
]
Plot = Annotated[
    Path | None, "Plot the first measure by topic (PNG, SVG, PDF); for iprec_at_recall, precision-recall curves."
]
Chart = Annotated[bool, "Draw bars in the terminal, a chart for each measure; for iprec_at_recall, curves."]
Explain = Annotated[bool, "Show the ranked list of a run for one topic."]
Depth = Annotated[int, Option(min=1, help="Number of ranks that --explain shows.")]


@stage.command(
    "evaluate",
    "evaluate -m nDCG@10 -m AP --chart",
    "evaluate --qrels qrels.txt bm25.run dense.run",
    removed={
        "--as": "trec_eval 9 is cranfield trec-eval --as 9",
        "--best-first": "tables show the best run first",
        "--card": "use --pool FILE",
        "--clusters": "use --duplicates FILE",
        "--curve": "use -m iprec_at_recall --plot FILE",
        "--letters": "cranfield compare RUN… has significance tests, and the letters",
    },
)
def evaluate(
    inputs: console.ScoredInPool,
    runs: Runs = None,
    measure: Measures = None,
    by_topic: ByTopic = False,
    topics: Topics = "qrels",
    ties: Ties = "trec",
    duplicates: console.Duplicates = "plain",
    plot: Plot = None,
    chart: Chart = False,
    explain: Explain = False,
    depth: Depth = 30,
    no_verdict: console.NoVerdict = False,
    format: console.Format = "table",
) -> None:
    """Score runs against qrels, with a verdict on how reliable each score is."""
    if plot:
        figures.kind_of(plot)  # refused before anything is computed
    inputs, runs = console.bundle_first(inputs, runs)
    words = runs or []
    if explain:
        given: dict[str, Any] = {"--by-topic": by_topic, "--topics": topics != "qrels", "--ties": ties != "trec"}
        given |= {"--duplicates": duplicates != "plain", "--plot": plot, "--chart": chart}
        if len(words) not in (2, 3):
            raise typer.BadParameter("--explain needs RUN TOPIC, or RUN TOPIC RUN")
        if idle := ", ".join(name for name, value in given.items() if value):
            raise typer.BadParameter(f"--explain shows the lists of one topic; {idle} does not apply")
    named = [words[0], *words[2:]] if explain else runs
    with console.opened(inputs, named, warn=console.say) as files:
        if explain:
            console.show(files.explain(words[1], *(named or ()), depth=depth, measures=measure or "AP"), format)
            return
        how: dict[str, Any] = {"by_topic": by_topic, "topics": topics, "ties": ties, **console.novelty(duplicates)}
        found = files.evaluate(measure, runs=named, verdicts=not no_verdict, **how)
        step = found.trust.next_step(files.store) if found.trust and files.store and format == "table" else None
    console.show(found, format, draw=partial(_draw, found) if chart else None)
    if step:
        console.say(f"next: {step[0]}: cranfield {step[1]}")
    if plot:
        console.say(f"plotted {evaluation.plot_evaluation(found, plot)} to {plot}")


def _draw(found: "evaluation.Evaluation") -> None:
    """Draw a chart of each measure, or curves of the eleven levels of recall."""
    scores, names = found.scores, found.scores.run_names
    if evaluation.is_curve(scores):
        rows = [
            charts.Curve(names[run], scores.summary[:, run].tolist(), f"mean {scores.summary[:, run].mean():.4f}")
            for run in found.order
        ]
        charts.put("interpolated precision at recall 0, .1, … 1", rows)
        return
    for place, measure in enumerate(scores.measures):
        trust = None if found.trust is None else found.trust.of(measure)
        bars, legend = [], ""
        for run in found.order:
            value, high, verdict = float(scores.summary[place, run]), None, ""
            text = f"{value:.4f}"
            if trust is not None:
                (low, high), verdict = trust.evidence[run].interval, trust.verdicts[run].short
                if low is not None and high is not None and low < high:
                    legend = "{shade} up to the highest possible score; in brackets: the interval"
                    text += f" ({low:.4f}–{high:.4f})"
            bars.append(charts.Bar(names[run], value, high, f"{text} {verdict}", verdict))
        charts.put(str(measure), bars, legend=legend)
