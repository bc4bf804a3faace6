"""The measures, by family: one function each."""
