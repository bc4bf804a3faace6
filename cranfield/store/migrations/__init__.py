"""The numbered steps a collection file goes through, as SQL. A released step is never edited again."""
