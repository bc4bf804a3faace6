"""Who the runs belong to: teams, kinds of system, and which of the runs fed the pool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import InputError, quoted
from cranfield.text import counted

Level = Literal["group", "run", "family"]
"""What is held out together: a team's runs, a single run, or all runs of one kind."""

_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Contributor:
    """Who a run belongs to, and whether it fed the pool. Without a group a run is a group of its own."""

    run: str
    group: str
    family: str = ""
    contributing: bool = True

    def member_of(self, level: Level) -> str:
        """Give the name of what the run is held out with."""
        return {"group": self.group or self.run, "run": self.run, "family": self.family}[level]


def contributing_places(run_names: Sequence[str], contributors: Sequence[Contributor]) -> NDArray[np.int64]:
    """Give the runs that fed the pool, as places; names of runs that are not there are refused, and nobody at all."""
    known = {name: place for place, name in enumerate(run_names)}
    if len(known) < len(run_names):
        raise InputError("two runs have the same name, so nobody can say which of them fed the pool")
    named = [one.run for one in contributors]
    unknown = sorted(set(named) - set(known))
    if unknown:
        raise InputError(f"{counted(len(unknown), 'run')} said to belong to a group but not given: {shown(unknown)}")
    if len(set(named)) < len(named):
        twice = sorted({run for run in named if named.count(run) > 1})
        raise InputError(f"{counted(len(twice), 'run')} said to belong to a group more than once: {shown(twice)}")
    places = sorted(known[one.run] for one in contributors if one.contributing)
    if not places:
        raise InputError("no run is said to have fed the pool, so nobody can be left out of it")
    return np.array(places, dtype=np.int64)


def groups_of(
    run_names: Sequence[str], contributors: Sequence[Contributor], level: Level
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Give the contributing groups, sorted by their bytes, and each run's place among them, -1 for an outsider."""
    members = {one.run: one.member_of(level) for one in contributors if one.contributing}
    without = sorted(run for run, member in members.items() if not member)
    if without:
        raise InputError(f"{counted(len(without), 'contributing run')} without a {level}: {shown(without)}")
    groups = sorted(set(members.values()), key=str.encode)
    place = {group: number for number, group in enumerate(groups)}
    numbers = [place[members[run]] if run in members else -1 for run in run_names]
    return tuple(groups), np.array(numbers, dtype=np.int32)


def shown(names: Sequence[str]) -> str:
    """Give the first of many names, and how many more there are."""
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(quoted(name) for name in names[:_NAMES_SHOWN]) + more
