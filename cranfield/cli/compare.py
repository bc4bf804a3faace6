"""`cranfield compare`: is a difference more than chance?"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.evaluate import NoVerdict
from cranfield.cli.evaluated import collection_meant, qrels_named, runs_named_or_all, with_notes
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.cli.reuse import CardFile, Groups, Layers, PoolDepth, PoolName, QrelsWord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.compare.comparison import PairResult
    from cranfield.evaluate.scores import Scores
    from cranfield.report.table import Table, Value
    from cranfield.steps.compare import Compared, Comparing
    from cranfield.steps.compare_claims import Claims, Said, Verdicts
    from cranfield.steps.evaluate import Asked, Evaluated
    from cranfield.steps.reuse_field import PoolTold
    from cranfield.store import Store

_LONG_FORMATS = ("csv", "json", "jsonl")
_PAIRS_SHOWN = 40
_DEFAULT_MEASURES = ("AP", "nDCG@10")


Runs = Annotated[list[str] | None, typer.Argument(help="Run files, or names of stored runs.", show_default=False)]
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
    qrels: QrelsWord = None,
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
    layer: Layers = None,
    no_verdict: NoVerdict = False,
    groups: Groups = None,
    pool_depth: PoolDepth = None,
    card: CardFile = None,
    pool: PoolName = "",
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Compare runs: differences, intervals, corrected significance, and what unjudged documents leave of them."""
    from cranfield.steps import compare as step
    from cranfield.steps.compare_claims import said_of_saved
    from cranfield.steps.evaluate import Asked
    from cranfield.steps.plotting import plot_comparison
    from cranfield.steps.reuse_field import PoolTold

    how = step.Comparing(tuple(baseline or ()), test, correction, alpha, tolerance, draws, seed)
    how = step.with_seed_systems(how, system or [])
    if clusters is not None and duplicates != "novelty":
        raise typer.BadParameter("--clusters is for --duplicates novelty")
    told = PoolTold(groups=groups, depth=pool_depth, card=card, pool=pool)
    if scores:
        _refuse_beside_scores(
            runs=runs, qrels=qrels, topics=topics != "qrels", like=like, duplicates=duplicates != "plain",
            layer=layer, groups=groups, pool_depth=pool_depth, card=card, pool=pool,
        )  # fmt: skip
        mixed, chosen = allow_mixed_qrels, tuple(measure or ())
        found, compared, saved = step.compare_saved(scores, how, measures=chosen, allow_mixed_qrels=mixed)
        said = None if no_verdict else said_of_saved(saved)
    else:
        chosen = tuple(measure or _DEFAULT_MEASURES)
        asking = partial(Asked, measures=chosen, topics=topics, like=like, duplicates=duplicates, clusters=clusters)
        with collection_meant(collection, qrels, runs) as store:
            asked = asking(qrels=qrels_named(store, qrels, layer), runs=runs_named_or_all(store, runs))
            found, compared, said = _of_runs(asked, how, None if no_verdict else told, store)
    _put_all(found, compared, said, format)
    if plot:
        console.say(f"drew {plot_comparison(compared[0], found.scores, plot)} into {plot}")
    _tell(found, compared, difference=difference, power=power)


def _refuse_beside_scores(**given: object) -> None:
    """Refuse what would have no effect on scores that are there already."""
    words = {"runs": "RUN", "like": "--as"}
    idle = [words.get(name, f"--{name.replace('_', '-')}") for name, value in given.items() if value]
    if idle:
        raise typer.BadParameter(
            f"--scores compares scores as they were saved; {', '.join(idle)} would change nothing"
        )


def _of_runs(
    asked: "Asked", how: "Comparing", told: "PoolTold | None", store: "Store | None"
) -> "tuple[Evaluated, list[Compared], Said | None]":
    from cranfield.steps.compare import compare_runs
    from cranfield.steps.compare_claims import said_of

    with console.progress() as progress:
        found, compared = compare_runs(asked, how, store=store, progress=progress)
    return found, compared, None if told is None else said_of(compared, asked, how, told, store=store)


def _put_all(found: "Evaluated", compared: "list[Compared]", said: "Said | None", format: str) -> None:
    from cranfield.steps.evaluate_notes import made_with

    for note in () if said is None else said.notes:
        console.say(note)
    if format in _LONG_FORMATS:
        console.put_table(_long(compared, said, found.scores), format)
        return
    claims: Claims = {} if said is None else said.claims
    verdicts: Verdicts = {} if said is None else said.verdicts
    # What a terminal shows comes with sentences beside it; what is pasted elsewhere has to carry them.
    notes = [] if format == "table" else [made_with(found.scores)]
    for number, one in enumerate(compared):
        standing = with_notes(_with_verdicts(_standing(one), one, verdicts), notes)
        (console.put_next_table if number else console.put_wide_table)(standing, format)
        _put_pairs(one, claims, notes, format)


