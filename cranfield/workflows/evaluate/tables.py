"""What is said with scores: the topics behind them, the qrels, ties, copies, samples; and scores as long rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.text import counted, shortened
from cranfield.store.scales import current_scale
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import Asked, LetterTest, gains_of, measures_asked, read_in_full

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from cranfield.evaluate.align import Alignment, AnyRun
    from cranfield.evaluate.lists import GradeGains
    from cranfield.evaluate.scores import Scores, Step
    from cranfield.evaluate.ties import Expected, Moved
    from cranfield.qrels.qrels import Qrels
    from cranfield.report.figures import On
    from cranfield.workflows.compare.compare import Compared
    from cranfield.workflows.evaluate.evaluate import Evaluated


HASH_SHOWN = 16
_MOVES_SHOWN = 10
_TAGS_SHOWN = 3
_RUNS_NAMED = 3


def notes_of(found: Evaluated, *, with_qrels: bool = True) -> list[str]:
    """Give everything that should be told about an evaluation, as sentences; the qrels where nothing else tells."""
    made = [made_with(found.scores)] if with_qrels else []
    return [*topic_notes(found.scores), *made, *found.notes, *_tie_notes(found.moved)]


def topic_notes(scores: Scores) -> list[str]:
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


def made_with(scores: Scores) -> str:
    """Say which qrels and which order of ties stand behind scores."""
    order = f"{scores.ties} (trec_eval {scores.reference})" if scores.ties != "trec" else f"as in {scores.order}"
    return f"qrels {short_hash(scores.qrels_hash)}, order of ties {order if scores.order else 'not told'}"


def short_hash(qrels_hash: str) -> str:
    """Give a hash of qrels as it is shown; of mixed qrels those of all of them."""
    return "+".join(part[:HASH_SHOWN] for part in qrels_hash.split("+"))


def _tie_notes(moved: Sequence[Moved]) -> list[str]:
    """Say which scores hang on the order of tied documents."""
    shown = [
        f"ties: {one.measure} of {one.run} is {one.value:.4f}, in other orders {one.worst:.4f} to {one.best:.4f}"
        f"{'' if one.exact else ' or further'}"
        for one in moved[:_MOVES_SHOWN]
    ]
    return [*shown, *([f"… and {len(moved) - _MOVES_SHOWN} more"] if len(moved) > _MOVES_SHOWN else [])]


def copies_note(aligned: Alignment, novel: Alignment) -> str:
    """Say how much novelty took away."""
    lost = int(((aligned.lists.grades > 0) & (novel.lists.grades == 0)).sum())
    return f"novelty: {counted(lost, 'retrieved document')} with a grade above 0 counted as not relevant, as copies"


def tag_notes(runs: Sequence[AnyRun]) -> list[str]:
    """Say which files carry several tags: were they runs of several systems, their scores would mean nothing."""
    return [
        f"{run.tag}: its file carries several tags, also {', '.join(map(quoted, run.other_tags[:_TAGS_SHOWN]))};"
        " all rows were scored as one run"
        for run in runs
        if run.other_tags
    ]


def expected_note(found: Expected) -> str:
    """Say how exact expected scores are."""
    if not found.drawn:
        return "ties: the expected scores are exact, over all orders"
    return (
        f"ties: exact over all orders but for {counted(found.drawn, 'list')} with too many, of which {found.orders:,}"
        f" random ones were drawn; the standard error of a mean is at most {found.error:.1g}"
    )


def sample_notes(qrels: Qrels, aligned: Alignment) -> list[str]:
    """Say what qrels that are a sample mean for the scores."""
    if qrels.strata is None:
        return []
    judged = int((qrels.grades >= 0).sum())
    drawn = f"the qrels are a sample, {judged:,} of {len(qrels):,} documents drawn"
    notes = [f"{drawn}: xinfAP, infNDCG, statAP and statP estimate what others take for not relevant"]
    empty = aligned.lists.sample.strata_without_draws()
    return [*notes, *([f"nothing was drawn from {counted(empty, 'stratum', 'strata')}"] if empty else [])]


# Scores as long rows: one for each run, topic and measure, with the columns that an evaluation adds.

ALL = "all"

Row = tuple[str, str, str, float]


def long_rows(found: Evaluated, *, by_topic: bool) -> list[Row]:
    """Give run, topic, measure and value; the topic of a summary is `all`."""
    return list(found.scores.rows(by_topic=by_topic))


def topics_scored(found: Evaluated, rows: list[Row]) -> list[int | None]:
    """Give beside each long row how many topics a summary is made of."""
    counts = {run: one.scored for run, one in zip(found.scores.run_names, found.scores.counts, strict=True)}
    return [counts[run] if topic == ALL else None for run, topic, _, _ in rows]


def added_columns(found: Evaluated, rows: list[Row], *, by_topic: bool) -> dict[str, list[str | int | float | None]]:
    """Give the columns beside the long rows: the plain value and the places under novelty, and letters."""
    added: dict[str, list[str | int | float | None]] = {}
    if found.plain is not None:
        added["plain"] = [row[3] for row in found.plain.rows(by_topic=by_topic)]
        places = {(one.run, ALL, one.measure): one for one in found.changes}
        added["rank"] = [places[row[:3]].rank if row[:3] in places else None for row in rows]
        added["plain_rank"] = [places[row[:3]].plain_rank if row[:3] in places else None for row in rows]
    if found.letters is not None:
        measures = map(str, found.scores.measures)
        known = {
            (run, ALL, measure): letters
            for measure, given in zip(measures, found.letters.by_measure, strict=True)
            for run, letters in given.items()
        }

        added["letters"] = [known.get(row[:3]) for row in rows]
        added["letters_test"] = [found.letters.test if row[:3] in known else None for row in rows]
        added["letters_alpha"] = [ALPHA if row[:3] in known else None for row in rows]
    return added


def frame_of(found: Evaluated, *, by_topic: bool) -> pandas.DataFrame:
    """Give the rows as a pandas frame; its attributes say with which qrels and in whose order they were made."""
    rows = long_rows(found, by_topic=by_topic)
    frame = found.scores.frame(by_topic=by_topic)
    for name, cells in added_columns(found, rows, by_topic=by_topic).items():
        frame[name] = cells
    return frame


# Significance letters beside scores.

ALPHA = 0.05
SEED = 1
LEVEL = "="
"""What marks runs that do not differ significantly from the best, where there are too many for letters."""

MOST_LETTERS = 12
"""Where a run has more letters than this, nobody sees from them whom it differs from."""


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of each run under each measure, what they mean, and the test behind them, by name and in words.

    A measure whose topics are not averaged has none.
    """

    by_measure: tuple[Mapping[str, str], ...]
    meaning: str
    test: LetterTest
    tested: str

    @property
    def said(self) -> str:
        """The sentence that stands above a table."""
        return f"{self.meaning} ({self.tested})"

    def for_people(self, scores: Scores) -> Letters:
        """Give what a table has room for: where runs have very many letters, a mark at those level with the best."""
        if max((len(one) for given in self.by_measure for one in given.values()), default=0) <= MOST_LETTERS:
            return self
        level = []
        for place, given in enumerate(self.by_measure):
            best = scores.run_names[int(scores.summary[place].argmax())]
            shared = set(given.get(best, ""))
            level.append({run: LEVEL if shared & set(letters) else "" for run, letters in given.items()})
        meaning = f"{LEVEL} not significantly different from the best; csv has letters"
        return replace(self, by_measure=tuple(level), meaning=meaning)


