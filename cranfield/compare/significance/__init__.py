"""The significance tests, one file each, found by name."""

from cranfield.compare.differences import SignificanceTest, TestResult, tests

__all__ = ["SignificanceTest", "TestResult", "tests"]
