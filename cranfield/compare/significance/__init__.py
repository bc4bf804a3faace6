"""The significance tests, one file each, found by name."""

from __future__ import annotations

from cranfield.base.registry import Registry
from cranfield.compare.differences import SignificanceTest, TestResult

__all__ = ["SignificanceTest", "TestResult", "tests"]

tests: Registry[SignificanceTest] = Registry(
    "significance test", package="cranfield.compare.significance", group="cranfield.tests"
)
