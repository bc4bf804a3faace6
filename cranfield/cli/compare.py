"""`cranfield compare`: is a difference more than chance?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.evaluate import NoVerdict
from cranfield.cli.options import (
    COLLECTION,
    Collection,
    Format,
    collection_meant,
    qrels_named,
    removed,
    runs_named_or_all,
    with_notes,
)
from cranfield.cli.reuse import CardFile, Groups, Layers, PoolDepth, PoolName, QrelsWord

if TYPE_CHECKING:
    from cranfield.base.tables import Column, Table, Value
    from cranfield.compare.comparison import PairResult
    from cranfield.evaluate.scores import Scores
    from cranfield.store.store import Store
    from cranfield.workflows.compare.compare import Compared, Comparing
    from cranfield.workflows.compare.compare import Wanted as compare_Wanted
    from cranfield.workflows.compare.tables import Claims, Said, Shown, Verdicts
    from cranfield.workflows.evaluate.evaluate import Evaluation
    from cranfield.workflows.evaluate.inputs import Asked
    from cranfield.workflows.reuse.field import PoolTold


# What `cranfield compare` writes: the standing of the runs and their pairs, with what has to be told of them.

LONG_FORMATS = ("csv", "json", "jsonl")


def put_comparison(
    found: Evaluation,
    compared: list[Compared],
    said: Said | None,
    format: str,
    *,
    wanted: compare_Wanted,
    by_topic: bool = False,
) -> None:
    """Write how the runs stand and their pairs; as data, or by topic, the pairs alone."""
    from cranfield.workflows.compare.tables import shown_pairs

    if by_topic:
        _put_topics(found, compared, format)
        return
    for note in () if said is None else said.notes:
        console.say(note)
    if format in LONG_FORMATS:
        console.put_table(_long(compared, said, found.scores, wanted), format)
        return
    claims: Claims = {} if said is None else said.claims
    verdicts: Verdicts = {} if said is None else said.verdicts
    for number, one in enumerate(compared):
        standing = with_notes(_with_verdicts(_standing(one), one, verdicts), _carried_by_standing(found, one, format))
        (console.put_next_table if number else console.put_wide_table)(standing, format)
        shown = shown_pairs(one)
        pairs = with_notes(_pairs(one, shown, claims), _carried_by_pairs(found, one, claims, format, wanted))
        console.put_next_table(with_notes(pairs, [shown.said] if shown.said else []), format)


def _put_topics(found: Evaluation, compared: list[Compared], format: str) -> None:
    """Write the pairs topic by topic; as data all of them, for people those that are shown."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.compare.tables import shown_pairs, topic_records

    if format in LONG_FORMATS:
        records = topic_records(compared, found.scores)
        console.put_table(table_of(list(records[0]), [tuple(record.values()) for record in records]), format)
        return
    for number, one in enumerate(compared):
        shown = shown_pairs(one)
        notes = [*_carried_by_standing(found, one, format), *([shown.said] if shown.said else [])]
        table = with_notes(_topics(one, shown, found.scores), notes)
        (console.put_next_table if number else console.put_wide_table)(table, format)


def tell(
    found: Evaluation,
    compared: list[Compared],
    *,
    format: str,
    wanted: compare_Wanted,
    plot: Path | None,
    by_topic: bool = False,
) -> None:
    """Draw the first measure where that is wanted, and say what stands behind the scores and what could be shown."""
    from cranfield.workflows.compare.compare import all_notes, power_notes
    from cranfield.workflows.evaluate.evaluate import made_with

    if plot:
        from cranfield.workflows.evaluate.figures import plot_comparison

        console.say(f"drew {plot_comparison(compared[0], found.scores, plot)} into {plot}")
    in_table = format == "table" and console.goes_elsewhere(format)
    for note in found.notes:
        if not in_table or note != made_with(found.scores):
            console.say(note)
    for note in all_notes(compared, by_topic=by_topic):
        console.say(f"note: {note}")
    for note in power_notes(compared, wanted):
        console.say(note)


def _carried_by_standing(found: Evaluation, one: Compared, format: str) -> list[str]:
    """Give what a standing has to carry where it goes without the sentences that a terminal has beside it."""
    from cranfield.workflows.evaluate.evaluate import made_with

    if not console.goes_elsewhere(format):
        return []
    return [made_with(found.scores)] if format == "table" else [*found.notes, *one.notes]


