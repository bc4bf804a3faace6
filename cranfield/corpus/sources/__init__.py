"""One module for each kind of place that documents can stay in."""
