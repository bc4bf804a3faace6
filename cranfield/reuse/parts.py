"""The tables of `cranfield reuse` by name."""

from __future__ import annotations

from typing import Literal

Part = Literal["collection", "hold-outs", "groups", "decisions", "pool", "runs", "topics", "estimates"]

OF_COLLECTION: tuple[Part, ...] = ("collection", "hold-outs", "groups", "decisions")
"""Those about the pool as a whole."""

ALWAYS: tuple[Part, ...] = (*OF_COLLECTION, "pool", "runs")
"""What is shown to people without being asked for."""
