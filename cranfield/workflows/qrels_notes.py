"""What should be told with qrels: grades of an older scale, and samples that strata do not describe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.judge.events import MAIN
from cranfield.qrels.rules import Rule
from cranfield.workflows.qrels_of import meant_by, merged_now
from cranfield.store import Store
from cranfield.store.releases import NOW, release, release_names
from cranfield.store.scales import other_scales
from cranfield.store.strata import draws_unevenly
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels

UNEVEN = (
    "the sample drew documents with different probabilities; xinfAP, infNDCG, statAP and statP take all of a"
    " stratum alike here, and are biased"
)


@dataclass(frozen=True, slots=True)
class OlderGrades:
    """How many deciding grades were given on another scale than the present one, and how many it does not have."""

    older: int = 0
    off_scale: int = 0

    def __str__(self) -> str:
        """Say it in one sentence; nothing where there are none."""
        if not self.older:
            return ""
        are = "is" if self.off_scale == 1 else "are"
        beside = f", {self.off_scale:,} of them {are} not on the present one" if self.off_scale else ""
        were = "was" if self.older == 1 else "were"
        return f"{counted(self.older, 'grade')} {were} given on an older scale{beside}"


def older_grades(
    store: Store,
    word: str | None = None,
    *,
    layers: Sequence[str] = (MAIN,),
    rule: Rule | None = None,
    up_to: int | None = None,
) -> OlderGrades:
    """Count the grades of an older scale in the qrels that a word means; of files nothing is known."""
    others, scale = other_scales(store)
    if not others:
        return OlderGrades()
    on_scale = [step.grade for step in scale.grades]
    chosen = meant_by(store, word, layers=layers)
    if chosen == NOW:
        return _of_judgments(store, list(others), on_scale, layers, rule, up_to)
    return _of_release(store, chosen, list(others), on_scale) if chosen in release_names(store) else OlderGrades()


def _of_judgments(
    store: Store,
    others: Sequence[int],
    on_scale: Sequence[int],
    layers: Sequence[str],
    rule: Rule | None,
    up_to: int | None,
) -> OlderGrades:
    import numpy as np

    opinions, merged = merged_now(store, layers=layers, rule=rule, up_to=up_to)
    older = merged.rows[np.isin(opinions.scales[merged.rows], others)]
    return OlderGrades(len(older), int((~np.isin(opinions.grades[older], on_scale)).sum()))


def _of_release(store: Store, name: str, others: Sequence[int], on_scale: Sequence[int]) -> OlderGrades:
    """Count in the manifest: what is not on the present scale can only come from another."""
    from cranfield.qrels.release import manifest_from

    manifest = manifest_from(release(store, name).manifest)
    older = sum(count for version, count in manifest.scales.items() if int(version) in others)
    off = sum(count for grade, count in manifest.grades.items() if int(grade) >= 0 and int(grade) not in on_scale)
    return OlderGrades(older, min(off, older))


def read_by_the_present_scale(store: Store, word: str | None, *, layers: Sequence[str] = (MAIN,)) -> str:
    """Warn whoever scores with qrels in which older grades stand; empty where there are none."""
    said = str(older_grades(store, word, layers=layers))
    relevant_from = other_scales(store)[1].relevant_from
    return f"{said}; all are read by the present one, with its gains, relevant from {relevant_from}" if said else ""


def sample_warning(store: Store, qrels: "Qrels") -> str:
    """Warn where strata tell too little of how the sample was drawn; empty where they do not."""
    return UNEVEN if qrels.strata is not None and draws_unevenly(store) else ""
