"""Writes the reference pages from the program itself; with --check, says which are out of date."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from limits_page import page as limits_page
from man_page import page as man_page
from python_reference import page as python_page
from strategies_page import page as strategies_page
from systems_page import page as systems_page

from assessor_ui import keymap
from cranfield.base.text import Column, Table, table_of
from cranfield.cli.listing import describe_measure, list_formats, list_measures
from cranfield.cli.main import declared
from cranfield.report.rendering import renderers
from cranfield.reuse.verdict import Thresholds
from cranfield.store import questions

HERE = Path(__file__).parent / "reference"
HEAD = "<!-- Written by docs/generate.py from the program itself: do not edit. -->\n\n"
WIDTH = "100"


def main() -> int:
    """Write the pages, or compare them with what would be written."""
    wanted = {HERE / f"{name}.md": HEAD + text for name, text in pages()}
    wanted[HERE.parent / "limits.md"] = limits_page()
    wanted[HERE / "cranfield.1"] = man_page()
    wanted[HERE.parent / "systems.md"] = systems_page()
    wanted[HERE.parent / "strategies.md"] = strategies_page()
    wanted[HERE.parent / "assessor.md"] = with_keys((HERE.parent / "assessor.md").read_text(encoding="utf-8"))
    if "--check" not in sys.argv:
        HERE.mkdir(exist_ok=True)
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path.name} is out of date: run python docs/generate.py", file=sys.stderr)
    return 1 if stale else 0


def pages() -> Iterator[tuple[str, str]]:
    """Give (name, text) of every page."""
    yield "measures", measures_page()
    yield "commands", "# Commands\n\n" + "\n".join(command_sections())
    yield "formats", "# Formats\n\n" + markdown(list_formats())
    yield "thresholds", thresholds_page()
    yield "tables", tables_page()
    yield "python", python_page()


def measures_page() -> str:
    """Give the page with all measures: a table, and the whole help of each."""
    listed = list_measures()
    rows = [(f"{row[0]}{row[1]}", *row[3:]) for row in listed.rows]
    parts = [
        "# Measures\n",
        "How measures are written, and the parameters that all of them take: [Evaluate](../evaluate.md#measures).\n",
        markdown(
            table_of(["measure", "also", Column("trec_eval", "trec_eval"), Column("what it is", "description")], rows)
        ),
    ]
    parts += [f"## {row[0]}\n\n```text\n{describe_measure(str(row[0])).rstrip()}\n```\n" for row in listed.rows]
    return "\n".join(parts)


def thresholds_page() -> str:
    """Give the page with the thresholds of the verdicts: name, default, meaning."""
    rows = [(name, f"{default:g}", meaning) for name, _, default, meaning in Thresholds().rows()]
    head = (
        "# Thresholds\n\nThe numbers that decide a [verdict](../reuse.md#the-rules-in-their-order). "
        "`cranfield reuse --thresholds` shows those in force, `--threshold NAME=NUMBER` sets one for a call, and "
        "`--keep` keeps it for the collection. The evidence for each is on the page about "
        "[calibration](../calibration.md#the-thresholds).\n\n"
    )
    return head + markdown(table_of(["threshold", Column("default", kind="number"), "meaning"], rows))


def tables_page() -> str:
    """Give the page with the tables of a collection: what each holds, and its columns."""
    parts = ["# Tables\n\nWhat a collection file holds; [a walk through it](../how-to/use-sql.md).\n"]
    for name, said, columns in questions.tables():
        parts.append(f"## {name}\n\n{said[0].upper()}{said[1:]}.\n")
        if columns:
            parts.append(markdown(table_of(["column", "meaning"], list(columns.items()))))
    return "\n".join(parts)


def with_keys(text: str) -> str:
    """Give the assessor's page with its table of keys as the program has it."""
    before, start, rest = text.partition("<!-- keys, written by docs/generate.py -->\n")
    _, end, after = rest.partition("<!-- end of keys -->\n")
    keys = ["| key | plain lines | what it does |", "|---|---|---|"]
    keys.append("| `0` `1` `2` … | `0` `1` `2` … | judge with this grade and go on |")
    keys.append("|  | `2: TEXT` `2 note TEXT` | judge with this grade and a note |")
    for command in (*keymap.COMMANDS, *keymap.PLAIN_ONLY):
        word = f"`{command.word} {command.argument}`".replace(" `", "`") if command.word else ""
        keys.append(f"| {shown_keys(command)} | {word} | {command.help} |")
    keys += ["", "While marking evidence:", "", "| key | what it does |", "|---|---|"]
    keys += [f"| {shown_keys(command)} | {command.help} |" for command in keymap.MARKING]
    return "\n".join([f"{before}{start}", *keys, "", f"{end}{after}"])


def shown_keys(command: keymap.Command) -> str:
    """Give the keys of a command as Markdown."""
    return " ".join(f"`{key}`" for key in command.shown.split())


def markdown(table: Table) -> str:
    """Give a table as Markdown."""
    return renderers.get("markdown")(table)


def command_sections() -> Iterator[str]:
    """Give the help of every command, in the order of the program."""
    for words in [(), *(words for words, _ in declared())]:
        shown = subprocess.run(
            [sys.executable, "-m", "cranfield", *words, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={"COLUMNS": WIDTH, "PATH": "", "TERM": "dumb", "NO_COLOR": "1"},
        ).stdout
        yield f"## cranfield {' '.join(words)}".rstrip() + f"\n\n```text\n{shown.strip()}\n```\n"


if __name__ == "__main__":
    sys.exit(main())
