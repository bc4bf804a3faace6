"""Pool bias of a collection and of each run: everything that `cranfield reuse` tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import UsageError
from cranfield.base.progress import Progress, silent
from cranfield.base.text import counted
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import Asked, measures_asked, stored_names
from cranfield.workflows.qrels.current import qrels_for
from cranfield.workflows.reuse.field import Field, PoolTold, Trust, Trusted, field_of

if TYPE_CHECKING:
    from cranfield.base.tables import Value
    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.expression import Measure
    from cranfield.evaluate.lists import Values
    from cranfield.reuse.card import Card
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.expected_loss import Completed, Shift
    from cranfield.reuse.provenance import Level
    from cranfield.reuse.verdict import Account, Thresholds, Verdict


@dataclass(frozen=True, eq=False)
class Estimated:
    """Estimates of one measure, which never replace a score: with the expected loss added, shifted, condensed."""

    measure: Measure
    completed: Completed | None
    shift: Shift | None
    condensed: Values | None


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
    from cranfield.reuse.collection import examine

    if "group" not in field.levels or not measures:
        return None
    levels = {level: provenance for level, provenance in field.levels.items() if level not in without}
    return examine(field.read.aligned, levels, list(measures), rel=field.relevant_from, thresholds=thresholds)


def estimates(found: Trusted) -> tuple[Estimated, ...]:
    """Give the estimates of every measure that has a verdict."""
    return tuple(_estimated(found.field, trust) for trust in found.trusts)


def _estimated(field: Field, trust: Trust) -> Estimated:
    from cranfield.reuse.expected_loss import completed, condensed_sibling, webber_park_shift
    from cranfield.reuse.hold_out import hold_out_own

    assessment = trust.assessment
    shift = None
    if "group" in field.levels and len(field.levels["group"].groups) > 1:
        own = hold_out_own(field.read.aligned, field.levels["group"], [trust.measure])
        shift = webber_park_shift(own.drop[0], own.group_of_run)
    return Estimated(
        measure=trust.measure,
        completed=None if assessment.loss is None else completed(assessment.score, assessment.loss),
        shift=shift,
        condensed=condensed_sibling(field.read.aligned, trust.measure)[1],
    )


def card_for(found: Trusted) -> Card:
    """Make the card that lets others judge their runs with these qrels and without these runs."""
    from cranfield.reuse.card import card_of, entry_of
    from cranfield.reuse.hold_out import hold_out_own

    field = found.field
    if field.prefixes is None:
        raise UsageError("a card needs the runs that fed the pool, and it is not known which did")
    if field.guessed:
        raise UsageError("a card cannot rest on a guess at the pool: tell it with --groups and --pool-depth")
    provenance = field.levels["group"]
    own = hold_out_own(field.read.aligned, provenance, [trust.measure for trust in found.trusts])
    entries = [
        entry_of(
            trust.measure,
            trust.assessment.holes.depth,
            kappa=trust.assessment.kappa,
            untestable=trust.assessment.untestable,
            losses=own.spread(trust.measure),
            families=trust.assessment.family_kappas,
        )
        for trust in found.trusts
    ]
    return card_of(field.read.aligned, pool_depth=field.depth, groups=len(provenance.groups), entries=entries)


def write_reuse_card(found: Trusted, path: Path) -> None:
    """Write the card of the pool into a file, complete or not at all."""
    from cranfield.base.files import whole_file
    from cranfield.reuse.card import card_text

    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(card_text(card_for(found)), encoding="utf-8")


# What is asked of `cranfield reuse`, and how its findings are told.


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Which scores are doubted, and what is told about the pool."""

    runs: tuple[str | AnyRun, ...]
    qrels: str | None
    measures: tuple[str, ...]
    layers: tuple[str, ...] = ()
    groups: Path | None = None
    depth: int | None = None
    card: Path | None = None
    pool: str = ""


def asked_field(doubt: Doubt, *, store: Store | None, progress: Progress = silent) -> tuple[Field, list[Measure]]:
    """Read everything a doubt needs; without runs, all that are stored."""
    from cranfield.evaluate.expression import own_measures

    runs = doubt.runs or stored_names(store)
    if not runs:
        raise UsageError("which runs? name their files, and the qrels with --qrels; or a collection with -C")
    layers = {"layers": doubt.layers} if doubt.layers else {}
    qrels = qrels_for(store, doubt.qrels, with_unjudged=True, **layers)  # type: ignore[arg-type]
    measures = own_measures(measures_asked(doubt.measures, store))
    told = PoolTold(groups=doubt.groups, depth=doubt.depth, card=doubt.card, pool=doubt.pool)
    return field_of(Asked(qrels=qrels, runs=runs), told, store=store, progress=progress), list(measures)


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
    from cranfield.reuse.tables import trust_rows

    return trust_rows(trust.assessment, rank=trust.rank, ranks=trust.ranks, likely=trust.likely_ranks, runs=runs)


def depth_words(trust: Trust) -> str:
    """Give the depth that matters in words; nothing for RBP, whose weights have none."""
    from cranfield.reuse.assess import common_depth_of

    return "" if trust.measure.name == "RBP" else common_depth_of(trust.assessment.holes.depth)


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
    from cranfield.compare.comparison import median_half_width

    aligned = found.field.read.aligned
    common = aligned.scored.all(axis=0)
    for trust in found.trusts if common.any() else ():
        values = trust.measure.values(aligned.lists).reshape(aligned.shape)[:, common]
        width = median_half_width(values)
        if width == width:
            yield (
                f"{trust.measure}: verdicts forgive {trust.assessment.tolerance:g}; a difference of two of these"
                f" runs is known to ±{width:.3f} on these topics (median of 95 % intervals)"
            )


def told_of(found: Trusted, trust: Trust, run: int) -> str:
    """Give one run under one measure in sentences."""
    from cranfield.reuse.verdict import account

    return account(account_of(found, trust, run))


def account_of(found: Trusted, trust: Trust, run: int) -> Account:
    """Give what there is to tell of one run under one measure, other runs aside."""
    from cranfield.reuse.intervals import takes_pool_depth
    from cranfield.reuse.verdict import Account

    assessment = trust.assessment
    return Account(
        run=assessment.run_names[run],
        measure=str(trust.measure),
        score=float(assessment.score[run]),
        depth=depth_words(trust),
        evidence=assessment.evidence[run],
        verdict=assessment.verdicts[run],
        contributed=found.field.fed_pool(run),
        to_pool=takes_pool_depth(trust.measure),
    )


MARKS = {"UNRELIABLE": "!", "UNTESTABLE": "~", "PROVISIONAL": "…", "CAUTION": "?", "SAFE": "", "POOLED": ""}
"""What stands behind a score in a table: nothing where it can be trusted."""


def mark_of(verdict: Verdict | None) -> str:
    """Give the mark of a verdict."""
    return "" if verdict is None else MARKS[verdict.level]
