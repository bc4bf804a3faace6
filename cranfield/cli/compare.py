"""`cranfield compare`: is a difference more than chance?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.report.table import Table, Value
    from cranfield.steps.compare import Compared, Comparing
    from cranfield.steps.evaluate import Evaluated

_LONG_FORMATS = ("csv", "json", "jsonl")
_PAIRS_SHOWN = 40
_DEFAULT_MEASURES = ("AP", "nDCG@10")


Runs = Annotated[list[str] | None, typer.Argument(help="Run files, or names of stored runs.", show_default=False)]
QrelsFile = Annotated[Path | None, typer.Option("--qrels", help="The file of qrels.")]
SavedScores = Annotated[
    list[Path] | None,
    typer.Option("--scores", help="Compare what evaluate --by-topic wrote (CSV, JSON lines) instead of runs."),
]
Measures = Annotated[list[str] | None, typer.Option("-m", "--measure", help="A measure; may be repeated.")]
Baselines = Annotated[
    list[str] | None, typer.Option("-b", "--baseline", help="Compare with this run only; may be repeated.")
]
Test = Annotated[str, typer.Option(help="t, wilcoxon, sign, randomisation, bootstrap, or tukey for all runs.")]
CorrectionName = Annotated[str, typer.Option(help="none, bonferroni, holm or benjamini-hochberg; tukey has its own.")]
Alpha = Annotated[float, typer.Option(min=0.0001, max=0.5, help="Significant from this corrected p down.")]
Systems = Annotated[
    list[str] | None, typer.Option("--system", help="NAME=RUN,RUN,…: several seeds of one system as one entry.")
]
Wanted = Annotated[float | None, typer.Option(min=0.0, help="Say how many topics this difference would need.")]
Power = Annotated[float, typer.Option(min=0.01, max=0.999, help="The chance of finding it, for --difference.")]
Tolerance = Annotated[float, typer.Option(min=0.0, help="Differences up to this on a topic are a tie.")]
Topics = Annotated[str, typer.Option(help="The topics that count: qrels, common, or a file of ids.")]
Like = Annotated[Literal["9", "10"] | None, typer.Option("--as", help="Order ties as trec_eval 9 or 10.")]
Duplicates = Annotated[
    Literal["plain", "novelty"],
    typer.Option(help="With novelty, near-duplicates of a document above count as not relevant."),
]
Clusters = Annotated[
    Path | None,
    typer.Option(help="Near-duplicates as document, tab, cluster; without it those the collection knows."),
]
Draws = Annotated[int, typer.Option(min=100, help="Random draws for intervals and drawing tests.")]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
Plot = Annotated[
    Path | None, typer.Option(help="Draw into this file (PNG, SVG, PDF): a pair topic by topic, more runs as strips.")
]
Mixed = Annotated[
    bool, typer.Option("--allow-mixed-qrels", help="Compare scores that were made with different qrels.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(compare)
    app.command("tests")(list_tests)


def compare(
    runs: Runs = None,
    qrels: QrelsFile = None,
    scores: SavedScores = None,
    measure: Measures = None,
    baseline: Baselines = None,
    test: Test = "t",
    correction: CorrectionName = "holm",
    alpha: Alpha = 0.05,
    system: Systems = None,
    difference: Wanted = None,
    power: Power = 0.8,
    tolerance: Tolerance = 0.0,
    topics: Topics = "qrels",
    like: Like = None,
    duplicates: Duplicates = "plain",
    clusters: Clusters = None,
    draws: Draws = 10_000,
    seed: Seed = 1,
    allow_mixed_qrels: Mixed = False,
    plot: Plot = None,
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Compare runs: differences, intervals, corrected significance."""
    from cranfield.steps import compare as step
    from cranfield.steps.evaluate import Asked
    from cranfield.steps.plotting import plot_comparison

    how = step.Comparing(tuple(baseline or ()), test, correction, alpha, tolerance, draws, seed)
    how = step.with_seed_systems(how, system or [])
    if scores:
        found, compared = step.compare_saved(scores, how, allow_mixed_qrels=allow_mixed_qrels)
    else:
        if qrels is None or not runs:
            raise typer.BadParameter("give runs and --qrels FILE, or --scores FILE")
        if clusters is not None and duplicates != "novelty":
            raise typer.BadParameter("--clusters is for --duplicates novelty")
        asked = Asked(
            qrels=qrels,
            runs=tuple(runs),
            measures=tuple(measure or _DEFAULT_MEASURES),
            topics=topics,
            like=like,
            duplicates=duplicates,
            clusters=clusters,
        )
        with console.collection_if_any(collection) as store, console.progress() as progress:
            found, compared = step.compare_runs(asked, how, store=store, progress=progress)
    if format in _LONG_FORMATS:
        console.put_table(_long(compared, found.scores.qrels_hash), format)
    else:
        for one in compared:
            _put(one, how, format)
    if plot:
        console.say(f"drew {plot_comparison(compared[0], found.scores.topic_ids, plot)} into {plot}")
    for note in _notes(found):
        console.say(note)
    _tell(compared, difference=difference, power=power, alpha=alpha)


