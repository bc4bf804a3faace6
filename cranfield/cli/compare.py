"""`cranfield compare`: is a difference more than chance?"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.evaluate import NoVerdict
from cranfield.cli.evaluated import collection_meant, qrels_named, runs_named_or_all
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.cli.reuse import CardFile, Groups, Layers, PoolDepth, PoolName, QrelsWord
from cranfield.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.compare.comparison import PairResult
    from cranfield.report.table import Table, Value
    from cranfield.steps.compare import Compared, Comparing
    from cranfield.steps.compare_claims import Claims
    from cranfield.steps.evaluate import Asked, Evaluated
    from cranfield.steps.reuse_field import PoolTold
    from cranfield.steps.trust import Trusted
    from cranfield.store import Store

    Said = tuple[Claims, Trusted | None]

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
    from cranfield.steps.evaluate import Asked
    from cranfield.steps.plotting import plot_comparison
    from cranfield.steps.reuse_field import PoolTold

    how = step.Comparing(tuple(baseline or ()), test, correction, alpha, tolerance, draws, seed)
    how = step.with_seed_systems(how, system or [])
    if clusters is not None and duplicates != "novelty":
        raise typer.BadParameter("--clusters is for --duplicates novelty")
    told = PoolTold(groups=groups, depth=pool_depth, card=card, pool=pool)
    if scores:
        found, compared = step.compare_saved(scores, how, allow_mixed_qrels=allow_mixed_qrels)
        said: Said = ({}, None)
    else:
        chosen = tuple(measure or _DEFAULT_MEASURES)
        asking = partial(Asked, measures=chosen, topics=topics, like=like, duplicates=duplicates, clusters=clusters)
        with collection_meant(collection, qrels, runs) as store:
            asked = asking(qrels=qrels_named(store, qrels, layer), runs=runs_named_or_all(store, runs))
            found, compared, said = _of_runs(asked, how, None if no_verdict else told, store)
    _put_all(found, compared, said, how, format)
    if plot:
        console.say(f"drew {plot_comparison(compared[0], found.scores.topic_ids, plot)} into {plot}")
    for note in _notes(found):
        console.say(note)
    _tell(compared, difference=difference, power=power, alpha=alpha)


def _of_runs(
    asked: "Asked", how: "Comparing", told: "PoolTold | None", store: "Store | None"
) -> "tuple[Evaluated, list[Compared], Said]":
    from cranfield.steps.compare import compare_runs

    with console.progress() as progress:
        found, compared = compare_runs(asked, how, store=store, progress=progress)
    wanted = told is not None and not how.systems and asked.duplicates == "plain"
    return found, compared, _claims(compared, asked, told, store) if wanted and told is not None else ({}, None)


def _claims(compared: "list[Compared]", asked: "Asked", told: "PoolTold", store: "Store | None") -> "Said":
    """Work out what may be said of the pairs; for measures that are not ours nothing can be."""
    from cranfield.evaluate.expression import Measure, parse_measures
    from cranfield.steps.compare_claims import claims_of

    if not all(isinstance(measure, Measure) for measure in parse_measures(asked.measures)):
        return {}, None
    found, trust = claims_of(compared, asked, told, store=store)
    for note in trust.notes:
        console.say(note)
    return found, trust


def _put_all(found: "Evaluated", compared: "list[Compared]", said: "Said", how: "Comparing", format: str) -> None:
    if format in _LONG_FORMATS:
        console.put_table(_long(compared, said[0], found.scores.qrels_hash), format)
        return
    for one in compared:
        _put(one, said, how, format)


def _put(one: "Compared", said: "Said", how: "Comparing", format: str) -> None:
    """Write the standing and the pairs of one measure."""
    console.put_table(_with_verdicts(_standing(one, how), one, said[1]), format)
    shown = one.results if how.baselines else sorted(one.results, key=lambda result: (result.adjusted_p, result.p))
    console.put_wide_table(_pairs(one, list(shown[:_PAIRS_SHOWN]), said[0]), format)
    if len(one.results) > _PAIRS_SHOWN:
        console.say(f"the {_PAIRS_SHOWN} clearest of {len(one.results):,} pairs; --format csv gives all")


def _with_verdicts(table: "Table", one: "Compared", trust: "Trusted | None") -> "Table":
    """Give the standing with the verdict on each score beside it."""
    from dataclasses import replace

    from cranfield.report.table import Column

    found = None if trust is None else next((each for each in trust.trusts if str(each.measure) == one.measure), None)
    if found is None:
        return table
    names = found.assessment.run_names
    verdicts = {
        name: verdict.level for name, verdict in zip(names, found.assessment.verdicts, strict=True) if verdict
    }
    rows = tuple((*row, verdicts.get(str(row[0]), "")) for row in table.rows)
    return replace(table, columns=(*table.columns, Column("verdict", kind="verdict")), rows=rows)


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


def _pairs(one: "Compared", results: "Sequence[PairResult]", claims: "Claims") -> "Table":
    from cranfield.report.table import Column, table_of

    columns = [
        Column("run"),
        Column("against"),
        Column("difference", numeric=True),
        Column("low", "95% from", numeric=True),
        Column("high", "to", numeric=True),
        Column("won", "won/tied/lost", numeric=True),
        Column("effect", digits=2, numeric=True),
        Column("p", numeric=True),
        Column("corrected", numeric=True),
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


def _long(compared: "list[Compared]", claims: "Claims", qrels_hash: str) -> "Table":
    """Give one row per measure and pair with everything that is known of it."""
    from cranfield.report.table import table_of
    from cranfield.steps.compare import long_records

    records = long_records(compared, qrels_hash)
    for record in records if claims else ():
        claim = claims.get((record["measure"], record["a"], record["b"]))
        record["claim"] = None if claim is None else claim.level
        record["claim_reason"] = None if claim is None else claim.reason
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
