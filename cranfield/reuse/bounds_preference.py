"""Bounds of Bpref, in which relevant documents that no list has may help."""

import numpy as np

from cranfield.evaluate.lists import Counts, Values, ratio
from cranfield.reuse.bounds_freedom import Ends, Freedom
from cranfield.reuse.bounds_ordered import Filling, ordered_ends


def preference_ends(freedom: Freedom) -> Ends:
    """Give the ends of Bpref when the holes get judged, relevant or not.

    The score itself passes holes over and may lie outside. Each further relevant document lowers what a misplaced
    one costs as long as there are more judged non-relevant documents than relevant ones, so that their number matters
    in both directions.
    """
    return ordered_ends(
        freedom,
        lambda filling: np.min(_extremes(filling), axis=0),
        lambda filling: np.max(_extremes(filling), axis=0),
        with_nonrelevant=True,
    )


def _extremes(filling: Filling) -> list[Values]:
    """Give values of Bpref among which are the lowest and the highest over all numbers of relevant documents.

    n judged non-relevant documents stand above a relevant one, N are there in all. Up to R = N the value is
    Σ (R - n)+ / R². Between two of the n it is (c R - s) / R², c and s the number and the sum of the n below R: it
    rises up to R = 2 s / c and falls from there. Beyond N the value is Σ (1 - n / N) / R, and falls.
    """
    least, most = filling.count, filling.count + filling.outside
    ends = [_value(filling, least), _value(filling, most)]
    if not filling.outside.any():
        return ends
    ends.append(_value(filling, np.clip(filling.nonrelevant, least, most)))
    return [*ends, *_in_pieces(filling, least[:, np.newaxis], most[:, np.newaxis])]


def _value(filling: Filling, relevant: Counts) -> Values:
    above, count = filling.nonrelevant_above, relevant[:, np.newaxis]
    cost = ratio(np.minimum(above, count), np.minimum(filling.nonrelevant[:, np.newaxis], count))
    terms = np.where(filling.relevant, np.where(above > 0, 1.0 - cost, 1.0), 0.0)
    return ratio(terms.sum(axis=1), relevant)


def _in_pieces(filling: Filling, least: Counts, most: Counts) -> list[Values]:
    """Give the lowest and the highest value between two successive n, over all of these."""
    far = np.iinfo(np.int64).max
    above = np.where(filling.relevant, filling.nonrelevant_above, far)
    following = np.minimum.accumulate(above[:, ::-1], axis=1)[:, ::-1]
    following = np.concatenate([following[:, 1:], np.full((len(above), 1), far)], axis=1)
    low = np.maximum(np.maximum(above, least), 1)
    high = np.minimum(np.minimum(following, filling.nonrelevant[:, np.newaxis]), most)
    number = filling.ordinal
    total = np.cumsum(np.where(filling.relevant, filling.nonrelevant_above, 0), axis=1)
    turn = 2.0 * ratio(total, number)
    real = filling.relevant & (low <= high)
    lowest, highest = np.full(len(above), np.inf), np.full(len(above), -np.inf)
    for tried in (low, high, np.floor(turn), np.ceil(turn)):
        relevant = np.clip(tried, low, np.maximum(low, high)).astype(np.float64)
        value = ratio(number * relevant - total, relevant * relevant)
        lowest = np.minimum(lowest, np.where(real, value, np.inf).min(axis=1, initial=np.inf))
        highest = np.maximum(highest, np.where(real, value, -np.inf).max(axis=1, initial=-np.inf))
    here, nothing = np.isfinite(lowest), _value(filling, filling.count)
    return [np.where(here, lowest, nothing), np.where(here, highest, nothing)]