def _put(one: "Compared", how: "Comparing", format: str) -> None:
    """Write the standing and the pairs of one measure."""
    console.put_table(_standing(one, how), format)
    shown = one.results if how.baselines else sorted(one.results, key=lambda result: (result.adjusted_p, result.p))
    console.put_table(_pairs(one, list(shown[:_PAIRS_SHOWN])), format)
    if len(one.results) > _PAIRS_SHOWN:
        console.say(f"the {_PAIRS_SHOWN} clearest of {len(one.results):,} pairs; --format csv gives all")


def _standing(one: "Compared", how: "Comparing") -> "Table":
    from cranfield.report.table import Column, table_of

    entries = sorted(zip(one.scores.means.tolist(), one.scores.labels, strict=True), key=lambda pair: -pair[0])
    by = f"{how.test}, {'over all runs' if how.test == 'tukey' else how.correction}, alpha {how.alpha:g}"
    if how.baselines:
        rows: list[tuple[Value, ...]] = [(name, mean, ", ".join(one.beaten.get(name, ()))) for mean, name in entries]
        note = f"beats: significantly better than ({by})"
        return table_of(["run", Column(one.measure, numeric=True), "beats"], rows, caption=one.measure, notes=[note])
    rows = [(name, mean, one.letters[name]) for mean, name in entries]
    note = f"runs that share a letter do not differ significantly ({by})"
    return table_of(["run", Column(one.measure, numeric=True), "group"], rows, caption=one.measure, notes=[note])


def _pairs(one: "Compared", results: list) -> "Table":  # type: ignore[type-arg]
    from cranfield.report.table import Column, table_of

    columns = [
        Column("run"),
        Column("against"),
        Column("difference", numeric=True),
        Column("low", "95% from", numeric=True),
        Column("high", "to", numeric=True),
        Column("won", "won/tied/lost"),
        Column("effect", digits=2, numeric=True),
        Column("p", numeric=True),
        Column("corrected", numeric=True),
    ]
    rows = [
        (
            result.a,
            result.b,
            result.difference,
            result.low,
            result.high,
            f"{result.wins}/{result.ties}/{result.losses}",
            result.effect,
            result.p,
            result.adjusted_p,
        )
        for result in results
    ]
    return table_of(columns, rows)


def _long(compared: "list[Compared]", qrels_hash: str) -> "Table":
    """Give one row per measure and pair with everything that is known of it."""
    from cranfield.report.table import table_of
    from cranfield.steps.compare import long_records

    records = long_records(compared, qrels_hash)
    return table_of(list(records[0]), [tuple(record.values()) for record in records])


def _notes(found: "Evaluated") -> list[str]:
    """Say what stands behind the scores; of scores that were saved only the qrels are known."""
    from cranfield.steps.evaluate_notes import HASH_SHOWN, notes_of

    return notes_of(found) if found.scores.counts else [f"qrels {found.scores.qrels_hash[:HASH_SHOWN]}"]


def _tell(compared: "list[Compared]", *, difference: float | None, power: float, alpha: float) -> None:
    from cranfield.steps.compare import needed_topics, smallest_difference

    for one in compared:
        for note in one.notes:
            console.say(f"note: {note}")
        topics = one.scores.values.shape[1]
        found = one.power
        console.say(
            f"{one.measure}: {found.significant:,} of {counted(found.pairs, 'pair')} significant on"
            f" {counted(topics, 'topic')}; {smallest_difference(one, power=power, alpha=alpha)}"
        )
        if difference is not None:
            console.say(f"{one.measure}: {needed_topics(one, difference, power=power, alpha=alpha)}")


def list_tests(format: Format = "table") -> None:
    """List the significance tests and corrections."""
    from cranfield.report.table import Column, table_of
    from cranfield.steps.listing import known_tests

    console.put_table(
        table_of(["kind", "name", Column("aliases", "also called"), Column("summary", "what it is")], known_tests()),
        format,
    )
