"""The file formats of documents and topics. One more is one file here, or an entry point elsewhere."""

from __future__ import annotations

from cranfield.base.registry import Registry
from cranfield.corpus.format import DocumentFormat, TopicFormat

document_formats: Registry[DocumentFormat] = Registry(
    "document format", package="cranfield.corpus.formats", group="cranfield.document_formats"
)
topic_formats: Registry[TopicFormat] = Registry(
    "topic format", package="cranfield.corpus.formats", group="cranfield.topic_formats"
)
