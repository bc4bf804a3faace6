"""Scores as long rows: one for each run, topic and measure, with the columns that an evaluation adds."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

    from cranfield.workflows.evaluate import Evaluated

ALL = "all"

Row = tuple[str, str, str, float]


def long_rows(found: "Evaluated", *, by_topic: bool) -> list[Row]:
    """Give run, topic, measure and value; the topic of a summary is `all`."""
    return list(found.scores.rows(by_topic=by_topic))


def topics_scored(found: "Evaluated", rows: list[Row]) -> list[int | None]:
    """Give beside each long row how many topics a summary is made of."""
    counts = {run: one.scored for run, one in zip(found.scores.run_names, found.scores.counts, strict=True)}
    return [counts[run] if topic == ALL else None for run, topic, _, _ in rows]


def added_columns(
    found: "Evaluated", rows: list[Row], *, by_topic: bool
) -> "dict[str, list[str | int | float | None]]":
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
        from cranfield.workflows.evaluate_letters import ALPHA

        added["letters"] = [known.get(row[:3]) for row in rows]
        added["letters_test"] = [found.letters.test if row[:3] in known else None for row in rows]
        added["letters_alpha"] = [ALPHA if row[:3] in known else None for row in rows]
    return added


def frame_of(found: "Evaluated", *, by_topic: bool) -> "pandas.DataFrame":
    """Give the rows as a pandas frame; its attributes say with which qrels and in whose order they were made."""
    rows = long_rows(found, by_topic=by_topic)
    frame = found.scores.frame(by_topic=by_topic)
    for name, cells in added_columns(found, rows, by_topic=by_topic).items():
        frame[name] = cells
    return frame
