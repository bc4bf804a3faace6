"""What is said with scores: the topics behind them, the qrels, ties, copies, samples; and scores as long rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.errors import quoted
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.align import Alignment, AnyRun
    from cranfield.evaluate.expected import Expected
    from cranfield.evaluate.scores import Scores
    from cranfield.evaluate.ties import Moved
    from cranfield.qrels.qrels import Qrels
    from cranfield.workflows.evaluate import Evaluated

HASH_SHOWN = 16
_MOVES_SHOWN = 10
_TAGS_SHOWN = 3
_RUNS_NAMED = 3


def notes_of(found: "Evaluated", *, with_qrels: bool = True) -> list[str]:
    """Give everything that should be told about an evaluation, as sentences; the qrels where nothing else tells."""
    made = [made_with(found.scores)] if with_qrels else []
    return [*topic_notes(found.scores), *made, *found.notes, *_tie_notes(found.moved)]


def topic_notes(scores: "Scores") -> list[str]:
    """Say what stands behind the means: topics scored, missing, extra, without anything relevant.

    Runs of which the same is to be said share a line; the line of the most stands last.
    """
    runs_with: dict[str, list[str]] = {}
    for run, counts in zip(scores.run_names, scores.counts, strict=True):
        parts = [counted(counts.scored, "topic") + " scored"]
        parts += [f"{counts.missing:,} missing from the run (scored 0)"] if counts.missing else []
        parts += [f"{counts.nothing_relevant:,} with nothing relevant (scored 0)"] if counts.nothing_relevant else []
        parts += [f"{counts.extra:,} without qrels left out"] if counts.extra else []
        runs_with.setdefault(", ".join(parts), []).append(run)
    if len(runs_with) == 1 and len(scores.run_names) > 1:
        return [f"each of {counted(len(scores.run_names), 'run')}: {said}" for said in runs_with]
    most = max(runs_with, key=lambda said: len(runs_with[said]), default="")
    if len(runs_with.get(most, ())) <= _RUNS_NAMED:
        return [f"{', '.join(runs)}: {said}" for said, runs in runs_with.items()]
    others = [f"{_named(runs)}: {said}" for said, runs in runs_with.items() if said != most]
    return [*others, f"each of the other {counted(len(runs_with[most]), 'run')}: {most}"]


def _named(runs: Sequence[str]) -> str:
    more = len(runs) - _RUNS_NAMED
    return ", ".join(runs[:_RUNS_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def made_with(scores: "Scores") -> str:
    """Say which qrels and which order of ties stand behind scores."""
    order = f"{scores.ties} (trec_eval {scores.reference})" if scores.ties != "trec" else f"as in {scores.order}"
    return f"qrels {short_hash(scores.qrels_hash)}, order of ties {order if scores.order else 'not told'}"


def short_hash(qrels_hash: str) -> str:
    """Give a hash of qrels as it is shown; of mixed qrels those of all of them."""
    return "+".join(part[:HASH_SHOWN] for part in qrels_hash.split("+"))


def _tie_notes(moved: "Sequence[Moved]") -> list[str]:
    """Say which scores hang on the order of tied documents."""
    shown = [
        f"ties: {one.measure} of {one.run} is {one.value:.4f}, in other orders {one.worst:.4f} to {one.best:.4f}"
        f"{'' if one.exact else ' or further'}"
        for one in moved[:_MOVES_SHOWN]
    ]
    return [*shown, *([f"… and {len(moved) - _MOVES_SHOWN} more"] if len(moved) > _MOVES_SHOWN else [])]


def copies_note(aligned: "Alignment", novel: "Alignment") -> str:
    """Say how much novelty took away."""
    lost = int(((aligned.lists.grades > 0) & (novel.lists.grades == 0)).sum())
    return f"novelty: {counted(lost, 'retrieved document')} with a grade above 0 counted as not relevant, as copies"


def tag_notes(runs: "Sequence[AnyRun]") -> list[str]:
    """Say which files carry several tags: were they runs of several systems, their scores would mean nothing."""
    return [
        f"{run.tag}: its file carries several tags, also {', '.join(map(quoted, run.other_tags[:_TAGS_SHOWN]))};"
        " all rows were scored as one run"
        for run in runs
        if run.other_tags
    ]


def expected_note(found: "Expected") -> str:
    """Say how exact expected scores are."""
    if not found.drawn:
        return "ties: the expected scores are exact, over all orders"
    return (
        f"ties: exact over all orders but for {counted(found.drawn, 'list')} with too many, of which {found.orders:,}"
        f" random ones were drawn; the standard error of a mean is at most {found.error:.1g}"
    )


def sample_notes(qrels: "Qrels", aligned: "Alignment") -> list[str]:
    """Say what qrels that are a sample mean for the scores."""
    if qrels.strata is None:
        return []
    judged = int((qrels.grades >= 0).sum())
    drawn = f"the qrels are a sample, {judged:,} of {len(qrels):,} documents drawn"
    notes = [f"{drawn}: xinfAP, infNDCG, statAP and statP estimate what others take for not relevant"]
    empty = aligned.lists.sample.strata_without_draws()
    return [*notes, *([f"nothing was drawn from {counted(empty, 'stratum', 'strata')}"] if empty else [])]