@dataclass(frozen=True, slots=True)
class BestGroup:
    """The runs that do not differ significantly from the best under one measure, and the sentence that says so."""

    runs: frozenset[str]
    said: str


def best_group(scores: Scores) -> BestGroup | None:
    """Find who is level with the best under the first measure, by the test that letters are made with.

    None where the runs are not all on the same topics, or the measure is not a mean.
    """
    from cranfield.compare.comparison import SAID, tukey
    from cranfield.compare.differences import seeded, significant

    measure, values = scores.measures[0], scores.values[0]
    if len(values) < 2 or not scores.scored.all() or measure.aggregate != "mean" or not measure.quality:
        return None
    best = int(values.mean(axis=1).argmax())
    different = significant(tukey(values, rng=seeded(SEED)).p[best], alpha=ALPHA)
    level = frozenset(name for place, name in enumerate(scores.run_names) if place == best or not different[place])
    said = f"level with the best: not significantly below it in {measure} ({SAID['tukey']}, alpha {ALPHA:g})"
    return BestGroup(level, said)


def letters_of(scores: Scores, test: LetterTest) -> Letters:
    """Find the letters of scores that are on the same topics for all runs."""
    from cranfield.compare.comparison import SAID, letters_of_scores
    from cranfield.compare.differences import seeded

    if not scores.scored.all():
        raise UsageError("letters need all runs on the same topics; use --topics qrels or common")
    found = [
        letters_of_scores(scores.run_names, values, test=test, alpha=ALPHA, rng=seeded(SEED))
        if measure.aggregate == "mean" and measure.quality
        else {}
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]
    tested = f"{SAID[test]}, alpha {ALPHA:g}, {counted(len(scores.topic_ids), 'topic')}"
    return Letters(tuple(found), "runs that share a letter do not differ significantly", test, tested)


