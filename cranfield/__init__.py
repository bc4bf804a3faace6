"""Build information-retrieval test collections, and say of every score how far it can be trusted."""

from cranfield._version import __version__
from cranfield.errors import CranfieldError

__all__ = ["CranfieldError", "__version__"]
