"""Documents and topics enter: foreign files become records."""
