"""The pooling strategies: one small file each, found by name."""

from cranfield.pool.strategy import Strategy
from cranfield.registry import Registry

strategies: Registry[type[Strategy]] = Registry(
    "pooling strategy", package="cranfield.pool.strategies", group="cranfield.strategies"
)
