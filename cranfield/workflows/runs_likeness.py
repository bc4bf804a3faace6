"""Which new runs are identical to, or nearly identical with, one that is there."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cranfield.errors import Problem, quoted
from cranfield.runs.problems import problem
from cranfield.workflows.runs_coding import CodedRuns
from cranfield.store import Store
from cranfield.store.runs import coded_run, run_facts

if TYPE_CHECKING:
    from cranfield.runs.encoding import CodedRun
    from cranfield.runs.likeness import Top


def likeness_warnings(store: Store | None, new: CodedRuns) -> dict[str, list[Problem]]:
    """Give for each new run the runs, stored or new before it, that it is (nearly) the same as."""
    from cranfield.runs.likeness import NEARLY_IDENTICAL, likenesses

    standing = run_facts(store) if store is not None else []
    hashes = {facts.name: facts.content_hash for facts in standing}
    tops = {facts.name: _top(coded_run(store, facts.name)) for facts in standing if store is not None}
    warned: dict[str, list[Problem]] = {}
    for one in new.examined:
        top, file = _top(new.coded[one.name]), str(one.request.path)
        same = [name for name, known in hashes.items() if known == one.content_hash]
        others = {name: known for name, known in tops.items() if name not in same}
        near = zip(others, likenesses(top, list(others.values())), strict=True)
        alike = [(name, share) for name, share in near if share >= NEARLY_IDENTICAL]
        warned[one.name] = list(_warnings(file, same, alike))
        hashes[one.name], tops[one.name] = one.content_hash, top
    return warned


def _warnings(file: str, same: Sequence[str], alike: Sequence[tuple[str, float]]) -> Iterator[Problem]:
    if same:
        names = ", ".join(quoted(name) for name in same)
        yield problem("identical-run", f"the same content is there as {names}", count=len(same)).at(file)
    if alike:
        names = ", ".join(f"{quoted(name)} ({share:.0%})" for name, share in alike)
        message = f"nearly the same top 10 is there as {names}"
        yield problem("nearly-identical-run", message, count=len(alike)).at(file)


def _top(coded: "CodedRun") -> "Top":
    from cranfield.runs.likeness import top

    return top(coded.topics, coded.offsets, coded.documents)
