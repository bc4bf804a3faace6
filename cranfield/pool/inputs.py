"""What must be right before a pool is built."""

from collections.abc import Iterable, Iterator, Sequence

from cranfield.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.plan import Plan, Selection
from cranfield.text import counted


def checked_topics(
    plan: Plan, runs: PooledRuns, topics: Sequence[str] | None, *, more: Iterable[Problem] = ()
) -> list[str]:
    """Give the topics to pool, in byte order, or say everything that keeps the pool from being built.

    None means every topic that some run has. `more` is what the caller has found besides.
    """
    wanted = sorted(set(runs.topics if topics is None else topics), key=str.encode)
    problems = [*_run_problems(runs), *_topic_problems(runs, wanted), *_depth_problems(plan, runs), *more]
    if problems:
        raise ProblemsFound("this pool cannot be built", problems)
    return wanted


def check_seed(seed: int) -> None:
    """Refuse a seed that is not a whole number from 0 up."""
    if seed < 0:
        raise UsageError(f"a seed is a whole number from 0 up, not {seed}")


def _run_problems(runs: PooledRuns) -> Iterator[Problem]:
    if not runs.runs:
        yield Problem("no-runs", "no run was selected", remedy="select at least one run")


def _topic_problems(runs: PooledRuns, topics: Sequence[str]) -> Iterator[Problem]:
    if not topics:
        yield Problem("no-topics", "there is no topic to pool: none was selected, or no run has any")
    absent = [topic for topic in topics if topic not in runs.codes_by_topic]
    for topic in absent:
        message = f"no selected run has the topic {quoted(topic)}"
        yield Problem(
            "topic-without-runs", message, topic=topic, remedy="leave the topic out, or add a run that has it"
        )


def _depth_problems(plan: Plan, runs: PooledRuns) -> Iterator[Problem]:
    longest = runs.depth
    if not longest:
        return
    for step in plan.steps:
        deepest = _deepest(step) if isinstance(step, Selection) else 0
        if deepest > longest:
            message = f"'{step}' goes beyond the runs: the longest list has {counted(longest, 'document')}"
            yield Problem("depth-beyond-runs", message, remedy=f"go no deeper than {longest}")


def _deepest(step: Selection) -> int:
    if step.scope.by == "group":
        return 0  # a group's list may be longer than any of its runs
    return max(step.reach or 0, step.scope.ranks[1] if step.scope.ranks else 0)
