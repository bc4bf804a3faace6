"""The qrels formats, one file each."""
