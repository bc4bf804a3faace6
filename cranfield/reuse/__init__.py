"""Is the pool fair to this run? Leave-out tests, exact intervals, expected loss, verdicts."""
