"""Build information-retrieval test collections, and say of every score how far it can be trusted."""

from cranfield._version import __version__
from cranfield.errors import CranfieldError
from cranfield.workflows.notebook import Opened, open_collection, open_files
from cranfield.workflows.notebook_reuse import ReuseResult

__all__ = ["CranfieldError", "Opened", "ReuseResult", "__version__", "open_collection", "open_files"]
