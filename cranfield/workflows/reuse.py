"""Pool bias of a collection and of each run: everything that `cranfield reuse` tells."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import UsageError
from cranfield.workflows.reuse_field import Field
from cranfield.workflows.trust import Trust, Trusted

if TYPE_CHECKING:
    from cranfield.evaluate.expression import Measure
    from cranfield.evaluate.lists import Values
    from cranfield.reuse.card import Card
    from cranfield.reuse.collection import CollectionReport
    from cranfield.reuse.contributors import Level
    from cranfield.reuse.estimates import Completed, Shift
    from cranfield.reuse.thresholds import Thresholds


@dataclass(frozen=True, eq=False)
class Estimated:
    """Estimates of one measure, which never replace a score: with the expected loss added, shifted, condensed."""

    measure: "Measure"
    completed: "Completed | None"
    shift: "Shift | None"
    condensed: "Values | None"


def examine_collection(
    field: Field,
    measures: "Sequence[Measure]",
    *,
    without: "Sequence[Level]" = (),
    thresholds: "Thresholds | None" = None,
) -> "CollectionReport | None":
    """Hold out runs, groups and families, and judge the collection by it; None where it is not known who fed it.

    `without` names levels that are left out: holding out each of many runs takes time that grows with their cube.
    """
    from cranfield.reuse.collection import examine

    if "group" not in field.levels or not measures:
        return None
    levels = {level: provenance for level, provenance in field.levels.items() if level not in without}
    return examine(field.read.aligned, levels, list(measures), rel=field.relevant_from, thresholds=thresholds)


def estimates(found: Trusted) -> "tuple[Estimated, ...]":
    """Give the estimates of every measure that has a verdict."""
    return tuple(_estimated(found.field, trust) for trust in found.trusts)


def _estimated(field: Field, trust: Trust) -> Estimated:
    from cranfield.reuse.estimates import completed, condensed_sibling, webber_park_shift
    from cranfield.reuse.leave_out import hold_out_own

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


def card_for(found: Trusted) -> "Card":
    """Make the card that lets others judge their runs with these qrels and without these runs."""
    from cranfield.reuse.card import card_of, entry_of
    from cranfield.reuse.leave_out import hold_out_own

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
    from cranfield.reuse.card import card_text
    from cranfield.writing import whole_file

    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(card_text(card_for(found)), encoding="utf-8")
