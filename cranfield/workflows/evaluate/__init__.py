"""Scores of stored runs and of files, with their verdicts."""
