"""Runs become what is judged: which documents, in which order, and why each is there."""