# Lay open the lists of runs for one topic, by the same qrels, order and threshold that scores are made with.


_UNSEEN_NAMED = 8


@dataclass(frozen=True)
class Explained:
    """The lists of runs for a topic, each with the name of its run; what they were made with; what is relevant.

    `unseen` are sentences on the relevant documents that are not among those shown.
    """

    topic: str
    lists: tuple[tuple[str, list[Step]], ...]
    unseen: tuple[str, ...]
    qrels_hash: str
    order: str
    rel: int
    gains: GradeGains = ()

    def __iter__(self) -> Iterator[tuple[str, list[Step]]]:
        return iter(self.lists)


def explain_lists(asked: Asked, topic: str, *, depth: int = 30, store: Store | None = None) -> Explained:
    """Give for each run its name and its list for a topic, laid open.

    Of the measures asked for the threshold counts, which has to be one for all of them.
    """
    from cranfield.evaluate.scores import explain, novelty_hash, relevant_documents

    if not isinstance(topic, str):
        raise UsageError(f"a topic is named by its id, a word: {str(topic)!r}, not {topic!r}")
    if asked.ties == "expected":
        raise UsageError("an expected score is a mean over many lists: there is no single one to lay open")
    if asked.duplicates == "novelty" and asked.ties != "trec":
        raise UsageError("with novelty ties stay as they are: which copy is first hangs on their order")
    rel, gains = _scale(asked, store)
    clusters = None
    if asked.duplicates == "novelty":
        from cranfield.workflows.corpus import clusters_for

        clusters = clusters_for(asked.clusters, store)
    qrels, runs = read_in_full(asked, store)
    reference = asked.like or "10"
    explained = partial(explain, rel=rel, gains=gains, reference=reference, ties=asked.ties, clusters=clusters)
    whole = [(run.tag, explained(qrels, run, topic)) for run in runs]
    if not any(steps for _, steps in whole):
        names = ", ".join(quoted(name) for name, _ in whole)
        raise InputError(f"there is no document for topic {quoted(topic)} in {names}")
    order = f"trec_eval {reference}" + ("" if asked.ties == "trec" else f", ties {asked.ties}")
    made_of = qrels.content_hash if clusters is None else novelty_hash(qrels, clusters)
    relevant = relevant_documents(qrels, topic, rel=rel) if clusters is None else {}
    lists = tuple((name, steps[:depth]) for name, steps in whole)
    unseen = tuple(note for name, steps in whole for note in _unseen(name, steps, depth, relevant))
    return Explained(topic, lists, unseen, made_of, order, rel, gains)


def _unseen(name: str, steps: list[Step], depth: int, relevant: Mapping[str, int]) -> Iterator[str]:
    """Say which relevant documents are not among those shown, and where they are."""
    further = [f"{step.document} (grade {step.state}, rank {step.rank})" for step in steps[depth:] if step.relevant]
    if further:
        yield f"{name}: relevant further down: {_few(further)}"
    there = {step.document for step in steps}
    missing = [f"{document} (grade {grade})" for document, grade in relevant.items() if document not in there]
    if missing:
        yield f"{name}: relevant and not in the list: {_few(missing)}"


