"""Qrels: what counts now, releases, exports."""
