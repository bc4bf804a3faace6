"""Pool bias of a collection and of each run: what `cranfield reuse` works out and says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import UsageError
from cranfield.base.files import whole_file
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.workflows.reuse.field import Field, Trust, Trusted

with deferred:
    from cranfield.compare import comparison
    from cranfield.reuse import assess, card, hold_out, intervals, tables, verdict
    from cranfield.reuse import collection as reuse_collection

if TYPE_CHECKING:
    from cranfield.base.tables import Value
    from cranfield.evaluate.expression import Measure
    from cranfield.reuse.card import Card
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.provenance import Level
    from cranfield.reuse.verdict import Account, Thresholds, Verdict

MARKS = {"UNRELIABLE": "!", "UNTESTABLE": "~", "PROVISIONAL": "…", "CAUTION": "?", "SAFE": "", "POOLED": ""}
"""What stands behind a score in a table: nothing where it can be trusted."""


def mark_of(verdict: Verdict | None) -> str:
    """Give the mark of a verdict."""
    return "" if verdict is None else MARKS[verdict.level]


def examine_collection(
    field: Field,
    measures: Sequence[Measure],
    *,
    without: Sequence[Level] = (),
    thresholds: Thresholds | None = None,
) -> CollectionReport | None:
    """Hold out runs, groups and families, and judge the collection by it; None where it is not known who fed it.

    `without` names levels that are left out: holding out each of many runs takes time that grows with their cube.
    """
    if "group" not in field.levels or not measures:
        return None
    levels = {level: provenance for level, provenance in field.levels.items() if level not in without}
    return reuse_collection.examine(
        field.read.aligned, levels, list(measures), rel=field.relevant_from, thresholds=thresholds
    )


def card_for(found: Trusted) -> Card:
    """Make the card that lets others judge their runs with these qrels and without these runs."""
    field = found.field
    if field.prefixes is None:
        raise UsageError("a card needs the runs that fed the pool, and it is not known which did")
    if field.inferred:
        raise UsageError("a card cannot rest on a guess at the pool: tell it with --groups and --pool-depth")
    provenance = field.levels["group"]
    own = hold_out.hold_out_own(field.read.aligned, provenance, [trust.measure for trust in found.trusts])
    entries = [
        card.entry_of(
            trust.measure,
            trust.assessment.coverage.depth,
            model=trust.assessment.model,
            untestable=trust.assessment.untestable,
            losses=own.spread(trust.measure),
            families=trust.assessment.family_models,
        )
        for trust in found.trusts
    ]
    return card.card_of(field.read.aligned, pool_depth=field.depth, groups=len(provenance.groups), entries=entries)


def write_card(found: Trusted, path: Path) -> None:
    """Write the card of the pool into a file, complete or not at all."""
    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(card.card_text(card_for(found)), encoding="utf-8")


def threshold_values(words: Sequence[str]) -> dict[str, float]:
    """Read NAME=NUMBER."""
    values = {}
    for word in words:
        name, sign, number = word.partition("=")
        try:
            values[name.strip().replace("-", "_")] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise UsageError(f"a threshold is set as NAME=NUMBER, not {word!r}; see cranfield reuse --thresholds")
    return values


def rows_of(trust: Trust, runs: Sequence[int]) -> list[tuple[Value, ...]]:
    """Give everything that is known about runs under one measure."""
    return tables.trust_rows(
        trust.assessment, rank=trust.rank, ranks=trust.ranks, likely=trust.likely_ranks, runs=runs
    )


def depth_words(trust: Trust) -> str:
    """Give the depth that matters in words; nothing for RBP, whose weights have none."""
    return "" if trust.measure.kind.tail is not None else assess.depth_in_words(trust.assessment.coverage.depth)


def about_collection(report: CollectionReport) -> Iterator[str]:
    """Say in sentences what the pool of a collection is like."""
    yield (
        f"{counted(len(report.contributing), 'run')} of {counted(len(report.groups), 'group')} fed the pool;"
        f" {report.judged:,} judged, {report.relevant:,} relevant ({100 * report.relevance_rate:.1f} %),"
        f" {report.orphans:,} of the judged documents ({100 * report.orphan_share:.1f} %) come from nobody here"
    )
    gone = report.extrapolation
    testable = all(problem.severity != "error" for problem in report.problems)
    if testable and gone.refusal:
        yield f"relevant documents that were missed cannot be estimated: {gone.refusal}"
    elif testable:
        yield (
            f"going from depth {gone.from_depth} to {gone.to_depth} would probably find {gone.expected:,.0f} more"
            f" relevant documents ({gone.low:,.0f} to {gone.high:,.0f}); {gone.found:,} were found"
        )
    if report.not_exhausted:
        shown = ", ".join(report.not_exhausted[:10]) + (" …" if len(report.not_exhausted) > 10 else "")
        yield f"{counted(len(report.not_exhausted), 'topic')} still yielded at the last depth: {shown}"
    for problem in report.problems:
        yield f"{'this makes it untestable' if problem.severity == 'error' else 'mind'}: {problem.message}"


def without_verdict(found: Trusted, measures: Sequence[Measure]) -> Iterator[str]:
    """Say which measures take no verdict."""
    for measure in measures:
        if found.of(measure) is None:
            sampled = measure.kind.unjudged == "sampled"
            why = "an estimate from a sample, which accounts for" if sampled else "no score that"
            yield f"{measure} takes no verdict: it is {why} unjudged documents{'' if sampled else ' could change'}"


def about_noise(found: Trusted) -> Iterator[str]:
    """Say beside the tolerance how wide the intervals of differences are on these topics."""
    aligned = found.field.read.aligned
    common = aligned.scored.all(axis=0)
    for trust in found.trusts if common.any() else ():
        values = trust.measure.values(aligned.lists).reshape(aligned.shape)[:, common]
        width = comparison.median_half_width(values)
        if width == width:
            yield (
                f"{trust.measure}: verdicts forgive {trust.assessment.tolerance:g}; a difference of two of these"
                f" runs is known to ±{width:.3f} on these topics (median of 95 % intervals)"
            )


def told_of(found: Trusted, trust: Trust, run: int) -> str:
    """Give one run under one measure in sentences."""
    return verdict.account(account_of(found, trust, run))


def account_of(found: Trusted, trust: Trust, run: int) -> Account:
    """Give what there is to tell of one run under one measure, other runs aside."""
    assessment = trust.assessment
    return verdict.Account(
        run=assessment.run_names[run],
        measure=str(trust.measure),
        score=float(assessment.score[run]),
        depth=depth_words(trust),
        evidence=assessment.evidence[run],
        verdict=assessment.verdicts[run],
        contributed=found.field.fed_pool(run),
        to_pool=intervals.takes_pool_depth(trust.measure),
    )
