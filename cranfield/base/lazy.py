"""Modules that are loaded when they are first used: the one way to put off an import.

    with deferred:
        import pyarrow as pa
        from cranfield.workflows.evaluate import evaluate as evaluate_workflow

Type checkers, import contracts and readers see ordinary imports. Only modules can be put off (`import a`,
`import a.b as b`, `from a import module`), never a name inside a module; the block stands below all other imports.
"""

from __future__ import annotations

import builtins
import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any


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


class _Parent:
    """What an import statement takes its names from: each is a module below this one, down to `leaf`."""

    def __init__(self, name: str, scope: dict[str, Any], leaf: str = "") -> None:
        self._name, self._scope, self._leaf = name, scope, leaf

    def __getattr__(self, name: str) -> Any:
        full = f"{self._name}.{name}"
        if self._leaf.startswith(f"{full}."):
            return _Parent(full, self._scope, self._leaf)
        return _DeferredModule(full, self._scope)


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
            if names:
                return _Parent(name, here)
            parent, dot, _ = name.partition(".")
            return _Parent(parent, here, name) if dot else _DeferredModule(name, here)

        builtins.__import__ = put_off  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        builtins.__import__ = self._usual
        self._lock.release()


deferred = _Deferred()
