"""What a shell completes: the names in a collection, and those of measures and strategies.

Whatever is wrong, a shell is answered with nothing and without a word: somebody is typing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import typer

from cranfield.base.registry import deferred

with deferred:
    from cranfield.base import text as texts
    from cranfield.cli import console
    from cranfield.evaluate import measure as measuring
    from cranfield.pool import strategy
    from cranfield.store import files

CUTOFFS = (5, 10, 20, 100, 1000)
"""What is offered behind the name of a measure; the one before all others is `CUTOFF`."""
CUTOFF = 10

Complete = Callable[[typer.Context, str], list[str]]


def stored(noun: str) -> Complete:
    """Completes the names of what a collection has: runs, topics, pools, queues or releases."""
    return _completing(lambda context, _: files.names(console.collection_of(context), noun))


def _completing(find: Callable[[typer.Context, str], Iterable[str]]) -> Complete:
    """A function as typer wants it: of the names that are found, those that continue what was typed."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        with suppress(Exception):
            # A shell prints what it is offered as it is: a name that could repaint the terminal is not offered.
            names = (name for name in find(context, incomplete) if texts.visible_line(name) == name)
            return [name for name in names if name.startswith(incomplete)]
        return []

    return complete


def _measures(_: typer.Context, incomplete: str) -> Iterable[str]:
    """Each measure as it is usually written; once a cutoff is begun, more of them."""
    for name, kind in measuring.measures.items():
        if kind.cutoff in ("none", "optional"):
            yield name
        if kind.cutoff in ("needed", "optional"):
            yield from (f"{name}@{cutoff}" for cutoff in (CUTOFFS if "@" in incomplete else (CUTOFF,)))


def _plan(_: typer.Context, incomplete: str) -> Iterable[str]:
    """The strategies, at the beginning of each step of a plan."""
    before = incomplete.rpartition(";")[0]
    return [f"{before}; {name}" if before else name for name in strategy.strategies.names()]


runs, topics, pools, queues, releases = map(stored, ("runs", "topics", "pools", "queues", "releases"))
measures, plans = map(_completing, (_measures, _plan))
