"""An index of OpenSearch or Elasticsearch, as `opensearch:https://HOST:9200/INDEX`.

Two calls are used: `GET INDEX/_count`, and `GET INDEX/_doc/ID`. A name and a password come from ~/.netrc, by the
host, and are neither stored nor shown.
"""

from __future__ import annotations

import base64
import netrc
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib import error, request
from urllib.parse import quote, urlsplit

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import Document
from cranfield.base.tables import Schema, object_in
from cranfield.corpus.outside import LARGEST_DOCUMENT, document_of, document_sources

SECONDS = 10.0
"""How long the server may take for each step of an answer."""


class _NoRedirects(request.HTTPRedirectHandler):
    """Follows nothing: what was approved is this address, and no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


@document_sources.register("opensearch", "elasticsearch")
class OpenSearch:
    """Documents that are looked up by their `_id`."""

    summary = "an index of OpenSearch or Elasticsearch (opensearch:https://HOST:9200/INDEX); the id is _id"

    @staticmethod
    def located(place: str) -> str:
        """The address of the index; one with a password in it is refused, since it would be stored."""
        parts = urlsplit(place)
        if parts.scheme not in ("http", "https") or not parts.hostname or not parts.path.strip("/"):
            raise UsageError(
                f"{quoted(place)} is not the address of an index; write opensearch:https://HOST:9200/INDEX"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError("an address has no password, ? or #: a name and a password belong into ~/.netrc")
        return place.rstrip("/")

    def __init__(self, place: str, schema: Schema) -> None:
        self._place, self._schema = place, schema
        self._opener = request.build_opener(_NoRedirects)

    def prepare(self, progress: Progress = silent) -> int:
        """Ask how many documents there are."""
        match self._answer("_count"):
            case {"count": int() as count}:
                return count
        raise InputError("the server gave no count of documents: there is no such index, or it may not be read")

    def fetch(self, id: str) -> Document | None:
        """Ask for one document."""
        match self._answer(f"_doc/{quote(id, safe='')}"):
            case {"found": False}:
                return None
            case {"found": True, "_id": str() as found, "_source": dict() as fields}:
                return document_of({**fields, "_id": found}, self._schema)
        raise InputError("the server gave no document: there is no such index, or it may not be read")

    def _answer(self, call: str) -> dict[str, Any]:
        asked = request.Request(f"{self._place}/{call}")  # noqa: S310 (http or https)
        with suppress(OSError, netrc.NetrcParseError):
            # A default of ~/.netrc is for whatever host is asked, and so is not given away here.
            if known := netrc.netrc().hosts.get(urlsplit(self._place).hostname or ""):
                word = base64.b64encode(f"{known[0]}:{known[2]}".encode()).decode()
                asked.add_header("Authorization", f"Basic {word}")
        try:
            with self._opener.open(asked, timeout=SECONDS) as answer:
                said = answer.read(LARGEST_DOCUMENT + 1)
        except error.HTTPError as refused:
            with refused:
                said = refused.read(LARGEST_DOCUMENT + 1) if refused.code == 404 else b""
            if not said:
                raise InputError(f"the server answered {refused.code} {refused.reason}") from None
        except (OSError, HTTPException) as failed:
            reason = getattr(failed, "reason", failed)
            raise InputError(f"the server cannot be reached: {reason}") from None
        if len(said) > LARGEST_DOCUMENT:
            raise InputError(f"an answer of more than {LARGEST_DOCUMENT >> 20} MB")
        return object_in(said.decode("utf-8", "replace")) or {}
