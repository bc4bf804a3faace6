"""The numbered steps a collection file goes through. A released step is never edited again."""
