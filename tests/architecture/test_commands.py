"""The program is put together from the file of one command alone: that nobody may notice."""

import pytest
import typer.main
from command import call

from cranfield.cli import console, main

ALL = [command for commands in main.MODULES.values() for command in commands]


def commands_of(app: typer.Typer) -> dict:
    return typer.main.get_command(app).commands


def test_the_list_of_commands_is_what_the_files_hold():
    assert sorted(commands_of(main.program())) == sorted(ALL)


@pytest.mark.parametrize("module", main.MODULES)
def test_each_file_holds_the_commands_that_are_said_of_it(module: str):
    for command in main.MODULES[module]:
        assert sorted(commands_of(main.program(command))) == sorted(main.MODULES[module])


@pytest.mark.parametrize("line", ["", "--help", "--verbose", "evaluat", "evaluat --help"])
def test_without_a_known_command_all_are_there(line: str):
    assert sorted(commands_of(main.program(main._command_of(line.split())))) == sorted(ALL)


def test_an_unknown_command_is_answered_with_the_nearest():
    assert "evaluate" in call("evaluat", "--help", status=2).err


def test_the_help_names_all_formats_of_our_own():
    told = console.Format.__metadata__[0].help
    assert told == f"Output format: {', '.join(console.table_formats())}."
