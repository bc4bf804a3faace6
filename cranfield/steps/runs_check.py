"""List every problem of run files, and write corrected copies of those that can be mended."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cranfield.errors import Problem, UsageError
from cranfield.runs.format import run_formats
from cranfield.source import Source
from cranfield.steps.runs_coding import code_runs
from cranfield.steps.runs_intake import Examined, Request, examine, expectations_of, standing_hashes
from cranfield.steps.runs_likeness import likeness_warnings
from cranfield.steps.runs_submit import name_problems
from cranfield.steps.watching import Progress, silent
from cranfield.store import Store


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one file, and what was mended."""

    file: str
    name: str
    problems: tuple[Problem, ...]
    repairs: tuple[str, ...] = ()
    repaired_file: str = ""
    errors_left: int = 0


def check_runs(
    store: Store | None,
    requests: Sequence[Request],
    *,
    max_depth: int = 1000,
    min_depth: int = 1,
    repair_into: Path | None = None,
    progress: Progress = silent,
) -> list[Checked]:
    """Check files against the collection (or, without one, by themselves); nothing is stored."""
    expectations = expectations_of(store, max_depth=max_depth, min_depth=min_depth)
    examined = examine(requests, expectations, keep_rows=repair_into is not None, progress=progress)
    if store is not None:
        examined = _with_neighbours(store, examined)
    if repair_into is None:
        return [_checked(one) for one in examined]
    repair_into.mkdir(parents=True, exist_ok=True)
    return [_repaired(one, repair_into, max_depth=max_depth) for one in examined]


def _with_neighbours(store: Store, examined: Sequence[Examined]) -> list[Examined]:
    """Add what can be said only beside the other runs: names that are taken, runs that are there already."""
    taken = name_problems(examined, standing_hashes(store))
    by_file: dict[str, list[Problem]] = {}
    for problem in taken:
        by_file.setdefault(problem.file, []).append(problem)
    sound = [one for one in examined if one.run is not None and str(one.request.path) not in by_file]
    known = standing_hashes(store)
    alike = likeness_warnings(
        store, code_runs(store, [one for one in sound if known.get(one.name) != one.content_hash])
    )
    return [
        replace(one, problems=(*one.problems, *by_file.get(str(one.request.path), []), *alike.get(one.name, [])))
        for one in examined
    ]


def _checked(one: Examined) -> Checked:
    return Checked(str(one.request.path), one.name, one.problems, errors_left=len(one.errors))


def _repaired(one: Examined, folder: Path, *, max_depth: int) -> Checked:
    """Write a corrected copy as a TREC file where there is something to mend."""
    from cranfield.runs.order import ranked
    from cranfield.runs.repair import repair

    checked = _checked(one)
    if one.rows is None or not any(problem.repairable for problem in one.problems):
        return checked
    rows, sentences = repair(one.rows, one.problems, max_depth=max_depth, order=one.request.order)
    target = folder / _copy_name(one.request.path)
    if target.exists():
        raise UsageError(f"{target} is there already: choose another folder with --repair")
    with target.open("xb") as stream:
        run_formats.get("trec").write(replace(ranked(rows, order=one.request.order), tag=one.name), stream)
    left = sum(not problem.repairable for problem in one.errors)
    return replace(checked, repairs=tuple(sentences), repaired_file=str(target), errors_left=left)


def _copy_name(path: Path) -> str:
    """Give the name of a corrected copy, which is plain TREC whatever the file was."""
    source = Source(path)
    is_other = source.bare_name.endswith((".jsonl", ".json", ".csv", ".tsv", ".parquet"))
    return f"{source.stem}.run" if is_other else source.bare_name
