"""A folder of text, Markdown and HTML files, with the ids that `corpus add` would give them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from cranfield.base.errors import InputError
from cranfield.base.files import Progress, Source, silent
from cranfield.base.records import Document
from cranfield.base.tables import Schema
from cranfield.corpus import reading
from cranfield.corpus.formats import folder
from cranfield.corpus.outside import document_sources, here, only


@document_sources.register("folder")
class Folder:
    """Files that are looked up by their path."""

    summary = "a folder of .txt, .md and .html files; the id is the path within it"
    located = staticmethod(here)

    def __init__(self, place: str, schema: Schema) -> None:
        self._folder = Path(place)

    def prepare(self, progress: Progress = silent) -> int:
        """Count the files."""
        self._refuse_missing()
        return len(reading.files_in(self._folder))

    def fetch(self, id: str) -> Document | None:
        """The file whose path is the id, unless it lies outside, is hidden or of another kind."""
        self._refuse_missing()
        path = self._folder / unquote(id)
        names = path.relative_to(self._folder).parts if path.is_relative_to(self._folder) else ("..",)
        if any(name.startswith(".") for name in names) or folder.id_of(Path(*names)) != id:
            return None
        inside = path.resolve().is_relative_to(self._folder.resolve()) and path.is_file()
        file = Source(path)
        if not inside or not file.bare_name.lower().endswith(reading.TEXTS):
            return None
        return only(folder.document_in(file, id))

    def _refuse_missing(self) -> None:
        if not self._folder.is_dir():
            raise InputError("there is no such folder")
