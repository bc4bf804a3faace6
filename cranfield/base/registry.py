"""Names to parts: how a format, a strategy or a measure is found, what options it has, and when it is loaded.

A part registers itself with a decorator in a module of its registry's folder; a part of another distribution comes
through an entry point and is treated the same. Nothing is imported before the first look-up.
"""

from __future__ import annotations

import builtins
import inspect
import math
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from threading import RLock
from types import ModuleType, SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    BinaryIO,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from cranfield.base.errors import UnknownName, UsageError, check_known, quoted

if TYPE_CHECKING:
    from cranfield.base.files import Source

# Modules that are loaded when they are first used: the one way to put off an import.
#
#     with deferred:
#         import pyarrow as pa
#         from cranfield.workflows.evaluate import evaluate as evaluate_workflow
#
# Type checkers, import contracts and readers see ordinary imports. Only modules can be put off (`import a`,
# `from a.b import module`), never a name inside a module; the block stands below all other imports.


class _DeferredModule(ModuleType):
    """A module that is imported at the first look at one of its attributes, and then takes its own place."""

    def __init__(self, name: str, scope: dict[str, Any]) -> None:
        super().__init__(name)
        self._scope = scope

    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)  # waits where another thread has begun to import it
        for word, value in list(self._scope.items()):
            if value is self:
                self._scope[word] = module
        return getattr(module, name)


class _Deferred:
    """The block in which imports are put off, in the module that opens it and nowhere else."""

    def __init__(self) -> None:
        self._lock = RLock()  # the hook is global while a block is open, and threads import too

    def __enter__(self) -> None:
        self._lock.acquire()
        self._usual = builtins.__import__
        here = sys._getframe(1).f_globals

        def put_off(name: str, scope: Any = None, local: Any = None, names: Any = (), level: int = 0) -> Any:
            if scope is not here or level:
                return self._usual(name, scope, local, names, level)
            modules = {one: _DeferredModule(f"{name}.{one}", here) for one in names or ()}
            return SimpleNamespace(**modules) if names else _DeferredModule(name, here)

        builtins.__import__ = put_off  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        builtins.__import__ = self._usual
        self._lock.release()


deferred = _Deferred()


with deferred:
    from importlib import metadata  # rarely needed, and slow to import

Part = TypeVar("Part")


class Format(Protocol):
    """One kind of file. `summary` says in one line what it looks like.

    Nothing may need pyarrow before `read` or `write` is called: the list of formats is shown without it.
    """

    @property
    def summary(self) -> str: ...

    def sniff(self, head: bytes, name: str) -> bool:
        """Whether the first bytes of a file look like this format."""

    def read(self, source: Source) -> Any:
        """Read the whole file; what is wrong with it goes into the `problems` of the result."""

    def write(self, content: Any, stream: BinaryIO) -> None:
        """Write a run or qrels so that reading gives the same."""


class Registry(Generic[Part]):
    """All parts of one kind, by name.

    `noun` is what the user reads ("run format"), `package` the folder that is searched for modules, and `group`
    the entry-point group through which other distributions add parts of their own.
    """

    def __init__(self, noun: str, *, package: str, group: str) -> None:
        self.noun, self.package, self.group = noun, package, group
        self._parts: dict[str, Part] = {}
        self._aliases: dict[str, str] = {}
        self._discovered_ours = self._discovered_others = False
        self._lock = RLock()

    def register(self, name: str, *aliases: str) -> Callable[[Part], Part]:
        """Register the decorated part under `name` and under `aliases`."""

        def decorate(part: Part) -> Part:
            for word in (name, *aliases):
                if word in self._parts or word in self._aliases:
                    raise ValueError(f"two parts are called {word!r} among the {self.noun}s")
            self._parts[name] = part
            self._aliases.update(dict.fromkeys(aliases, name))
            return part

        return decorate

    def get(self, name: str) -> Part:
        """The part called `name`; an unknown name is an error that lists the known ones."""
        return self._parts[self.canonical(name)]

    def canonical(self, name: str) -> str:
        """The name of the part that `name` means, perhaps an alias, perhaps in another case.

        One of ours is found without a look at what other distributions bring: that takes longer than all else here.
        """
        for others in (False, True):
            self._discover(others=others)
            if (named := self._aliases.get(name, name)) in self._parts:
                return named
        words = [*self._parts, *self._aliases]
        alike = {self._aliases.get(word, word) for word in words if word.casefold() == name.casefold()}
        if len(alike) != 1:
            raise UnknownName(self.noun, name, words)
        return alike.pop()

    def __contains__(self, name: str) -> bool:
        """Whether a part, or an alias of one, has this name."""
        try:
            self.get(name)
        except UnknownName:
            return False
        return True

    def names(self) -> list[str]:
        """The names of all parts, sorted, without aliases."""
        self._discover()
        return sorted(self._parts)

    def items(self) -> Iterator[tuple[str, Part]]:
        """All (name, part), sorted by name."""
        return ((name, self._parts[name]) for name in self.names())

    def in_turn(self) -> Iterator[Part]:
        """All parts by name, ours first: those of other distributions are looked for only where these do not do."""
        tried: set[str] = set()
        for others in (False, True):
            self._discover(others=others)
            new = sorted(self._parts.keys() - tried)
            tried |= self._parts.keys()
            yield from (self._parts[name] for name in new)

    def aliases(self, name: str) -> list[str]:
        """The other words that mean the part called `name`."""
        self._discover()
        return sorted(alias for alias, target in self._aliases.items() if target == name)

    def _discover(self, *, others: bool = True) -> None:
        """Load our parts, and what other distributions bring."""
        with self._lock:
            if not self._discovered_ours:
                # A registry of a few small parts may be one module, not a folder: then there is nothing to search.
                for module in pkgutil.iter_modules(getattr(import_module(self.package), "__path__", ())):
                    import_module(f"{self.package}.{module.name}")
                self._discovered_ours = True
            if others and not self._discovered_others:
                for entry in metadata.entry_points(group=self.group):
                    part = entry.load()
                    if entry.name not in self._parts:
                        self.register(entry.name)(part)
                self._discovered_others = True


