"""The run formats, one file each."""