def _carried_by_pairs(
    found: Evaluation, one: Compared, claims: Claims, format: str, wanted: compare_Wanted
) -> list[str]:
    """Give what a table of pairs has to carry where it is pasted elsewhere."""
    from cranfield.workflows.compare.compare import all_notes, power_notes
    from cranfield.workflows.compare.tables import about
    from cranfield.workflows.evaluate.evaluate import made_with

    if format == "table":
        return []
    power = power_notes([one], wanted)
    intervals = f"95% intervals by {one.how.interval_draws:,} draws, seed {one.how.seed}"
    drawn = [intervals] if one.results[0].topics > 1 else []
    mine = [claim for (measure, _, _), claim in claims.items() if measure == one.measure]
    return [made_with(found.scores), *drawn, *all_notes([one]), *power, *about(mine)]


def _with_verdicts(table: Table, one: Compared, verdicts: Verdicts) -> Table:
    """Give the standing with the verdict on each score beside it, where the measure takes any."""
    from dataclasses import replace

    from cranfield.base.tables import Column
    from cranfield.workflows.compare.tables import verdict_of_entry

    if all(measure != one.of.shown for measure, _ in verdicts):
        return table
    rows = tuple((*row, verdict_of_entry(verdicts, one.of.shown, str(row[0]), one.how)) for row in table.rows)
    return replace(table, columns=(*table.columns, Column("verdict", kind="verdict")), rows=rows)


def _standing(one: Compared) -> Table:
    """Give the entries from best to worst, with what they beat or share; of seeds also how far they differ."""
    from cranfield.base.tables import Column, table_of, with_best
    from cranfield.workflows.compare.tables import between_seeds, said_of_letters

    last, cells = _last_column(one)
    values, seeded = one.standing.tolist(), bool(one.how.systems)
    columns: list[Column | str] = ["run", Column(one.of.shown, one.of.shown, kind="number")]
    columns += ["seeds", Column("between_seeds", kind="number")] if seeded else []
    rows: list[tuple[Value, ...]] = []
    for place in one.order:
        name = one.scores.labels[place]
        seeds = (int(one.scores.seeds.count[place]), between_seeds(one, place)) if seeded else ()
        rows.append((name, values[place], *seeds, cells[name]))
    of_what = "mean logarithms" if one.of.logarithms else "means"
    notes = [said_of_letters(one)]
    notes += [f"between seeds: the standard deviation of their {of_what}"] if seeded else []
    table = table_of([*columns, last], rows, caption=one.of.shown, notes=notes)
    return with_best(table, [1]) if one.of.quality else table


def _last_column(one: Compared) -> tuple[Column, dict[str, str]]:
    """Give what stands behind each entry: what it is above, its letters, or whether it is level with the best."""
    from cranfield.base.tables import Column
    from cranfield.workflows.compare.tables import level_heading, level_with_the_best, named

    labels = one.scores.labels
    if one.how.baselines:
        column = Column("beats") if one.of.quality else Column("higher_than")
        return column, {name: named(one.beaten.get(name, ())) for name in labels}
    level = level_with_the_best(one)
    if level is None:
        return Column("letters"), {name: "".join(one.letters[name]) for name in labels}
    return Column("level", level_heading(one)), {name: "yes" if name in level else "" for name in labels}


def _pairs(one: Compared, shown: Shown, claims: Claims) -> Table:
    from cranfield.base.tables import Column, table_of

    is_tukey = one.how.test == "tukey"
    columns = [
        Column("run"),
        Column("against"),
        Column("difference", "difference of logs" if one.of.logarithms else "", kind="number"),
        Column("low", "95% from", kind="number"),
        Column("high", "to", kind="number"),
        Column("won", "won/tied/lost", kind="number"),
        Column("effect", digits=2, kind="number"),
        Column("p", "p (paired t)" if is_tukey else "p", kind="p"),
        Column("corrected", "Tukey's p" if is_tukey else "corrected", kind="p"),
        *([Column("claim", "while documents are unjudged")] if claims else []),
    ]
    rows = [
        (
            *_measured(result, turned=(result.a, result.b) in shown.turned),
            result.p,
            result.adjusted_p,
            *_claimed(one, result, claims),
        )
        for result in shown.pairs
    ]
    return table_of(columns, rows, caption=f"Differences in {one.measure}")


