"""Names to parts: how a format, a strategy or a measure is found.

A part registers itself with a decorator in a module of its registry's folder; a stranger's part comes through
an entry point and is treated the same. Nothing is imported before the first look-up.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from threading import RLock
from typing import Generic, TypeVar

from cranfield.base.errors import UnknownName
from cranfield.base.lazy import deferred

with deferred:
    import importlib.metadata as metadata  # rarely needed, and slow to import

Part = TypeVar("Part")


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
        """Give the part called `name`, or say which names there are.

        One of ours is found without a look at what other distributions bring: that takes longer than all else here.
        """
        self._discover_ours()
        if self._aliases.get(name, name) not in self._parts:
            self._discover()
        try:
            return self._parts[self._aliases.get(name, name)]
        except KeyError:
            raise UnknownName(self.noun, name, [*self._parts, *self._aliases]) from None

    def canonical(self, name: str) -> str:
        """Give the name of the part that `name`, perhaps an alias, means, or say which names there are."""
        self.get(name)
        return self._aliases.get(name, name)

    def __contains__(self, name: str) -> bool:
        """Say whether a part, or an alias of one, has this name."""
        try:
            self.get(name)
        except UnknownName:
            return False
        return True

    def names(self) -> list[str]:
        """Give the names of all parts, sorted, without aliases."""
        self._discover()
        return sorted(self._parts)

    def items(self) -> Iterator[tuple[str, Part]]:
        """Give all (name, part), sorted by name."""
        return ((name, self._parts[name]) for name in self.names())

    def first(self, fits: Callable[[Part], bool]) -> Part | None:
        """Give the first part, by name, that fits: of ours, and only if there is none of what others bring."""
        self._discover_ours()
        ours = sorted(self._parts)
        for name in ours:
            if fits(self._parts[name]):
                return self._parts[name]
        return next((part for name, part in self.items() if name not in ours and fits(part)), None)

    def aliases(self, name: str) -> list[str]:
        """Give the other words that mean the part called `name`."""
        self._discover()
        return sorted(alias for alias, target in self._aliases.items() if target == name)

    def _discover(self) -> None:
        """Load what other distributions bring, too."""
        with self._lock:
            self._discover_ours()
            if not self._discovered_others:
                for entry in metadata.entry_points(group=self.group):
                    part = entry.load()
                    if entry.name not in self._parts:
                        self.register(entry.name)(part)
                self._discovered_others = True

    def _discover_ours(self) -> None:
        with self._lock:
            if not self._discovered_ours:
                # A registry of a few small parts may be one module, not a folder: then there is nothing to search.
                for module in pkgutil.iter_modules(getattr(import_module(self.package), "__path__", ())):
                    import_module(f"{self.package}.{module.name}")
                self._discovered_ours = True
