"""Packages of others that some tests need."""

import os
from importlib import import_module
from types import ModuleType

import pytest


def package(name: str) -> ModuleType:
    """Import a package that the extra `dev` declares: where it is missing tests are skipped, in CI they fail."""
    return import_module(name) if os.environ.get("CRANFIELD_CI") else pytest.importorskip(name)
