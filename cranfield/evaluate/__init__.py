"""Qrels and runs aligned once, and scored by any measure."""