def _put_pairs(one: "Compared", claims: "Claims", notes: list[str], format: str) -> None:
    """Write the pairs of one measure, at most the clearest."""
    results = one.results
    shown = results if one.how.baselines else sorted(results, key=lambda result: (result.adjusted_p, result.p))
    clearest = f"the {_PAIRS_SHOWN} clearest of {len(results):,} pairs; --format csv gives all"
    more = [clearest] if len(results) > _PAIRS_SHOWN else []
    drawn = f"95% intervals by {one.how.draws:,} draws, seed {one.how.seed}"
    notes = [*notes, drawn, *more] if notes else []
    console.put_next_table(with_notes(_pairs(one, list(shown[:_PAIRS_SHOWN]), claims), notes), format)
    for note in more if not notes else ():
        console.say(note)


def _with_verdicts(table: "Table", one: "Compared", verdicts: "Verdicts") -> "Table":
    """Give the standing with the verdict on each score beside it, where the measure takes any."""
    from dataclasses import replace

    from cranfield.report.table import Column
    from cranfield.steps.compare_claims import verdict_of_entry

    if all(measure != one.measure for measure, _ in verdicts):
        return table
    rows = tuple((*row, verdict_of_entry(verdicts, one.measure, str(row[0]), one.how)) for row in table.rows)
    return replace(table, columns=(*table.columns, Column("verdict", kind="verdict")), rows=rows)


def _standing(one: "Compared") -> "Table":
    """Give the entries from best to worst, with what they beat or share; of seeds also how far they differ."""
    from cranfield.report.table import Column, table_of

    how, labels, seeds = one.how, one.scores.labels, one.scores.seeds
    means = one.scores.means.tolist()
    order = sorted(range(len(labels)), key=lambda place: -means[place])
    by = f"{how.test}, {'over all runs' if how.test == 'tukey' else how.correction}, alpha {how.alpha:g}"
    last = "beats" if how.baselines else "group"
    note = (
        "beats: significantly better than"
        if how.baselines
        else "runs that share a letter do not differ significantly"
    )
    columns: list[Column | str] = ["run", Column(one.measure, numeric=True)]
    columns += ["seeds", Column("between_seeds", numeric=True)] if how.systems else []
    between = [[int(seeds.count[place]), float(seeds.deviation[place])] if how.systems else [] for place in order]
    rows: list[tuple[Value, ...]] = []
    for place, seeded in zip(order, between, strict=True):
        name = labels[place]
        told = ", ".join(one.beaten.get(name, ())) if how.baselines else one.letters[name]
        rows.append((name, means[place], *seeded, told))
    notes = [f"{note} ({by})"]
    notes += ["between seeds: the standard deviation of their means"] if how.systems else []
    return table_of([*columns, last], rows, caption=one.measure, notes=notes)


def _pairs(one: "Compared", results: "Sequence[PairResult]", claims: "Claims") -> "Table":
    from cranfield.report.table import Column, table_of

    is_tukey = one.how.test == "tukey"
    columns = [
        Column("run"),
        Column("against"),
        Column("difference", numeric=True),
        Column("low", "95% from", numeric=True),
        Column("high", "to", numeric=True),
        Column("won", "won/tied/lost", numeric=True),
        Column("effect", digits=2, numeric=True),
        Column("p", "p (paired t)" if is_tukey else "p", numeric=True, kind="p"),
        Column("corrected", "Tukey's p" if is_tukey else "corrected", numeric=True, kind="p"),
        *([Column("claim", "while documents are unjudged")] if claims else []),
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
            *_claimed(one, result, claims),
        )
        for result in results
    ]
    return table_of(columns, rows)


def _claimed(one: "Compared", result: "PairResult", claims: "Claims") -> "tuple[Value, ...]":
    """Give the claim of a pair as a cell, where claims were worked out at all."""
    if not claims:
        return ()
    claim = claims.get((one.measure, result.a, result.b))
    if claim is None:
        return ("",)
    return (f"{claim.level}: {claim.winner}" if claim.winner else claim.level,)


def _long(compared: "list[Compared]", said: "Said | None", scores: "Scores") -> "Table":
    """Give one row per measure and pair with everything that is known of it."""
    from cranfield.report.table import table_of
    from cranfield.steps.compare import long_records
    from cranfield.steps.compare_claims import add_said

    records = long_records(compared, scores.qrels_hash, scores.order)
    if said is not None:
        add_said(records, said, compared[0].how)
    return table_of(list(records[0]), [tuple(record.values()) for record in records])


def _tell(found: "Evaluated", compared: "list[Compared]", *, difference: float | None, power: float) -> None:
    """Say what stands behind the scores, of saved ones the qrels alone, and what the topics could have shown."""
    from cranfield.steps.compare_notes import power_notes
    from cranfield.steps.evaluate_notes import made_with, notes_of

    for note in notes_of(found) if found.scores.counts else [made_with(found.scores), *found.notes]:
        console.say(note)
    for note in (note for one in compared for note in one.notes):
        console.say(f"note: {note}")
    for note in power_notes(compared, power=power, difference=difference):
        console.say(note)


def list_tests(format: Format = "table") -> None:
    """List the significance tests and corrections."""
    from cranfield.report.table import Column, table_of
    from cranfield.steps.listing import known_tests

    console.put_table(
        table_of(["kind", "name", Column("aliases", "also called"), Column("summary", "what it is")], known_tests()),
        format,
    )
