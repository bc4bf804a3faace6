"""The significance tests, one file each, found by name."""

from cranfield.compare.result import SignificanceTest, TestResult
from cranfield.registry import Registry

__all__ = ["SignificanceTest", "TestResult", "tests"]

tests: Registry[SignificanceTest] = Registry(
    "significance test", package="cranfield.compare.significance", group="cranfield.tests"
)