def _measured(result: PairResult, *, turned: bool) -> tuple[Value, ...]:
    """Give the cells of a pair up to the effect; turned round where b stands first."""
    if turned:
        ends = (-result.difference, -result.high, -result.low)
        won = f"{result.losses}/{result.ties}/{result.wins}"
        return (result.b, result.a, *ends, won, -result.effect)
    ends = (result.difference, result.low, result.high)
    return (result.a, result.b, *ends, f"{result.wins}/{result.ties}/{result.losses}", result.effect)


def _claimed(one: Compared, result: PairResult, claims: Claims) -> tuple[Value, ...]:
    """Give the claim of a pair as a cell, where claims were worked out at all."""
    if not claims:
        return ()
    claim = claims.get((one.measure, result.a, result.b))
    return ("" if claim is None else claim.said,)


def _topics(one: Compared, shown: Shown, scores: Scores) -> Table:
    """Give the pairs that are shown topic by topic."""
    from cranfield.base.tables import Column, table_of
    from cranfield.workflows.compare.tables import topics_of

    columns = [Column("run"), Column("against"), Column("topic")]
    columns += [Column("score_a", "score", kind="number"), Column("score_b", "other score", kind="number")]
    rows: list[tuple[Value, ...]] = []
    for result in shown.pairs:
        for record in topics_of(one, result, scores):
            names = (result.a, result.b, record["topic"])
            rows.append((*names, record["score_a"], record["score_b"], record["difference"]))
    return table_of(
        [*columns, Column("difference", kind="number")], rows, caption=f"Differences in {one.measure}, topic by topic"
    )


