"""What is asked of `cranfield reuse`, and how its findings are told."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import UsageError
from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.measures_asked import measures_asked
from cranfield.workflows.qrels_of import qrels_for
from cranfield.workflows.reuse_field import Field, PoolTold, field_of
from cranfield.workflows.stored_runs import stored_names
from cranfield.workflows.trust import Trust, Trusted
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.align import AnyRun
    from cranfield.evaluate.expression import Measure
    from cranfield.report.table import Value
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.verdict import Verdict
    from cranfield.reuse.wording import Account


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Which scores are doubted, and what is told about the pool."""

    runs: "tuple[str | AnyRun, ...]"
    qrels: str | None
    measures: tuple[str, ...]
    layers: tuple[str, ...] = ()
    groups: Path | None = None
    depth: int | None = None
    card: Path | None = None
    pool: str = ""


def asked_field(doubt: Doubt, *, store: Store | None, progress: Progress = silent) -> "tuple[Field, list[Measure]]":
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


def rows_of(trust: Trust, runs: Sequence[int]) -> "list[tuple[Value, ...]]":
    """Give everything that is known about runs under one measure."""
    from cranfield.report.reuse_tables import trust_rows

    return trust_rows(trust.assessment, rank=trust.rank, ranks=trust.ranks, likely=trust.likely_ranks, runs=runs)


def depth_words(trust: Trust) -> str:
    """Give the depth that matters in words; nothing for RBP, whose weights have none."""
    from cranfield.reuse.holes import common_depth_of

    return "" if trust.measure.name == "RBP" else common_depth_of(trust.assessment.holes.depth)


def about_collection(report: "CollectionReport") -> Iterator[str]:
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


def without_verdict(found: Trusted, measures: "Sequence[Measure]") -> Iterator[str]:
    """Say which measures take no verdict."""
    for measure in measures:
        if found.of(measure) is None:
            yield f"{measure} takes no verdict: it is no score that unjudged documents could change"


def about_noise(found: Trusted) -> Iterator[str]:
    """Say beside the tolerance how wide the intervals of differences are on these topics."""
    from cranfield.compare.noise import median_half_width

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


def about_titles(store: Store, field: Field) -> tuple[str, ...]:
    """Say how many relevant documents have the words of their topic's title, where there is text."""
    from cranfield.workflows.title_words import title_words

    found = title_words(store, field.read.qrels, relevant_from=field.relevant_from)
    if found is None:
        return ()
    share, many = f"{100 * found[0]:.0f} %", counted(found[1], "topic")
    said = f"a word of a title stands in {share} of the known relevant documents that could have it ({many})"
    return (f"{said}; only a difference between collections on the same topics is evidence",)


def told_of(found: Trusted, trust: Trust, run: int) -> str:
    """Give one run under one measure in sentences."""
    from cranfield.reuse.wording import account

    return account(account_of(found, trust, run))


def account_of(found: Trusted, trust: Trust, run: int) -> "Account":
    """Give what there is to tell of one run under one measure, other runs aside."""
    from cranfield.reuse.holes import depth_is_of_pool
    from cranfield.reuse.wording import Account

    assessment = trust.assessment
    return Account(
        run=assessment.run_names[run],
        measure=str(trust.measure),
        score=float(assessment.score[run]),
        depth=depth_words(trust),
        evidence=assessment.evidence[run],
        verdict=assessment.verdicts[run],
        contributed=found.field.fed_pool(run),
        to_pool=depth_is_of_pool(trust.measure),
    )


MARKS = {"UNRELIABLE": "!", "UNTESTABLE": "~", "PROVISIONAL": "…", "CAUTION": "?", "SAFE": "", "POOLED": ""}
"""What stands behind a score in a table: nothing where it can be trusted."""


def mark_of(verdict: "Verdict | None") -> str:
    """Give the mark of a verdict."""
    return "" if verdict is None else MARKS[verdict.level]
