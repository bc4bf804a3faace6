"""Who the runs of bare files belong to: a tab-separated file of run tag, group, and `pooled` or `new`."""

from dataclasses import dataclass

from cranfield.errors import LINES_KEPT, Problem, ProblemsFound, quoted
from cranfield.source import Source
from cranfield.text import counted

ROLES = ("pooled", "new")
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Member:
    """A run, the group it belongs to, and whether it was in the pool."""

    run: str
    group: str
    pooled: bool


def read_groups(source: Source) -> tuple[Member, ...]:
    """Read a file of groups, in its order; blank lines and lines that begin with # are passed over.

    Everything that is wrong with it is told at once, with lines.
    """
    members: dict[str, Member] = {}
    found: dict[str, list[tuple[int, str]]] = {}
    for number, line in source.lines():
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        code, said = _fault(cells, line, members)
        if code:
            found.setdefault(code, []).append((number, said))
        else:
            members[cells[0]] = Member(cells[0], cells[1], cells[2] == "pooled")
    if not members and not found:
        found["empty"] = [(1, "the file names no run")]
    if found:
        problems = [_problem(code, places, source.name) for code, places in found.items()]
        raise ProblemsFound(f"{source.name}: these groups cannot be used", problems)
    return tuple(members.values())


def _fault(cells: list[str], line: str, members: dict[str, Member]) -> tuple[str, str]:
    """Give the code of what is wrong with a line and a sentence about it; two empty strings where nothing is."""
    if len(cells) != _COLUMNS or not all(cells):
        return "bad-row", f"not a run tag, a tab, a group, a tab and {' or '.join(ROLES)}: {quoted(line)}"
    if cells[2] not in ROLES:
        return "unknown-role", f"a run is {' or '.join(ROLES)}, not {quoted(cells[2])}"
    if cells[0] in members:
        return "repeated-run", f"run {quoted(cells[0])} is named twice"
    return "", ""


def _problem(code: str, places: list[tuple[int, str]], file: str) -> Problem:
    """Give one problem for all lines that have it, in the words of the first."""
    often = f" ({counted(len(places), 'line')})" if len(places) > 1 else ""
    lines = tuple(number for number, _ in places[:LINES_KEPT])
    remedy = "write run tag, group and pooled or new on each line, with tabs between them"
    return Problem(code, f"{places[0][1]}{often}", file=file, lines=lines, count=len(places), remedy=remedy)
