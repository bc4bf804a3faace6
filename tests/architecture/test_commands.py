"""Commands are declared in the order of the work, with examples, and built only when they are invoked."""

import functools
import shlex

import pytest
from command import call
from kept import Kept

from cranfield.cli import console, main
from cranfield.cli.main import Declared, Stage

DECLARED = dict(main.declared())
EXAMPLES = [(words, line) for words, one in DECLARED.items() for line in one.examples]


def test_only_the_command_that_is_invoked_is_built():
    program = main.program()
    program.main(["judge", "assign", "--help"], standalone_mode=False)
    assert [name for name, built in program.commands.items() if built] == ["judge"]
    assert [name for name, built in program.commands["judge"].commands.items() if built] == ["assign"]


def test_an_unknown_command_is_answered_with_the_nearest():
    assert "evaluate" in call("evaluat", "--help", status=2).err


def test_the_help_of_the_program_shows_all_commands_by_stage_and_cuts_no_summary(kept: Kept, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = call("--help").out
    kept(shown)
    summaries = [one.summary for words, one in DECLARED.items() if len(words) == 1]
    assert [one for one in summaries if one not in " ".join(shown.split())] == []


def test_every_command_has_two_or_three_examples_of_itself():
    few = {" ".join(words): len(one.examples) for words, one in DECLARED.items() if len(one.examples) not in (2, 3)}
    others = [line for words, line in EXAMPLES if tuple(line.split()[: len(words)]) != words]
    assert (few, others, [line for _, line in EXAMPLES if len(line) > 68]) == ({}, [], [])


@pytest.mark.parametrize(("words", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_is_what_its_command_takes(words: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch):
    called = []

    def silenced(one: Declared) -> Declared:
        return one._replace(function=functools.wraps(one.function)(lambda **_: called.append(one.function)))

    first, *_ = words
    held = main.find(first)
    if isinstance(held, Stage):
        for name, one in held.commands.items():
            monkeypatch.setitem(held.commands, name, silenced(one))
        if held.alone:
            monkeypatch.setattr(held, "alone", silenced(held.alone))
    else:
        monkeypatch.setattr(main, "find", lambda _: silenced(held))
    call(*shlex.split(line))
    assert called


@pytest.mark.parametrize("words", DECLARED, ids=" ".join)
def test_a_help_page_shows_the_examples(words: tuple[str, ...]):
    shown = call(*words, "--help").out
    lines = [f"  cranfield {line}" for line in DECLARED[words].examples]
    assert [line for line in lines if line not in shown.splitlines()] == []


def test_the_help_names_all_formats_of_our_own():
    told = console.Format.__metadata__[0].help
    assert told == f"Output format: {', '.join(console.table_formats())}."
