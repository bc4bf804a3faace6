"""The file formats of documents and topics. One more is one file here, or an entry point elsewhere."""