# Options of a part: the keyword parameters of its function, set from words on a command line. A part may also be a
# frozen dataclass, whose fields are its options; entry points bring such parts. An annotation
# `Annotated[float, Option("what it means", at_least=0)]` says what an option is and which numbers it may be.

_NOUNS = {int: "integer", float: "number", bool: "yes, no", str: "string"}
_TRUTH = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}


@dataclass(frozen=True)
class Option:
    """What an option means, and the numbers it may be."""

    help: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def range(self) -> str:
        """The numbers allowed, in words; empty where there is no limit."""
        bounds = {"at least": self.at_least, "at most": self.at_most}
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)


class DescribedOption(NamedTuple):
    """One option as it is listed for a reader."""

    name: str
    values: str
    default: str
    help: str


def configured(part: Callable[..., Any], words: Mapping[str, Any]) -> Any:
    """The function with its options filled in, or the dataclass made, from words or values.

    An unknown option or a value that cannot be meant is a `UsageError` that says what there is. A dash in a name
    means an underscore.
    """
    declared, values = _declared(part), dict[str, Any]()
    for given, word in words.items():
        name = given.replace("-", "_")
        if name not in declared:
            raise UnknownName("option", given, declared)
        kind, option, _ = declared[name]
        value = word
        if isinstance(word, str) and get_origin(kind) is not Literal:
            try:
                value = _TRUTH[word.lower()] if kind is bool else kind(word)
            except (KeyError, ValueError):
                noun = {bool: "yes or no", int: "an integer"}.get(kind, "a number")
                raise UsageError(f"option {quoted(name)} must be {noun}, not {quoted(word)}") from None
        values[name] = value
        if get_origin(kind) is Literal:
            check_known(f"value of option {quoted(name)}:", [str(value)], get_args(kind))
        if kind in (int, float):
            least = -math.inf if option.at_least is None else option.at_least
            most = math.inf if option.at_most is None else option.at_most
            if not (math.isfinite(value) and least <= value <= most):
                expected = f"a number {option.range}" if option.range else "a finite number"
                raise UsageError(f"option {quoted(name)} must be {expected}, not {value}")
    return part(**values) if isinstance(part, type) else partial(part, **values)


def described_options(part: Callable[..., Any]) -> list[DescribedOption]:
    """List the options of a part in the order of its declaration."""
    return [
        DescribedOption(
            name,
            ", ".join(get_args(kind))
            if get_origin(kind) is Literal
            else f"{_NOUNS.get(kind, str(kind))} {option.range}".strip(),
            str(default),
            option.help,
        )
        for name, (kind, option, default) in _declared(part).items()
    ]


def _declared(part: Callable[..., Any]) -> dict[str, tuple[Any, Option, Any]]:
    """The type of each option, what is said of it, and its default."""
    hints, found = get_type_hints(part, include_extras=True), {}
    for name, parameter in inspect.signature(part).parameters.items():
        if isinstance(part, type) or parameter.kind is parameter.KEYWORD_ONLY:
            kind, *extras = get_args(hints[name]) if get_origin(hints[name]) is Annotated else [hints[name]]
            option = next((extra for extra in extras if isinstance(extra, Option)), Option(""))
            found[name] = kind, option, parameter.default
    return found


class WithoutPandas:
    """Finds no pandas: no command needs it, but pyarrow and sqlite-utils would load it for half a second.

    None in `sys.modules` would do for sqlite-utils, but pyarrow takes it for the module; and a module that raises
    is got hold of by a second thread while it does.
    """

    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used here", name=name)
