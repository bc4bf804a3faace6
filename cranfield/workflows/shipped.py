"""The collections that come with the program: in a checkout beside the package, in a wheel inside it."""

from pathlib import Path

import cranfield
from cranfield.errors import CollectionError, UnknownName


def shipped_collection(name: str) -> Path:
    """Give the folder of a shipped collection, relative to here where that is shorter."""
    package = Path(cranfield.__file__).parent
    places = [package / "_collections", package.parent / "collections"]
    for place in places:
        if (place / name / "collection.toml").is_file():
            return _short(place / name)
    known = [folder.parent.name for place in places for folder in place.glob("*/collection.toml")]
    if not known:
        raise CollectionError("no collection came with this installation; install Cranfield again")
    raise UnknownName("shipped collection", name, known)


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