def _few(words: list[str]) -> str:
    more = len(words) - _UNSEEN_NAMED
    return ", ".join(words[:_UNSEEN_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _scale(asked: Asked, store: Store | None) -> tuple[int, GradeGains]:
    """Give the lowest grade that is relevant, and gains: what the measures say, else what the collection does."""
    from cranfield.evaluate.expression import own_measures

    measures = own_measures(measures_asked(asked.measures, store))
    idle = [str(one) for one in measures if {name for name, _ in one.settings} - {"rel", "gains"}]
    if idle:
        raise UsageError(f"a list is laid open with P, R and DCG; of {idle[0]} only rel and gains could be shown")
    found = {one.rel for one in measures if one.rel is not None}
    if len(found) > 1:
        raise UsageError("a list is laid open for one threshold; these measures have several")
    gains = {
        cast("GradeGains", dict(one.settings).get("gains", ())) for one in measures if "gains" in one.kind.parameters
    }
    if len(gains) > 1:
        raise UsageError("a list is laid open with one gain for each grade; these measures have several")
    scale = None if store is None else current_scale(store)[1]
    usual = (1, ()) if scale is None else (scale.relevant_from, gains_of(scale))
    return found.pop() if found else usual[0], gains.pop() if gains else usual[1]


# Figures of scores and differences, on axes or written to files.

LEVELS = tuple(f"IPrec@{level / 10:.1f}" for level in range(11))
"""The measures behind a precision–recall curve."""

_BARS = {
    "mean": "its mean",
    "geometric": "its geometric mean",
    "median": "its median",
    "min": "its minimum",
    "max": "its maximum",
    "sum": "its mean, not the sum",
}
"""What the bar of a strip is, by how a measure puts topics together."""

_LACKING_SHOWN = 12


def plot_comparison(compared: Compared, scores: Scores, path: Path) -> str:
    """Draw one pair as differences per topic, several as strips: of differences from a baseline, else of the runs.

    Gives what was drawn. `scores` are those the comparison is of.
    """
    from cranfield.report.figures import strips

    entries = compared.scores
    if len(compared.results) == 1:
        (pair,) = compared.results
        said = f"the difference of {pair.a} and {pair.b} on each topic"
        return said + _written(draw_differences(compared, scores.topic_ids), path, scores)
    if compared.how.baselines:
        one, between = len(compared.how.baselines) == 1, {}
        for pair in compared.results:
            first, second = (entries.values[entries.labels.index(name)] for name in (pair.a, pair.b))
            between[pair.a if one else f"{pair.a} - {pair.b}"] = first - second
        whose = f" from {compared.how.baselines[0]}" if one else ""
        drawn = strips(compared.measure, between, against=compared.how.baselines[0] if one else "")
        return f"the differences{whose} on each topic" + _written(drawn, path, scores)
    drawn = strips(compared.measure, dict(zip(entries.labels, entries.values, strict=True)))
    return f"{compared.measure} of each run on each topic" + _written(drawn, path, scores)


def draw_differences(compared: Compared, topics: tuple[str, ...], *, on: On = None) -> Axes:
    """Draw the differences of the first pair of a comparison, topic by topic."""
    from cranfield.report.figures import differences

    scores, pair = compared.scores, compared.results[0]
    first, second = (scores.values[scores.labels.index(name)] for name in (pair.a, pair.b))
    tally = pair.wins, pair.ties, pair.losses
    return differences(compared.measure, pair.a, pair.b, topics, first - second, tally=tally, on=on)


def refuse_other_kinds(path: Path | None) -> None:
    """Refuse a file name that means no kind of figure, before anything is done."""
    from cranfield.report.figures import kind_of

    if path is not None:
        kind_of(path)


def plot_scores(scores: Scores, path: Path) -> str:
    """Draw the first measure as strips; give what was drawn."""
    return f"{scores.measures[0]} of each run on each topic" + _written(draw_strips(scores), path, scores)


def draw_strips(scores: Scores, *, runs: Sequence[int] | None = None, on: On = None) -> Axes:
    """Draw the first measure as strips, of all runs or of these; the bar is at what stands in a table.

    What is added up over topics has its bar at the mean: a sum is far from what single topics have.
    """
    from cranfield.report.figures import strips

    measure, names = scores.measures[0], scores.run_names
    chosen = [run for run in (range(len(names)) if runs is None else runs) if scores.scored[run].any()]
    if not chosen:
        raise UsageError("there is no topic to draw")
    values = {names[run]: scores.values[0, run][scores.scored[run]] for run in chosen}
    bars = None if measure.aggregate == "sum" else {names[run]: float(scores.summary[0, run]) for run in chosen}
    return strips(str(measure), values, summary=bars, called=_BARS[measure.aggregate], on=on)


def _written(drawn: Axes, path: Path, scores: Scores) -> str:
    """Write a figure with what stands behind it at its foot; give what is to be said of that, mostly nothing."""
    from cranfield.report.figures import figure_of, save

    lacking = save(figure_of(drawn), path, footer=made_with(scores))
    return f" ({lacking_said(lacking)})" if lacking else ""


def lacking_said(letters: str) -> str:
    """Say that letters of names are not in the font of figures."""
    shown = shortened(letters, _LACKING_SHOWN)
    return f"the font of figures lacks {shown}: they are boxes here, an SVG has them"


def plot_curves(scores: Scores, path: Path) -> str:
    """Draw precision–recall curves from scores of the eleven levels; give what was drawn."""
    return "interpolated precision at eleven recall levels" + _written(draw_curves(scores), path, scores)


def draw_curves(scores: Scores, *, on: On = None) -> Axes:
    """Draw precision–recall curves from scores of the eleven levels."""
    from cranfield.report.figures import precision_recall

    return precision_recall({name: scores.summary[:, place] for place, name in enumerate(scores.run_names)}, on=on)
