"""Scores to differences: is a difference more than chance, how large is it, what could be seen at all."""
