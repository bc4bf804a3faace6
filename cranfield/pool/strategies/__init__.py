"""The pooling strategies: decorated functions, found by name through `cranfield.pool.strategy.strategies`."""
