"""What `cranfield compare` writes: the standing of the runs and their pairs, with what has to be told of them."""

from typing import TYPE_CHECKING

from cranfield.cli import console
from cranfield.cli.evaluated import with_notes

if TYPE_CHECKING:
    from pathlib import Path

    from cranfield.compare.comparison import PairResult
    from cranfield.evaluate.scores import Scores
    from cranfield.report.table import Column, Table, Value
    from cranfield.workflows.compare import Compared
    from cranfield.workflows.compare_claims import Claims, Said, Verdicts
    from cranfield.workflows.compare_notes import Wanted
    from cranfield.workflows.compare_shown import Shown
    from cranfield.workflows.evaluate import Evaluated

LONG_FORMATS = ("csv", "json", "jsonl")


def put_comparison(
    found: "Evaluated",
    compared: "list[Compared]",
    said: "Said | None",
    format: str,
    *,
    wanted: "Wanted",
    by_topic: bool = False,
) -> None:
    """Write how the runs stand and their pairs; as data, or by topic, the pairs alone."""
    from cranfield.workflows.compare_shown import shown_pairs

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


def _put_topics(found: "Evaluated", compared: "list[Compared]", format: str) -> None:
    """Write the pairs topic by topic; as data all of them, for people those that are shown."""
    from cranfield.report.table import table_of
    from cranfield.workflows.compare_rows import topic_records
    from cranfield.workflows.compare_shown import shown_pairs

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
    found: "Evaluated",
    compared: "list[Compared]",
    *,
    format: str,
    wanted: "Wanted",
    plot: "Path | None",
    by_topic: bool = False,
) -> None:
    """Draw the first measure where that is wanted, and say what stands behind the scores and what could be shown.

    Behind saved scores stand the qrels alone.
    """
    from cranfield.workflows.compare_notes import all_notes, power_notes

    if plot:
        from cranfield.workflows.plotting import plot_comparison

        console.say(f"drew {plot_comparison(compared[0], found.scores, plot)} into {plot}")
    in_table = format == "table" and console.goes_elsewhere(format)
    for note in _story(found, with_qrels=not in_table):
        console.say(note)
    for note in all_notes(compared, by_topic=by_topic):
        console.say(f"note: {note}")
    for note in power_notes(compared, wanted):
        console.say(note)


def _story(found: "Evaluated", *, with_qrels: bool = True) -> list[str]:
    """Give what stands behind the scores: topics, qrels, ties. Saved scores do not tell their topics."""
    from cranfield.workflows.evaluate_notes import made_with, notes_of

    if found.scores.counts:
        return notes_of(found, with_qrels=with_qrels)
    return [*([made_with(found.scores)] if with_qrels else []), *found.notes]


def _carried_by_standing(found: "Evaluated", one: "Compared", format: str) -> list[str]:
    """Give what a standing has to carry where it goes without the sentences that a terminal has beside it."""
    from cranfield.workflows.evaluate_notes import made_with

    if not console.goes_elsewhere(format):
        return []
    return [made_with(found.scores)] if format == "table" else [*_story(found), *one.notes]


def _carried_by_pairs(
    found: "Evaluated", one: "Compared", claims: "Claims", format: str, wanted: "Wanted"
) -> list[str]:
    """Give what a table of pairs has to carry where it is pasted elsewhere."""
    from cranfield.workflows.compare_claims import about
    from cranfield.workflows.compare_notes import all_notes, power_notes
    from cranfield.workflows.evaluate_notes import made_with

    if format == "table":
        return []
    power = power_notes([one], wanted)
    intervals = f"95% intervals by {one.how.interval_draws:,} draws, seed {one.how.seed}"
    drawn = [intervals] if one.results[0].topics > 1 else []
    mine = [claim for (measure, _, _), claim in claims.items() if measure == one.measure]
    return [made_with(found.scores), *drawn, *all_notes([one]), *power, *about(mine)]


def _with_verdicts(table: "Table", one: "Compared", verdicts: "Verdicts") -> "Table":
    """Give the standing with the verdict on each score beside it, where the measure takes any."""
    from dataclasses import replace

    from cranfield.report.table import Column
    from cranfield.workflows.compare_claims import verdict_of_entry

    if all(measure != one.of.shown for measure, _ in verdicts):
        return table
    rows = tuple((*row, verdict_of_entry(verdicts, one.of.shown, str(row[0]), one.how)) for row in table.rows)
    return replace(table, columns=(*table.columns, Column("verdict", kind="verdict")), rows=rows)


