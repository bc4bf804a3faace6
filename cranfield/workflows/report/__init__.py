"""The page about a collection, and its card."""
