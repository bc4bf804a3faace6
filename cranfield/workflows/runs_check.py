"""List every problem of run files, and write corrected copies of those that can be mended."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import Problem, UsageError
from cranfield.runs.format import run_formats
from cranfield.source import Source
from cranfield.workflows.runs_coding import code_runs
from cranfield.workflows.runs_intake import Examined, Request, examine, expectations_of, standing_hashes
from cranfield.workflows.runs_likeness import likeness_warnings
from cranfield.workflows.runs_submit import name_problems
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.writing import whole_file

if TYPE_CHECKING:
    from cranfield.runs.run import Run


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one file, and what was mended.

    `repairs` says what is other in `repaired_file`; `not_repaired` why there is none, though one was asked for.
    """

    file: str
    name: str
    problems: tuple[Problem, ...]
    repairs: tuple[str, ...] = ()
    repaired_file: str = ""
    not_repaired: tuple[str, ...] = ()
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
    """Check files against the collection (or, without one, by themselves); nothing is stored.

    Corrected copies go into the folder `repair_into`. A name that is taken there is refused before anything is read.
    """
    copies = [] if repair_into is None else _copies(requests, repair_into)
    expectations = expectations_of(store, max_depth=max_depth, min_depth=min_depth)
    examined = examine(requests, expectations, keep_rows=repair_into is not None, progress=progress)
    examined = _with_neighbours(store, examined)
    if repair_into is None:
        return [_checked(one) for one in examined]
    return [_repaired(one, copy, max_depth=max_depth) for one, copy in zip(examined, copies, strict=True)]


def _with_neighbours(store: Store | None, examined: Sequence[Examined]) -> list[Examined]:
    """Add what can be said only beside the other runs: names that are taken, runs that are there already."""
    known = standing_hashes(store) if store is not None else {}
    taken = name_problems(examined, known)
    by_file: dict[str, list[Problem]] = {}
    for problem in taken:
        by_file.setdefault(problem.file, []).append(problem)
    sound = [one for one in examined if one.run is not None and str(one.request.path) not in by_file]
    alike = likeness_warnings(
        store, code_runs(store, [one for one in sound if known.get(one.name) != one.content_hash])
    )
    return [
        replace(one, problems=(*one.problems, *by_file.get(str(one.request.path), []), *alike.get(one.name, [])))
        for one in examined
    ]


def _checked(one: Examined) -> Checked:
    return Checked(Source(one.request.path).name, one.name, one.problems, errors_left=len(one.errors))


def _copies(requests: Sequence[Request], folder: Path) -> list[Path]:
    """Give the file each corrected copy would be, or refuse where one would take the place of another file."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder with --repair")
    copies = [folder / _copy_name(Source(request.path)) for request in requests]
    often = Counter(str(copy).casefold() for copy in copies)
    for request, copy in zip(requests, copies, strict=True):
        if copy.exists():
            raise UsageError(f"{copy} is there already: choose another folder with --repair")
        if often[str(copy).casefold()] > 1:
            same = "more than one file would have its corrected copy there"
            raise UsageError(f"{request.path} cannot be written to {copy}: {same}; repair them one at a time")
    return copies


def _copy_name(source: Source) -> str:
    """Give the name of a corrected copy, which is plain TREC whatever the file was."""
    is_of_trec = source.bare_name == source.stem or source.bare_name.endswith(run_formats.get("trec").suffixes)
    return source.bare_name if is_of_trec and not source.is_stdin else f"{source.stem}.run"


def _repaired(one: Examined, copy: Path, *, max_depth: int) -> Checked:
    """Write a corrected copy as a TREC file where that leaves no error; else say what stands in the way."""
    from cranfield.runs.repair import by_hand_first, repair

    checked = _checked(one)
    if one.rows is None or not any(problem.repairable for problem in one.problems):
        return replace(checked, not_repaired=tuple(by_hand_first(one.problems)))
    run, sentences = repair(one.rows, one.problems, name=one.name, order=one.request.order, max_depth=max_depth)
    if run is None:
        return replace(checked, not_repaired=tuple(sentences))
    _write(run, copy)
    return replace(checked, repairs=tuple(sentences), repaired_file=str(copy), errors_left=0)


def _write(run: "Run", copy: Path) -> None:
    """Write a run as a TREC file, complete or not at all."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(copy) as unfinished, unfinished.open("wb") as stream:
        run_formats.get("trec").write(run, stream)
