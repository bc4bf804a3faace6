"""Runs: checked, submitted, made, shown."""
