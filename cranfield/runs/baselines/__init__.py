"""The baseline systems: one small file each, found by name."""

from cranfield.registry import Registry
from cranfield.runs.system import System

systems: Registry[type[System]] = Registry("system", package="cranfield.runs.baselines", group="cranfield.systems")
