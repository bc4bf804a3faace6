"""The baseline systems: one small file each, found by name."""

from __future__ import annotations

from cranfield.base.registry import Registry
from cranfield.runs.baseline import System

systems: Registry[type[System]] = Registry("system", package="cranfield.runs.baselines", group="cranfield.systems")
