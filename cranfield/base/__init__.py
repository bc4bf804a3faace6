"""What everything stands on: errors, names to parts, the nouns, text, files, tables."""
