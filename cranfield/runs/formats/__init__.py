"""The run formats, one file each."""

from __future__ import annotations

from cranfield.runs.reading import RunFormat, run_formats

__all__ = ["RunFormat", "run_formats"]