def _standing(one: "Compared") -> "Table":
    """Give the entries from best to worst, with what they beat or share; of seeds also how far they differ."""
    from cranfield.report.table import Column, table_of, with_best
    from cranfield.workflows.compare_rows import between_seeds
    from cranfield.workflows.compare_shown import said_of_letters

    last, cells = _last_column(one)
    values, seeded = one.standing.tolist(), bool(one.how.systems)
    columns: list[Column | str] = ["run", Column(one.of.shown, one.of.shown, numeric=True)]
    columns += ["seeds", Column("between_seeds", numeric=True)] if seeded else []
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


def _last_column(one: "Compared") -> "tuple[Column, dict[str, str]]":
    """Give what stands behind each entry: what it is above, its letters, or whether it is level with the best."""
    from cranfield.report.table import Column
    from cranfield.workflows.compare_shown import level_heading, level_with_the_best, named

    labels = one.scores.labels
    if one.how.baselines:
        column = Column("beats") if one.of.quality else Column("higher_than")
        return column, {name: named(one.beaten.get(name, ())) for name in labels}
    level = level_with_the_best(one)
    if level is None:
        return Column("letters"), {name: "".join(one.letters[name]) for name in labels}
    return Column("level", level_heading(one)), {name: "yes" if name in level else "" for name in labels}


def _pairs(one: "Compared", shown: "Shown", claims: "Claims") -> "Table":
    from cranfield.report.table import Column, table_of

    is_tukey = one.how.test == "tukey"
    columns = [
        Column("run"),
        Column("against"),
        Column("difference", "difference of logs" if one.of.logarithms else "", numeric=True),
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
            *_measured(result, turned=(result.a, result.b) in shown.turned),
            result.p,
            result.adjusted_p,
            *_claimed(one, result, claims),
        )
        for result in shown.pairs
    ]
    return table_of(columns, rows, caption=f"Differences in {one.measure}")


def _measured(result: "PairResult", *, turned: bool) -> "tuple[Value, ...]":
    """Give the cells of a pair up to the effect; turned round where b stands first."""
    if turned:
        ends = (-result.difference, -result.high, -result.low)
        won = f"{result.losses}/{result.ties}/{result.wins}"
        return (result.b, result.a, *ends, won, -result.effect)
    ends = (result.difference, result.low, result.high)
    return (result.a, result.b, *ends, f"{result.wins}/{result.ties}/{result.losses}", result.effect)


def _claimed(one: "Compared", result: "PairResult", claims: "Claims") -> "tuple[Value, ...]":
    """Give the claim of a pair as a cell, where claims were worked out at all."""
    if not claims:
        return ()
    claim = claims.get((one.measure, result.a, result.b))
    return ("" if claim is None else claim.said,)


def _topics(one: "Compared", shown: "Shown", scores: "Scores") -> "Table":
    """Give the pairs that are shown topic by topic."""
    from cranfield.report.table import Column, table_of
    from cranfield.workflows.compare_rows import topics_of

    columns = [Column("run"), Column("against"), Column("topic")]
    columns += [Column("score_a", "score", numeric=True), Column("score_b", "other score", numeric=True)]
    rows: list[tuple[Value, ...]] = []
    for result in shown.pairs:
        for record in topics_of(one, result, scores):
            names = (result.a, result.b, record["topic"])
            rows.append((*names, record["score_a"], record["score_b"], record["difference"]))
    return table_of(
        [*columns, Column("difference", numeric=True)], rows, caption=f"Differences in {one.measure}, topic by topic"
    )


def _long(compared: "list[Compared]", said: "Said | None", scores: "Scores", wanted: "Wanted") -> "Table":
    """Give one row per measure and pair with everything that is known of it."""
    from cranfield.report.table import table_of
    from cranfield.workflows.compare_claims import add_said
    from cranfield.workflows.compare_rows import long_records

    records = long_records(compared, scores, wanted=wanted)
    if said is not None:
        add_said(records, said, compared)
    return table_of(list(records[0]), [tuple(record.values()) for record in records])
