"""Pool bias of a collection and of each run."""