def _long(compared: list[Compared], said: Said | None, scores: Scores, wanted: compare_Wanted) -> Table:
    """Give one row per measure and pair with everything that is known of it."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.compare.tables import add_said, long_records

    records = long_records(compared, scores, wanted=wanted)
    if said is not None:
        add_said(records, said, compared)
    return table_of(list(records[0]), [tuple(record.values()) for record in records])


_DEFAULT_MEASURES = ("AP", "nDCG@10")


Runs = Annotated[list[str] | None, typer.Argument(help="Run files, or names of stored runs.", show_default=False)]
Measures = Annotated[list[str] | None, typer.Option("-m", "--measure", help="A measure; may be repeated.")]
Baselines = Annotated[
    list[str] | None,
    typer.Option("-b", "--baseline", help="Compare with this run only, by its file or its tag; may be repeated."),
]
Test = Annotated[str, typer.Option(help="t, wilcoxon, sign, randomisation, bootstrap, or tukey for all runs.")]
CorrectionName = Annotated[
    str | None,
    typer.Option(
        help="none, bonferroni, holm (the default) or benjamini-hochberg; tukey has its own.", show_default=False
    ),
]
Alpha = Annotated[float, typer.Option(min=0.0001, max=0.5, help="Significant from this corrected p down.")]
Systems = Annotated[
    list[str] | None, typer.Option("--system", help="NAME=RUN,RUN,…: several seeds of one system as one entry.")
]
Wanted = Annotated[float | None, typer.Option(min=0.0, help="Say how many topics this difference would need.")]
Tolerance = Annotated[float, typer.Option(min=0.0, help="Differences up to this on a topic are a tie.")]
Topics = Annotated[str, typer.Option(help="The topics that count: qrels (all of them), common, or a file of ids.")]
Like = Annotated[Literal["9", "10"] | None, typer.Option("--as", help="Order ties as trec_eval 9 or 10.")]
Duplicates = Annotated[
    Literal["plain", "novelty"],
    typer.Option(help="With novelty, near-duplicates of a document above count as not relevant."),
]
Clusters = Annotated[
    Path | None,
    typer.Option(help="Near-duplicates as document, tab, cluster; without it those the collection knows."),
]
Draws = Annotated[
    int | None,
    typer.Option(
        min=100,
        help="Random draws for intervals and drawing tests. By default 10,000, and for tests of many pairs so many"
        " that a pair can be significant.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the draws.")]
ByTopic = Annotated[bool, typer.Option("--by-topic", help="Both scores of each pair and their difference, by topic.")]
Plot = Annotated[
    Path | None,
    typer.Option(
        help="Draw the first measure into this file (PNG, SVG, PDF): a pair topic by topic; more as strips,"
        " with a baseline of the differences from it."
    ),
]
# Options that were dropped; the hints go with the next version.
_SAME_QRELS = "compare the runs themselves: cranfield compare RUN RUN… --qrels QRELS"
Scores_ = Annotated[str | None, removed("--scores", _SAME_QRELS)]
Mixed = Annotated[bool, removed("--allow-mixed-qrels", _SAME_QRELS)]
Power = Annotated[
    str | None, removed("--power", "the chance is 0.8; another one is the argument power of compare in Python")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(compare)
    app.command("tests")(list_tests)


def compare(
    runs: Runs = None,
    qrels: QrelsWord = None,
    measure: Measures = None,
    baseline: Baselines = None,
    test: Test = "t",
    correction: CorrectionName = None,
    alpha: Alpha = 0.05,
    system: Systems = None,
    difference: Wanted = None,
    tolerance: Tolerance = 0.0,
    topics: Topics = "qrels",
    like: Like = None,
    duplicates: Duplicates = "plain",
    clusters: Clusters = None,
    draws: Draws = None,
    seed: Seed = 1,
    by_topic: ByTopic = False,
    plot: Plot = None,
    layer: Layers = None,
    no_verdict: NoVerdict = False,
    groups: Groups = None,
    pool_depth: PoolDepth = None,
    card: CardFile = None,
    pool: PoolName = "",
    collection: Collection = COLLECTION,
    format: Format = "table",
    scores: Scores_ = None,
    allow_mixed_qrels: Mixed = False,
    power: Power = None,
) -> None:
    """Compare runs: differences, intervals, corrected significance, and what unjudged documents leave of them."""
    from cranfield.workflows.compare.compare import Comparing, Wanted, seed_systems
    from cranfield.workflows.evaluate.figures import refuse_other_kinds
    from cranfield.workflows.evaluate.inputs import Asked
    from cranfield.workflows.reuse.field import PoolTold

    names, seeds = tuple(baseline or ()), seed_systems(system or [])
    how = Comparing(names, test, correction or "", alpha, tolerance, draws, seed, systems=seeds)
    wanted = Wanted(difference=difference)
    refuse_other_kinds(plot)
    told = None if no_verdict or by_topic else PoolTold(groups=groups, depth=pool_depth, card=card, pool=pool)
    if clusters is not None and duplicates != "novelty":
        raise typer.BadParameter("--clusters is for --duplicates novelty")
    chosen = tuple(measure or _DEFAULT_MEASURES)
    asking = partial(Asked, measures=chosen, topics=topics, like=like, duplicates=duplicates, clusters=clusters)
    with collection_meant(collection, qrels, runs) as store:
        asked = asking(qrels=qrels_named(store, qrels, layer), runs=runs_named_or_all(store, runs))
        found, compared, said = _of_runs(asked, how, told, store)
    put_comparison(found, compared, said, format, wanted=wanted, by_topic=by_topic)
    tell(found, compared, format=format, wanted=wanted, plot=plot, by_topic=by_topic)


def _of_runs(
    asked: Asked, how: Comparing, told: PoolTold | None, store: Store | None
) -> tuple[Evaluation, list[Compared], Said | None]:
    from cranfield.workflows.compare.compare import compare_runs
    from cranfield.workflows.compare.tables import said_of
    from cranfield.workflows.evaluate.inputs import without_pipes

    asked = asked if told is None else without_pipes(asked)  # what unjudged documents leave is worked out by itself
    with console.progress() as progress:
        found, compared = compare_runs(asked, how, store=store, progress=progress)
    return found, compared, None if told is None else said_of(compared, asked, how, told, store=store)


def list_tests(
    name: Annotated[str, typer.Argument(help="A test or a correction; without one, all are listed.")] = "",
    format: Format = "table",
) -> None:
    """List the significance tests and corrections, or explain one."""
    from cranfield.base.tables import Column, table_of
    from cranfield.workflows.listing import described_test, known_tests

    if name:
        console.put(described_test(name))
        return
    console.put_table(
        table_of(["kind", "name", Column("aliases", "also called"), Column("summary", "what it is")], known_tests()),
        format,
    )
    console.say("formula and source of each: cranfield tests NAME")
