"""One use case per file: load, call the core, save. The only place where the store meets the core."""
