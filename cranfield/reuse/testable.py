"""Whether anything can be learned about holes in a pool, and if not, why."""

from cranfield.evaluate.align import Alignment
from cranfield.reuse.holes import fitting_shares
from cranfield.reuse.kappa import Kappa
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.thresholds import Thresholds
from cranfield.text import counted

NO_PROVENANCE = "it is not known which runs fed the pool, and there is no card"


def why_untestable(
    alignment: Alignment,
    provenance: Provenance | None,
    thresholds: Thresholds | None = None,
    *,
    relevant_from: int = 1,
) -> str:
    """Say why holding out groups teaches nothing here; an empty text where it does.

    `relevant_from` is the lowest grade that is relevant. The reasons: no provenance; qrels that have only positive
    rows, so that nobody knows what was looked at in vain; contributors that the qrels do not know down to the pool
    depth; too few groups; one group that owns most of what is unique and relevant.
    """
    table = thresholds or Thresholds()
    if provenance is None:
        return NO_PROVENANCE
    lists = alignment.lists
    if not lists.level_counts[:, lists.levels < relevant_from].sum():
        return "the qrels have no document that was judged not relevant"
    groups = len(provenance.groups)
    if groups < table.fewest_groups:
        return f"only {counted(groups, 'group')} fed the pool, and {table.fewest_groups:g} are needed"
    return _misfit(alignment, provenance, table) or _dominated(alignment, provenance, table, relevant_from)


def why_untaught(kappa: Kappa, thresholds: Thresholds | None = None) -> str:
    """Say why a kappa was learned from too little; an empty text where there is enough."""
    fewest = (thresholds or Thresholds()).fewest_holes
    if kappa.holes < fewest:
        return f"holding out groups made only {counted(kappa.holes, 'hole')}, and {fewest:g} are needed"
    if len(kappa.levels) < 2:
        return "all judged documents have one grade"
    return ""


def warnings_of(alignment: Alignment, provenance: Provenance, *, below: float = 0.99) -> list[str]:
    """Give one sentence for each contributor whose pooled documents are not nearly all in the qrels."""
    shares = fitting_shares(alignment, provenance)
    return [
        f"run {name!r} is said to have fed the pool, but of what it pooled only {100 * share:.0f} % is in the qrels"
        for name, share in zip(alignment.run_names, shares.tolist(), strict=True)
        if share < below
    ]


def _misfit(alignment: Alignment, provenance: Provenance, table: Thresholds) -> str:
    shares = fitting_shares(alignment, provenance)
    mean = float(shares[provenance.group_of_run >= 0].mean())
    if mean >= table.fitting_share:
        return ""
    return f"the pool depth does not fit: only {100 * mean:.0f} % of what the contributors pooled is in the qrels"


def _dominated(alignment: Alignment, provenance: Provenance, table: Thresholds, relevant_from: int) -> str:
    relevant = alignment.lists.levels >= relevant_from
    counts = provenance.removed_counts if provenance.method == "replay" else provenance.unique_counts
    unique = counts[:, :, relevant].sum(axis=(1, 2))
    largest, total = int(unique.argmax()), int(unique.sum())
    if total < table.fewest_holes or unique[largest] / total <= table.largest_share:
        return ""  # the larger half of two or three documents says nothing
    share = 100 * unique[largest] / total
    return f"group {provenance.groups[largest]!r} owns {share:.0f} % of the unique relevant documents"
