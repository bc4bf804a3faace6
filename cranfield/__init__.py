"""Build information-retrieval test collections, and say of every score how far it can be trusted."""

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError
from cranfield.collection import Opened, open_collection, open_files
from cranfield.workflows.reuse.reuse import ReuseResult

__all__ = ["CranfieldError", "Opened", "ReuseResult", "__version__", "open_collection", "open_files"]
