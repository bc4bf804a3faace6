"""Runs of a group merged into one list, so that a team counts once however many runs it sends."""

from dataclasses import replace

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.entrants import PoolRun
from cranfield.runs.encoding import CodedRun
from cranfield.runs.run import Codes

_NOTHING = CodedRun(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))


def by_group(candidates: Candidates) -> Candidates:
    """Give the topic with one list per group instead of one per run, groups in byte order.

    A group's list has all first ranks of its runs, then all second ranks and so on, at each rank the run that the
    group itself puts first (priority, then name); a document stands where it comes first. Its score is the best of
    the group's normalised scores. Lists are merged before any candidate is taken out, so that ranks stay as they are.
    """
    if candidates.whole is not None and candidates.kept is not None:
        return by_group(candidates.whole).only(candidates.kept)
    teams = sorted({run.team for run in candidates.runs}, key=str.encode)
    team_of_run = np.array([teams.index(run.team) for run in candidates.runs], dtype=np.int32)
    team = team_of_run[candidates.run_of_row]
    own_order = _own_order(candidates)[candidates.run_of_row]
    rows = np.lexsort((own_order, candidates.listed_ranks, team))
    keys = team[rows].astype(np.int64) * max(len(candidates), 1) + candidates.listed[rows]
    firsts = rows[np.sort(np.unique(keys, return_index=True)[1])]
    counts = np.bincount(team[firsts], minlength=len(teams))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    listed = candidates.listed[firsts]
    best = np.array([candidates.normalised[team_of_run == number].max(axis=0) for number in range(len(teams))])
    return replace(
        candidates,
        runs=tuple(PoolRun(name, _NOTHING, group=name) for name in teams),
        offsets=offsets,
        listed=listed,
        listed_ranks=(np.arange(1, len(listed) + 1) - np.repeat(offsets[:-1], counts)).astype(np.int32),
        listed_scores=best[team[firsts], listed],
    )


def _own_order(candidates: Candidates) -> Codes:
    """Give each run its place in the order of priorities; equal ones by name."""
    order = np.argsort(np.array([run.priority for run in candidates.runs]), kind="stable")
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places
