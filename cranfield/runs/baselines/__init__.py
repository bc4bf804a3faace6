"""The baseline systems: one decorated function each, found by name."""
