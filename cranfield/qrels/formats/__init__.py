"""The qrels formats, one file each."""

from cranfield.qrels.format import QrelsFormat, qrels_formats

__all__ = ["QrelsFormat", "qrels_formats"]
