"""The run formats, one file each."""

from cranfield.runs.format import RunFormat, run_formats

__all__ = ["RunFormat", "run_formats"]
