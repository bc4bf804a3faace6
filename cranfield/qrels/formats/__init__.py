"""The qrels formats, one file each."""

from __future__ import annotations

from cranfield.qrels.reading import QrelsFormat, qrels_formats

__all__ = ["QrelsFormat", "qrels_formats"]
