"""Store runs: all of a command or none, and nothing twice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cranfield.errors import Problem, ProblemsFound, quoted
from cranfield.workflows.runs_coding import CodedRuns, code_runs
from cranfield.workflows.runs_intake import Examined, Request, examine, expectations_of, standing_hashes
from cranfield.workflows.runs_likeness import likeness_warnings
from cranfield.workflows.status import unpooled_runs
from cranfield.workflows.watching import Progress, now, silent
from cranfield.store import Store
from cranfield.store.runs import RunFacts, add_ids, add_run, run_facts
from cranfield.text import counted, storable


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of one run."""

    name: str
    group: str
    role: str
    topics: int
    rows: int
    warnings: tuple[Problem, ...]
    what: str
    differences: tuple[str, ...] = ()


def submit_runs(
    store: Store,
    requests: Sequence[Request],
    *,
    max_depth: int = 1000,
    min_depth: int = 1,
    progress: Progress = silent,
) -> list[Submitted]:
    """Check and store runs in one transaction; an error in one of them keeps all of them out.

    A run whose name and content are there already is left alone. Files are read and checked before the write
    lock is taken; what depends on the other runs of the collection is decided under it.
    """
    expectations = expectations_of(store, max_depth=max_depth, min_depth=min_depth)
    examined = examine(requests, expectations, progress=progress)
    _refuse(examined, [])
    with store.write():
        standing = standing_hashes(store)
        _refuse(examined, name_problems(examined, standing))
        fresh = list({one.name: one for one in examined if standing.get(one.name) != one.content_hash}.values())
        coded = code_runs(store, fresh, progress=progress)
        warned = likeness_warnings(store, coded)
        outcomes = {one.name: _store(store, one, coded, warned) for one in coded.examined}
        _store_ids(store, coded)
    known = {facts.name: facts for facts in run_facts(store)}
    return [outcomes.pop(one.name) if one.name in outcomes else _there(one, known[one.name]) for one in examined]


def not_pooled(store: Store, outcomes: Sequence[Submitted]) -> list[str]:
    """Give the contributing runs that were submitted after the collection's pools were built, and are in none."""
    submitted = {one.name for one in outcomes if one.what == "submitted"}
    return unpooled_runs(store, [facts for facts in run_facts(store) if facts.name in submitted])


def _refuse(examined: Sequence[Examined], further: Sequence[Problem]) -> None:
    problems = [problem for one in examined for problem in one.problems]
    errors = [problem for problem in problems if problem.severity == "error"] + list(further)
    if errors:
        refused = counted(len({problem.file for problem in errors}), "file")
        repairable = any(problem.repairable for problem in errors)
        mend = "; cranfield runs check --repair FOLDER mends what it can" if repairable else ""
        raise ProblemsFound(
            f"{refused} refused, so nothing was submitted{mend}",
            [*problems, *further],
        )


def name_problems(examined: Sequence[Examined], standing: dict[str, str]) -> list[Problem]:
    """Give the runs whose name is taken: by another content in the collection, or by another file of the command."""
    contents: dict[str, set[str]] = {}
    for one in examined:
        contents.setdefault(one.name, set()).add(one.content_hash)
    problems = []
    for one in examined:
        taken = standing.get(one.name, one.content_hash) != one.content_hash
        if taken or len(contents[one.name]) > 1:
            by = "a run with other content" if taken else "another file of this command"
            problems.append(
                Problem(
                    "taken-tag",
                    f"the name {quoted(one.name)} is taken by {by}",
                    file=str(one.request.path),
                    remedy="name it with --name or by its file with --names file, or withdraw the other run first",
                )
            )
    return problems


def _store(store: Store, one: Examined, coded: CodedRuns, warned: dict[str, list[Problem]]) -> Submitted:
    from cranfield.runs.encoding import ENCODING

    complete = replace(one, problems=(*one.problems, *warned.get(one.name, [])))
    add_run(
        store,
        _facts(complete),
        ranking=coded.blocks[one.name],
        encoding=ENCODING,
        warnings=complete.warnings,
    )
    return _outcome(complete, "submitted")


def _store_ids(store: Store, coded: CodedRuns) -> None:
    add_ids(store, "topic", coded.new_topics, first_code=coded.first_topic)
    add_ids(store, "document", coded.new_documents, first_code=coded.first_document)


def _facts(one: Examined) -> RunFacts:
    request, run = one.request, one.run
    assert run is not None, "a run with errors was refused before"
    return RunFacts(
        name=one.name,
        tag=run.tag,
        group_name=request.group or one.name,
        family=request.family,
        role=request.role or "contributing",
        priority=request.priority or 1,
        description=request.description,
        ordered_by=request.order,
        topics=len(run.topic_ids),
        rows=run.row_count,
        content_hash=one.content_hash,
        file_name=storable(Path(request.path).name),
        file_sha256=one.file_sha256,
        submitted=now(),
    )


def _there(one: Examined, facts: RunFacts) -> Submitted:
    """Give what is stored of a run that was there already, and what was said otherwise this time."""
    request = one.request
    said = {
        "group": (request.group, facts.group_name),
        "family": (request.family, facts.family),
        "role": (request.role, facts.role),
        "priority": (request.priority, facts.priority),
        "description": (request.description, facts.description),
        "order": (request.order, facts.ordered_by),
    }
    differences = tuple(
        f"its {name} stays {stored!r}, not {new!r}"
        for name, (new, stored) in said.items()
        if new not in (None, "", stored)
    )
    return Submitted(
        facts.name, facts.group_name, facts.role, facts.topics, facts.rows, (), "there already", differences
    )


def _outcome(one: Examined, what: str) -> Submitted:
    run = one.run
    topics, rows = (len(run.topic_ids), run.row_count) if run else (0, 0)
    request = one.request
    role = request.role or "contributing"
    return Submitted(one.name, request.group or one.name, role, topics, rows, tuple(one.warnings), what)
