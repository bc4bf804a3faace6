"""Pools: built, extended, refilled while judging, shown, verified."""
