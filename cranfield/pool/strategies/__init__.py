"""The pooling strategies: one small file each, found by name."""

from __future__ import annotations

from cranfield.base.registry import Registry
from cranfield.pool.strategy import Strategy

strategies: Registry[type[Strategy]] = Registry(
    "pooling strategy", package="cranfield.pool.strategies", group="cranfield.strategies"
)
