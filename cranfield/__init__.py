"""Build information-retrieval test collections, and say of every score how far it can be trusted."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError

if TYPE_CHECKING:
    from cranfield.collection import Opened, open_collection, open_files
    from cranfield.workflows.reuse.reuse import ReuseResult

__all__ = ["CranfieldError", "Opened", "ReuseResult", "__version__", "open_collection", "open_files"]


def __getattr__(name: str) -> Any:
    """The API is imported when it is first used: the command line imports this package too, and needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "cranfield.workflows.reuse.reuse" if name == "ReuseResult" else "cranfield.collection"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__
