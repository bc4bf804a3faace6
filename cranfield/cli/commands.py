"""How a command is declared: its function, whose parameters are its options, and examples that are really typed.

Nothing of a command is built before it is invoked: some have dozens of options, and all of them together would take
longer than most commands do.
"""

from collections.abc import Callable, Mapping
from inspect import getdoc
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar, cast

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from cranfield.base.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., None])


class Declared(NamedTuple):
    """A command: what runs it, examples without the first word, and settings of click.

    `removed` are options that were dropped: for one version it is said what to type instead of each.
    """

    function: Callable[..., None]
    examples: tuple[str, ...]
    removed: Mapping[str, str]
    settings: dict[str, Any]

    @property
    def summary(self) -> str:
        """The first paragraph of its help."""
        return " ".join(str(getdoc(self.function)).partition("\n\n")[0].split())

    def itself(self) -> "Declared":
        """What is found of a command that is known already."""
        return self


class Stage:
    """The commands of one file. Where it has a name they are subcommands of that, and `bare` is it without any."""

    def __init__(self, name: str = "", summary: str = "") -> None:
        self.name, self.summary = name, summary
        self.commands: dict[str, Declared] = {}
        self.alone: Declared | None = None

    def command(
        self, name: str, *examples: str, removed: Mapping[str, str] | None = None, **settings: Any
    ) -> Callable[[Function], Function]:
        """Declare a command."""

        def declare(function: Function) -> Function:
            self.commands[name] = Declared(function, examples, removed or {}, settings)
            return function

        return declare

    def bare(self, *examples: str, removed: Mapping[str, str] | None = None) -> Callable[[Function], Function]:
        """Declare what the stage does without a subcommand."""

        def declare(function: Function) -> Function:
            self.alone = Declared(function, examples, removed or {}, {})
            return function

        return declare

    @property
    def examples(self) -> tuple[str, ...]:
        """Those of the stage itself, else the first one of each of its first commands."""
        return self.alone.examples if self.alone else tuple(one.examples[0] for one in [*self.commands.values()][:3])


Held = Mapping[str, Mapping[str, Callable[[], Stage | Declared]]]
"""By heading and name, what finds a command."""


class _Page:
    """What all commands have: help whose epilog are the examples, one in each line, and options that were dropped."""

    epilog: str | None
    removed: Mapping[str, str] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Say what to type instead of an option that was dropped; those of a subcommand are its own."""
        subcommands = getattr(self, "commands", {})
        for option in (word.partition("=")[0] for word in takewhile(lambda word: word not in subcommands, args)):
            if option in self.removed:
                raise UsageError(f"{option} was removed; {self.removed[option]}")
        return super().parse_args(ctx, args)  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  cranfield {line}\n" for line in self.epilog.splitlines()))


class _Command(_Page, TyperCommand):
    """A command without subcommands."""


class _Group(_Page, TyperGroup):
    """A command with subcommands, each of which is built when somebody wants it."""

    held: Held
    commands: dict[str, Any]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for section in self.held.values():
            if cmd_name in section and self.commands[cmd_name] is None:
                self.commands[cmd_name] = _built(cmd_name, section[cmd_name]())
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the whole summary of each, which click would cut; all of them begin in the same column."""
        widest = max(map(len, self.commands))
        for heading, section in self.held.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(widest), find().summary) for name, find in section.items()])


def group(app: typer.Typer, held: Held) -> Any:
    """A command with subcommands, as click runs it, from what typer knows of it without them."""
    app.info.cls = _Group
    # typer takes an app without commands for a group where it has something to call, and only then adds completion.
    build = typer.main.get_command if app.registered_callback else typer.main.get_group
    built = cast("_Group", build(app))
    built.held, built.commands = held, {name: None for section in held.values() for name in section}
    return built


def _built(name: str, declared: Stage | Declared) -> Any:
    """A command as click runs it, with its own parameters and not those of its subcommands."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    epilog = "\n".join(declared.examples)
    if isinstance(declared, Declared):
        app.command(name, cls=_Command, epilog=epilog, **declared.settings)(declared.function)
        command: Any = typer.main.get_command(app)
        command.removed = declared.removed
        return command
    alone = declared.alone
    app.info.name, app.info.help, app.info.epilog = name, declared.summary, epilog
    app.info.invoke_without_command, app.info.no_args_is_help = alone is not None, alone is None
    if alone is not None:
        app.callback(help=declared.summary)(alone.function)
    built = group(app, {"Commands": {word: one.itself for word, one in declared.commands.items()}})
    built.removed = alone.removed if alone else {}
    return built
